// SPDX-License-Identifier: Apache-2.0
// reshape, flatten, squeeze, unsqueeze, shape, concat, split. Expected
// values: numpy's rules, applied by hand.
#include "pattern.h"

namespace byoc::testing {
namespace {

const Dim kN = Dim::symbol("N"), kM = Dim::symbol("M");

std::string reshaped(const Shape& x, Ints shape, bool allow_zero = false) {
  return infer("reshape", {f32_type(x)}, {{"shape", std::move(shape)}, {"allow_zero", allow_zero}});
}

TEST(ReshapeInfer, ComputesMinusOneAndCopiesZero) {
  EXPECT_EQ(reshaped({2, 3, 4}, {4, -1}), "f32[4,6]");
  EXPECT_EQ(reshaped({2, 3, 4}, {0, -1}), "f32[2,12]");
  EXPECT_EQ(reshaped({2, 3, 4}, {24}), "f32[24]");
  EXPECT_EQ(reshaped({}, {1, -1}), "f32[1,1]");
  EXPECT_EQ(reshaped({1}, {}), "f32[]");
}

TEST(ReshapeInfer, TakesEmptyTensors) {
  EXPECT_EQ(reshaped({0, 3}, {-1, 3}), "f32[0,3]");
  EXPECT_EQ(reshaped({0, 3}, {3, 0}, true), "f32[3,0]");
  EXPECT_EQ(reshaped({0, 3}, {0, 5}), "f32[0,5]");
  EXPECT_EQ(reshaped({0, 3}, {0, -1}, true), "reshape: no extent fits -1 in [0,-1] (x f32[0,3])");
}

TEST(ReshapeInfer, FollowsSymbolicDims) {
  EXPECT_EQ(reshaped({kN, 3, 4}, {0, -1}), "f32[N,12]");
  EXPECT_EQ(reshaped({kN, 3, 4}, {-1, 12}), "f32[N,12]");
  EXPECT_EQ(reshaped({kN, 3, kM, 2}, {0, 6, -1}), "f32[N,6,M]");
  EXPECT_EQ(reshaped({kN, 1, kM}, {0, 1, -1}), "f32[N,1,M]");
  EXPECT_EQ(reshaped({kN, 4}, {-1}), "f32[(4*N : N)]");
  EXPECT_EQ(reshaped({kN, 4}, {-1, 8}),
            "reshape: no extent fits -1 in [-1,8] before the sizes are known (x f32[N,4])");
  EXPECT_EQ(reshaped({kN, 4}, {2, 4}),
            "reshape: [2,4] cannot be checked before the sizes are known (x f32[N,4])");
}

TEST(ReshapeInfer, RejectsWhatDoesNotFit) {
  EXPECT_EQ(reshaped({2, 3}, {4}), "reshape: [4] holds 4 elements, x 6 (x f32[2,3])");
  EXPECT_EQ(reshaped({2, 3}, {4, -1}), "reshape: no extent fits -1 in [4,-1] (x f32[2,3])");
  EXPECT_EQ(reshaped({2, 3}, {-1, -1}), "reshape: shape holds -1 twice (x f32[2,3])");
  EXPECT_EQ(reshaped({2, 3}, {-2}), "reshape: shape holds -2 (x f32[2,3])");
  EXPECT_EQ(reshaped({6}, {6, 0}), "reshape: shape copies dim 1, which x lacks (x f32[6])");
  EXPECT_EQ(reshaped({2, 3}, {int64_t{1} << 62, 4}),
            "reshape: the size of a tensor of shape [4611686018427387904,4] does not fit in 63 "
            "bits (x f32[2,3])");
}

TEST(Flatten, CutsAtTheAxis) {
  auto flat = [](const Shape& x, int64_t axis) {
    return infer("flatten", {f32_type(x)}, {{"axis", axis}});
  };
  EXPECT_EQ(flat({2, 3, 4}, 0), "f32[1,24]");
  EXPECT_EQ(flat({2, 3, 4}, 2), "f32[6,4]");
  EXPECT_EQ(flat({2, 3, 4}, 3), "f32[24,1]");
  EXPECT_EQ(flat({2, 3, 4}, -1), "f32[6,4]");
  EXPECT_EQ(flat({}, 0), "f32[1,1]");
  EXPECT_EQ(flat({kN, 3, 4}, 1), "f32[N,12]");
  EXPECT_EQ(flat({kN, 3, 4}, 2), "f32[(3*N : N),4]");
  EXPECT_EQ(flat({2, 3}, 3), "flatten: axis 3 is outside [-2, 2] (x f32[2,3])");
}

TEST(Squeeze, DropsOnes) {
  auto squeezed = [](const Shape& x, Ints axes) {
    return infer("squeeze", {f32_type(x)}, {{"axes", std::move(axes)}});
  };
  EXPECT_EQ(squeezed({1, 3, 1, kN}, {}), "f32[3,N]");
  EXPECT_EQ(squeezed({1, 3, 1, 5}, {-2}), "f32[1,3,5]");
  EXPECT_EQ(squeezed({1, 3}, {1}), "squeeze: dim 1 is 3, expected 1 (x f32[1,3])");
  EXPECT_EQ(squeezed({1, 3}, {2}), "squeeze: axis 2 is outside [-2, 2) (x f32[1,3])");
  EXPECT_EQ(squeezed({1, 3}, {0, -2}), "squeeze: axis 0 is named twice (x f32[1,3])");
}

TEST(Unsqueeze, AddsOnes) {
  auto unsqueezed = [](const Shape& x, Ints axes) {
    return infer("unsqueeze", {f32_type(x)}, {{"axes", std::move(axes)}});
  };
  EXPECT_EQ(unsqueezed({3, kN}, {0, -1}), "f32[1,3,N,1]");
  EXPECT_EQ(unsqueezed({3, 4, 5}, {4, 2, 5}), "f32[3,4,1,5,1,1]");
  EXPECT_EQ(unsqueezed({3}, {2}), "unsqueeze: axis 2 is outside [-2, 2) (x f32[1,1])");
  EXPECT_EQ(unsqueezed({3}, {0, 0}), "unsqueeze: axis 0 is named twice (x f32[1,1,1])");
  EXPECT_EQ(unsqueezed({3}, Ints(16, 0)),
            "unsqueeze: the result has rank 17, at most 16 is possible (x f32[3])");
}

TEST(Reshape, KeepsTheElements) {
  expect_close(run_op1("reshape", {pattern({2, 3})}, {{"shape", Ints{3, -1}}}),
               f32({3, 2}, pattern({6}).values));
  expect_close(run_op1("flatten", {tensor(DType::kBool, {2, 2}, {1, 0, 0, 1})}),
               tensor(DType::kBool, {2, 2}, {1, 0, 0, 1}));
  expect_close(run_op1("squeeze", {pattern({1, 3})}), f32({3}, pattern({3}).values));
  expect_close(run_op1("unsqueeze", {tensor(DType::kF64, {2}, {1.5, -2})}, {{"axes", Ints{1}}}),
               tensor(DType::kF64, {2, 1}, {1.5, -2}));
  EXPECT_EQ(
      run_op1("reshape", {pattern({0, 3})}, {{"shape", Ints{3, 0}}, {"allow_zero", true}}).type,
      f32_type({3, 0}));
}

TEST(Shape, GivesTheExtents) {
  expect_close(run_op1("shape", {pattern({2, 3, 5})}), i64({3}, {2, 3, 5}));
  expect_close(run_op1("shape", {pattern({2, 3, 5})}, {{"start", -2}, {"end", -1}}), i64({1}, {3}));
  expect_close(run_op1("shape", {pattern({2, 3})}, {{"start", 1}, {"end", 9}}), i64({1}, {3}));
  expect_close(run_op1("shape", {pattern({2, 3})}, {{"start", 2}, {"end", 1}}), i64({0}, {}));
  EXPECT_EQ(infer("shape", {f32_type({kN, 3})}), "i64[2]");
}

TEST(ConcatInfer, AddsExtents) {
  EXPECT_EQ(infer("concat", {f32_type({2, 3}), f32_type({2, 0}), f32_type({2, 4})}, {{"axis", -1}}),
            "f32[2,7]");
  EXPECT_EQ(infer("concat", {f32_type({kN, 3}), f32_type({kN, 4})}, {{"axis", 1}}), "f32[N,7]");
  EXPECT_EQ(infer("concat", {f32_type({0, 3}), f32_type({kN, 3})}, {{"axis", 0}}), "f32[N,3]");
  EXPECT_EQ(infer("concat", {f32_type({kN}), f32_type({2})}, {{"axis", 0}}), "f32[(N+2 : N)]");
}

TEST(ConcatInfer, RejectsWhatDoesNotFit) {
  EXPECT_EQ(infer("concat", {f32_type({2, 3}), f32_type({3, 3})}, {{"axis", 1}}),
            "concat: input 1 differs from input 0 in more than dim 1 (f32[2,3], f32[3,3])");
  EXPECT_EQ(infer("concat", {f32_type({2, 3}), f32_type({2})}, {{"axis", 0}}),
            "concat: input 1 differs from input 0 in more than dim 0 (f32[2,3], f32[2])");
  EXPECT_EQ(infer("concat", {f32_type({2}), type_of(DType::kI64, {2})}, {{"axis", 0}}),
            "concat: inputs 0 and 1 are f32[2] and i64[2], expects one dtype");
  EXPECT_EQ(infer("concat", {f32_type({2})}, {{"axis", 1}}),
            "concat: axis 1 is outside [-1, 1) (x f32[2])");
  Dim half = int64_t{1} << 62;
  EXPECT_EQ(infer("concat", {f32_type({half, 0}), f32_type({half, 0})}, {{"axis", 0}}),
            "concat: the sum of the extents does not fit in 63 bits (f32[4611686018427387904,0], "
            "f32[4611686018427387904,0])");
}

TEST(Concat, JoinsAlongAnyAxis) {
  Values a = i64({2, 2}, {1, 2, 3, 4}), b = i64({2, 1}, {5, 6}), none = i64({2, 0}, {});
  expect_close(run_op1("concat", {a, none, b}, {{"axis", 1}}), i64({2, 3}, {1, 2, 5, 3, 4, 6}));
  expect_close(run_op1("concat", {a, a}, {{"axis", 0}}), i64({4, 2}, {1, 2, 3, 4, 1, 2, 3, 4}));
  expect_close(run_op1("concat", {a}, {{"axis", 0}}), a);
  EXPECT_EQ(run_op1("concat", {none, none}, {{"axis", 1}}).type, type_of(DType::kI64, {2, 0}));
}

TEST(SplitInfer, GivesOneTypeAPart) {
  EXPECT_EQ(infer("split", {f32_type({kN, 7})}, {{"axis", 1}, {"split", Ints{3, 0, 4}}}),
            "f32[N,3] f32[N,0] f32[N,4]");
}

TEST(SplitInfer, RejectsWhatDoesNotFit) {
  auto parts = [](const Shape& x, Ints split) {
    return infer("split", {f32_type(x)}, {{"split", std::move(split)}});
  };
  EXPECT_EQ(parts({7}, {3, 3}), "split: [3,3] does not add up to dim 0 (x f32[7])");
  EXPECT_EQ(parts({7}, {8, -1}), "split: [8,-1] does not add up to dim 0 (x f32[7])");
  EXPECT_EQ(parts({7}, {}), "split: [] does not add up to dim 0 (x f32[7])");
  EXPECT_EQ(parts({kN}, {1}), "split: dim 0 must be known (x f32[N])");
}

TEST(Split, CutsAlongAnyAxis) {
  auto parts =
      run_op("split", {pattern({2, 3}, 1, 100, 0)}, {{"axis", 1}, {"split", Ints{1, 0, 2}}});
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  ASSERT_EQ(parts->size(), 3u);
  expect_close((*parts)[0], f32({2, 1}, {0, 3}));
  expect_close((*parts)[1], f32({2, 0}, {}));
  expect_close((*parts)[2], f32({2, 2}, {1, 2, 4, 5}));
}

}  // namespace
}  // namespace byoc::testing
