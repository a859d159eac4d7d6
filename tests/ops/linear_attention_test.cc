// SPDX-License-Identifier: Apache-2.0
// linear_attention. Expected values: numpy in f64, from the recurrence of the ONNX specification
// written with outer and matrix products.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

Values scaled(Values values, double factor, double shift = 0) {
  for (double& value : values.values) value = value * factor + shift;
  return values;
}

// Two images' worth of tokens in one: 2 heads of keys and values, 4 of queries; k = 2, v = 3.
std::vector<Values> operands() {
  return {scaled(pattern({1, 2, 8}), 1.0 / 8), scaled(weights({1, 2, 4}), 1.0 / 4),
          scaled(pattern({1, 2, 6}, 3, 8, 4), 1.0 / 4), scaled(weights({1, 2, 2, 3}), 1.0 / 2)};
}

void expect_run(const char* rule, std::vector<Values> gates, double scale, std::vector<double> y,
                std::vector<double> state) {
  SCOPED_TRACE(rule);
  std::vector<Values> in = operands();
  in.insert(in.end(), gates.begin(), gates.end());
  auto out = run_op("linear_attention", in,
                    {{"rule", rule}, {"q_heads", 4}, {"kv_heads", 2}, {"scale", scale}});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  expect_near((*out)[0], f32({1, 2, 12}, std::move(y)), kSmall);
  expect_near((*out)[1], f32({1, 2, 2, 3}, std::move(state)), kSmall);
}

TEST(LinearAttention, AddsOuterProducts) {
  expect_run("linear", {}, 0,
             {0.06629126,  -0.2817379,  0.2983107,   -0.5303301, 0.3977476,  0.3977476,
              -0.1436311,  0.1325825,   -0.2099223,  -0.1767767, -0.5303301, 0.3535534,
              -0.03314563, -0.1049612,  0.5303301,   0.8175922,  -0.7568252, -0.121534,
              -0.1767767,  -0.04419417, -0.08838835, -0.1436311, -0.8396893, 0.6739612},
             {-1.125, 1.375, -1.125, -1.625, 1.4375, 0.5, -0.4375, -1.625, 1.1875, 0.5625, -1.375,
              1.6875});
}

TEST(LinearAttention, DecaysByKey) {
  expect_run("gated", {scaled(pattern({1, 2, 4}, 3, 5, 4), 0.5)}, 0.5,
             {-0.3092529,   -0.002786527, 0.1863457,   -0.4141655,  0.2048943,   0.2197704,
              -0.07728532,  0.1665815,    -0.1969919,  -0.02789127, -0.08367381, 0.05578254,
              -0.008073365, -0.04493288,  0.189153,    0.09672089,  -0.07186359, 0.1102233,
              -0.03454268,  0.0337659,    -0.06133577, 0.01533348,  -0.139884,   0.1517311},
             {-0.173771, 0.3062645, -0.8879548, -0.2747526, 0.1687106, -0.1751237, -0.005167642,
              -0.3280029, 0.3228353, 0.2711738, -0.5981302, 0.8135214});
}

TEST(LinearAttention, CorrectsValuesByOneRateForAllHeads) {
  expect_run("delta", {scaled(pattern({1, 2, 1}, 2, 3, 0), 0.25, 0.25)}, 0,
             {0.315574,      -0.203017,  0.1146286,   -0.3204078, 0.4640388,  0.243068,
              -0.0690534,    0.1160097,  -0.2596408,  -0.1767767, -0.5303301, 0.3535534,
              -0.0004207941, 0.1539243,  0.321163,    0.5449176,  -0.6219985, -0.08510831,
              -0.1251593,    -0.1377615, -0.02313289, -0.1722882, -0.6691274, 0.4937318},
             {-0.8031006, 0.5393066, -0.6643066, -1.072388, 1.299561, 0.3254395, -0.4428711,
              -1.391602, 0.9091797, 0.2651367, -0.6123047, 1.040039});
}

TEST(LinearAttention, DecaysAndCorrectsByHead) {
  expect_run(
      "gated_delta",
      {scaled(pattern({1, 2, 2}, 3, 5, 4), 0.5), scaled(pattern({1, 2, 2}, 2, 3, 0), 0.25, 0.25)},
      0, {-0.04804791, -0.05016441, 0.06089141,  -0.1197888, 0.04369425,  0.07110881,
          -0.1013828,  0.0502596,   -0.06782454, -0.1072205, -0.3216615,  0.214441,
          0.03216491,  -0.02508676, 0.1130276,   0.06957111, -0.03908529, 0.07702139,
          -0.1058672,  -0.07585869, 0.02063146,  -0.1040894, -0.4413459,  0.3197945},
      {-0.1817758, 0.1193791, -0.3916522, -0.1210663, 0.0645641, -0.09594909, -0.2960854,
       -0.9037301, 0.6224618, 0.3027898, -0.4746086, 0.5057526});
}

TEST(LinearAttention, WithoutTokensKeepsTheState) {
  auto out = run_op(
      "linear_attention",
      {f32({1, 0, 2}, {}), f32({1, 0, 2}, {}), f32({1, 0, 1}, {}), f32({1, 1, 2, 1}, {3, 4})},
      {{"rule", "linear"}});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[1].values, (std::vector<double>{3, 4}));
}

TEST(LinearAttention, KeepsAStateOf16BitsInF32BetweenTokens) {
  // 1 + 2^-11 is 1 in f16; two steps of 2^-11 are not lost when the state stays in f32.
  auto out = run_op(
      "linear_attention",
      {tensor(DType::kF16, {1, 2, 1}, {1, 1}), tensor(DType::kF16, {1, 2, 1}, {1, 1}),
       tensor(DType::kF16, {1, 2, 1}, {0x1p-11, 0x1p-11}), tensor(DType::kF16, {1, 1, 1, 1}, {1})},
      {{"rule", "linear"}});
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ((*out)[1].values[0], 1 + 0x1p-10);
}

TEST(LinearAttentionInfer, RejectsWhatDoesNotFit) {
  TensorType q = f32_type({1, 2, 8}), k = f32_type({1, 2, 4}), v = f32_type({1, 2, 6}),
             s = f32_type({1, 2, 2, 3});
  Attrs attrs{{"q_heads", 4}, {"kv_heads", 2}};
  EXPECT_EQ(infer("linear_attention", {q, k, v, s}, attrs), "f32[1,2,12] f32[1,2,2,3]");
  EXPECT_EQ(infer("linear_attention", {q, k, v, s}, {{"rule", "gated"}}),
            "linear_attention: rule gated has 5 operands, got 4");
  EXPECT_EQ(infer("linear_attention", {q, k, v, s}, {{"rule", "fast"}}),
            "linear_attention: rule is \"fast\", expected linear, gated, delta or gated_delta");
  EXPECT_EQ(infer("linear_attention", {q, k, v, s}, {{"q_heads", 3}, {"kv_heads", 2}}),
            "linear_attention: q_heads 3 is no positive multiple of kv_heads 2");
  EXPECT_EQ(infer("linear_attention", {q, k, v, f32_type({1, 2, 2, 4})}, attrs),
            "linear_attention: the operands do not fit 4 and 2 heads (query f32[1,2,8], key "
            "f32[1,2,4], value f32[1,2,6], state f32[1,2,2,4])");
  EXPECT_EQ(infer("linear_attention", {q, k, v, s, f32_type({1, 2, 3})},
                  {{"rule", "delta"}, {"q_heads", 4}, {"kv_heads", 2}}),
            "linear_attention: beta is f32[1,2,3], expected [n, t, 2] or [n, t, 1] (query "
            "f32[1,2,8], key f32[1,2,4], value f32[1,2,6], state f32[1,2,2,3])");
}

}  // namespace
}  // namespace byoc::testing
