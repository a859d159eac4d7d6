# SPDX-License-Identifier: Apache-2.0
"""The structs of byoc/plugin/abi.h that a plugin in Python needs, minor 8.

tests/python/header_test.py compares sizes and offsets with the header.
"""
from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from byoc_runtime._c import DLDevice, DLTensor

MAJOR, MINOR = 1, 8
(TAG_HOST, TAG_CONST, TAG_PATTERN, TAG_VERDICT, TAG_FUNCTION, TAG_COMPILE, TAG_LOAD, TAG_KERNEL_INFO, TAG_CALL, TAG_SINK,
 TAG_SAVE, TAG_PLUGIN) = range(0x62790001, 0x6279000D)
NO_PATTERN = 0xFFFFFFFF
# Codes of enum byoc_code.
INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, INTERNAL, DATA_LOSS, DECLINED = 3, 5, 12, 13, 15, 17
MUST_UNDERSTAND = 0x80000000
KERNEL_MAY_ALLOC = 2
CONST_COPIED = 1


class Hdr(Structure):
    _fields_ = [("size", c_uint32), ("tag", c_uint32), ("ext", c_void_p)]


class Ext(Structure):
    _fields_ = [("size", c_uint32), ("id", c_uint32), ("next", c_void_p)]


def extension_to_refuse(*structs: Any) -> int:
    """Returns the id of an extension of the structs that their reader has to support; 0 when there is none."""
    for struct in structs:
        at = struct.h.ext
        while at:
            extension = Ext.from_address(at)
            if extension.id & MUST_UNDERSTAND:
                return int(extension.id)
            at = extension.next
    return 0


class Str(Structure):
    """byoc_str; the bytes have another owner."""

    _fields_ = [("p", c_void_p), ("n", c_uint64)]

    def text(self) -> str:
        return ctypes.string_at(self.p, self.n).decode() if self.n else ""


class Text:
    """A byoc_str with its bytes."""

    def __init__(self, text: str) -> None:
        data = text.encode()
        self.bytes = ctypes.create_string_buffer(data, max(len(data), 1))
        self.str = Str(ctypes.addressof(self.bytes), len(data))


class Host(Structure):
    _fields_ = [("h", Hdr), ("abi_major", c_uint32), ("abi_minor", c_uint32), ("ctx", c_void_p), ("version", Str),
                ("status_new", CFUNCTYPE(c_void_p, c_void_p, c_uint32, c_int64, c_int64, c_char_p, c_uint32, Str))]


class Const(Structure):
    _fields_ = [("h", Hdr), ("name", Str), ("ref", c_void_p), ("view", POINTER(DLTensor)), ("key", c_uint8 * 16),
                ("flags", c_uint64), ("device_data", c_void_p)]


class Pattern(Structure):
    _fields_ = [("h", Hdr), ("name", Str), ("dag_json", Str), ("priority", ctypes.c_int32), ("flags", c_uint32),
                ("launch_ns", c_uint64), ("gflops", ctypes.c_double), ("gbytes_s", ctypes.c_double)]


class Verdict(Structure):
    _fields_ = [("h", Hdr), ("accept", c_uint32), ("confidence", c_uint32), ("est_ns", c_uint64), ("workspace", c_uint64),
                ("packed_bytes", c_uint64), ("reason", Str), ("machine", c_void_p)]


class Function(Structure):
    _fields_ = [("h", Hdr), ("symbol", Str), ("graph_json", Str), ("consts", POINTER(POINTER(Const))), ("n_consts", c_uint64),
                ("point", Str)]


class Compile(Structure):
    _fields_ = [("h", Hdr), ("functions", POINTER(POINTER(Function))), ("n_functions", c_uint64), ("options_json", Str),
                ("target_json", Str), ("threads", c_uint32), ("flags", c_uint32), ("cancel", c_void_p)]


class Load(Structure):
    _fields_ = [("h", Hdr), ("blob", Str), ("compat", Str), ("options_json", Str), ("consts", POINTER(POINTER(Const))),
                ("n_consts", c_uint64), ("threads", c_uint32), ("flags", c_uint32), ("cancel", c_void_p)]


class KernelInfo(Structure):
    _fields_ = [("h", Hdr), ("n_in", c_uint32), ("n_out", c_uint32), ("workspace_bytes", c_uint64), ("workspace_align", c_uint64),
                ("flags", c_uint64), ("inplace_pairs", c_void_p), ("n_inplace", c_uint64), ("const_use", c_void_p),
                ("n_consts", c_uint64), ("resident_bytes", c_uint64), ("device", DLDevice), ("implementation", Str),
                ("signature", Str)]


class Call(Structure):
    _fields_ = [("h", Hdr), ("args", POINTER(POINTER(DLTensor))), ("n_args", c_uint32), ("flags", c_uint32),
                ("workspace", c_void_p), ("workspace_bytes", c_uint64), ("stream", c_void_p), ("cancel", c_void_p),
                ("call_id", c_uint64), ("out_shapes", c_void_p)]


class Sink(Structure):
    _fields_ = [("h", Hdr), ("u", c_void_p), ("write", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_uint64))]


class Save(Structure):
    _fields_ = [("h", Hdr), ("flags", c_uint64), ("compat", Str), ("blob", POINTER(Sink)), ("u", c_void_p), ("packed", c_void_p)]


def _slot(*arguments: Any) -> Any:
    return CFUNCTYPE(c_void_p, *arguments)


OPEN = _slot(POINTER(Host), Str, POINTER(c_void_p))
CLOSE = CFUNCTYPE(None, c_void_p)
PATTERNS = _slot(c_void_p, POINTER(c_void_p), POINTER(c_uint64))
JUDGE = _slot(c_void_p, c_uint32, Str, POINTER(Verdict))
COMPILE = _slot(c_void_p, POINTER(Compile), POINTER(c_void_p))
LOAD = _slot(c_void_p, POINTER(Load), POINTER(c_void_p))
SAVE = _slot(c_void_p, POINTER(Save))
KERNEL = _slot(c_void_p, Str, POINTER(c_void_p))
INFO = _slot(c_void_p, POINTER(KernelInfo))
RUN = _slot(c_void_p, POINTER(Call))
COMPAT = _slot(c_void_p, Str, POINTER(c_uint32))
RELEASE = CFUNCTYPE(None, c_void_p)


class Plugin(Structure):
    _fields_ = [("h", Hdr), ("abi_major", c_uint32), ("abi_minor", c_uint32), ("min_host_minor", c_uint32), ("flags", c_uint32),
                ("priority", c_int64), ("max_ops", c_uint64), ("max_bytes", c_uint64), ("id", Str), ("version", Str),
                ("vendor", Str), ("build", Str), ("open", OPEN), ("close", CLOSE), ("patterns", PATTERNS), ("judge", JUDGE),
                ("partition", c_void_p), ("compile", COMPILE), ("load", LOAD), ("save", SAVE), ("kernel", KERNEL), ("info", INFO),
                ("run", RUN), ("compat", COMPAT), ("release", RELEASE), ("shutdown", c_void_p), ("layouts", c_void_p),
                ("show", c_void_p), ("knobs", c_void_p)]
