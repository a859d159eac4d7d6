// SPDX-License-Identifier: Apache-2.0
// The ops einsum and det. Expected values: numpy's einsum and linalg.det on the same patterns.
#include "pattern.h"

namespace byoc::testing {
namespace {

Values summed(const char* equation, const std::vector<Values>& in) {
  return run_op1("einsum", in, {{"equation", equation}});
}
Values matrix() { return f32({3, 4}, pattern({12}).values); }

TEST(Einsum, MultipliesAndSums) {
  expect_close(summed("bij, bjk -> bik", {pattern({2, 3, 4}), weights({2, 4, 2})}),
               f32({2, 3, 2}, {4, -31, 9, 12, 14, 0, 10, -9, -2, 4, -3, 6}));
  expect_close(summed("ij->", {matrix()}), f32({}, {-5}));
  expect_close(summed("i,j,ij->", {f32({3}, {-5, 1, -4}), f32({4}, {-5, 2, -2, 5}), matrix()}),
               f32({}, {-321}));
}

TEST(Einsum, TakesDiagonals) {
  Values square = f32({2, 2}, {1, 2, 3, 4});
  expect_close(summed("ii->i", {square}), f32({2}, {1, 4}));
  expect_close(summed("ii", {square}), f32({}, {5}));
}

TEST(Einsum, OrdersImplicitResultsByLetter) {
  expect_close(summed("ba", {f32({2, 3}, {1, 2, 3, 4, 5, 6})}), f32({3, 2}, {1, 4, 2, 5, 3, 6}));
}

TEST(Einsum, BroadcastsEllipses) {
  expect_close(summed("...ij->...ji", {pattern({2, 3, 4})}),
               f32({2, 4, 3}, {-5, 1,  -4, 2,  -3, 3,  -2, 4, -1, 5, 0,  -5,
                               2,  -3, 3,  -2, 4,  -1, 5,  0, -5, 1, -4, 2}));
  expect_close(summed("...i,ij->...j", {pattern({2, 3, 4}), weights({4, 2})}),
               f32({2, 3, 2}, {4, -31, 9, 12, 14, 0, 8, 10, 13, -2, -26, -3}));
  expect_close(summed("...,...", {f32({2, 1}, {2, 3}), f32({2}, {5, 7})}),
               f32({2, 2}, {10, 14, 15, 21}));
}

TEST(Einsum, SumsNothingToZero) {
  expect_close(summed("ij->i", {f32({2, 0}, {})}), f32({2}, {0, 0}));
  EXPECT_EQ(summed("ij->ji", {f32({2, 0}, {})}).type, f32_type({0, 2}));
}

TEST(Einsum, WrapsIntegersAround) {
  expect_close(
      summed("i,i->", {tensor(DType::kU8, {2}, {100, 100}), tensor(DType::kU8, {2}, {2, 1})}),
      tensor(DType::kU8, {}, {44}));
}

TEST(EinsumInfer, RejectsWhatDoesNotFit) {
  auto error = [](const char* equation, std::vector<TensorType> in) {
    return infer("einsum", in, {{"equation", equation}});
  };
  Dim n = Dim::symbol("N");
  EXPECT_EQ(error("ni,ij->nj", {f32_type({n, 3}), f32_type({3, 5})}), "f32[N,5]");
  EXPECT_EQ(error("ij,jk", {f32_type({2, 3})}),
            "einsum: \"ij,jk\": 2 terms for 1 operands (f32[2,3])");
  EXPECT_EQ(error("i1", {f32_type({2, 3})}), "einsum: \"i1\": \"1\" is out of place (f32[2,3])");
  EXPECT_EQ(error("i..", {f32_type({2, 3})}), "einsum: \"i..\": \".\" is out of place (f32[2,3])");
  EXPECT_EQ(error("ijk", {f32_type({2, 3})}),
            "einsum: \"ijk\": operand 0 has 2 dims, its term names 3 (f32[2,3])");
  EXPECT_EQ(error("ij,jk", {f32_type({2, 3}), f32_type({4, 5})}),
            "einsum: \"ij,jk\": dims 3 and 4 have one label (f32[2,3], f32[4,5])");
  EXPECT_EQ(error("ij->ik", {f32_type({2, 3})}),
            "einsum: \"ij->ik\": the result's labels must be the operands', each once (f32[2,3])");
  EXPECT_EQ(error("ij->ii", {f32_type({2, 3})}),
            "einsum: \"ij->ii\": the result's labels must be the operands', each once (f32[2,3])");
  EXPECT_EQ(
      error("abcdefghijklm,nopqrst", {f32_type(Shape(13, Dim(1))), f32_type(Shape(7, Dim(1)))}),
      "einsum: \"abcdefghijklm,nopqrst\": more than 16 labels (f32[1,1,1,1,1,1,1,1,1,1,1,1,1], "
      "f32[1,1,1,1,1,1,1])");
}

TEST(Einsum, CountsAMultiplyAddAsTwo) {
  TypeId in[] = {f32_type({2, 3}), f32_type({3, 5})}, out[] = {f32_type({2, 5})};
  EXPECT_EQ(flops(*all_ops().find("einsum"), in, out, {{"equation", "ij,jk->ik"}}), 60);
}

TEST(Det, EliminatesWithPivots) {
  expect_close(run_op1("det", {pattern({2, 3, 3})}), f32({2}, {44, 44}));
  expect_close(run_op1("det", {f32({2, 2}, {0, 2, 3, 4})}), f32({}, {-6}));
  expect_close(run_op1("det", {f32({2, 2}, {1, 2, 2, 4})}), f32({}, {0}));
  expect_close(run_op1("det", {f32({0, 0}, {})}), f32({}, {1}));
}

TEST(Det, RejectsWhatIsNotSquare) {
  EXPECT_EQ(infer("det", {f32_type({2, 3})}), "det: expects square matrices (x f32[2,3])");
  EXPECT_EQ(infer("det", {f32_type({2})}), "det: expects square matrices (x f32[2])");
  Values large = f32({65, 65}, std::vector<double>(65 * 65, 0));
  EXPECT_EQ(run_op("det", {large}).status().message(),
            "det has a kernel for matrices up to 64 x 64 (x f32[65,65])");
}

}  // namespace
}  // namespace byoc::testing
