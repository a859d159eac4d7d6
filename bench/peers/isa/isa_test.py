# SPDX-License-Identifier: Apache-2.0
"""Tests of isa.py and mask_cpuid.c: what a library sees of the processor. The argument is the build folder."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import isa  # noqa: E402

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[3] / "build"
PROBE = BUILD / "lib" / "libcpuid_probe.so"
SHOW = f"""import ctypes
probe = ctypes.CDLL({str(PROBE)!r})
number = lambda value: value & 0xffffffff
print(*(number(probe.probe_at_start(k)) for k in range(4)), *(number(probe.probe_now(0, k)) for k in range(4)),
      *(number(probe.probe_now(1, k)) for k in range(4)), number(probe.probe_bytes(0)))"""
AVX2, AVX512 = 1 << 5, 1 << 16 | 1 << 17 | 1 << 21 | 1 << 28 | 1 << 30 | 1 << 31  # of ebx: f, dq, ifma, cd, bw, vl
VNNI512 = 1 << 11  # of ecx
AVX_VNNI, BF16_512 = 1 << 4, 1 << 5  # of eax of subleaf 1


def run(environment):
    return subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True,
                          env={**os.environ, **environment})


class Mask(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.sites = isa.sites_of([PROBE], Path(folder.name))
        self.native = list(map(int, run({}).stdout.split()))

    def run_as(self, name, **more):
        return run({"LD_AUDIT": str(BUILD / isa.LIBRARY), "MASK_CPUID_SITES": str(self.sites),
                    "MASK_CPUID_ISA": name, **more})

    def seen(self, name):
        done = self.run_as(name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(map(int, done.stdout.split()))

    def test_only_instructions_are_replaced(self):
        self.assertGreaterEqual(PROBE.read_bytes().count(b"\x0f\xa2"), len(self.sites.read_text().splitlines()) + 1)
        self.assertEqual(self.seen("avx2")[12], 0x5a20f00)

    def test_avx512_is_gone_in_constructors_and_later_and_avx2_stays(self):
        for name in ("avx2", "avx2_vnni"):
            seen = self.seen(name)
            self.assertEqual(seen[0:4], seen[4:8])
            self.assertEqual(seen[5], self.native[5] & ~AVX512 & ~(1 << 26 | 1 << 27))
            self.assertEqual(seen[5] & AVX2, self.native[5] & AVX2)
            self.assertEqual(seen[6] & VNNI512, 0)
            self.assertEqual(seen[8] & BF16_512, 0)

    def test_vnni_of_256_bits_is_kept_where_it_is_named(self):
        self.assertEqual(self.seen("avx2")[8] & AVX_VNNI, 0)
        self.assertEqual(self.seen("avx2_vnni")[8] & AVX_VNNI, self.native[8] & AVX_VNNI)

    def test_what_was_seen_is_printed(self):
        self.assertEqual(self.run_as("avx2", MASK_CPUID_LOG="1").stderr.count("mask_cpuid: 7."), 1 + 4 + 4)

    def test_an_unknown_set_ends_the_process(self):
        done = self.run_as("sse9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("must be avx2 or avx2_vnni, got: sse9", done.stderr)

    def test_a_list_of_another_library_ends_the_process(self):
        self.sites.write_text(f"10 {PROBE}\n")
        done = self.run_as("avx2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the list of instructions is of another version", done.stderr)

    def test_other_illegal_instructions_end_a_program(self):
        code = "import ctypes, mmap; m = mmap.mmap(-1, 4096, prot=7); m.write(b'\\x0f\\x0b'); " \
               "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env={
            **os.environ, "LD_AUDIT": str(BUILD / isa.LIBRARY), "MASK_CPUID_SITES": str(self.sites),
            "MASK_CPUID_ISA": "avx2"})
        self.assertEqual(done.returncode, -4)


class Environments(unittest.TestCase):
    def test_native_changes_nothing(self):
        self.assertEqual(isa.environment_of_peer("native", sys.executable, "onnxruntime", BUILD), {})
        self.assertEqual(isa.environment_of_onednn("native"), {})

    def test_pytorch_and_onednn_have_variables(self):
        seen = isa.environment_of_peer("avx2", sys.executable, "pytorch", BUILD)
        self.assertEqual(seen["ATEN_CPU_CAPABILITY"], "avx2")
        self.assertEqual(seen["ONEDNN_MAX_CPU_ISA"], "AVX2")

    def test_a_missing_library_is_named(self):
        with self.assertRaisesRegex(isa.CannotMask, "target mask_cpuid"):
            isa.environment_of_peer("avx2", sys.executable, "openvino", "/nowhere")

    def test_a_file_that_is_no_library_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "broken.so"
            broken.write_text("not a library")
            with self.assertRaisesRegex(isa.CannotMask, "objdump cannot read .*broken.so"):
                isa.sites_of([broken], Path(folder) / "cache")


if __name__ == "__main__":
    unittest.main()
