#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of assembly.py on loops that are written down."""
import unittest

from assembly import kernels_of

X86 = """# function f, by llvm
\t.text
f.body:
\tvfmadd231ps\t(%rdi), %ymm0, %ymm1
.LBB0_1:
\tvmovups\t(%rsi,%rax,4), %ymm2
\tvfmadd231ps\t(%rdi,%rax,4), %ymm2, %ymm0
\tvfmadd213ps\t%ymm3, %ymm2, %ymm1
\tvmovups\t%ymm1, -32(%rsp)  # 32-byte Spill
\tleaq\t8(%rax), %rax
\tcmpq\t%rcx, %rax
\tjne\t.LBB0_1
.LBB0_2:
\tvaddps\t%ymm0, %ymm1, %ymm1
.LBB0_3:
\tvfmadd231ps\t%ymm0, %ymm2, %ymm1
\tjne\t.LBB0_2
\tretq
# function g, by llvm
.LBB1_1:
\tvaddps\t(%rsi), %ymm1, %ymm1
\tjne\t.LBB1_1
"""

ARM = """# function f, by llvm
.LBB0_1:
\tldr\tq1, [x8], #16
\tldr\tq2, [sp, #32]                  // 16-byte Folded Reload
\tfmla\tv0.4s, v1.4s, v2.s[0]
\tsubs\tx9, x9, #1
\tb.ne\t.LBB0_1
\tret
# function g, by llvm
.LBB1_1:
\tfmadd\ts0, s1, s2, s0
\tcbnz\tx9, .LBB1_1
"""


class InnerLoops(unittest.TestCase):
    def test_counts_the_loop_with_the_most_multiply_adds(self):
        kernels = kernels_of(X86)
        self.assertEqual(list(kernels), ["f"])  # g multiplies nothing
        self.assertEqual(kernels["f"].text(), "2/2/1")  # the block outside of the loop is not counted

    def test_reads_the_assembly_of_aarch64(self):
        kernels = kernels_of(ARM)
        self.assertEqual({name: loop.text() for name, loop in kernels.items()}, {"f": "1/1/1", "g": "1/0/0"})


unittest.main()
