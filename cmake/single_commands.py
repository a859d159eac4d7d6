#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""single_commands.py COMPILE_COMMANDS: prints a compilation database for clang's tools.

Each source has an entry of its own, also when a batch compiles it. The command lines have no options that only g++ has,
and no precompiled header, so that each source has to include what it uses.
"""
import json
import re
import sys
from pathlib import Path

LEFT_OUT = re.compile(r" -fno-gnu-unique| --param=ggc-\S*| -Wno-subobject-linkage| -fpch-preprocess"
                      r"| -Winvalid-pch -include \S+cmake_pch\.hxx")


def sources_of(file, build):
    """Returns the sources that a batch of this build folder includes; for other files, the file itself."""
    if file.parent != build / "batches":
        return [file]
    return [(file.parent / name).resolve() for name in re.findall(r'^#include "(.*)"$', file.read_text(), re.M)]


def main():
    entries = []
    for entry in json.loads(Path(sys.argv[1]).read_text()):
        command = LEFT_OUT.sub("", entry["command"])
        for source in sources_of(Path(entry["file"]), Path(entry["directory"])):
            own = command.replace(entry["file"], str(source))
            entries.append({"directory": entry["directory"], "command": own, "file": str(source)})
    json.dump(entries, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
