// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/conv.cc, pool.cc and window.cc.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using List = std::vector<int64_t>;

TEST(ConvRow, NamesTheOpByItsSpatialDims) {
  EXPECT_EQ(ops_of(OneNode("Conv", 13, {{1, 3, 8}, {2, 3, 3}})), "%0 = conv1d(%a, %b)\n");
  EXPECT_EQ(
      ops_of(OneNode("Conv", 13, {{1, 3, 8, 8}, {2, 3, 3, 3}}).with("pads", List{1, 0, 1, 0})),
      "%0 = conv2d(%a, %b) {pads=[1,0,1,0]}\n");
  EXPECT_EQ(ops_of(OneNode("Conv", 13, {{1, 4, 8, 8, 8}, {2, 2, 3, 3, 3}}).with("group", 2)),
            "%0 = conv3d(%a, %b) {group=2}\n");
  EXPECT_THAT(ops_of(OneNode("Conv", 13, {{1, 3}, {2, 3}})),
              HasSubstr("only one to three spatial dims are supported"));
}

TEST(ConvRow, AddsABiasThatBroadcastsOverTheSpatialDims) {
  EXPECT_EQ(ops_of(OneNode("Conv", 13, {{1, 3, 8, 8}, {2, 3, 3, 3}, {2}})),
            "%0 = conv2d(%a, %b)\n%1 = reshape(%c) {shape=[-1,1,1]}\n%2 = add(%0, %1)\n");
  OneNode known("Conv", 13, {{1, 3, 8, 8}, {2, 3, 3, 3}});
  known.constant("bias", std::vector<float>{1, 2});
  EXPECT_THAT(ops_of(known), HasSubstr("f32[2,1,1]"));
}

TEST(ConvRow, ResolvesAutoPad) {
  auto padded = [](const char* auto_pad, int extent) {
    return ops_of(OneNode("Conv", 13, {{1, 1, extent}, {1, 1, 4}})
                      .with("strides", List{2})
                      .with("auto_pad", auto_pad));
  };
  // 7 / 2 rounded up is 4 cells, which cover (4 - 1) * 2 + 4 = 10 cells of x: 3 cells of padding.
  EXPECT_THAT(padded("SAME_UPPER", 7), HasSubstr("pads=[1,2]"));
  EXPECT_THAT(padded("SAME_LOWER", 7), HasSubstr("pads=[2,1]"));
  EXPECT_THAT(padded("SAME_UPPER", 8), HasSubstr("pads=[1,1]"));
  EXPECT_EQ(padded("VALID", 7), "%0 = conv1d(%a, %b) {strides=[2]}\n");
  EXPECT_THAT(padded("SAME", 7), HasSubstr("auto_pad is \"SAME\""));
}

TEST(ConvRow, ResolvesAutoPadOverUnknownExtentsWhenTheStrideIsOne) {
  OneNode same("Conv", 13, {{1, 1, "W"}, {1, 1, 3}});
  EXPECT_THAT(ops_of(same.with("auto_pad", "SAME_UPPER")), HasSubstr("pads=[1,1]"));
  OneNode strided("Conv", 13, {{1, 1, "W"}, {1, 1, 3}});
  strided.with("auto_pad", "SAME_UPPER").with("strides", List{2});
  EXPECT_THAT(ops_of(strided), HasSubstr("auto_pad needs the extent of dim 2, which is W"));
}

TEST(ConvRow, ChecksItsLists) {
  auto with = [](const char* attr, const List& list) {
    return ops_of(OneNode("Conv", 13, {{1, 1, 8, 8}, {1, 1, 3, 3}}).with(attr, list));
  };
  EXPECT_THAT(with("kernel_shape", {3, 2}),
              HasSubstr("kernel_shape is [3,2], the weight is f32[1,1,3,3]"));
  EXPECT_THAT(with("strides", {1}), HasSubstr("strides has 1 entries, expected 2"));
  EXPECT_THAT(with("pads", {1, 1}), HasSubstr("pads has 2 entries, expected 4"));
  EXPECT_THAT(with("dilations", {1, int64_t{1} << 40}), HasSubstr("dilations holds 1099511627776"));
  EXPECT_THAT(ops_of(OneNode("Conv", 13, {{1, 1, 8}, {1, 1, 3, 3}})),
              HasSubstr("kernel_shape has 2 entries, x is f32[1,1,8]"));
  EXPECT_THAT(ops_of(OneNode("Conv", 13, {{1, 1, 8}, {1, "C", 3}})),
              HasSubstr("the weight's shape must be known"));
}

TEST(ConvRow, NamesTheChannelsThatDoNotFitWithABiasToo) {
  EXPECT_THAT(ops_of(OneNode("Conv", 13, {{1, 3, 4, 4}, {2, 5, 3, 3}, {2}})),
              testing::AllOf(HasSubstr("conv2d: "), HasSubstr("channels")));
}

TEST(ConvTransposeRow, FitsTheOutputShape) {
  auto fitted = [](const List& output_shape) {
    OneNode node("ConvTranspose", 13, {{1, 1, 3, 3}, {1, 2, 3, 3}});
    return ops_of(node.with("strides", List{3, 2}).with("output_shape", output_shape));
  };
  // The extents without padding are 9 and 7.
  EXPECT_THAT(fitted({9, 7}), Not(HasSubstr("pads")));
  EXPECT_THAT(fitted({6, 7}), HasSubstr("pads=[2,0,1,0]"));
  EXPECT_THAT(fitted({10, 8}), HasSubstr("output_padding=[1,1]"));
  EXPECT_THAT(fitted({10}), HasSubstr("output_shape has 1 entries, expected 2"));
}

TEST(ConvTransposeRow, ResolvesAutoPadAndChecksOutputPadding) {
  OneNode same("ConvTranspose", 13, {{1, 1, 3}, {1, 1, 4}});
  EXPECT_THAT(ops_of(same.with("strides", List{2}).with("auto_pad", "SAME_UPPER")),
              HasSubstr("pads=[1,1]"));
  OneNode bad("ConvTranspose", 13, {{1, 1, 3}, {1, 1, 4}});
  EXPECT_THAT(ops_of(bad.with("output_padding", List{1, 1})),
              HasSubstr("output_padding has 2 entries, expected 1"));
  OneNode unknown("ConvTranspose", 13, {{1, 1, "W"}, {1, 1, 4}});
  EXPECT_THAT(ops_of(unknown.with("output_shape", List{8})),
              HasSubstr("the extent of dim 2 must be known, it is W"));
}

TEST(PoolRow, TakesWindowsAndModes) {
  OneNode max("MaxPool", 12, {{1, 2, 8, 8}}, 2);
  max.with("kernel_shape", List{2, 2}).with("ceil_mode", 1).with("storage_order", 1);
  EXPECT_THAT(ops_of(max), HasSubstr("ceil_mode=true"));
  EXPECT_THAT(ops_of(max), HasSubstr("storage_order=1"));
  EXPECT_THAT(ops_of(max), HasSubstr("with_indices=true"));
  OneNode average("AveragePool", 11, {{1, 2, 8}});
  EXPECT_THAT(ops_of(average.with("kernel_shape", List{3}).with("count_include_pad", 1)),
              HasSubstr("count_include_pad=true"));
  OneNode lp("LpPool", 11, {{1, 2, 8}});
  EXPECT_THAT(ops_of(lp.with("kernel_shape", List{3}).with("p", 3)), HasSubstr("p=3"));
  EXPECT_EQ(ops_of(OneNode("GlobalAveragePool", 1, {{1, 2, 8}})), "%0 = global_average_pool(%a)\n");
}

TEST(PoolRow, RefusesOtherRanks) {
  OneNode pool("MaxPool", 12, {{1, 2}});
  EXPECT_THAT(ops_of(pool.with("kernel_shape", List{})),
              HasSubstr("only one to three spatial dims are supported, x is f32[1,2]"));
}

TEST(MaxUnpoolRow, ScattersAndPads) {
  OneNode unpool("MaxUnpool", 11, {{1, 1, 2, 2}});
  unpool.with("kernel_shape", List{2, 2}).with("strides", List{2, 2});
  unpool.model.input("i", {1, 1, 2, 2}, onnx::TensorProto::INT64);
  unpool.model.graph().mutable_node(0)->add_input("i");
  EXPECT_THAT(ops_of(unpool), HasSubstr("scatter_elements("));
  EXPECT_THAT(ops_of(unpool), HasSubstr("shape=[1,1,4,4]"));
  EXPECT_THAT(ops_of(unpool), Not(HasSubstr("pad(")));
  EXPECT_THAT(ops_of(unpool.constant("shape", List{1, 1, 5, 6})),
              HasSubstr("pads=[0,0,0,0,0,0,1,2]"));
}

}  // namespace
}  // namespace byoc::test
