// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/state.cc, image.cc and signal.cc. Expected values: torch 1.13
// (conv1d, affine_grid, stft, windows) and torchvision 0.14 (deform_conv2d) in f64; ONNX's text for
// TensorScatter and CenterCropPad.
#include "unit/import/folded.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using Floats64 = std::vector<double>;

FoldedNode causal_conv() {
  FoldedNode node("CausalConvWithState", 27, 2);
  node.floats({1, 2, 3}, pattern(6)).floats({2, 1, 3}, weights(6)).floats({2}, {1, -2});
  node.floats({1, 2, 2}, pattern(4, 3, 8, 4));
  return node;
}

TEST(CausalConvRow, BeginsWithTheState) {
  expect_values(causal_conv().result(), {11, -6, 20, -10, 20, -12});
  expect_values(causal_conv().result(1), {2, -2, 1, -3});  // the last two columns of the input
}

TEST(CausalConvRow, RefusesOtherActivations) {
  FoldedNode node = causal_conv();
  node.with("activation", "relu");
  EXPECT_THAT(ops_of(node.model),
              HasSubstr("activation is \"relu\", expected none, silu or swish"));
}

FoldedNode scatter(const std::vector<int64_t>& first) {
  FoldedNode node("TensorScatter", 24);
  node.floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}).floats({2, 2, 1}, {10, 20, 30, 40});
  node.ints({2}, first);
  return node;
}

TEST(TensorScatterRow, WritesAtAnIndexPerImage) {
  EXPECT_EQ(scatter({1, 0}).result(), (Floats64{1, 10, 20, 30, 40, 6}));
  FoldedNode round = scatter({2, 1});
  round.with("mode", "circular");
  EXPECT_EQ(round.result(), (Floats64{20, 2, 10, 4, 30, 40}));
}

TEST(LinearAttentionRow, PassesTheGatesOfItsRule) {
  FoldedNode node("LinearAttention", 27);
  node.floats({1, 1, 1}, {2}).floats({1, 1, 1}, {3}).floats({1, 1, 1}, {5}).none();
  node.with("update_rule", "gated").with("q_num_heads", 1).with("kv_num_heads", 1);
  EXPECT_THAT(ops_of(node.model),
              HasSubstr("update_rule \"gated\" requires the input decay, and forbids beta"));
  node.floats({1, 1, 1}, {0});
  EXPECT_THAT(ops_of(node.model), HasSubstr("linear_attention("));
}

TEST(CenterCropPadRow, CutsAndPadsInTheMiddle) {
  FoldedNode node("CenterCropPad", 18);
  node.floats({1, 5}, {1, 2, 3, 4, 5}).ints({2}, {2, 2});
  EXPECT_EQ(node.result(), (Floats64{2, 3, 0, 0}));
  FoldedNode one_axis("CenterCropPad", 18);
  one_axis.floats({1, 2}, {1, 2}).ints({1}, {5}).with("axes", std::vector<int64_t>{-1});
  EXPECT_EQ(one_axis.result(), (Floats64{0, 1, 2, 0, 0}));
}

TEST(AffineGridRow, MovesAGridOfCells) {
  FoldedNode node("AffineGrid", 20);
  node.floats({1, 2, 3}, pattern(6)).ints({4}, {1, 1, 2, 3});
  expect_values(node.result(), {0.333333, -6.83333, -3, -3.5, -6.33333, -0.166667, 2.33333,
                                -5.83333, -1, -2.5, -4.33333, 0.833333});
  node.with("align_corners", 1);
  expect_values(node.result(), {1, -9, -4, -4, -9, 1, 5, -7, 0, -2, -5, 3});
}

TEST(DeformConvRow, MultipliesRowsGroupByGroup) {
  FoldedNode node("DeformConv", 22);
  node.floats({1, 2, 3, 3}, pattern(18)).floats({2, 1, 2, 2}, weights(8));
  node.floats({1, 8, 2, 2}, pattern(32, 3, 8, 4, 0.25f)).floats({2}, {1, 2}).with("group", 2);
  expect_values(node.result(), {-3, 3.875, -2.75, 0.25, 2, -11.25, 5, -14.75});
}

TEST(DeformConvRow, HasOtherGroupsOfOffsetsThanOfChannels) {
  FoldedNode node("DeformConv", 22);
  node.floats({1, 8, 3, 3}, pattern(72)).floats({2, 4, 1, 2}, weights(16));
  node.floats({1, 16, 3, 2}, pattern(96, 3, 8, 4, 0.25f)).floats({2}, {1, 2});
  node.floats({1, 8, 3, 2}, pattern(48, 5, 9, 0, 0.25f)).with("group", 2).with("offset_group", 4);
  expect_values(node.result(), {5.5, -13.90625, 3.25, -8.84375, 16.75, 3.21875, 11.375, -6.796875,
                                -6.125, -3.671875, -6.375, 2.8125});
}

TEST(StftRow, TransformsWindowedFrames) {
  FoldedNode node("STFT", 17);
  node.floats({1, 6, 1}, pattern(6)).ints({}, {2}).floats({4}, {0.5, 1, 0.25, 2});
  expect_values(node.result(), {9, 0, -2, 8, -15, 0, -1.75, 0, -1.25, -11, 0.25, 0});
}

TEST(WindowRows, AgreeWithTorch) {
  auto window = [](const char* op, int64_t size, int periodic) {
    FoldedNode node(op, 17);
    node.ints({}, {size}).with("periodic", periodic);
    return node.result();
  };
  expect_values(window("HannWindow", 4, 1), {0, 0.5, 1, 0.5});
  expect_values(window("HammingWindow", 4, 1), {0.0869565, 0.5434783, 1, 0.5434783});
  expect_values(window("BlackmanWindow", 5, 0), {0, 0.34, 1, 0.34, 0});
}

// 8 bins of 1000 Hz; ONNX's formula puts points at the bins 0, 1, 2 and 4 (log10 of 1 + f / 700).
TEST(MelWeightMatrixRow, MakesTriangles) {
  FoldedNode node("MelWeightMatrix", 17);
  node.ints({}, {2}).ints({}, {8}).ints({}, {8000}).floats({}, {0}).floats({}, {4000});
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  std::vector<int> points;
  for (int k = 0; k < 4; ++k)
    points.push_back(
        static_cast<int>(9 * 700 * (std::pow(10, mel(4000) * k / 4 / 2595) - 1) / 8000));
  ASSERT_EQ(points, (std::vector<int>{0, 0, 1, 2}));
  EXPECT_EQ(node.result(), (Floats64{1, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(GridSampleRow, HasNewNamesOfModesFromOpset20On) {
  EXPECT_THAT(ops_of(OneNode("GridSample", 20, {{1, 1, 2, 2}, {1, 1, 1, 2}}).with("mode", "cubic")),
              HasSubstr("mode=\"bicubic\""));
  EXPECT_THAT(ops_of(OneNode("GridSample", 16, {{1, 1, 2, 2}, {1, 1, 1, 2}}).with("mode", "cubic")),
              HasSubstr("mode is \"cubic\""));
}

}  // namespace
}  // namespace byoc::test
