#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs by byoc_runtime: tensors in and out, sizes, threads, errors, memory.

    runtime_test.py SOURCE BUILD
"""
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

SOURCE, BUILD = Path(sys.argv.pop(1)).resolve(), Path(sys.argv.pop(1)).resolve()
os.environ["BYOC_PREFIX"] = str(BUILD)
sys.path.insert(0, str(SOURCE / "python"))

import byoc_runtime  # noqa: E402

DIGITS = SOURCE / "tests/models/digits"
FOLDER = Path(tempfile.mkdtemp())
try:
    import torch
except ImportError:
    torch = None


def compiled(text: str, *options: str) -> "byoc_runtime.Program":
    """Compiles a model that is written as text by the command."""
    model = FOLDER / "model.ir"
    model.write_text(text)
    artifact = FOLDER / "model.byoc"
    subprocess.run([BUILD / "bin/byoc", "compile", model, "-o", artifact, "--compiler", "json", *options], check=True,
                   capture_output=True)
    return byoc_runtime.load(artifact)


def digits(*options: str) -> Path:
    artifact = FOLDER / f"digits{len(options)}.byoc"
    if not artifact.exists():
        subprocess.run([BUILD / "bin/byoc", "compile", DIGITS / "model.onnx", "-o", artifact, *(options or ("--shape", "N=1"))],
                       check=True, capture_output=True)
    return artifact


class States(unittest.TestCase):
    """A state is the sum of the inputs so far."""

    TEXT = """module {
  fn main(%x: f32[4], %past: f32[4]) {output_names=["present","twice"]} {
    %two = const(2.0) : f32[]
    %0 = add(%past, %x)
    %1 = multiply(%0, %two)
    return %0, %1
  }
}
"""

    def setUp(self):
        self.program = compiled(self.TEXT, "--state", "past=present")
        self.x = np.array([1, 2, 3, 4], np.float32)

    def test_are_handed_on(self):
        first, second = self.program.bind(self.x), self.program.bind(self.x)
        self.assertEqual([(state.name, state.dtype, state.shape) for state in first.states], [("past", "float32", (4,))])
        for times in (1, 2, 3):
            np.testing.assert_array_equal(first(), 2 * times * self.x)
        np.testing.assert_array_equal(second(), 2 * self.x)
        np.testing.assert_array_equal(first.get_state("past"), 3 * self.x)
        np.testing.assert_array_equal(second.get_state("present"), self.x)

    def test_are_set_and_reset(self):
        bound = self.program.bind(self.x)
        bound.set_state("past", np.full(4, 10, np.float32))
        np.testing.assert_array_equal(bound(), 2 * (10 + self.x))
        bound.reset_states()
        np.testing.assert_array_equal(bound.get_state("past"), np.zeros(4, np.float32))

    def test_errors(self):
        bound = self.program.bind(self.x)
        for slug, call in (("unknown-state", lambda: bound.get_state("passt")),
                           ("state-shape", lambda: bound.set_state("past", np.zeros(5, np.float32))),
                           ("state-dtype", lambda: bound.set_state("past", np.zeros(4, np.int32))),
                           ("state-unbound", lambda: self.program(self.x))):
            with self.assertRaises(byoc_runtime.Error) as caught:
                call()
            self.assertEqual(caught.exception.slug, slug)
        with self.assertRaises(byoc_runtime.Error) as caught:
            compiled(self.TEXT).bind(self.x, self.x).reset_states()
        self.assertEqual(caught.exception.slug, "unknown-state")


class Entries(unittest.TestCase):
    """Two models in one file; each adds its inputs, times a factor, to the same state."""

    TEXT = """fn main(%x: f32[4], %past: f32[4]) {{output_names=["present","sum"]}} {{
  %factor = const({}) : f32[]
  %0 = multiply(%x, %factor)
  %1 = add(%past, %0)
  %2 = sum(%1) {{axes=[0], keepdims=false}}
  return %1, %2
}}
"""

    def setUp(self):
        files = []
        for name, factor in (("prefill", "10.0"), ("decode", "1.0")):
            compiled(self.TEXT.format(factor), "--state", "past=present")
            files.append(f"{name}={(FOLDER / 'model.byoc').rename(FOLDER / name)}")
        subprocess.run([BUILD / "bin/byoc", "join", *files, "-o", FOLDER / "both.byoc"], check=True, capture_output=True)
        self.program = byoc_runtime.load(FOLDER / "both.byoc")
        self.x = np.array([1, 2, 3, 4], np.float32)

    def test_share_states(self):
        self.assertEqual(self.program.entries, ["prefill", "decode"])
        prefill = self.program.entry("prefill").bind(self.x)
        decode = self.program.entry("decode").bind(self.x, states=prefill)
        self.assertEqual([float(prefill()), float(decode()), float(decode())], [100, 110, 120])
        np.testing.assert_array_equal(prefill.get_state("past"), 12 * self.x)

    def test_errors_name_them(self):
        for slug, call in (("artifact-entries", lambda: self.program.bind(self.x)),
                           ("artifact-entries", lambda: self.program.inputs),
                           ("unknown-entry", lambda: self.program.entry("encode"))):
            with self.assertRaises(byoc_runtime.Error) as caught:
                call()
            self.assertEqual(caught.exception.slug, slug)
            self.assertIn("prefill, decode", caught.exception.help)
        self.assertIn("prefill, decode", repr(self.program))


class Runs(unittest.TestCase):
    def setUp(self):
        self.program = byoc_runtime.load(digits())
        self.images = np.load(DIGITS / "images.npy").astype(np.float32)
        self.expected = np.load(DIGITS / "outputs.npy")

    def test_values(self):
        """The outputs are those that the exporter's framework computed."""
        for k in range(20):
            np.testing.assert_allclose(self.program(self.images[k:k + 1]), self.expected[k:k + 1], rtol=1e-4, atol=1e-5)

    def test_open_sizes(self):
        """One program takes every number of images within its bounds."""
        program = byoc_runtime.load(digits("--shape", "N=1..64", "--compiler", "json", "-O1"))
        for n in (1, 64, 7, 20, 1):
            np.testing.assert_allclose(program(self.images[:n]), self.expected[:n], rtol=1e-4, atol=1e-5)
        bound = program.bind(self.images[:5])
        np.testing.assert_allclose(bound(), self.expected[:5], rtol=1e-4, atol=1e-5)
        self.assertEqual(program.inputs[0].shape, (64, 1, 8, 8))
        with self.assertRaises(byoc_runtime.Error) as caught:
            program(self.images[:65])
        self.assertEqual(caught.exception.slug, "input-size")
        self.assertIn("--shape N=1..65", caught.exception.help)

    def test_errors_of_calls_have_a_cure(self):
        image = self.images[:1]
        for use, slug, help in ((lambda: self.program(image.astype(np.float64)), "input-dtype", "astype"),
                                (lambda: self.program(image > 0), "input-dtype", "astype"),
                                (lambda: self.program(image[0]), "input-shape", "image: float32[1, 1, 8, 8]"),
                                (lambda: self.program(), "input-count", "image"),
                                (lambda: self.program.run([image]), "usage", "program(x)"),
                                (lambda: self.program.bind(image.astype(np.int32))(), "input-dtype", "astype")):
            with self.assertRaises(byoc_runtime.Error) as caught:
                use()
            self.assertEqual(caught.exception.slug, slug)
            self.assertIn(help, caught.exception.help)
            self.assertEqual(str(caught.exception).split("\n  help: ")[1], caught.exception.help)
        with self.assertRaisesRegex(byoc_runtime.Error, r'"image" is bool\[1,1,8,8\], the model expects f32'):
            self.program(image > 0)

    def test_names_and_types(self):
        image, = self.program.inputs
        self.assertEqual((image.name, image.dtype, image.shape), ("image", "float32", (1, 1, 8, 8)))
        self.assertEqual(self.program.sizes, [""])
        self.assertIn("image: float32[1, 1, 8, 8]", repr(self.program))
        self.assertIn("<td>image</td>", self.program._repr_html_())

    def test_ways_to_pass_an_input(self):
        image = self.images[:1]
        wanted = self.program(image)
        wide = np.zeros((1, 1, 8, 16), np.float32)
        wide[..., ::2] = image
        frozen = image.copy()
        frozen.flags.writeable = False
        reversed_twice = np.ascontiguousarray(image[..., ::-1])[..., ::-1]
        for given in (wide[..., ::2], frozen, reversed_twice, image.tolist(), np.asfortranarray(image)):
            np.testing.assert_array_equal(self.program(given), wanted)
        np.testing.assert_array_equal(self.program(image=image), wanted)
        np.testing.assert_array_equal(self.program.run({"image": image})["probabilities"], wanted)

    def test_bytes_and_files(self):
        wanted = self.program(self.images[:1])
        data = digits().read_bytes()
        for source in (data, bytearray(data), str(digits())):
            np.testing.assert_array_equal(byoc_runtime.load(source)(self.images[:1]), wanted)
        copy = FOLDER / "copy.byoc"
        self.program.save(copy)
        self.assertEqual(copy.read_bytes(), data)

    def test_outputs_are_new_memory(self):
        first = self.program(self.images[:1])
        kept = first.copy()
        self.program(self.images[5:6])
        np.testing.assert_array_equal(first, kept)

    def test_bound(self):
        image = self.images[:1].copy()
        out = np.empty((1, 10), np.float32)
        bound = self.program.bind(image, outputs=out)
        self.assertIs(bound(), out)
        np.testing.assert_array_equal(out, self.program(image))
        image[...] = self.images[7:8]                      # read in place, again
        bound()
        np.testing.assert_array_equal(out, self.program(self.images[7:8]))
        empty = self.program.bind()
        empty.inputs[0][...] = self.images[3:4]
        np.testing.assert_array_equal(empty(), self.program(self.images[3:4]))

    def test_threads(self):
        wanted = [self.program(self.images[k:k + 1]) for k in range(16)]
        wrong = []

        def work():
            for _ in range(50):
                for k in range(16):
                    if not np.array_equal(self.program(self.images[k:k + 1]), wanted[k]):
                        wrong.append(k)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_bound_program_has_one_run_at_a_time(self):
        bound = self.program.bind(self.images[:1])
        bound._acquire()
        with self.assertRaises(byoc_runtime.Error) as caught:
            bound()
        bound._release()
        self.assertEqual(caught.exception.slug, "in-use")
        bound()


class Errors(unittest.TestCase):
    def setUp(self):
        self.program = byoc_runtime.load(digits())

    def error(self, function, *arguments, **named):
        with self.assertRaises(byoc_runtime.Error) as caught:
            function(*arguments, **named)
        return caught.exception

    def test_inputs(self):
        good = np.zeros((1, 1, 8, 8), np.float32)
        for slug, inputs, named in [
            ("input-dtype", [good.astype(np.float64)], {}), ("input-shape", [good[..., :7]], {}),
            ("input-count", [], {}), ("input-count", [good, good], {}), ("input-count", [], {"imagine": good}),
            ("input-count", [good], {"image": good}), ("input-type", ["text"], {}), ("input-type", [{}], {}),
            ("input-dtype", [good.astype(">f4")], {}), ("input-dtype", [good.astype(object)], {}),
        ]:
            with self.subTest(slug=slug, inputs=[type(value) for value in inputs], named=list(named)):
                self.assertEqual(self.error(self.program, *inputs, **named).slug, slug)
        unaligned = np.zeros(8 * 8 * 4 + 8 * 8, np.uint8)
        odd = np.lib.stride_tricks.as_strided(unaligned.view(np.uint8)[:4].view(np.float32), (1, 1, 8, 8), (0, 0, 0, 5))
        self.assertEqual(self.error(self.program, odd).slug, "input-data")

    def test_outputs(self):
        good = np.zeros((1, 1, 8, 8), np.float32)
        for slug, out in [("output-shape", np.empty((10,), np.float32)), ("output-dtype", np.empty((1, 10))),
                          ("output-count", [np.empty((1, 10), np.float32)] * 2)]:
            with self.subTest(slug=slug):
                self.assertEqual(self.error(lambda: self.program.bind(good, outputs=out)()).slug, slug)
        frozen = np.empty((1, 10), np.float32)
        frozen.flags.writeable = False
        self.assertEqual(self.error(self.program.bind, good, outputs=frozen).slug, "output-data")

    def test_files(self):
        error = self.error(byoc_runtime.load, FOLDER / "missing.byoc")
        self.assertEqual(error.code, "not-found")
        self.assertIn("missing.byoc", error.where + error.message)
        self.assertTrue(str(error))
        data = bytearray(digits().read_bytes())
        self.error(byoc_runtime.load, bytes(data[:100]))
        self.error(byoc_runtime.load, b"")
        self.error(byoc_runtime.load, digits(), plugin_options={"nonsense": 1})

    def test_the_command_has_the_same_text(self):
        done = subprocess.run([BUILD / "bin/byoc-run", FOLDER / "missing.byoc"], text=True, capture_output=True)
        self.assertIn(str(self.error(byoc_runtime.load, FOLDER / "missing.byoc")).splitlines()[0], done.stderr)


class Types(unittest.TestCase):
    def test_all(self):
        """Each type comes out as it went in."""
        for name, code in [("float32", "f32"), ("float64", "f64"), ("float16", "f16"), ("int8", "i8"), ("uint8", "u8"),
                           ("int16", "i16"), ("uint16", "u16"), ("int32", "i32"), ("uint32", "u32"), ("int64", "i64"),
                           ("uint64", "u64"), ("bool", "bool")]:
            with self.subTest(name):
                program = compiled(f"fn main(%x: {code}[2,3]) {{\n  %0 = transpose(%x) {{perm=[1,0]}}\n  return %0\n}}\n")
                self.assertEqual(program.inputs[0].dtype, name)
                x = (np.arange(6).reshape(2, 3) % 2).astype(name)
                y = program(x)
                self.assertEqual(y.dtype, np.dtype(name))
                np.testing.assert_array_equal(y, x.T)


@unittest.skipIf(torch is None, "torch is not installed")
class Torch(unittest.TestCase):
    def test_in_and_out(self):
        program = byoc_runtime.load(digits())
        x = torch.rand(1, 1, 8, 8)
        y = program(x)
        self.assertIsInstance(y, torch.Tensor)
        np.testing.assert_array_equal(y.numpy(), program(x.numpy()))
        np.testing.assert_array_equal(program(x.clone().requires_grad_()).numpy(), y.numpy())
        moved = x.permute(0, 1, 3, 2)
        np.testing.assert_array_equal(program(moved).numpy(), program(moved.contiguous().numpy()))

    def test_no_copies(self):
        """The tensors of torch are what the program reads and writes: its run sees the same addresses."""
        program = byoc_runtime.load(digits())
        x, y = torch.rand(1, 1, 8, 8), torch.zeros(1, 10)
        bound = program.bind(x, outputs=y)
        addresses = [byoc_runtime._c.DLTensor.from_address(at).data for at in (bound._arguments[1], bound._arguments[3])]
        self.assertEqual(addresses, [x.data_ptr(), y.data_ptr()])
        bound()
        np.testing.assert_array_equal(y.numpy(), program(x.numpy()))

    def test_bf16(self):
        program = compiled("fn main(%x: bf16[2,3]) {\n  %0 = transpose(%x) {perm=[1,0]}\n  return %0\n}\n")
        x = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
        self.assertTrue(torch.equal(program(x), x.T))


    def test_a_negated_view_is_refused(self):
        """Its memory has the other sign, which DLPack does not describe."""
        program = compiled("fn main(%x: f32[3]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        x = torch.complex(torch.zeros(3), torch.tensor([1.0, -2.0, 3.0])).conj().imag
        self.assertTrue(x.is_neg())
        for use in (program, program.bind):
            with self.assertRaises(byoc_runtime.Error) as caught:
                use(x)
            self.assertEqual(caught.exception.slug, "input-data")
            self.assertIn("resolve_neg", caught.exception.help)
        np.testing.assert_array_equal(program(x.resolve_neg()).numpy(), [0, 2, 0])

    def test_tensors_without_memory_are_refused(self):
        program = compiled("fn main(%x: f32[3], %y: f32[3]) {\n  %0 = add(%x, %y)\n  return %0\n}\n")
        single = compiled("fn main(%x: f32[3]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        for x in (torch.ones(3).to_sparse(), torch.ones(3, device="meta")):
            for use in (lambda: program(torch.ones(3), x), lambda: program(x, torch.ones(3)), lambda: single(x),
                        lambda: single.bind(x)):
                with self.assertRaises(byoc_runtime.Error) as caught:
                    use()
                self.assertEqual(caught.exception.slug, "input-data")
        np.testing.assert_array_equal(program(torch.ones(3), torch.ones(3)).numpy(), [2, 2, 2])


class Lent:
    """A tensor of a library with DLPack's functions of C, as torch has them from 2.10 on; it has no __dlpack__."""

    def __init__(self, array):
        self.array, self.shape, self.described = array, array.shape, 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
def describe(tensor, address):
    tensor.view = byoc_runtime._arrays.describe(tensor.array)
    tensor.described += 1
    ctypes.memmove(address, ctypes.addressof(tensor.view), byoc_runtime._arrays.SIZE)
    return 0


def exchange_capsule(table):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(table), b"dlpack_exchange_api", None)


class Exchange(unittest.TestCase):
    def test_functions_of_a_class(self):
        """They are used where there are some, of the version that byoc has."""
        table = byoc_runtime._arrays._ExchangeApi
        known = table(1, 3, None, None, None, None, ctypes.cast(describe, ctypes.c_void_p), None)
        newer = table(2, 0, ctypes.addressof(known), None, None, None, 1, None)
        one = compiled("fn main(%x: f32[2,3]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        two = compiled("fn main(%x: f32[2,3], %y: f32[2,3]) {\n  %0 = subtract(%x, %y)\n  return %0\n}\n")
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
        for first in (known, newer):
            kind = type("Kind", (Lent,), {"__dlpack_c_exchange_api__": exchange_capsule(first)})
            for array in (x, x.T.copy().T):
                tensor = kind(array)
                np.testing.assert_array_equal(one(tensor), np.maximum(x, 0))
                np.testing.assert_array_equal(two(tensor, x), x - x)
                np.testing.assert_array_equal(two(np.zeros_like(x), tensor), -x)
                self.assertEqual(tensor.described, 3)
        kind = type("Kind", (Lent,), {"__dlpack_c_exchange_api__": exchange_capsule(table(2, 0))})
        with self.assertRaises(byoc_runtime.Error) as caught:
            one(kind(x))
        self.assertEqual(caught.exception.slug, "input-type")

    def test_wrong_tensors(self):
        table = byoc_runtime._arrays._ExchangeApi(1, 3, None, None, None, None, ctypes.cast(describe, ctypes.c_void_p), None)
        kind = type("Kind", (Lent,), {"__dlpack_c_exchange_api__": exchange_capsule(table)})
        one = compiled("fn main(%x: f32[2,3]) {\n  %0 = relu(%x)\n  return %0\n}\n")
        for array, slug in ((np.zeros((3, 2), np.float32), "input-shape"), (np.zeros((2, 3)), "input-dtype")):
            with self.assertRaises(byoc_runtime.Error) as caught:
                one(kind(array))
            self.assertEqual(caught.exception.slug, slug)


class Sizes(unittest.TestCase):
    def test_the_size_is_that_of_the_inputs(self):
        program = byoc_runtime.load(digits("--shape", "N=1,4"))
        images = np.load(DIGITS / "images.npy").astype(np.float32)
        self.assertEqual(program.sizes, ["N=1", "N=4"])
        one, four = program(images[:1]), program(images[:4])
        self.assertEqual((one.shape, four.shape), ((1, 10), (4, 10)))
        np.testing.assert_allclose(one[0], four[0], rtol=1e-5)
        with self.assertRaises(byoc_runtime.Error) as caught:
            program(images[:2])
        self.assertEqual(caught.exception.slug, "no-such-size")
        self.assertIn("N=1, N=4", caught.exception.help)
        self.assertEqual(program.size("N=4")[0][0].shape, (4, 1, 8, 8))
        self.assertEqual(program.bind(size="N=4").inputs[0].shape, (4, 1, 8, 8))


    def test_an_exact_size_goes_before_a_range(self):
        """Numbers decide too: the program of open sizes is not taken for images of another height."""
        text = "fn main(%x: f32[N,3]) {\n  %0 = relu(%x)\n  return %0\n}\n"
        program = compiled(text, "--shape", "N=1..8", "--shape", "N=4")
        for n in (1, 4, 8):
            x = np.linspace(-1, 1, 3 * n, dtype=np.float32).reshape(n, 3)
            np.testing.assert_array_equal(program(x), np.maximum(x, 0))
        chosen = [program._chosen((np.zeros(shape, np.float32),), {})[0].is_open for shape in ((4, 3), (3, 3))]
        self.assertEqual(chosen, [False, True])
        for shape, slug in (((9, 3), "input-size"), ((4, 5), "input-shape")):
            with self.assertRaises(byoc_runtime.Error) as caught:
                program(np.zeros(shape, np.float32))
            self.assertEqual(caught.exception.slug, slug)


class Counted(unittest.TestCase):
    def test_outputs_have_the_extents_of_the_run(self):
        program = compiled("fn main(%x: f32[6]) {\n  %0 = nonzero(%x) {size=\"n\"}\n  return %0\n}\n")
        for x in ([0, 1, 0, 2, 3, 0], [0] * 6, [1] * 6):
            x = np.array(x, np.float32)
            np.testing.assert_array_equal(program(x), np.stack(np.nonzero(x)))
            np.testing.assert_array_equal(program.bind(x)(), np.stack(np.nonzero(x)))


class Externs(unittest.TestCase):
    def test_a_function_of_python(self):
        program = compiled("fn main(%x: f32[3]) {\n  %0 = call_dps_packed(@twice, %x) : f32[3]\n  return %0\n}\n")

        def twice(x, y):
            y[...] = 2 * x

        program.register("twice", twice)
        np.testing.assert_array_equal(program(np.array([1, 2, 3], np.float32)), [2, 4, 6])
        with self.assertRaises(byoc_runtime.Error):
            program.register("thrice", twice)


class Alignment(unittest.TestCase):
    """Large arrays of the package are read and written in place."""

    @staticmethod
    def offset(array):
        return array.__array_interface__["data"][0] % 64

    def test_empty(self):
        for shape, dtype in [((64, 65), np.float32), (4096, "float64"), ((3, 16384), np.int8), ([5, 7, 999], np.float16)]:
            for _ in range(20):
                array = byoc_runtime.empty(shape, dtype)
                wanted = np.empty(shape, dtype)
                self.assertEqual((array.shape, array.dtype, self.offset(array)), (wanted.shape, wanted.dtype, 0))
                self.assertTrue(array.flags.c_contiguous and array.flags.writeable)
        self.assertEqual(byoc_runtime.empty(()).shape, ())
        self.assertEqual(byoc_runtime.empty((0, 3)).shape, (0, 3))

    def test_own_arrays(self):
        program = compiled("fn main(%x: f32[64,129], %y: f32[64,129]) { %0 = add(%x, %y) return %0 }")
        bound = program.bind()
        for array in [*bound.inputs, *bound.outputs]:
            self.assertEqual(self.offset(array), 0)
        self.assertFalse(any(np.any(array) for array in bound.inputs))
        x, y = np.random.default_rng(0).standard_normal((2, 64, 129)).astype(np.float32)
        self.assertEqual(self.offset(program(x, y)), 0)
        bound.inputs[0][...], bound.inputs[1][...] = x, y
        np.testing.assert_array_equal(bound(), x + y)
        one = compiled("fn main(%x: f32[64,129]) { %0 = add(%x, %x) return %0 }")
        self.assertEqual(self.offset(one(x)), 0)
        np.testing.assert_array_equal(one(x), x + x)


class Memory(unittest.TestCase):
    def test_cycles(self):
        """10,000 cycles of loading, running and dropping leave the memory as it was."""
        data = digits().read_bytes()
        x = np.zeros((1, 1, 8, 8), np.float32)

        def resident():
            status = Path("/proc/self/status").read_text()
            return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])

        def cycle(count):
            for _ in range(count):
                byoc_runtime.load(data)(x)
            gc.collect()

        cycle(200)
        before = resident()
        cycle(int(os.environ.get("BYOC_TEST_CYCLES", "1000")))
        grown = resident() - before
        self.assertLess(grown, 2048, f"{grown} KiB")


if __name__ == "__main__":
    unittest.main(verbosity=1)
