// SPDX-License-Identifier: Apache-2.0
// Ops of two inputs with broadcasting, and where.
#include <limits>

#include "ops/constants.h"
#include "support/run_op.h"

namespace byoc::testing {
namespace {

const TensorType kMatrix{DType::kF32, {Dim(2), Dim(3)}};

Values truth(const std::vector<int64_t>& dims, std::vector<double> values) {
  return tensor(DType::kBool, dims, std::move(values));
}
Values i32(std::vector<double> values) {
  auto n = static_cast<int64_t>(values.size());
  return tensor(DType::kI32, {n}, std::move(values));
}
Values u8(std::vector<double> values) {
  auto n = static_cast<int64_t>(values.size());
  return tensor(DType::kU8, {n}, std::move(values));
}

TEST(BinaryInfer, Broadcasts) {
  EXPECT_EQ(infer("add", {kMatrix, {DType::kF32, {Dim(3)}}}), "f32[2,3]");
  EXPECT_EQ(infer("less", {type_of(DType::kF32, {2, 1}), type_of(DType::kF32, {4, 1, 3})}),
            "bool[4,2,3]");
}

TEST(BinaryInfer, BroadcastsASymbolicDimWithItselfAndWithOne) {
  TensorType n{DType::kF32, {Dim::symbol("N"), Dim(3)}};
  EXPECT_EQ(infer("add", {n, n}), "f32[N,3]");
  EXPECT_EQ(infer("add", {n, {DType::kF32, {Dim(1), Dim(3)}}}), "f32[N,3]");
  EXPECT_EQ(infer("add", {n, kMatrix}),
            "add: dims N and 2 do not broadcast before their sizes are known (f32[N,3], f32[2,3])");
}

TEST(BinaryInfer, RejectsDimsThatDoNotBroadcast) {
  EXPECT_EQ(infer("add", {kMatrix, type_of(DType::kF32, {4})}),
            "add: dims 3 and 4 do not broadcast (f32[2,3], f32[4])");
}

TEST(BinaryInfer, RejectsMixedDtypes) {
  EXPECT_EQ(infer("multiply", {kMatrix, type_of(DType::kI64, {3})}),
            "multiply: inputs 0 and 1 are f32[2,3] and i64[3], expects one dtype");
}

TEST(BinaryInfer, RejectsDtypesItDoesNotKnow) {
  EXPECT_EQ(infer("logical_and", {kMatrix, kMatrix}),
            "logical_and: a is f32[2,3], expects one of bool");
  EXPECT_EQ(infer("bitwise_or", {kMatrix, kMatrix}),
            "bitwise_or: a is f32[2,3], expects one of i8 u8 i16 u16 i32 u32 i64 u64");
}

TEST(BinaryInfer, RejectsAnUnknownDirection) {
  TensorType x = type_of(DType::kU8, {2});
  EXPECT_EQ(infer("bit_shift", {x, x}, {{"direction", "up"}}),
            "bit_shift: direction is \"up\", expects \"left\" or \"right\"");
}

TEST(PReluInfer, RejectsASlopeLargerThanX) {
  EXPECT_EQ(infer("prelu", {kMatrix, type_of(DType::kF32, {4, 2, 3})}),
            "prelu: slope f32[4,2,3] does not broadcast to the shape of x f32[2,3]");
}

TEST(PowerInfer, KeepsTheDtypeOfTheBase) {
  EXPECT_EQ(infer("power", {type_of(DType::kI32, {2}), type_of(DType::kF32, {1})}), "i32[2]");
  EXPECT_EQ(infer("power", {type_of(DType::kBool, {2}), type_of(DType::kF32, {1})}),
            "power: a is bool[2], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
  EXPECT_EQ(infer("power", {type_of(DType::kF32, {2}), type_of(DType::kBool, {1})}),
            "power: b is bool[1], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

TEST(WhereInfer, BroadcastsAllThree) {
  EXPECT_EQ(infer("where", {type_of(DType::kBool, {2, 1}), type_of(DType::kI64, {3}),
                            type_of(DType::kI64, {})}),
            "i64[2,3]");
  EXPECT_EQ(infer("where", {kMatrix, kMatrix, kMatrix}),
            "where: condition is f32[2,3], expects one of bool");
  EXPECT_EQ(infer("where", {type_of(DType::kBool, {}), kMatrix, type_of(DType::kI64, {})}),
            "where: x is f32[2,3] and y is i64[], expects one dtype");
}

TEST(Binary, BroadcastsRowsColumnsAndScalars) {
  Values a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), row = f32({3}, {10, 20, 30}),
         column = f32({2, 1}, {100, 200});
  expect_close(run_op1("add", {a, row}), f32({2, 3}, {11, 22, 33, 14, 25, 36}));
  expect_close(run_op1("add", {row, a}), f32({2, 3}, {11, 22, 33, 14, 25, 36}));
  expect_close(run_op1("add", {a, column}), f32({2, 3}, {101, 102, 103, 204, 205, 206}));
  expect_close(run_op1("add", {column, row}), f32({2, 3}, {110, 120, 130, 210, 220, 230}));
  expect_close(run_op1("subtract", {a, f32({}, {1})}), f32({2, 3}, {0, 1, 2, 3, 4, 5}));
  expect_close(run_op1("subtract", {f32({}, {1}), a}), f32({2, 3}, {0, -1, -2, -3, -4, -5}));
}

TEST(Binary, BroadcastsInTheMiddle) {
  Values a = f32({2, 1, 2}, {1, 2, 3, 4}), b = f32({2, 2, 1}, {10, 20, 30, 40});
  expect_close(run_op1("add", {a, b}), f32({2, 2, 2}, {11, 12, 21, 22, 33, 34, 43, 44}));
}

TEST(Binary, ComputesInEveryNumber) {
  for (int k = 0; k < kDTypeCount - 1; ++k) {
    auto dtype = static_cast<DType>(k);
    Values a = tensor(dtype, {3}, {6, 9, 2}), b = tensor(dtype, {3}, {2, 3, 2});
    expect_close(run_op1("add", {a, b}), tensor(dtype, {3}, {8, 12, 4}));
    expect_close(run_op1("subtract", {a, b}), tensor(dtype, {3}, {4, 6, 0}));
    expect_close(run_op1("multiply", {a, b}), tensor(dtype, {3}, {12, 27, 4}));
    expect_close(run_op1("divide", {a, b}), tensor(dtype, {3}, {3, 3, 1}));
    Values small = tensor(dtype, {3}, {6, 4, 2});
    expect_close(run_op1("power", {small, b}), tensor(dtype, {3}, {36, 64, 4}));
    expect_close(run_op1("greater", {a, b}), truth({3}, {1, 1, 0}));
  }
}

TEST(Binary, WrapsAroundInIntegers) {
  expect_close(run_op1("add", {u8({250}), u8({10})}), u8({4}));
  expect_close(run_op1("subtract", {u8({1}), u8({2})}), u8({255}));
  expect_close(run_op1("multiply", {i32({1 << 30}), i32({4})}), i32({0}));
}

TEST(Divide, CutsIntegersTowardsZeroAndSurvivesZero) {
  Values a = i32({7, -7, 7, -7, 5, -2147483648.0}), b = i32({2, 2, -2, -2, 0, -1});
  expect_close(run_op1("divide", {a, b}), i32({3, -3, -3, 3, 0, -2147483648.0}));
}

// Expected values: numpy.mod and numpy.fmod.
TEST(Mod, TakesTheSignOfTheDivisorOrOfTheDividend) {
  Values a = i32({-4, 7, 5, 4, -7, 8}), b = i32({2, -3, 8, -2, 3, 5});
  expect_close(run_op1("mod", {a, b}), i32({0, -2, 5, 0, 2, 3}));
  expect_close(run_op1("mod", {a, b}, {{"fmod", true}}), i32({0, 1, 5, 0, -1, 3}));
  Values x = f32({3}, {-4.5, 7, 5}), y = f32({3}, {2, -3, 8});
  expect_close(run_op1("mod", {x, y}), f32({3}, {1.5, -2, 5}));
  expect_close(run_op1("mod", {x, y}, {{"fmod", true}}), f32({3}, {-0.5, 1, 5}));
  expect_close(run_op1("mod", {i32({5, 5}), i32({0, -1})}), i32({0, 0}));
}

TEST(MinMax, LetNaNWin) {
  Values a = f32({4}, {1, kNaN, 3, 4}), b = f32({4}, {2, 2, kNaN, 1});
  expect_close(run_op1("minimum", {a, b}), f32({4}, {1, kNaN, kNaN, 1}));
  expect_close(run_op1("maximum", {a, b}), f32({4}, {2, kNaN, kNaN, 4}));
}

TEST(Compare, GivesTruth) {
  Values a = f32({3}, {1, 2, kNaN}), b = f32({3}, {2, 2, kNaN});
  expect_close(run_op1("equal", {a, b}), truth({3}, {0, 1, 0}));
  expect_close(run_op1("not_equal", {a, b}), truth({3}, {1, 0, 1}));
  expect_close(run_op1("less", {a, b}), truth({3}, {1, 0, 0}));
  expect_close(run_op1("less_equal", {a, b}), truth({3}, {1, 1, 0}));
  expect_close(run_op1("greater", {a, b}), truth({3}, {0, 0, 0}));
  expect_close(run_op1("greater_equal", {a, b}), truth({3}, {0, 1, 0}));
  expect_close(run_op1("equal", {truth({2}, {0, 1}), truth({2}, {1, 1})}), truth({2}, {0, 1}));
}

TEST(Logic, FollowsTheTruthTables) {
  Values a = truth({4}, {0, 0, 1, 1}), b = truth({4}, {0, 1, 0, 1});
  expect_close(run_op1("logical_and", {a, b}), truth({4}, {0, 0, 0, 1}));
  expect_close(run_op1("logical_or", {a, b}), truth({4}, {0, 1, 1, 1}));
  expect_close(run_op1("logical_xor", {a, b}), truth({4}, {0, 1, 1, 0}));
  expect_close(run_op1("bitwise_and", {u8({12}), u8({10})}), u8({8}));
  expect_close(run_op1("bitwise_or", {u8({12}), u8({10})}), u8({14}));
  expect_close(run_op1("bitwise_xor", {u8({12}), u8({10})}), u8({6}));
}

TEST(BitShift, LeavesZeroWhenAllBitsAreGone) {
  Values a = u8({16, 4, 1, 255}), b = u8({1, 2, 3, 8});
  expect_close(run_op1("bit_shift", {a, b}, {{"direction", "left"}}), u8({32, 16, 8, 0}));
  expect_close(run_op1("bit_shift", {a, b}, {{"direction", "right"}}), u8({8, 1, 0, 0}));
}

// ONNX opset 28: beyond the bits of a, only copies of the sign are left.
TEST(BitShift, KeepsTheSignToTheRight) {
  Values a = tensor(DType::kI8, {7}, {-128, -1, 127, -7, 1, -5, 5}),
         b = tensor(DType::kI8, {7}, {7, 3, 2, 1, 8, -1, -1});
  EXPECT_EQ(run_op1("bit_shift", {a, b}, {{"direction", "right"}}).values,
            (std::vector<double>{-1, -1, 31, -4, 0, -1, 0}));
  EXPECT_EQ(run_op1("bit_shift", {a, b}, {{"direction", "left"}}).values,
            (std::vector<double>{0, -8, -4, -14, 0, 0, 0}));
}

TEST(PRelu, ScalesBelowZero) {
  Values x = f32({1, 2, 2}, {-2, 3, -4, 5});
  expect_close(run_op1("prelu", {x, f32({2, 1}, {0.5, 0.25})}), f32({1, 2, 2}, {-1, 3, -1, 5}));
}

TEST(Power, TakesExponentsOfAnotherDtype) {
  Values base = i32({1, 2, 3});
  expect_close(run_op1("power", {base, f32({3}, {4, 5, 6})}), i32({1, 32, 729}));
  expect_close(run_op1("power", {base, f32({}, {0.5})}), i32({1, 1, 1}));
  expect_close(run_op1("power", {f32({3}, {1, 2, 4}), i64({3}, {4, 5, -1})}),
               f32({3}, {1, 32, 0.25}));
  expect_close(run_op1("power", {f32({2}, {2, 9}), tensor(DType::kF16, {}, {0.5})}),
               f32({2}, {1.41421356237309505, 3}));
  for (int k = 0; k < kDTypeCount - 1; ++k)
    expect_close(run_op1("power", {i64({2}, {-3, 5}), tensor(static_cast<DType>(k), {2}, {3, 2})}),
                 i64({2}, {-27, 25}));
}

TEST(Power, CutsIntegerQuotientsTowardsZero) {
  expect_close(run_op1("power", {i32({1, -1, -1, 2, 0}), i32({-3, -3, -2, -1, -1})}),
               i32({1, -1, 1, 0, 0}));
}

TEST(Where, ChoosesElements) {
  Values condition = truth({2, 1}, {1, 0});
  expect_close(run_op1("where", {condition, f32({3}, {1, 2, 3}), f32({}, {9})}),
               f32({2, 3}, {1, 2, 3, 9, 9, 9}));
  for (int k = 0; k < kDTypeCount; ++k) {
    auto dtype = static_cast<DType>(k);
    expect_close(
        run_op1("where", {condition, tensor(dtype, {2, 1}, {1, 1}), tensor(dtype, {2, 1}, {0, 0})}),
        tensor(dtype, {2, 1}, {1, 0}));
  }
}

}  // namespace
}  // namespace byoc::testing
