#include "support/run_op.h"

namespace byoc::testing {
namespace {

const TensorType kX{DType::kF32, {Dim(2), Dim(3)}};

TEST(BinaryInfer, Broadcasts) {
  EXPECT_EQ(infer("add", {kX, {DType::kF32, {Dim(3)}}}), "f32[2,3]");
  EXPECT_EQ(
      infer("less", {{DType::kF32, {Dim(2), Dim(1)}}, {DType::kF32, {Dim(4), Dim(1), Dim(3)}}}),
      "bool[4,2,3]");
}

TEST(BinaryInfer, BroadcastsASymbolicDimWithItselfAndWithOne) {
  TensorType n{DType::kF32, {Dim::symbol("N"), Dim(3)}};
  EXPECT_EQ(infer("add", {n, n}), "f32[N,3]");
  EXPECT_EQ(infer("add", {n, {DType::kF32, {Dim(1), Dim(3)}}}), "f32[N,3]");
  EXPECT_EQ(infer("add", {n, kX}),
            "add: dims N and 2 do not broadcast before their sizes are known (f32[N,3], f32[2,3])");
}

TEST(BinaryInfer, RejectsDimsThatDoNotBroadcast) {
  EXPECT_EQ(infer("add", {kX, {DType::kF32, {Dim(4)}}}),
            "add: dims 3 and 4 do not broadcast (f32[2,3], f32[4])");
}

TEST(BinaryInfer, RejectsMixedDtypes) {
  EXPECT_EQ(infer("multiply", {kX, {DType::kI64, {Dim(3)}}}),
            "multiply: inputs 0 and 1 are f32[2,3] and i64[3], expects one dtype");
}

TEST(BinaryInfer, RejectsDtypesItDoesNotKnow) {
  EXPECT_EQ(infer("logical_and", {kX, kX}), "logical_and: a is f32[2,3], expects one of bool");
}

TEST(Binary, AddsWithBroadcasting) {
  Values a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), b = f32({3}, {10, 20, 30}),
         c = f32({2, 1}, {100, 200});
  expect_close(run_op1("add", {a, b}), f32({2, 3}, {11, 22, 33, 14, 25, 36}));
  expect_close(run_op1("add", {c, b}), f32({2, 3}, {110, 120, 130, 210, 220, 230}));
  expect_close(run_op1("subtract", {a, f32({}, {1})}), f32({2, 3}, {0, 1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace byoc::testing
