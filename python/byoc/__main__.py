# SPDX-License-Identifier: Apache-2.0
"""python -m byoc: the command byoc."""
from __future__ import annotations

import os
import sys

from byoc_runtime._errors import Error
from byoc_runtime._plugins import wheel_plugins

from ._library import command


def main() -> None:
    """Becomes the command byoc, with the arguments of this process."""
    path = command()
    if not path.exists():
        sys.exit(str(Error("the command is missing", slug="no-command", where=str(path), help="install the package byoc again")))
    wheel_plugins()
    os.execv(path, ["byoc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
