#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of tvm-ffi as externs, and a program as its function.

    tvm_ffi_test.py SOURCE BUILD

The way out is tested where the package apache-tvm-ffi is installed.
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "python"))

import byoc  # noqa: E402
import byoc.tvm_ffi  # noqa: E402

FOLDER = Path(tempfile.mkdtemp())
# Written from the description of tvm/ffi/c_api.h: 16 bytes per argument, 7 for a DLTensor pointer.
KERNELS = """
#include <dlpack/dlpack.h>
#include <stdint.h>
typedef struct { int32_t type_index; uint32_t padding; void* pointer; } any;
int __tvm_ffi_halve(void* self, const any* arguments, int32_t count, any* result) {
  if (count != 2 || arguments[0].type_index != 7 || arguments[1].type_index != 7) return -1;
  const DLTensor *x = arguments[0].pointer, *y = arguments[1].pointer;
  if (x->ndim != 1 || x->dtype.code != kDLFloat || x->dtype.bits != 32) return -1;
  for (int64_t k = 0; k < x->shape[0]; ++k) ((float*)y->data)[k] = ((const float*)x->data)[k] / 2;
  return 0;
}
int __tvm_ffi_fails(void* self, const any* arguments, int32_t count, any* result) { return -1; }
"""
MODEL = """fn main(%x: f32[4]) {{
  %0 = relu(%x)
  %1 = call_dps_packed(@{name}, %0) : f32[4]
  return %1
}}
"""


def model(name):
    path = FOLDER / f"{name}.ir"
    path.write_text(MODEL.format(name=name))
    return byoc.compile(path, compiler="json")


class Externs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        (FOLDER / "kernels.c").write_text(KERNELS)
        cls.library = FOLDER / "libkernels.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.library, FOLDER / "kernels.c"], check=True)

    def test_a_kernel(self):
        program = model("halve")
        program.register("halve", byoc.tvm_ffi.extern(self.library, "halve"))
        np.testing.assert_array_equal(program(np.array([1, -2, 3, 8], np.float32)), [0.5, 0, 1.5, 4])

    def test_failures(self):
        program = model("fails")
        program.register("fails", byoc.tvm_ffi.extern(self.library, "fails"))
        with self.assertRaisesRegex(byoc.Error, "__tvm_ffi_fails returned -1"):
            program(np.zeros(4, np.float32))
        for library, name, slug in [(self.library, "missing", "no-symbol"), (FOLDER / "missing.so", "halve", "no-library")]:
            with self.assertRaises(byoc.Error) as caught:
                byoc.tvm_ffi.extern(library, name)
            self.assertEqual(caught.exception.slug, slug)


class Functions(unittest.TestCase):
    def test_a_program(self):
        path = FOLDER / "relu.ir"
        path.write_text("fn main(%x: f32[4]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        program = byoc.compile(path, compiler="json")
        try:
            import tvm_ffi
        except ImportError:
            with self.assertRaises(byoc.Error) as caught:
                byoc.tvm_ffi.function(program)
            self.assertEqual(caught.exception.slug, "no-package")
            return
        tvm_ffi.register_global_func("byoc_relu", byoc.tvm_ffi.function(program))
        found = tvm_ffi.get_global_func("byoc_relu")
        y = found(tvm_ffi.from_dlpack(np.array([1, -2, 3, -4], np.float32)))
        np.testing.assert_array_equal(np.from_dlpack(y), [1, 0, 3, 0])


if __name__ == "__main__":
    unittest.main()
