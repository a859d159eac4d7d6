// SPDX-License-Identifier: Apache-2.0
// Loops that are replaced by a micro-kernel: when it matches, when it does not, and its results.
// Inputs are small integers, so sums are exact in any order.
#include "intrins.h"
#include "run.h"
#include "text.h"

namespace byoc::te {
namespace {

std::vector<float> counting(int64_t n) {
  std::vector<float> out;
  for (int64_t k = 0; k < n; ++k) out.push_back(static_cast<float>(k % 7 - 3));
  return out;
}

// Computes relu(x w + bias) with plain loops.
std::vector<float> expected(int64_t m, int64_t k, int64_t n) {
  const auto x = counting(m * k), w = counting(k * n), bias = counting(n);
  std::vector<float> out;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = bias[static_cast<size_t>(j)];
      for (int64_t r = 0; r < k; ++r)
        sum += x[static_cast<size_t>(i * k + r)] * w[static_cast<size_t>(r * n + j)];
      out.push_back(std::max(sum, 0.0f));
    }
  }
  return out;
}

std::vector<float> result_of(const Schedule& s, int64_t m, int64_t k, int64_t n) {
  return run<float>(s, {counting(m * k), counting(k * n), counting(n)});
}

// Schedules tiles of 4 x 8 sums. One call per tile computes the whole reduction.
void schedule_tiles(Schedule& s) {
  BYOC_APPLY(s.tile("matmul", "i0", "i1", 4, 8));
  BYOC_APPLY(s.tensorize("matmul", "i0.i", tile_4x8()));
}

TEST(Tensorize, PutsACallInThePlaceOfTheLoops) {
  Schedule s(matmul_bias_relu(8, 5, 16));
  ASSERT_NO_FATAL_FAILURE(schedule_tiles(s));
  EXPECT_EQ(
      text_of(s).substr(0, text_of(s).find("  workspace add")),
      R"(loops matmul_bias_relu(x: f32[8, 5], w: f32[5, 16], bias: f32[16]) -> (relu: f32[8, 16]) {
  kernel tile_4x8: (a: f32[4, k], b: f32[k, 8]) -> (c: f32[4, 8]) strides [any, any], [any, 1], [any, 1] {
    for i0 < 4, i1 < 8 over r0 < k: (a[i0, r0] * b[r0, i1])
    combine (lhs, rhs) to (lhs + rhs) from 0.0
  }
  workspace matmul: f32[8, 16]
  for i0.o in 0..2 {
    for i1.o in 0..2 {
      for i0.i in 0..4 {
        for i1.i in 0..8 {
          matmul[((i0.o * 4) + i0.i), ((i1.o * 8) + i1.i)] = 0.0
        }
      }
      tile_4x8(&x[(i0.o * 4), 0], &w[0, (i1.o * 8)], &matmul[(i0.o * 4), (i1.o * 8)], 4, 8, 5, 5, 1, 16, 1, 16, 1)
    }
  }
)");
  EXPECT_EQ(result_of(s, 8, 5, 16), expected(8, 5, 16));
}

TEST(Tensorize, LeavesRestsAsLoops) {
  Schedule s(matmul_bias_relu(10, 5, 19));
  ASSERT_NO_FATAL_FAILURE(schedule_tiles(s));
  EXPECT_EQ(count(text_of(s), "tile_4x8("), 1u);
  EXPECT_EQ(count(text_of(s), "(x["), 3u);  // rows, columns and corner
  EXPECT_EQ(result_of(s, 10, 5, 19), expected(10, 5, 19));
}

TEST(Tensorize, WorksInTheMemoryOfATile) {
  Schedule s(matmul_bias_relu(8, 12, 16));
  BYOC_APPLY(s.compute_inline("add"));
  BYOC_APPLY(s.tile("relu", "i0", "i1", 4, 8));
  BYOC_APPLY(s.compute_at("matmul", "relu", "i1.o"));
  BYOC_APPLY(s.split("matmul", "r0", 4));
  BYOC_APPLY(s.reorder("matmul", {"r0.o", "i0", "i1", "r0.i"}));
  BYOC_APPLY(s.tensorize("matmul", "i0", tile_4x8()));
  BYOC_APPLY(s.parallel("relu", "i0.o"));
  const std::string text = text_of(s);
  EXPECT_NE(text.find("tile_4x8(&x[(i0.o * 4), (r0.o * 4)], &w[(r0.o * 4), (i1.o * 8)], "
                      "&matmul[0, 0], 4, 8, 4, 12, 1, 16, 1, 8, 1)"),
            text.npos)
      << text;
  EXPECT_EQ(result_of(s, 8, 12, 16), expected(8, 12, 16));
}

TEST(Tensorize, FindsTheOrderOfTheAxes) {
  Schedule s(matmul_bias_relu(8, 5, 16));
  BYOC_APPLY(s.tile("matmul", "i1", "i0", 8, 4));  // columns outside of rows
  BYOC_APPLY(s.reorder("matmul", {"r0", "i1.i", "i0.i"}));
  BYOC_APPLY(s.tensorize("matmul", "r0", tile_4x8()));
  EXPECT_EQ(count(text_of(s), "tile_4x8("), 1u);
  EXPECT_EQ(result_of(s, 8, 5, 16), expected(8, 5, 16));
}

TEST(Tensorize, TakesFactorsInEitherOrder) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {3, 9}), w = b.placeholder("w", DType::kF32, {9});
  Tensor y = b.reduce("y", {3}, {9}, sum_of(DType::kF32), [&](const Indices& i, const Indices& r) {
    return w(8 - r[0]) * x(i[0], r[0]);
  });
  Schedule s(b.finish("f", {x, w}, {y}));
  BYOC_APPLY(s.tensorize("y", "r0", dot()));
  EXPECT_NE(text_of(s).find("dot(&w[8], &x[i0, 0], &y[i0], 9, -1, 1)"), std::string::npos)
      << text_of(s);
  const auto rows = counting(27), factors = counting(9);
  std::vector<float> sums(3);
  for (size_t k = 0; k < 27; ++k) sums[k / 9] += rows[k] * factors[8 - k % 9];
  EXPECT_EQ(run<float>(s, {rows, factors}), sums);
}

TEST(Tensorize, OfStagesThatReduceNothing) {
  Schedule s(matmul_bias_relu(4, 3, 6));
  BYOC_APPLY(s.split("relu", "i1", 3));
  BYOC_APPLY(s.tensorize("relu", "i1.i", clamp()));
  EXPECT_NE(text_of(s).find("clamp(&add[i0'2, (i1.o * 3)], &relu[i0'2, (i1.o * 3)], 3, 1, 1)"),
            std::string::npos)
      << text_of(s);
  EXPECT_EQ(result_of(s, 4, 3, 6), expected(4, 3, 6));
}

TEST(Tensorize, ReplaysByTheNamesOfMicroKernels) {
  Schedule s(matmul_bias_relu(8, 5, 16));
  ASSERT_NO_FATAL_FAILURE(schedule_tiles(s));
  EXPECT_EQ(print(s.trace()), "tile(matmul, i0, i1, 4, 8); tensorize(matmul, i0.i, tile_4x8)");
  Result<Trace> trace = parse_trace(print(s.trace()));
  ASSERT_TRUE(trace.ok());
  const TensorIntrin known[] = {dot(), tile_4x8()};
  Result<Schedule> again = replay(matmul_bias_relu(8, 5, 16), *trace, known);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(text_of(*again), text_of(s));
  EXPECT_EQ(replay(matmul_bias_relu(8, 5, 16), *trace, std::span(known, 1)).status().message(),
            "tensorize(matmul, i0.i, tile_4x8): no micro-kernel of that name is given");
}

TEST(Tensorize, IsDroppedWhereLaterPrimitivesMoveWhatItReads) {
  Schedule s(matmul_bias_relu(8, 5, 16));
  ASSERT_NO_FATAL_FAILURE(schedule_tiles(s));
  BYOC_APPLY(s.cache_read("w", "matmul"));
  BYOC_APPLY(s.compute_at("w.cache", "matmul", "i1.o"));
  EXPECT_EQ(count(text_of(s), "tile_4x8("), 1u) << "a copy of w is dense, too";
  EXPECT_EQ(result_of(s, 8, 5, 16), expected(8, 5, 16));
}

class TensorizeRefusal : public testing::Test {
 protected:
  Schedule s{matmul_bias_relu(8, 6, 16)};
  void refuses(const Status& status, const std::string& message) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), message);
  }
  void TearDown() override {
    const TensorIntrin known[] = {tile_4x8(), tile_of_any(), dot(), clamp()};
    Result<Schedule> again = replay(matmul_bias_relu(8, 6, 16), s.trace(), known);
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_EQ(text_of(*again), text_of(s));
  }
};

TEST_F(TensorizeRefusal, OfLoopsThatComputeSomethingElse) {
  refuses(
      s.tensorize("matmul", "r0", greatest()),
      "tensorize(matmul, r0, greatest): it computes (matmul[i0, i1] + (x[i0, r0] * w[r0, i1])), "
      "and greatest computes max(c[], a[r0])");
  refuses(s.tensorize("add", "i1", clamp()),
          "tensorize(add, i1, clamp): it computes (matmul[i0, i1] + bias[i1]), and clamp computes "
          "max(a[i0], 0.0)");
}

TEST_F(TensorizeRefusal, OfOtherNumbersOfLoopsAndExtents) {
  refuses(s.tensorize("matmul", "i1", tile_4x8()),
          "tensorize(matmul, i1, tile_4x8): tile_4x8 needs 3 loops, found 2");
  refuses(s.tensorize("matmul", "i0", tile_4x8()),
          "tensorize(matmul, i0, tile_4x8): no order of its loops has the extents of tile_4x8: i0 "
          "runs 8 times, i0 4 times");
}

TEST_F(TensorizeRefusal, OfStridesThatTheKernelCannotDo) {
  const TensorIntrin square = multiply_tile("square", 8, 8, Var("k"), true);
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {8, 5}), w = b.placeholder("w", DType::kF32, {8, 5});
  Tensor y =
      b.reduce("y", {8, 8}, {5}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  Schedule transposed(b.finish("f", {x, w}, {y}));
  refuses(transposed.tensorize("y", "i0", square),
          "tensorize(y, i0, square): w moves by 5 elements along i1, and square needs steps of 1");
}

TEST_F(TensorizeRefusal, OfPlacesThatAreNoMultiplesOfTheLoops) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {9});
  Tensor y =
      b.compute("y", {9}, [&](const Indices& i) { return max(x(floor_mod(i[0] * 2, 9)), f32(0)); });
  Schedule other(b.finish("f", {x}, {y}));
  refuses(other.tensorize("y", "i0", clamp()),
          "tensorize(y, i0, clamp): the place of x is no sum of multiples of the loops");
}

TEST_F(TensorizeRefusal, OfLoopsThatHoldMore) {
  ASSERT_TRUE(s.compute_at("matmul", "add", "i1").ok());
  refuses(s.tensorize("add", "i0", clamp()), "tensorize(add, i0, clamp): matmul is computed at i1");
  ASSERT_TRUE(s.vectorize("relu", "i1").ok());
  refuses(s.tensorize("relu", "i0", clamp()),
          "tensorize(relu, i0, clamp): i1 is vectorized already");
  Schedule guarded(matmul_bias_relu(7, 3, 5));
  ASSERT_TRUE(guarded.split("relu", "i1", 2).ok());
  ASSERT_TRUE(guarded.reorder("relu", {"i1.i", "i1.o"}).ok());
  refuses(guarded.tensorize("relu", "i1.o", clamp()),
          "tensorize(relu, i1.o, clamp): a condition is inside its loops");
}

TEST_F(TensorizeRefusal, OfWhateverWouldChangeItsLoops) {
  ASSERT_TRUE(s.tile("matmul", "i0", "i1", 4, 8).ok());
  ASSERT_TRUE(s.tensorize("matmul", "i0.i", tile_4x8()).ok());
  refuses(s.split("matmul", "i1.i", 2), "split(matmul, i1.i, 2): i1.i is tensorized already");
  refuses(s.unroll("matmul", "r0"), "unroll(matmul, r0): r0 is tensorized already");
  refuses(s.reorder("matmul", {"i0.i", "i1.o"}),
          "reorder(matmul, i0.i, i1.o): i0.i is tensorized already");
  refuses(s.tensorize("matmul", "r0", dot()),
          "tensorize(matmul, r0, dot): r0 is tensorized already");
  refuses(s.rfactor("matmul", "r0"), "rfactor(matmul, r0): r0 is tensorized already");
  ASSERT_TRUE(s.tensorize("relu", "i1", clamp()).ok());
  refuses(s.compute_inline("add"), "compute_inline(add): relu, which reads it, is tensorized");
  refuses(s.compute_at("add", "relu", "i1"), "compute_at(add, relu, i1): i1 is tensorized already");
}

TEST_F(TensorizeRefusal, OfDeclarationsThatSayNothing) {
  Builder b;
  Var n("n");
  Tensor a = b.placeholder("a", DType::kF32, {n});
  Tensor c = b.compute("c", {n}, [&](const Indices& i) { return a(i[0] + 1); });
  refuses(s.tensorize("relu", "i1", {"shift", b.finish("f", {a}, {c}), {}}),
          "tensorize(relu, i1, shift): micro-kernel shift is declared wrongly: a tensor is read at "
          "two places, or an axis is used other than as an index");
  TensorIntrin short_one = clamp();
  short_one.strides = {{1}};
  refuses(s.tensorize("relu", "i1", short_one),
          "tensorize(relu, i1, clamp): micro-kernel clamp is declared wrongly: its strides are not "
          "one per place and dimension");
}

TEST(EvaluateIntrinsic, StaysInsideItsTensors) {
  Schedule s(matmul_bias_relu(4, 3, 8));
  BYOC_APPLY(s.tensorize("relu", "i1", clamp()));
  LoopFunction loops = *lower(s);
  Tensor x("x", DType::kF32, {4}), y("y", DType::kF32, {4});
  auto declaration = std::make_shared<const TensorIntrin>(clamp());
  LoopFunction bad{
      "bad", {x}, {y}, make_intrinsic("clamp", {{x, {1}}, {y, {0}}}, {4, 1, 1}, declaration)};
  std::vector<float> from(4), to(4);
  const void* in[] = {from.data()};
  void* out[] = {to.data()};
  Status status = evaluate(bad, in, out);
  EXPECT_EQ(status.code(), Code::kOutOfRange);
  EXPECT_EQ(status.message(), "element 4 of x, which has 4");
}

}  // namespace
}  // namespace byoc::te
