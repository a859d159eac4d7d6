// SPDX-License-Identifier: Apache-2.0
// cached_attention. Expected values: numpy in f64, by the definition of ONNX's Attention: scores of
// all keys, minus infinity where a query may not see one, softmax, product with the values.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

Values scaled(Values values, double factor) {
  for (double& value : values.values) value *= factor;
  return values;
}

Values lengths(std::vector<double> values) {
  const auto n = static_cast<int64_t>(values.size());
  return i64({n}, std::move(values));
}

// Two images with 5 keys of 3 numbers and values of 2.
std::vector<Values> operands(int64_t heads, int64_t kv_heads, int64_t s, Values valid) {
  return {scaled(pattern({2, heads, s, 3}), 1.0 / 4), scaled(weights({2, kv_heads, 5, 3}), 1.0 / 4),
          scaled(pattern({2, kv_heads, 5, 2}, 3, 8, 4), 1.0 / 2), std::move(valid)};
}

// Returns x [n, heads, length, size] as [n, length, heads * size].
Values packed(const Values& x) {
  const Ints dims = static_extents(x.type.shape);
  Values out = tensor(x.type.dtype, {dims[0], dims[2], dims[1] * dims[3]}, x.values);
  size_t from = 0;
  for (int64_t n = 0; n < dims[0]; ++n) {
    for (int64_t h = 0; h < dims[1]; ++h) {
      for (int64_t t = 0; t < dims[2]; ++t) {
        for (int64_t c = 0; c < dims[3]; ++c) {
          const int64_t to = ((n * dims[2] + t) * dims[1] + h) * dims[3] + c;
          out.values[static_cast<size_t>(to)] = x.values[from++];
        }
      }
    }
  }
  return out;
}

const std::vector<double> kOfGroups = {
    -0.6349506, -0.9550165, -0.4188893, -1.027037, 0.5,        0,         0.5270369,  -0.08111069,
    -0.2572979, 0.4897766,  -0.2954652, 0.5199313, -0.5732063, -0.279388, -0.6102165, -0.2507491};
const Attrs kGroups = {{"heads", 4}, {"kv_heads", 2}};

void expect_rows(std::vector<Values> in, Attrs attrs, std::vector<double> y) {
  attrs.set("heads", 2);
  expect_near(run_op1("cached_attention", in, attrs), f32({2, 2, 3, 2}, std::move(y)), kSmall);
}

TEST(CachedAttention, SeesTheFirstKeys) {
  expect_near(run_op1("cached_attention", operands(4, 2, 1, lengths({2, 5})), kGroups),
              f32({2, 4, 1, 2}, kOfGroups), kSmall);
}

TEST(CachedAttention, TakesPackedOperands) {
  std::vector<Values> in = operands(4, 2, 1, lengths({2, 5}));
  const Values expected = packed(f32({2, 4, 1, 2}, kOfGroups));
  in[0] = packed(in[0]);
  expect_near(run_op1("cached_attention", in, kGroups), expected, kSmall);
  in[1] = packed(in[1]), in[2] = packed(in[2]);
  expect_near(run_op1("cached_attention", in, kGroups), expected, kSmall);
}

TEST(CachedAttention, HasQueriesAtTheLastPositions) {
  expect_rows(operands(2, 1, 3, lengths({4, 2})), {{"causal", true}},
              {-0.6349506, -0.9550165, -0.287659,  -0.235363, -0.5, 0,    -0.5811107, -0.9729631,
               -0.1753548, 0.2774938,  -0.4972143, 0.4047314, 0,    0,    1,          -1.5,
               0.4639781,  0.1080656,  0,          0,         1,    -1.5, 0.5449835,  -0.1349506});
}

TEST(CachedAttention, SeesKeysInAWindow) {
  expect_rows(operands(2, 1, 3, lengths({4, 5})), {{"left_window", 1}, {"right_window", 0}},
              {-0.6349506, -0.9550165, 0.5360219, -0.1080656, -0.5,       1,
               -0.5811107, -0.9729631, 0.3350118, 0.4949645,  -0.5180344, 0.9819656,
               -0.4909799, 1.00902,    -1.463978, 0.03602188, -1.261196,  -0.7462681,
               -0.6886588, 0.8113412,  -1.481966, 0.01803437, -0.9949645, -0.8350118});
  expect_rows(operands(2, 1, 3, lengths({5, 4})), {{"right_window", 1}},
              {-0.5816753, -0.3628525, -1.053978,  -0.2183485,  -1.110663,  -0.2035543,
               -0.5260614, 0.04507713, -0.6651665, 0.2636217,   -0.6866225, 0.2907007,
               0.02405104, 0.1423264,  -0.4459379, -0.03732156, -0.9133395, 0.008838497,
               -0.2986617, 0.2775351,  -0.8898016, -0.00332424, -0.8777822, -0.006948539});
}

TEST(CachedAttention, HidesMaskedKeys) {
  std::vector<Values> in = operands(2, 1, 3, lengths({5, 3}));
  in.push_back(tensor(DType::kBool, {3, 5}, {0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1}));
  expect_rows(in, {}, {0, 0, -1.011661,  0.4883394,   -1.303936,  -0.5,
                       0, 0, -0.7787226, 0.7212774,   -0.9803969, -0.2267031,
                       0, 0, 0.01804024, -0.5180402,  0.4639781,  0.1080656,
                       0, 0, -0.407836,  -0.09216401, 0.5449835,  -0.1349506});
}

TEST(CachedAttention, AddsAMaskToCappedScores) {
  std::vector<Values> in = operands(2, 1, 3, lengths({5, 3}));
  in.push_back(scaled(pattern({2, 1, 1, 5}, 3, 5, 2), 0.5));
  expect_rows(in, {{"scale", 0.5}, {"softcap", 0.75}},
              {-0.415146,   -0.4057676, -0.7815123,  -0.2057634, -0.8211918, -0.1968999,
               -0.8561659,  -0.1881978, -0.6489416,  0.1233231,  -0.6711085, 0.1379583,
               -0.08056136, 0.840567,   -0.09101537, 0.8037241,  -0.2264949, 0.8352481,
               -0.2434901,  0.7991701,  -0.2600573,  0.7649728,  -0.2757888, 0.7335998});
}

TEST(CachedAttention, DoesNotReadKeysAfterTheLength) {
  std::vector<Values> in = operands(4, 2, 1, lengths({2, 0}));
  const std::vector<Values> clean = operands(4, 2, 1, lengths({2, 5}));
  for (size_t k : {1, 2}) {
    const size_t row = k == 1 ? 3 : 2, image = in[k].values.size() / 2;
    for (size_t at = 0; at < in[k].values.size(); ++at)
      if (at >= image || at / row % 5 >= 2) in[k].values[at] = kNaN;
  }
  const Values y = run_op1("cached_attention", in, kGroups);
  std::vector<double> expected = run_op1("cached_attention", clean, kGroups).values;
  std::fill(expected.begin() + 8, expected.end(), 0);  // the second image sees no key
  EXPECT_EQ(y.values, expected);
}

TEST(CachedAttention, ReadsCachesOf16Bits) {
  std::vector<Values> in = operands(4, 2, 1, lengths({2, 5}));
  in[1] = tensor(DType::kF16, {2, 2, 5, 3}, in[1].values);
  in[2] = tensor(DType::kBF16, {2, 2, 5, 2}, in[2].values);  // both hold these quarters exactly
  expect_near(run_op1("cached_attention", in, kGroups), f32({2, 4, 1, 2}, kOfGroups), kSmall);
}

TEST(CachedAttention, RefusesLengthsOutsideOfTheCache) {
  for (double length : {-1.0, 6.0}) {
    auto y = run_op("cached_attention", operands(4, 2, 1, lengths({2, length})), kGroups);
    ASSERT_FALSE(y.ok());
    EXPECT_EQ(y.status().message(), cat("cached_attention: lengths holds ",
                                        static_cast<int64_t>(length), ", expected 0 to 5"));
  }
}

TEST(CachedAttentionInfer, RejectsWhatDoesNotFit) {
  const TensorType q = f32_type({1, 4, 1, 8}), k = f32_type({1, 2, 9, 8}),
                   v = f32_type({1, 2, 9, 6}), n = type_of(DType::kI64, {1});
  EXPECT_EQ(infer("cached_attention", {q, k, v, n}, kGroups), "f32[1,4,1,6]");
  EXPECT_EQ(infer("cached_attention", {f32_type({1, 1, 32}), k, v, n}, kGroups), "f32[1,1,24]");
  EXPECT_EQ(infer("cached_attention", {q, k, v, n}, {{"heads", 4}, {"kv_heads", 3}}),
            "cached_attention: heads 4 is no positive multiple of kv_heads 3");
  EXPECT_EQ(infer("cached_attention", {q, k, v, n}, {{"heads", 2}, {"kv_heads", 2}}),
            "cached_attention: the operands do not fit 2 and 2 heads (q f32[1,4,1,8], k "
            "f32[1,2,9,8], v f32[1,2,9,6], lengths i64[1])");
  EXPECT_EQ(infer("cached_attention", {f32_type({1, 1, 30}), k, v, n}, kGroups),
            "cached_attention: the last dim of operand 0 does not divide into 4 heads (q "
            "f32[1,1,30], k f32[1,2,9,8], v f32[1,2,9,6], lengths i64[1])");
  EXPECT_EQ(infer("cached_attention", {f32_type({1, 8}), k, v, n}, kGroups),
            "cached_attention: q, k and v must have rank 3 or 4 (q f32[1,8], k f32[1,2,9,8], v "
            "f32[1,2,9,6], lengths i64[1])");
  EXPECT_EQ(infer("cached_attention", {q, k, v, n, f32_type({1, 8})}, kGroups),
            "cached_attention: the mask is f32[1,8], expected one that broadcasts to [1,4,1,9] (q "
            "f32[1,4,1,8], k f32[1,2,9,8], v f32[1,2,9,6], lengths i64[1])");
  Attrs window = kGroups;
  window.set("left_window", -2);
  EXPECT_EQ(infer("cached_attention", {q, k, v, n}, window),
            "cached_attention: left_window -2 and right_window -1 must be at least -1");
  Attrs cap = kGroups;
  cap.set("softcap", -0.5);
  EXPECT_EQ(infer("cached_attention", {q, k, v, n}, cap),
            "cached_attention: softcap is -0.5, expected at least 0");
}

}  // namespace
}  // namespace byoc::testing
