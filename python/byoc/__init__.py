# SPDX-License-Identifier: Apache-2.0
"""Compiles neural networks by the code generator that runs each part best.

    import byoc
    program = byoc.compile("net.onnx", shapes={"N": 1})
    y = program(x)                     # numpy or torch
    program.explain()                  # who took which node, and why

`byoc_runtime` is a package with the runtime alone.
"""
from byoc_runtime import Bound, Error, Tensor, empty

from . import plugin
from ._results import Bench, Doctor, Explanation, Partition, Plugins, Profile, Result, Verification
from ._tools import (
    Program, bench, compile, doctor, explain, from_torch, load, options, partition, place, plugins, profile, report, tune, verify, version,
)

__all__ = [
    "Bench", "Bound", "Doctor", "Error", "Explanation", "Partition", "Plugins", "Profile", "Program", "Result", "Tensor",
    "Verification", "bench", "compile", "doctor", "empty", "explain", "from_torch", "load", "options", "partition", "place", "plugin", "plugins", "profile",
    "report", "tune", "verify", "version",
]
