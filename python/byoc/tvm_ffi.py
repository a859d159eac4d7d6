# SPDX-License-Identifier: Apache-2.0
"""Functions of tvm-ffi as externs of a model, and programs as functions of tvm-ffi.

tvm-ffi (the package apache-tvm-ffi) is a C ABI for kernels of other compilers. `extern` needs nothing of it but the library
with the kernel; `function` needs the package. The facts about its ABI are those of tvm/ffi/c_api.h, version 0.1: a function
`int __tvm_ffi_NAME(void*, const TVMFFIAny* arguments, int32_t count, TVMFFIAny* result)`, where an argument is 16 bytes.
"""
from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any, Callable, Union

from byoc_runtime import Error, Program, _arrays

_DLTENSOR_POINTER = 7                                      # kTVMFFIDLTensorPtr


class _Any(ctypes.Structure):
    """TVMFFIAny."""

    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("pointer", ctypes.c_void_p)]


def extern(library: Union[str, "os.PathLike[str]"], name: str) -> Callable[..., None]:
    """Returns the kernel `__tvm_ffi_NAME` of a shared library as a function for `Program.register`.

    It is called with the inputs and then the outputs, each as a DLTensor pointer, and writes the outputs. Thread-safe when
    the kernel is.

    Raises:
        byoc.Error: slug "no-library" or "no-symbol"; at a call, slug "run-failed" when the kernel reports a failure, whose
            text only tvm-ffi's own library has.
    """
    try:
        opened = ctypes.CDLL(os.fspath(library))
    except OSError as failure:
        raise Error(f"the library cannot be opened: {failure}", code=5, slug="no-library", where=os.fspath(library)) from None
    symbol = f"__tvm_ffi_{name}"
    kernel: Any = getattr(opened, symbol, None)
    if kernel is None:
        raise Error(f"the library has no symbol {symbol}", code=5, slug="no-symbol", where=os.fspath(library),
                    help="nm -D lists its symbols")
    kernel.restype = ctypes.c_int
    kernel.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Any), ctypes.c_int32, ctypes.POINTER(_Any)]

    def call(*tensors: Any) -> None:
        described = [_arrays.describe(tensor) for tensor in tensors]
        arguments = (_Any * len(tensors))(*(_Any(_DLTENSOR_POINTER, 0, ctypes.addressof(tensor)) for tensor in described))
        result = _Any()
        code = kernel(None, arguments, len(tensors), ctypes.byref(result))
        if code != 0:
            raise Error(f"{symbol} returned {code}", code=13, slug="run-failed")

    return call


def function(program: Program) -> Any:
    """Returns a function of tvm-ffi that runs a program: tensors in, a tensor or a list of them out.

    Give it a name for other languages with `tvm_ffi.register_global_func(name, function)`.

    Raises:
        byoc.Error: slug "no-package" without the package apache-tvm-ffi.
    """
    try:
        tvm_ffi = importlib.import_module("tvm_ffi")
    except ImportError:
        raise Error("the package tvm_ffi is missing", code=5, slug="no-package", help="pip install apache-tvm-ffi") from None

    def call(*tensors: Any) -> Any:
        outputs = program(*tensors)
        if isinstance(outputs, tuple):
            return [tvm_ffi.from_dlpack(output) for output in outputs]
        return tvm_ffi.from_dlpack(outputs)

    return tvm_ffi.convert(call)
