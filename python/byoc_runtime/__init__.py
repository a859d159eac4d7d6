# SPDX-License-Identifier: Apache-2.0
"""Runs models that byoc has compiled.

    import byoc_runtime
    program = byoc_runtime.load("net.byoc")
    y = program(x)

The package `byoc` compiles them, and has all of this too.
"""
from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence, Union

from . import _c, _load
from ._arrays import empty
from ._errors import Error
from ._program import Bound, Program, Tensor

__all__ = ["Bound", "Error", "Program", "Tensor", "empty", "load", "version"]


def load(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview], *, threads: Optional[int] = None,
         plugins: Sequence[Union[str, "os.PathLike[str]"]] = (), plugin_options: Optional[Mapping[str, Any]] = None,
         native: bool = True) -> Program:
    """Loads a program that `byoc compile` or `Program.save` wrote.

    Args:
        source: the path of the file, whose weights stay there, mapped; or its bytes, which are copied.
        threads: the threads of a run, 1 without it; 0: all cores.
        plugins: paths of plugins that are in no plugin folder.
        plugin_options: {"onednn.keep_nan": 1}, options of plugins.
        native: False refuses a program that has machine code in it.

    Raises:
        Error: the file is missing or damaged, a plugin is missing, ...
    """
    return Program(*_load.loaded(_c.runtime(), source, threads, plugins, plugin_options, native))


def version() -> str:
    """Returns the version of the library, "0.1.0"."""
    text: bytes = _c.runtime().byoc_version()
    return text.decode()
