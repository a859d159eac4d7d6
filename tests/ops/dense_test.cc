// SPDX-License-Identifier: Apache-2.0
// Matrix products. Expected values: numpy's matmul in f64 on the same patterns.
#include "pattern.h"

namespace byoc::testing {
namespace {

TEST(MatmulInfer, BroadcastsLeadingDims) {
  Dim n = Dim::symbol("N");
  EXPECT_EQ(infer("matmul", {f32_type({2, 1, 3, 4}), f32_type({5, 4, 6})}), "f32[2,5,3,6]");
  EXPECT_EQ(infer("matmul", {f32_type({n, 1, 4}), f32_type({4, 6})}), "f32[N,1,6]");
  EXPECT_EQ(infer("matmul", {f32_type({2, n}), f32_type({n, 6})}), "f32[2,6]");
}

TEST(MatmulInfer, TakesVectors) {
  EXPECT_EQ(infer("matmul", {f32_type({4}), f32_type({2, 4, 6})}), "f32[2,6]");
  EXPECT_EQ(infer("matmul", {f32_type({2, 3, 4}), f32_type({4})}), "f32[2,3]");
  EXPECT_EQ(infer("matmul", {f32_type({4}), f32_type({4})}), "f32[]");
}

TEST(MatmulInfer, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("matmul", {f32_type({2, 3}), f32_type({4, 5})}),
            "matmul: a has 3 columns, b has 4 rows (a f32[2,3], b f32[4,5])");
  EXPECT_EQ(infer("matmul", {f32_type({2, 3, 4}), f32_type({3, 4, 5})}),
            "matmul: the leading dims do not broadcast (a f32[2,3,4], b f32[3,4,5])");
  EXPECT_EQ(infer("matmul", {f32_type({}), f32_type({4, 5})}),
            "matmul: operands must have rank 1 or more (a f32[], b f32[4,5])");
  EXPECT_EQ(infer("matmul", {f32_type({2, 4}), type_of(DType::kF64, {4, 5})}),
            "matmul: inputs 0 and 1 are f32[2,4] and f64[4,5], expects one dtype");
  EXPECT_EQ(
      infer("matmul", {type_of(DType::kBool, {2, 4}), type_of(DType::kBool, {4, 5})}),
      "matmul: a is bool[2,4], expects one of f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64");
}

TEST(MatmulIntegers, TakesOneMatrixOrOneOfEachLeadingDim) {
  const TensorType a = type_of(DType::kU8, {2, 3, 4}), b = type_of(DType::kI8, {4, 6});
  EXPECT_EQ(infer("matmul_integers", {a, b}), "i32[2,3,6]");
  EXPECT_EQ(infer("matmul_integers", {a, type_of(DType::kU8, {2, 4, 6})}), "i32[2,3,6]");
  EXPECT_EQ(infer("matmul_integers", {a, type_of(DType::kI8, {1, 4, 6})}),
            "matmul_integers: a has 4 columns, b has 4 rows, or leading dims differ (a u8[2,3,4], "
            "b i8[1,4,6])");
  EXPECT_EQ(infer("matmul_integers", {a, b}, {{"a_zero", int64_t{256}}}),
            "matmul_integers: a_zero is 256, expected -128 to 255");
}

TEST(MatmulIntegers, SubtractsZeroPoints) {
  const Values a = tensor(DType::kU8, {2, 1, 2}, {255, 0, 1, 2}),
               b = tensor(DType::kI8, {2, 2, 1}, {-128, 127, 3, 4});
  const Values y =
      run_op1("matmul_integers", {a, b}, {{"a_zero", int64_t{255}}, {"b_zero", int64_t{127}}});
  // 0 * -255 + -255 * 0; -254 * -124 + -253 * -123
  EXPECT_EQ(y.values, (std::vector<double>{0, 62615}));
}

TEST(Matmul, MultipliesMatrices) {
  expect_close(run_op1("matmul", {pattern({3, 5}), weights({5, 4})}),
               f32({3, 4}, {22, -15, -10, 9, 17, -4, 17, -11, -10, -15, 22, 24}));
}

TEST(Matmul, BroadcastsBatches) {
  expect_close(run_op1("matmul", {pattern({2, 1, 2, 3}), weights({3, 3, 2})}),
               f32({2, 3, 2, 2}, {9,   -16, -24, 5, 13, 9,   3, -24, -11, 13, 2, 3,
                                  -24, 4,   -24, 3, 4,  -24, 5, -24, 4,   4,  6, 5}));
}

TEST(Matmul, TakesVectors) {
  expect_close(run_op1("matmul", {pattern({3}), weights({3, 3, 2})}),
               f32({3, 2}, {9, -16, 13, 9, -11, 13}));
  expect_close(run_op1("matmul", {pattern({2, 1, 2, 3}), pattern({3})}),
               f32({2, 1, 2}, {33, -17, -12, -7}));
  expect_close(run_op1("matmul", {pattern({3}), pattern({3})}), f32({}, {33}));
}

TEST(Matmul, CoversTilesThatAreNotFull) {
  Values y = run_op1("matmul", {pattern({17, 31}), weights({31, 67})});
  double sum = 0, weighted = 0;
  for (size_t k = 0; k < y.values.size(); ++k) {
    sum += y.values[k];
    weighted += static_cast<double>(k) * y.values[k];
  }
  EXPECT_EQ(sum, 31);
  EXPECT_EQ(weighted, 34711);
}

TEST(Matmul, HasEveryNumericDtype) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI16,
                      DType::kI32, DType::kI64}) {
    Values y =
        run_op1("matmul", {pattern({3, 5}, 7, 11, 5, dtype), pattern({5, 4}, 5, 7, 3, dtype)});
    expect_close(y, tensor(dtype, {3, 4}, {22, -15, -10, 9, 17, -4, 17, -11, -10, -15, 22, 24}));
  }
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    expect_close(run_op1("matmul", {tensor(dtype, {1, 2}, {3, 5}), tensor(dtype, {2, 1}, {7, 11})}),
                 tensor(dtype, {1, 1}, {76}));
  }
}

TEST(Matmul, WrapsIntegersAround) {
  // 100 * 100 * 2 = 20000 = 78 * 256 + 32.
  expect_close(run_op1("matmul", {tensor(DType::kI8, {1, 2}, {100, 100}),
                                  tensor(DType::kI8, {2, 1}, {100, 100})}),
               tensor(DType::kI8, {1, 1}, {32}));
}

TEST(Matmul, SumsNothingToZero) {
  expect_close(run_op1("matmul", {pattern({2, 0}), pattern({0, 3})}),
               f32({2, 3}, {0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run_op1("matmul", {pattern({0, 2, 3}), pattern({3, 4})}).type, f32_type({0, 2, 4}));
  EXPECT_EQ(run_op1("matmul", {pattern({2, 3}), pattern({3, 0})}).type, f32_type({2, 0}));
}

TEST(GemmInfer, TransposesWhatItIsAsked) {
  EXPECT_EQ(infer("gemm", {f32_type({Dim::symbol("N"), 3}), f32_type({5, 3})}, {{"trans_b", true}}),
            "f32[N,5]");
  EXPECT_EQ(infer("gemm", {f32_type({3, 2}), f32_type({3, 5})}, {{"trans_a", true}}), "f32[2,5]");
}

TEST(GemmInfer, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("gemm", {f32_type({2, 3}), f32_type({3, 5})}, {{"trans_b", true}}),
            "gemm: a has 3 columns, b has 5 rows (a f32[2,3], b f32[3,5])");
  EXPECT_EQ(infer("gemm", {f32_type({1, 2, 3}), f32_type({3, 5})}),
            "gemm: a has rank 3, expects 2 (a f32[1,2,3])");
  EXPECT_EQ(infer("gemm", {f32_type({2, 3}), f32_type({3})}),
            "gemm: b has rank 1, expects 2 (b f32[3])");
  EXPECT_EQ(
      infer("gemm", {type_of(DType::kI32, {2, 3}), type_of(DType::kI32, {3, 5})}, {{"alpha", 0.5}}),
      "gemm: alpha is 0.5, only 1 is possible for integers (a i32[2,3], b i32[3,5])");
}

TEST(Gemm, TransposesAndScales) {
  Values y = run_op1("gemm", {pattern({5, 3}), weights({4, 5})},
                     {{"trans_a", true}, {"trans_b", true}, {"alpha", 0.5}});
  expect_close(y, f32({3, 4}, {12.5, -8, 10, -3.5, -4, -0.5, 3, -0.5, 12.5, 1.5, -9.5, -3}));
  expect_close(run_op1("gemm", {pattern({3, 5}), weights({5, 4})}),
               f32({3, 4}, {22, -15, -10, 9, 17, -4, 17, -11, -10, -15, 22, 24}));
}

TEST(Dense, CountsAMultiplyAddAsTwo) {
  TypeId in[] = {f32_type({2, 3, 4}), f32_type({4, 6})}, out[] = {f32_type({2, 3, 6})};
  EXPECT_EQ(flops(*all_ops().find("matmul"), in, out, {}), 2.0 * 36 * 4);
  TypeId matrices[] = {f32_type({4, 3}), f32_type({4, 6})}, product[] = {f32_type({3, 6})};
  EXPECT_EQ(flops(*all_ops().find("gemm"), matrices, product, {{"trans_a", true}}), 2.0 * 18 * 4);
}

}  // namespace
}  // namespace byoc::testing
