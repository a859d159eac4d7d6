// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/attention.cc. Expected values: numpy in f64, one query and one head
// at a time, and rotations of complex numbers.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

// 4 heads of queries, 2 of keys and values; 2 queries, 3 keys.
FoldedNode attention(int opset = 25, size_t outputs = 1) {
  FoldedNode node("Attention", opset, outputs);
  node.floats({1, 4, 2, 2}, pattern(16, 7, 11, 5, 0.25f));
  node.floats({1, 2, 3, 2}, weights(12, 0.25f));
  node.floats({1, 2, 3, 2}, pattern(12, 3, 8, 4));
  return node;
}

TEST(AttentionRow, SharesKeysBetweenHeads) {
  expect_values(
      attention(23).result(),
      {-2.0413, -0.845031, -1.88189, -0.299413, -0.0268979, -0.531938, -0.107559, 0.45928,
       -0.0476648, -1.72745, -1.87991, -0.164326, -1.93913, -0.636524, -2.05875, -1.02121});
}

TEST(AttentionRow, HidesLaterKeysCountingThoseOfThePast) {
  FoldedNode node("Attention", 23, 3);
  node.floats({1, 4, 2, 2}, pattern(16, 7, 11, 5, 0.25f));
  // The keys and values of the test above, the first of each head as the past.
  std::vector<float> k = weights(12, 0.25f), v = pattern(12, 3, 8, 4);
  auto part = [](const std::vector<float>& all, size_t begin, size_t end) {
    std::vector<float> out(all.begin() + static_cast<ptrdiff_t>(begin),
                           all.begin() + static_cast<ptrdiff_t>(end));
    out.insert(out.end(), all.begin() + static_cast<ptrdiff_t>(begin + 6),
               all.begin() + static_cast<ptrdiff_t>(end + 6));
    return out;
  };
  node.floats({1, 2, 2, 2}, part(k, 2, 6)).floats({1, 2, 2, 2}, part(v, 2, 6)).none();
  node.floats({1, 2, 1, 2}, part(k, 0, 2)).floats({1, 2, 1, 2}, part(v, 0, 2));
  node.with("is_causal", 1);
  expect_values(node.result(),
                {-2.4057, -1.53143, -1.88189, -0.299413, -0.0405138, -2.31983, -0.107559, 0.45928,
                 -2.93381, 0.0661943, -1.87991, -0.164326, -3, 0, -2.05875, -1.02121});
  EXPECT_EQ(node.result(1), std::vector<double>(k.begin(), k.end()));
  EXPECT_EQ(node.result(2), std::vector<double>(v.begin(), v.end()));
}

TEST(AttentionRow, GivesZerosToQueriesThatSeeNoKey) {
  FoldedNode node = attention(23, 4);
  node.ints({2, 3}, {1, 0, 1, 0, 0, 0}, onnx::TensorProto::BOOL).with("qk_matmul_output_mode", 3);
  node.node().set_output(1, "");
  node.node().set_output(2, "");
  node.model.graph().mutable_output()->DeleteSubrange(1, 2);
  expect_values(node.result(), {-3.21772, -0.217719, 0, 0, -1.60741, 1.39259, 0, 0, 0.902288,
                                -1.90229, 0, 0, -0.599708, -0.400292, 0, 0});
  expect_values(node.result(1), {0.80443,  0, 0.19557,  0, 0, 0, 0.401854, 0, 0.598146, 0, 0, 0,
                                 0.274428, 0, 0.725572, 0, 0, 0, 0.649927, 0, 0.350073, 0, 0, 0});
}

TEST(AttentionRow, CapsScores) {
  FoldedNode node = attention();
  node.with("softcap", 0.5f);
  expect_values(node.result(), {-1.51137, -0.687271, -1.50206, -0.246699, -0.108196, -0.515461,
                                -0.221843, 0.243635, -0.457846, -1.48688, -1.73709, -0.430103,
                                -1.85775, -0.685348, -1.93569, -1.01502});
}

TEST(AttentionRow, LimitsKeysToAWindow) {
  FoldedNode node = attention();
  node.with("left_window_size", 0).with("right_window_size", 1);
  expect_values(node.result(),
                {-2.4057, -1.53143, 0.803707, 0.588878, -0.0405138, -2.31983, 0.74088, 0.777361,
                 -2.93381, 0.0661943, -1.71517, -1.76161, -3, 0, -2.07677, -1.64108});
}

TEST(AttentionRow, PlacesQueriesAtTheEndOfTheValidKeys) {
  FoldedNode node("Attention", 24);
  node.floats({2, 1, 2, 2}, pattern(8, 7, 11, 5, 0.25f)).floats({2, 1, 3, 2}, weights(12, 0.25f));
  node.floats({2, 1, 3, 2}, pattern(12, 3, 8, 4)).none().none().none().ints({2}, {3, 1});
  node.with("is_causal", 1);
  expect_values(node.result(), {-2.4057, -1.53143, -1.88189, -0.299413, 0, 0, -2, 1});
}

TEST(AttentionRow, RefusesWhatDoesNotFit) {
  FoldedNode lone("Attention", 24);
  lone.floats({1, 1, 1, 2}, {1, 2}).floats({1, 1, 1, 3}, {1, 2, 3}).floats({1, 1, 1, 2}, {1, 2});
  EXPECT_THAT(ops_of(lone.model),
              HasSubstr("Q, K and V do not fit each other as [n, heads, length, size]: they are "
                        "f32[1,1,1,2], f32[1,1,1,3] and f32[1,1,1,2]"));
  FoldedNode packed("Attention", 24);
  packed.floats({1, 1, 4}, pattern(4)).floats({1, 1, 4}, pattern(4)).floats({1, 1, 4}, pattern(4));
  packed.with("q_num_heads", 3).with("kv_num_heads", 1);
  EXPECT_THAT(ops_of(packed.model),
              HasSubstr("Q is f32[1,1,4], its last dim does not divide into 3 heads"));
  FoldedNode bounded = attention();
  bounded.with("left_window_size", -2);
  EXPECT_THAT(ops_of(bounded.model),
              HasSubstr("left_window_size -2 and right_window_size -1 must"));
}

// The angles are cos + i sin of th = ((k * 3) % 5 - 2) / 3.
FoldedNode rotary() {
  FoldedNode node("RotaryEmbedding", 23);
  node.floats({1, 2, 2, 6}, pattern(24));
  node.floats({3, 2}, {0.785887f, 0.944957f, 0.944957f, 0.785887f, 1, 0.785887f});
  node.floats({3, 2}, {-0.61837f, 0.327195f, -0.327195f, 0.61837f, 0, -0.61837f});
  node.ints({1, 2}, {2, 0}).with("rotary_embedding_dim", 4);
  return node;
}

TEST(RotaryEmbeddingRow, RotatesHalvesOfAPartOfTheHead) {
  expect_values(
      rotary().result(),
      {-5, 4.66362,   -2, 2.6927,  1,  -3, 0.67007, -0.981584, -5.61703, 2.83487,  -1, -5,
       2,  -0.953405, 5,  2.02263, -3, 4,  1.85511, -3.45263,  2.35766,  -2.25374, -5, 2});
}

TEST(RotaryEmbeddingRow, RotatesNeighbours) {
  FoldedNode node = rotary();
  node.with("interleaved", 1);
  expect_values(
      node.result(),
      {-5, 2,  1.52007, 5.16618,  1,  -3, 3.14355,  -2.47348, -4.76141, 1.52609,   -1, -5,
       2,  -2, 4.54781, -2.30596, -3, 4,  -2.47348, -3.14355, 3.16207,  0.0366271, -5, 2});
}

}  // namespace
}  // namespace byoc::test
