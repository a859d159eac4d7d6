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

// -x w in panels of eight columns, five rows by eight columns at a time in one loop over both; the
// sums are computed in loop `at`.
struct FusedTiles {
  static constexpr int64_t kRows = 13, kColumns = 37, kTerms = 3, kBlock = 8;
  LoopFunction loops;
  Floats got, right;

  explicit FusedTiles(const char* at) {
    Builder b;
    Tensor x = b.placeholder("x", DType::kF32, {kRows, kTerms});
    Tensor w = b.placeholder("w", DType::kF32, {(kColumns + kBlock - 1) / kBlock, kTerms, kBlock});
    Tensor sums =
        b.reduce("sums", {kRows, kColumns}, {kTerms}, sum_of(DType::kF32),
                 [&](const Indices& i, const Indices& r) {
                   return x(i[0], r[0]) * w(floor_div(i[1], kBlock), r[0], floor_mod(i[1], kBlock));
                 });
    Tensor y = b.compute("y", {kRows, kColumns}, [&](const Indices& i) { return -sums(i); });
    Result<Trace> steps =
        parse_trace(cat("split(y, i0, 5); split(y, i1, 8); reorder(y, i1.o, i0.o, i0.i, i1.i); "
                        "fuse(y, i1.o, i0.o); parallel(y, i1.o.i0.o); compute_at(sums, y, ",
                        at, ")"));
    EXPECT_TRUE(steps.ok()) << steps.status().to_string();
    Result<Schedule> schedule = replay(b.finish("f", {x, w}, {y}), *steps);
    EXPECT_TRUE(schedule.ok()) << schedule.status().to_string();
    Floats rows(kRows * kTerms), panels(5 * kTerms * kBlock);
    for (size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<float>(k % 7) - 3;
    for (size_t k = 0; k < panels.size(); ++k) panels[k] = static_cast<float>(k % 11) - 5;
    for (int64_t m = 0; m < kRows; ++m) {
      for (int64_t n = 0; n < kColumns; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < kTerms; ++k)
          sum += rows[m * kTerms + k] * panels[(n / kBlock * kTerms + k) * kBlock + n % kBlock];
        right.push_back(-sum);
      }
    }
    got = run<float>(*schedule, {rows, panels});
    Result<LoopFunction> lowered = lower(*schedule);
    EXPECT_TRUE(lowered.ok()) << lowered.status().to_string();
    if (lowered.ok()) loops = *std::move(lowered);
  }
};

// Whole panels are under a condition, and each tile of them begins where its panel does: the place
// of none is limited by that of the last tile.
TEST(Lower, MovesNoTileOfFusedLoopsThatHaveRemainders) {
  const FusedTiles tiles("i0.i");
  EXPECT_EQ(print(tiles.loops).find("min("), std::string::npos) << print(tiles.loops);
  EXPECT_EQ(tiles.got, tiles.right);
}

// A stage before such conditions has a box for one iteration of the loop.
TEST(Lower, ComputesNoMoreThanATileBeforeConditionsOnFusedLoops) {
  const FusedTiles tiles("i1.o.i0.o");
  EXPECT_NE(print(tiles.loops).find("stack sums: f32[5, 8]"), std::string::npos)
      << print(tiles.loops);
  EXPECT_EQ(tiles.got, tiles.right);
}

}  // namespace
}  // namespace byoc::te
