# SPDX-License-Identifier: Apache-2.0
"""The functions of byoc/c/byoc.h by ctypes.

tests/python/header_test.py compares names, arguments and structs with the header.
"""
from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Optional

from ._errors import Error
from ._plugins import wheel_plugins


class DLDataType(ctypes.Structure):
    """The type of an element (DLPack)."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLDevice(ctypes.Structure):
    """Where the bytes of a tensor are (DLPack)."""

    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLTensor(ctypes.Structure):
    """A tensor without an owner (DLPack)."""

    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class TensorInfo(ctypes.Structure):
    """byoc_tensor_info."""

    _fields_ = [("name", c_char_p), ("dtype", DLDataType), ("ndim", c_int32), ("shape", POINTER(c_int64))]


ProgressFn = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64)
ExternFn = ctypes.CFUNCTYPE(c_void_p, c_void_p, POINTER(DLTensor), c_size_t, POINTER(DLTensor), c_size_t)


class Watch(ctypes.Structure):
    """byoc_watch."""

    _fields_ = [("size", c_size_t), ("cancel", c_void_p), ("progress", ProgressFn), ("user", c_void_p)]


# Per function: its result and its arguments, a letter each, in the order of the header.
#   e byoc_error*   t const char*   v void   p a handle or pointer   s text   u uint32_t   z size_t   i int
_SIGNATURES = """
byoc_version t
byoc_c_api_minor u
byoc_error_new e i s
byoc_error_code i p
byoc_error_slug t p
byoc_error_message t p
byoc_error_where t p
byoc_error_help t p
byoc_error_text t p
byoc_error_free v p
byoc_text_free v p
byoc_options_new e p
byoc_options_set e p s s
byoc_options_free v p
byoc_canceller_new e p
byoc_canceller_cancel v p
byoc_canceller_free v p
byoc_register_plugin e p
byoc_plugin_host p
byoc_set_allocator e p
byoc_shutdown v
byoc_program_load e s p
byoc_program_load_memory e p z p
byoc_program_save e p s
byoc_program_size_count z p
byoc_program_size_label t p z
byoc_program_free v p
byoc_session_new e p z p p p
byoc_session_input_count z p
byoc_session_output_count z p
byoc_session_input e p z p
byoc_session_output e p z p
byoc_session_output_is_counted i p z
byoc_session_is_open i p
byoc_session_warning_count z p
byoc_session_warning t p z
byoc_session_set_extern e p s p p
byoc_session_free v p
byoc_context_new e p p
byoc_run e p p z p z
byoc_context_take_inputs e p p z
byoc_context_output_shape e p z p p
byoc_context_free v p
byoc_session_device_count z p
byoc_session_device e p z p
byoc_session_input_device i p z
byoc_session_output_device i p z
byoc_device_memory_new e p z z p
byoc_device_memory_data p p
byoc_device_memory_write e p p z
byoc_device_memory_read e p p z
byoc_device_memory_free v p
byoc_session_state_count z p
byoc_session_state e p z p
byoc_session_state_output t p z
byoc_session_state_is_in_place i p z
byoc_context_new_sharing e p p p
byoc_context_reset_states e p
byoc_context_get_state e p s p
byoc_context_set_state e p s p
byoc_program_size_entry t p z
byoc_program_find_entry e p s p p
"""
_TYPES: dict[str, Any] = {
    "e": c_void_p, "t": c_char_p, "v": None, "p": c_void_p, "s": c_char_p, "u": c_uint32, "z": c_size_t, "i": c_int,
}


class Library:
    """One of the two shared libraries. Thread-safe."""

    def __init__(self, path: Path, signatures: str = "") -> None:
        try:
            dll = ctypes.CDLL(str(path))
        except OSError as error:
            raise Error(
                f"the library cannot be opened: {error}", slug="no-library", where=str(path),
                help="install the package again; it needs glibc and x86-64 Linux",
            ) from None
        self.path = path
        self._functions: dict[str, Any] = {}
        for line in (_SIGNATURES + signatures).split("\n"):
            if line:
                name, result, *arguments = line.split()
                function = getattr(dll, name, None)
                if function is None:
                    raise Error(f"the library has no function {name}", slug="no-library", where=str(path),
                                help="the Python package and the library are of different versions; install both again")
                function.restype = _TYPES[result]
                function.argtypes = [_TYPES[letter] for letter in arguments]
                self._functions[name] = function
        self.run: Any = self._functions["byoc_run"]

    def __getattr__(self, name: str) -> Any:
        try:
            return self._functions[name]                   # only with the types that the table has
        except KeyError:
            raise AttributeError(name) from None

    def check(self, error: Optional[int]) -> None:
        """Raises the error that a function returned; frees it."""
        if error:
            raise self.error_of(error)

    def error_of(self, handle: int) -> Error:
        """Makes an exception of a byoc_error, which is freed."""
        try:
            texts = [getattr(self, f"byoc_error_{part}")(handle).decode("utf-8", "replace")
                     for part in ("message", "slug", "where", "help", "text")]
            code = self.byoc_error_code(handle)
        finally:
            self.byoc_error_free(handle)
        return Error(texts[0], code=code, slug=texts[1], where=texts[2], help=texts[3],
                     text=texts[4].strip())

    def make(self, function: str, *arguments: Any) -> int:
        """Calls a function whose last argument is the place of a handle; returns the handle."""
        out = c_void_p()
        self.check(getattr(self, function)(*arguments, ctypes.byref(out)))
        assert out.value is not None
        return out.value


SYSTEM = Path("/usr")                                       # where Debian's python3-byoc has its libraries


def prefix_of(package: str) -> Path:
    """Returns the folder with lib/, bin/ and share/, the first of these:

    1. BYOC_PREFIX, a build or install folder;
    2. `prefix` beside the package's modules, which wheels have;
    3. /usr, when the system's package manager has put the modules below it.
    """
    chosen = os.environ.get("BYOC_PREFIX")
    if chosen:
        return Path(chosen)
    modules = Path(package).resolve().parent
    own = modules / "prefix"
    return SYSTEM if SYSTEM in modules.parents and not own.is_dir() else own


_lock = threading.Lock()
_opened: dict[str, Library] = {}


def library(package: str, name: str, signatures: str = "") -> Library:
    """Opens lib/NAME of a package at its first use."""
    found = _opened.get(name)
    if found is None:
        with _lock:
            found = _opened.get(name)
            if found is None:
                path = prefix_of(package) / "lib" / name
                if not path.exists():
                    raise Error(
                        f"{name} is missing", slug="no-library", where=str(path),
                        help="install the package again, or set BYOC_PREFIX to the folder of a build or of an installation",
                    )
                wheel_plugins()
                found = _opened[name] = Library(path, signatures)
    return found


def runtime() -> Library:
    """Returns libbyoc_runtime.so."""
    return library(__file__, "libbyoc_runtime.so.0")


__all__ = ["DLDataType", "DLDevice", "DLTensor", "ExternFn", "Library", "ProgressFn", "TensorInfo", "Watch",
           "library", "prefix_of", "runtime"]
