// SPDX-License-Identifier: Apache-2.0
// Plain primitives produce micro-kernels with accumulators on the stack and without conditions.
#include "dags.h"
#include "run.h"
#include "text.h"

namespace byoc::te {
namespace {

// Schedules tiles of 6 rows x 2 vectors of 8. The epilogue reads the accumulators.
void schedule_tile(Schedule& s) {
  BYOC_APPLY(s.compute_inline("add"));
  BYOC_APPLY(s.tile("relu", "i0", "i1", 6, 16));
  BYOC_APPLY(s.split("relu", "i1.i", 8));
  BYOC_APPLY(s.unroll("relu", "i0.i"));
  BYOC_APPLY(s.unroll("relu", "i1.i.o"));
  BYOC_APPLY(s.vectorize("relu", "i1.i.i"));
  BYOC_APPLY(s.compute_at("matmul", "relu", "i1.o"));
  BYOC_APPLY(s.split("matmul", "i1", 8));
  BYOC_APPLY(s.reorder("matmul", {"r0", "i0", "i1.o", "i1.i"}));
  BYOC_APPLY(s.unroll("matmul", "i0"));
  BYOC_APPLY(s.unroll("matmul", "i1.o"));
  BYOC_APPLY(s.vectorize("matmul", "i1.i"));
  BYOC_APPLY(s.parallel("relu", "i0.o"));
}

TEST(MicroKernel, OfAMatrixProductHasItsEpilogueInRegisters) {
  Schedule s(matmul_bias_relu(12, 64, 32));
  ASSERT_NO_FATAL_FAILURE(schedule_tile(s));
  EXPECT_EQ(
      text_of(s),
      R"(loops matmul_bias_relu(x: f32[12, 64], w: f32[64, 32], bias: f32[32]) -> (relu: f32[12, 32]) {
  parallel i0.o in 0..2 {
    for i1.o in 0..2 {
      stack matmul: f32[6, 16]
      unrolled i0 in 0..6 {
        unrolled i1.o'1 in 0..2 {
          vectorized i1.i in 0..8 {
            matmul[i0, ((i1.o'1 * 8) + i1.i)] = 0.0
          }
        }
      }
      for r0 in 0..64 {
        unrolled i0'1 in 0..6 {
          unrolled i1.o'2 in 0..2 {
            vectorized i1.i'1 in 0..8 {
              matmul[i0'1, ((i1.o'2 * 8) + i1.i'1)] = (matmul[i0'1, ((i1.o'2 * 8) + i1.i'1)] + (x[((i0.o * 6) + i0'1), r0] * w[r0, (((i1.o * 16) + (i1.o'2 * 8)) + i1.i'1)]))
            }
          }
        }
      }
      unrolled i0.i in 0..6 {
        unrolled i1.i.o in 0..2 {
          vectorized i1.i.i in 0..8 {
            relu[((i0.o * 6) + i0.i), (((i1.o * 16) + (i1.i.o * 8)) + i1.i.i)] = max((matmul[i0.i, ((i1.i.o * 8) + i1.i.i)] + bias[(((i1.o * 16) + (i1.i.o * 8)) + i1.i.i)]), 0.0)
          }
        }
      }
    }
  }
}
)");
}

// 14 = 2 x 6 + 2 rows and 20 = 16 + 4 columns, so there are four kernels. The rows are shared by
// threads, also the last ones.
TEST(MicroKernel, PartsWhatIsLeftOverInsteadOfGuardingIt) {
  Schedule s(matmul_bias_relu(14, 3, 20));
  ASSERT_NO_FATAL_FAILURE(schedule_tile(s));
  const std::string text = text_of(s);
  for (const char* kernel :
       {"matmul: f32[6, 16]", "matmul'1: f32[6, 4]", "matmul'2: f32[2, 16]", "matmul'3: f32[2, 4]"})
    EXPECT_EQ(count(text, kernel), 1u) << kernel;
  EXPECT_EQ(count(text, "parallel i0.o in 0..3 {\n    if (i0.o < 2) {"), 1u) << text;
  EXPECT_EQ(count(text, "if "), 1u) << text;
  EXPECT_EQ(count(text, "select"), 0u) << text;
}

// When the outer loops are fused into a parallel loop, the conditions for remainders are outside of
// the kernels, one per kernel.
TEST(MicroKernel, AsksOutsideOfItWhichKernelIsDueWhenOuterLoopsAreFused) {
  Schedule s(matmul_bias_relu(14, 3, 20));
  BYOC_APPLY(s.compute_inline("add"));
  BYOC_APPLY(s.tile("relu", "i0", "i1", 6, 16));
  BYOC_APPLY(s.fuse("relu", "i0.o", "i1.o"));
  BYOC_APPLY(s.parallel("relu", "i0.o.i1.o"));
  BYOC_APPLY(s.vectorize("relu", "i1.i"));
  const std::string text = text_of(s);
  EXPECT_EQ(count(text, "parallel i0.o.i1.o in 0..6"), 1u) << text;
  EXPECT_EQ(count(text, "if (floor_div(i0.o.i1.o, 2) < 2) {"), 1u) << text;
  EXPECT_EQ(count(text, "vectorized"), 4u) << text;
  EXPECT_EQ(count(text, "if "), 3u) << text;  // rows, and columns for both
}

// The copy of a cached stage is the last loop nest of the tile, so accumulators are stored once.
TEST(MicroKernel, CopiesCachedResultsBehindTheReduction) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4, 3}), w = b.placeholder("w", DType::kF32, {3, 8});
  Tensor y =
      b.reduce("y", {4, 8}, {3}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(r[0], i[1]); });
  Schedule s(b.finish("f", {x, w}, {y}));
  BYOC_APPLY(s.cache_write("y"));
  BYOC_APPLY(s.vectorize("y", "i1"));
  BYOC_APPLY(s.compute_at("y.cache", "y", "i0"));
  BYOC_APPLY(s.reorder("y.cache", {"r0", "i1"}));
  BYOC_APPLY(s.vectorize("y.cache", "i1"));
  EXPECT_EQ(text_of(s), R"(loops f(x: f32[4, 3], w: f32[3, 8]) -> (y: f32[4, 8]) {
  for i0 in 0..4 {
    stack y.cache: f32[1, 8]
    vectorized i1 in 0..8 {
      y.cache[0, i1] = 0.0
    }
    for r0 in 0..3 {
      vectorized i1'1 in 0..8 {
        y.cache[0, i1'1] = (y.cache[0, i1'1] + (x[i0, r0] * w[r0, i1'1]))
      }
    }
    vectorized i1'2 in 0..8 {
      y[i0, i1'2] = y.cache[0, i1'2]
    }
  }
}
)");
}

// The reduction is split into blocks of k, so that the operands of a block stay in the caches. The
// sums of a tile are in registers during one block.
TEST(MicroKernel, AddsUpBlocksOfTheReduction) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {8, 12}),
         w = b.placeholder("w", DType::kF32, {12, 16});
  Tensor y =
      b.reduce("y", {8, 16}, {12}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(r[0], i[1]); });
  Schedule s(b.finish("f", {x, w}, {y}));
  BYOC_APPLY(s.split("y", "r0", 6));
  BYOC_APPLY(s.rfactor("y", "r0.o"));
  BYOC_APPLY(s.tile("y", "i0", "i1", 4, 8));
  BYOC_APPLY(s.reorder("y", {"r0.o", "i0.o", "i1.o", "i0.i", "i1.i"}));
  BYOC_APPLY(s.vectorize("y", "i1.i"));
  BYOC_APPLY(s.compute_at("y.partial", "y", "i1.o"));
  BYOC_APPLY(s.reorder("y.partial", {"r0.i", "i0", "i1", "r0.o"}));
  EXPECT_EQ(text_of(s), R"(loops f(x: f32[8, 12], w: f32[12, 16]) -> (y: f32[8, 16]) {
  for i0.o in 0..2 {
    for i1.o in 0..2 {
      for i0.i in 0..4 {
        vectorized i1.i in 0..8 {
          y[((i0.o * 4) + i0.i), ((i1.o * 8) + i1.i)] = 0.0
        }
      }
    }
  }
  for r0.o in 0..2 {
    for i0.o'1 in 0..2 {
      for i1.o'1 in 0..2 {
        stack y.partial: f32[4, 8, 1]
        for i0 in 0..4 {
          for i1 in 0..8 {
            y.partial[i0, i1, 0] = 0.0
          }
        }
        for r0.i in 0..6 {
          for i0'1 in 0..4 {
            for i1'1 in 0..8 {
              y.partial[i0'1, i1'1, 0] = (y.partial[i0'1, i1'1, 0] + (x[((i0.o'1 * 4) + i0'1), ((r0.o * 6) + r0.i)] * w[((r0.o * 6) + r0.i), ((i1.o'1 * 8) + i1'1)]))
            }
          }
        }
        for i0.i'1 in 0..4 {
          vectorized i1.i'1 in 0..8 {
            y[((i0.o'1 * 4) + i0.i'1), ((i1.o'1 * 8) + i1.i'1)] = (y[((i0.o'1 * 4) + i0.i'1), ((i1.o'1 * 8) + i1.i'1)] + y.partial[i0.i'1, i1.i'1, 0])
          }
        }
      }
    }
  }
}
)");
}

}  // namespace
}  // namespace byoc::te
