// SPDX-License-Identifier: Apache-2.0
// The generic schedule: every stage has its own loops.
#include <cmath>

#include "run.h"

namespace byoc::te {
namespace {

using Floats = std::vector<float>;

TEST(Lower, ComputesAChainOfStages) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4});
  Tensor y = b.compute("y", {4}, [&](const Indices& i) { return x(i) + constant(DType::kF32, 1); });
  Tensor z = b.compute("z", {4}, [&](const Indices& i) { return y(i) * y(i); });
  EXPECT_EQ(run<float>(Schedule(b.finish("f", {x}, {z})), {{0, 1, 2, -3}}), (Floats{1, 4, 9, 4}));
}

TEST(Lower, GivesIntermediatesWorkspaceAndResultsNone) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4});
  Tensor y = b.compute("y", {4}, [&](const Indices& i) { return -x(i); });
  Tensor z = b.compute("z", {4}, [&](const Indices& i) { return -y(i); });
  Result<LoopFunction> loops = lower(Schedule(b.finish("f", {x}, {z})));
  ASSERT_TRUE(loops.ok());
  EXPECT_EQ(print(*loops),
            "loops f(x: f32[4]) -> (z: f32[4]) {\n"
            "  workspace y: f32[4]\n"
            "  for i0 in 0..4 {\n"
            "    y[i0] = -(x[i0])\n"
            "  }\n"
            "  for i0'1 in 0..4 {\n"
            "    z[i0'1] = -(y[i0'1])\n"
            "  }\n"
            "}\n");
}

// [[1, 2], [3, 4]] x [[5, 6], [7, 8]] = [[19, 22], [43, 50]]
TEST(Lower, InitialisesAndAccumulatesReductions) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {2, 2}), w = b.placeholder("w", DType::kF32, {2, 2});
  Tensor y =
      b.reduce("y", {2, 2}, {2}, sum_of(DType::kF32),
               [&](const Indices& i, const Indices& r) { return x(i[0], r[0]) * w(r[0], i[1]); });
  EXPECT_EQ(run<float>(Schedule(b.finish("f", {x, w}, {y})), {{1, 2, 3, 4}, {5, 6, 7, 8}}),
            (Floats{19, 22, 43, 50}));
}

TEST(Lower, ReducesNothingToTheIdentity) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {2, 0});
  Tensor y = b.reduce("y", {2}, {0}, max_of(DType::kF32),
                      [&](const Indices& i, const Indices& r) { return x(i[0], r[0]); });
  EXPECT_EQ(run<float>(Schedule(b.finish("f", {x}, {y})), {{}}), (Floats{-INFINITY, -INFINITY}));
}

// The index depends on the value that the same step replaces, so both must be computed before
// either is stored. The first maximum is 2, at index 1.
TEST(Lower, CombinesAllResultsBeforeItStoresOne) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4});
  Var value("value", DType::kF32), index("index"), other("other", DType::kF32), place("place");
  Expr is_greater = other > value;
  Combiner argmax{{value, index},
                  {other, place},
                  {constant(DType::kF32, -INFINITY), int_constant(DType::kI64, -1)},
                  {select(is_greater, other, value), select(is_greater, place, index)}};
  std::vector<Tensor> y = b.reduce_all("y", {}, {4}, argmax, [&](const Indices&, const Indices& r) {
    return Exprs{x(r[0]), r[0]};
  });
  auto out = run_bytes(Schedule(b.finish("f", {x}, {y[0], y[1]})), {bytes_of<float>({1, 2, 0, 2})});
  EXPECT_EQ(values_of<float>(out[0]), Floats{2});
  EXPECT_EQ(values_of<int64_t>(out[1]), std::vector<int64_t>{1});
}

TEST(Lower, WritesSeveralOutputsOneOfThemReadByAnother) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kI32, {2});
  Tensor y = b.compute("y", {2}, [&](const Indices& i) { return x(i) + x(i); });
  Tensor z = b.compute("z", {2}, [&](const Indices& i) { return y(i) + x(i); });
  auto out = run_bytes(Schedule(b.finish("f", {x}, {z, y})), {bytes_of<int32_t>({1, 5})});
  EXPECT_EQ(values_of<int32_t>(out[0]), (std::vector<int32_t>{3, 15}));
  EXPECT_EQ(values_of<int32_t>(out[1]), (std::vector<int32_t>{2, 10}));
}

TEST(Lower, CopiesAnInputThatIsAnOutputAndAnOutputThatIsTwo) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kI32, {2});
  Tensor y = b.compute("y", {2}, [&](const Indices& i) { return x(i) + x(i); });
  auto out = run_bytes(Schedule(b.finish("f", {x}, {x, y, y})), {bytes_of<int32_t>({1, 5})});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values_of<int32_t>(out[0]), (std::vector<int32_t>{1, 5}));
  EXPECT_EQ(values_of<int32_t>(out[1]), (std::vector<int32_t>{2, 10}));
  EXPECT_EQ(out[2], out[1]);
}

// The running sums of 1 2 3 are 1 3 6; the next stage doubles them.
TEST(Lower, RunsProceduresInTheirPlace) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kI32, {3});
  Tensor y = b.compute("y", {3}, [&](const Indices& i) { return x(i); });
  Tensor sums = b.procedure("sums", {{DType::kI32, {3}}}, {y}, [&](const std::vector<Tensor>& out) {
    return loop("i", 3, [&](Expr i) {
      Expr before = select(i == 0, constant(DType::kI32, 0), out[0](i - 1));
      return make_store(out[0], {i}, before + y(i));
    });
  })[0];
  Tensor z = b.compute("z", {3}, [&](const Indices& i) { return sums(i) + sums(i); });
  EXPECT_EQ(run<int32_t>(Schedule(b.finish("f", {x}, {z})), {{1, 2, 3}}),
            (std::vector<int32_t>{2, 6, 12}));
}

}  // namespace
}  // namespace byoc::te
