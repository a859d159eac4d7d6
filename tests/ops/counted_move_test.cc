// SPDX-License-Identifier: Apache-2.0
// Ops whose results have the extents that operands hold. Expected numbers: numpy.
#include "support/run_op.h"

namespace byoc::testing {
namespace {

using ::testing::HasSubstr;

Attrs dims(Strings names, Ints most) {
  return {{"dims", std::move(names)}, {"most", std::move(most)}};
}

TEST(AsCounted, KeepsElementsAndExtents) {
  expect_close(run_op1("as_counted", {f32({2, 2}, {1, 2, 3, 4})}, dims({"n", ""}, {5, 2})),
               f32({2, 2}, {1, 2, 3, 4}));
}

TEST(AsCountedInfer, ChecksExtentsAgainstBounds) {
  TensorType x = type_of(DType::kF32, {3, 2});
  EXPECT_EQ(infer("as_counted", {x}, dims({"n", ""}, {5, 2})), "f32[?n<=5,2]");
  EXPECT_THAT(infer("as_counted", {x}, dims({"n", ""}, {2, 2})), HasSubstr("dim 0 is not ?n<=2"));
  EXPECT_THAT(infer("as_counted", {x}, dims({"n", ""}, {5, 3})), HasSubstr("dim 1 is not 3"));
  EXPECT_THAT(infer("as_counted", {x}, dims({"n"}, {5})), HasSubstr("1 dims"));
  EXPECT_THAT(infer("as_counted", {x}, dims({"n", ""}, {5})), HasSubstr("2 dims and 1 bounds"));
  EXPECT_THAT(infer("as_counted", {x}, dims({"n", ""}, {-1, 2})), HasSubstr("most holds -1"));
}

TEST(ExpandCounted, BroadcastsToTheShapeOfTheRun) {
  Attrs to = dims({"n", ""}, {4, 3});
  expect_close(run_op1("expand_counted", {f32({3}, {1, 2, 3}), i64({2}, {2, 1})}, to),
               f32({2, 3}, {1, 2, 3, 1, 2, 3}));
  expect_close(run_op1("expand_counted", {f32({1, 3}, {1, 2, 3}), i64({2}, {0, 3})}, to),
               f32({0, 3}, {}));
  expect_close(run_op1("expand_counted", {f32({}, {7}), i64({1}, {3})}, dims({"n"}, {4})),
               f32({3}, {7, 7, 7}));
}

TEST(ExpandCounted, RefusesShapesBeyondItsBounds) {
  Attrs to = dims({"n", ""}, {4, 3});
  auto message = [&](std::vector<double> shape) {
    auto got = run_op("expand_counted", {f32({3}, {1, 2, 3}), i64({2}, std::move(shape))}, to);
    return got.ok() ? std::string("no error") : got.status().message();
  };
  EXPECT_THAT(message({5, 3}), HasSubstr("its result has shape [5,3], possible is [?n<=4,3]"));
  EXPECT_THAT(message({2, -3}), HasSubstr("shape holds -3"));
  EXPECT_NE(message({2, 2}), "no error");
}

TEST(ExpandCountedInfer, ChecksOperands) {
  TensorType x = type_of(DType::kF32, {2, 3}), shape = type_of(DType::kI64, {2});
  EXPECT_EQ(infer("expand_counted", {x, shape}, dims({"", "m"}, {2, 9})), "f32[2,?m<=9]");
  EXPECT_THAT(infer("expand_counted", {x, shape}, dims({"m"}, {9})), HasSubstr("has 1 dims"));
  EXPECT_THAT(infer("expand_counted", {x, type_of(DType::kI64, {})}, dims({"m", ""}, {9, 3})),
              HasSubstr("shape has rank 0"));
}

TEST(ExpandCounted, RefusesShapesThatDoNotFit) {
  Attrs to = dims({"", ""}, {2, -1});
  Values x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_close(run_op1("expand_counted", {x, i64({2}, {1, 3})}, to), x);
  auto got = run_op("expand_counted", {x, i64({2}, {4, 3})}, to);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.status().code(), Code::kOutOfRange);
  EXPECT_EQ(got.status().message(),
            "expand_counted: dims 2 and 4 do not broadcast (f32[2,3], f32[4,3])");
}

TEST(ExpandCountedInfer, KeepsNamedDimsOfX) {
  TensorType x = {DType::kF32, {Dim::symbol("N"), 3}}, shape = type_of(DType::kI64, {3});
  EXPECT_EQ(infer("expand_counted", {x, shape}, dims({"n", "", ""}, {4, -1, 3})), "f32[?n<=4,N,3]");
  EXPECT_THAT(infer("expand_counted", {x, shape}, dims({"", "", ""}, {-1, -1, 3})),
              HasSubstr("most holds -1"));
}

TEST(ReshapeCounted, TakesTheShapeOfTheRun) {
  Values x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), flat = f32({6}, x.values);
  for (double entry : {6.0, -1.0})
    expect_close(run_op1("reshape_counted", {x, i64({1}, {entry})}, {{"shape", Ints{-1}}}), flat);
  expect_close(run_op1("reshape_counted", {x, i64({2}, {0, -1})}, {{"shape", Ints{-1, 3}}}), x);
}

TEST(ReshapeCounted, RefusesShapesThatDoNotFit) {
  Values x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  auto message = [&](const Ints& target, std::vector<double> shape) {
    const auto n = static_cast<int64_t>(shape.size());
    auto got = run_op("reshape_counted", {x, i64({n}, std::move(shape))}, {{"shape", target}});
    if (got.ok()) return std::string("no error");
    EXPECT_EQ(got.status().code(), Code::kOutOfRange);
    return got.status().message();
  };
  EXPECT_EQ(message({-1}, {5}), "reshape: [5] holds 5 elements, x 6 (x f32[2,3])");
  EXPECT_EQ(message({-1}, {-2}), "reshape: shape holds -2 (x f32[2,3])");
  EXPECT_EQ(message({-1, 3}, {3, 2}),
            "reshape_counted: its result has shape [3,2], possible is [2,3]");
}

TEST(ReshapeCountedInfer, ChecksOperands) {
  TensorType x = type_of(DType::kF32, {2, 3});
  EXPECT_EQ(infer("reshape_counted", {x, type_of(DType::kI64, {1})}, {{"shape", Ints{-1}}}),
            "f32[6]");
  EXPECT_THAT(infer("reshape_counted", {x, type_of(DType::kI64, {2})}, {{"shape", Ints{-1}}}),
              HasSubstr("expects a shape of 1 entries, it is i64[2]"));
  EXPECT_THAT(infer("reshape_counted", {x, type_of(DType::kI32, {1})}, {{"shape", Ints{-1}}}),
              HasSubstr("shape is i32[1]"));
}

Attrs sliced(Ints axes, Ints steps, Strings names, Ints most) {
  Attrs out = dims(std::move(names), std::move(most));
  out.set("axes", std::move(axes));
  out.set("steps", std::move(steps));
  return out;
}

// Expected: numpy's x[start:end:step].
TEST(SliceCounted, FollowsNumpysRules) {
  auto row = [](double start, double end, int64_t step) {
    return run_op1("slice_counted", {f32({5}, {0, 1, 2, 3, 4}), i64({1}, {start}), i64({1}, {end})},
                   sliced({0}, {step}, {"n"}, {5}));
  };
  expect_close(row(1, 3, 1), f32({2}, {1, 2}));
  expect_close(row(-2, 99, 1), f32({2}, {3, 4}));
  expect_close(row(0, -1, 2), f32({2}, {0, 2}));
  expect_close(row(4, -99, -2), f32({3}, {4, 2, 0}));
  expect_close(row(-9, 9, 3), f32({2}, {0, 3}));
  expect_close(row(3, 1, 1), f32({0}, {}));
  expect_close(row(9, 0, -1), f32({4}, {4, 3, 2, 1}));
}

TEST(SliceCounted, TakesSeveralAxes) {
  Attrs attrs = sliced({-1, 0}, {1, -1}, {"n", "m"}, {3, 2});
  expect_close(
      run_op1("slice_counted",
              {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {1, -1}), i64({2}, {3, -9})}, attrs),
      f32({2, 2}, {5, 6, 2, 3}));
}

TEST(SliceCountedInfer, ChecksOperandsAndBounds) {
  TensorType x = type_of(DType::kF32, {4, 6}), one = type_of(DType::kI64, {1});
  EXPECT_EQ(infer("slice_counted", {x, one, one}, sliced({1}, {1}, {"n"}, {6})), "f32[4,?n<=6]");
  EXPECT_THAT(infer("slice_counted", {x, one, one}, sliced({1}, {0}, {"n"}, {6})),
              HasSubstr("a step is 0"));
  EXPECT_THAT(infer("slice_counted", {x, one, one}, sliced({2}, {1}, {"n"}, {6})),
              HasSubstr("axis 2"));
  EXPECT_THAT(infer("slice_counted", {x, one, one}, sliced({0, 1}, {1, 1}, {"n", "m"}, {4, 6})),
              HasSubstr("expects a start and an end per axis, 2"));
  EXPECT_THAT(infer("slice_counted", {x, one, one}, sliced({1}, {1}, {"n", "m"}, {6, 6})),
              HasSubstr("1 axes and 2 dims"));
  auto wide = run_op("slice_counted", {f32({5}, {0, 1, 2, 3, 4}), i64({1}, {0}), i64({1}, {4})},
                     sliced({0}, {1}, {"n"}, {3}));
  ASSERT_FALSE(wide.ok());
  EXPECT_THAT(wide.status().message(), HasSubstr("its result has shape [4], possible is [?n<=3]"));
}

}  // namespace
}  // namespace byoc::testing
