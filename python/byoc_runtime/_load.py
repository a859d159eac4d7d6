# SPDX-License-Identifier: Apache-2.0
"""Loading of programs, with either library."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Mapping, Optional, Sequence

from . import _c


def session_options(threads: Optional[int], plugins: Sequence[Any], plugin_options: Optional[Mapping[str, Any]],
                    native: bool) -> list[tuple[str, str]]:
    """Returns the options of byoc_session_new."""
    out = [] if threads is None else [("threads", str(threads))]
    out += [("plugin", os.fspath(plugin)) for plugin in plugins]
    out += [("plugin-option", f"{name}={value}") for name, value in (plugin_options or {}).items()]
    return out if native else [*out, ("no-native", "")]


def loaded(library: _c.Library, source: Any, threads: Optional[int], plugins: Sequence[Any],
           plugin_options: Optional[Mapping[str, Any]], native: bool) -> tuple[_c.Library, int, list[tuple[str, str]]]:
    """Returns what Program is made of."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        handle = library.make("byoc_program_load_memory", ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
    else:
        handle = library.make("byoc_program_load", os.fsencode(source))
    return library, handle, session_options(threads, plugins, plugin_options, native)
