# SPDX-License-Identifier: Apache-2.0
"""Tensors in and out without copies: DLPack, numpy's arrays, torch's tensors."""
from __future__ import annotations

import ctypes
import importlib
import sys
from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._c import DLDataType, DLDevice, DLTensor
from ._errors import Error

SIZE = ctypes.sizeof(DLTensor)
_CPU = 1                                                   # kDLCPU
# Codes of DLDataTypeCode.
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6

capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Kinds of numpy's types and their codes; those of ml_dtypes have the kind "V" and are found by name.
_CODES = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_NAMED = {"bfloat16": (_BFLOAT, 16)}


def type_name(dtype: DLDataType) -> str:
    """Returns numpy's name of a type, "float32"."""
    for name, (code, bits) in _NAMED.items():
        if (dtype.code, dtype.bits) == (code, bits):
            return name
    if dtype.code == _BOOL:
        return "bool"
    stem = {_INT: "int", _UINT: "uint", _FLOAT: "float", _COMPLEX: "complex"}.get(dtype.code, f"code{dtype.code}_")
    return f"{stem}{dtype.bits}"


def numpy_type(name: str) -> "np.dtype[Any]":
    """Returns numpy's type of that name. Types that numpy lacks come from ml_dtypes."""
    if name not in _NAMED:
        return np.dtype(name)
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        raise Error(f"numpy has no type {name}", slug="no-dtype", help="install ml_dtypes, or give torch tensors") from None
    found: "np.dtype[Any]" = np.dtype(getattr(ml_dtypes, name))
    return found


def numpy_type_or_none(name: str) -> "Optional[np.dtype[Any]]":
    try:
        return numpy_type(name)
    except Error:
        return None


def is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch"


_ALIGNMENT, _LARGE = 64, 16384                             # bytes; smaller arrays are copied sooner than aligned


def empty(shape: Any, dtype: Any = np.float32) -> "np.ndarray[Any, Any]":
    """Makes an uninitialised array of numpy that runs read and write in place.

    It begins at a multiple of 64 bytes, unless it has less than 16 KiB. numpy.empty gives no such memory: runs copy its arrays.

    Args:
        shape: as for numpy.empty.
        dtype: as for numpy.empty.
    """
    out: "np.ndarray[Any, Any]" = np.empty(shape, dtype)
    if out.nbytes < _LARGE or out.__array_interface__["data"][0] % _ALIGNMENT == 0:
        return out
    room = np.empty(out.nbytes + _ALIGNMENT, np.uint8)
    begin = -room.__array_interface__["data"][0] % _ALIGNMENT
    aligned: "np.ndarray[Any, Any]" = room[begin : begin + out.nbytes].view(out.dtype).reshape(out.shape)
    return aligned


def torch_empty(shape: Sequence[int], name: str) -> Any:
    """Makes an uninitialised tensor of torch, which the caller has imported."""
    torch = sys.modules["torch"]
    if name in _NAMED:
        return torch.empty(tuple(shape), dtype=getattr(torch, name))
    return torch.from_numpy(empty(tuple(shape), name))


class _ExchangeApi(ctypes.Structure):
    """DLPackExchangeAPI of DLPack 1.3: functions that a class of tensors offers to other libraries."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p), ("give", ctypes.c_void_p), ("take", ctypes.c_void_p),
                ("describe", ctypes.c_void_p), ("stream", ctypes.c_void_p)]


_Describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_describers: dict[type, Optional[Callable[[Any, int], int]]] = {}


def describer(kind: type) -> Optional[Callable[[Any, int], int]]:
    """Returns the function of a class of tensors that writes the DLTensor of one to an address, a sixth of the time that a
    capsule takes; None for classes without it. The DLTensor is valid while the tensor lives and keeps its shape.
    """
    try:
        return _describers[kind]
    except KeyError:
        found = _describers[kind] = _found_describer(kind)
        return found


def _found_describer(kind: type) -> Optional[Callable[[Any, int], int]]:
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None:
        return None
    address: Optional[int] = capsule_pointer(capsule, b"dlpack_exchange_api")
    while address:
        api = _ExchangeApi.from_address(address)
        if api.major == 1:
            return _Describe(api.describe) if api.describe else None
        address = api.previous
    return None


class NotATensor(Error):
    """A value that has no tensor in it, such as a list."""


def address(value: Any, held: list[Any]) -> int:
    """Returns the address of a DLTensor that describes `value`, which has the protocol DLPack or is an array of numpy.

    What must live as long as the address is used is appended to `held`.
    """
    try:
        capsule = value.__dlpack__()
    except (AttributeError, BufferError, TypeError, RuntimeError):
        return _described(value, held)
    held.append(capsule)
    found: int = capsule_pointer(capsule, b"dltensor")
    return found


def _described(value: Any, held: list[Any]) -> int:
    """Describes a value without a capsule: arrays that are read-only, types that DLPack of numpy lacks."""
    if is_torch(value):
        value = value.detach()                             # one that requires a gradient gives no capsule
        held.append(value)
        try:
            capsule = value.__dlpack__()
        except (BufferError, RuntimeError) as failure:
            if str(value.dtype) != "torch.bool":           # of which older versions of torch make no capsule
                raise cannot_be_read(failure) from None
            return _described(_numpy_of(value), held)
        held.append(capsule)
        found: int = capsule_pointer(capsule, b"dltensor")
        return found
    if not isinstance(value, np.ndarray):
        raise NotATensor(f"a tensor is expected, not {type(value).__name__}", slug="input-type",
                         help="give a numpy array, a torch tensor, or an object with __dlpack__")
    tensor = describe(value)
    held.append(value)
    held.append(tensor)
    return ctypes.addressof(tensor)


def _numpy_of(tensor: Any) -> "np.ndarray[Any, Any]":
    try:
        array: "np.ndarray[Any, Any]" = tensor.numpy()
        return array
    except (RuntimeError, TypeError) as failure:           # it is sparse, or on another device
        raise cannot_be_read(failure) from None


def cannot_be_read(failure: Exception) -> Error:
    return Error(f"the tensor has no memory to read: {str(failure).splitlines()[0]}", slug="input-data",
                 help="give a dense tensor on the CPU, as x.to_dense().cpu() makes")


def describe(array: "np.ndarray[Any, Any]") -> DLTensor:
    """Makes the DLTensor of an array of numpy, which has to outlive it."""
    name = array.dtype.name
    if name in _NAMED:
        code, bits = _NAMED[name]
    elif array.dtype.kind in _CODES and array.dtype.isnative:
        code, bits = _CODES[array.dtype.kind], array.dtype.itemsize * 8
    else:
        raise Error(f"arrays of {array.dtype} cannot be passed", slug="input-dtype",
                    help="convert it with astype, to a type of this machine's byte order")
    item = array.dtype.itemsize
    if any(stride % item for stride in array.strides):
        raise Error("the strides of the array are no multiple of its items", slug="input-data",
                    help="copy it with numpy.ascontiguousarray")
    extents = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*(stride // item for stride in array.strides))
    tensor = DLTensor(array.__array_interface__["data"][0], DLDevice(_CPU, 0), array.ndim, DLDataType(code, bits, 1),
                      extents, strides, 0)
    return tensor


def as_input(value: Any, name: str) -> Any:
    """Returns a value that `address` takes: lists and numbers become arrays of the type that the program reads."""
    if isinstance(value, (list, tuple, int, float, bool)):
        return np.asarray(value, numpy_type(name))
    if isinstance(value, np.generic):
        return np.asarray(value)
    if is_torch(value) and value.is_neg():                 # its memory has the other sign
        raise Error("the tensor is a negated view of its memory", slug="input-data", help="give x.resolve_neg()")
    return value


def shaped(value: Any) -> Any:
    """Returns a value that has a shape: itself, or an array of numpy over its memory."""
    if hasattr(value, "shape"):
        return value
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    raise NotATensor(f"a tensor is expected, not {type(value).__name__}", slug="input-type",
                     help="give a numpy array, a torch tensor, or an object with __dlpack__")


def view(tensor: DLTensor, writable: bool) -> "np.ndarray[Any, Any]":
    """Returns an array of numpy over the memory of a DLTensor, which outlives it."""
    shape = tuple(tensor.shape[: tensor.ndim])
    dtype = numpy_type(type_name(tensor.dtype))
    if 0 in shape:
        return np.empty(shape, dtype)
    strides = [1] * len(shape)
    for k in range(len(shape) - 1, 0, -1):
        strides[k - 1] = strides[k] * shape[k]
    if tensor.strides:
        strides = tensor.strides[: tensor.ndim]
    ends = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    first = sum(min(end, 0) for end in ends)               # elements before the one that data points to
    last = sum(max(end, 0) for end in ends)
    size = dtype.itemsize
    memory = (ctypes.c_char * ((last - first + 1) * size)).from_address(tensor.data + tensor.byte_offset + first * size)
    array: "np.ndarray[Any, Any]" = np.ndarray(shape, dtype, memoryview(memory), -first * size,
                                               tuple(stride * size for stride in strides))
    array.flags.writeable = writable
    return array
