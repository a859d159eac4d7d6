// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/index.cc, resize.cc, recurrent.cc and quantize.cc.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using List = std::vector<int64_t>;
using FloatList = std::vector<float>;

TEST(GatherRow, ChecksConstantIndices) {
  OneNode fits("Gather", 13, {{3, 4}});
  EXPECT_THAT(ops_of(fits.constant("i", List{3, -4}).with("axis", -1)), HasSubstr("gather(%a, "));
  OneNode outside("Gather", 13, {{3, 4}});
  EXPECT_THAT(ops_of(outside.constant("i", List{0, 4}).with("axis", 1)),
              HasSubstr("index 4 is outside of a dim of 4 entries"));
}

TEST(GatherRow, SlicesAtConstantIndicesThatRiseEvenly) {
  OneNode some("Gather", 13, {{3, 9}});
  EXPECT_EQ(ops_of(some.constant("i", List{-8, 4, 7}).with("axis", -1)),
            "%0 = slice(%a) {axes=[1], ends=[8], starts=[1], steps=[3]}\n");
  OneNode one("Gather", 13, {{3, 9}});
  EXPECT_EQ(ops_of(one.scalar("i", -1).with("axis", 1)),
            "%0 = slice(%a) {axes=[1], ends=[9], starts=[8], steps=[1]}\n"
            "%1 = squeeze(%0) {axes=[1]}\n");
  for (const List& uneven : {List{0, 0}, List{2, 1}, List{0, 1, 3}}) {
    OneNode node("Gather", 13, {{3, 9}});
    EXPECT_THAT(ops_of(node.constant("i", uneven).with("axis", 1)), HasSubstr("gather(%a, "));
  }
}

TEST(ScatterRow, HasTwoNames) {
  EXPECT_THAT(
      ops_of(OneNode("Scatter", 9, {{3}}).constant("i", List{1}).constant("u", FloatList{5})),
      HasSubstr("scatter_elements(%a, "));
  EXPECT_THAT(ops_of(OneNode("ScatterElements", 16, {{3}})
                         .constant("i", List{1})
                         .constant("u", FloatList{5})
                         .with("reduction", "add")),
              HasSubstr("reduction=\"add\""));
}

TEST(OneHotRow, CastsIndicesThatAreNoIndices) {
  OneNode node("OneHot", 11, {{2}});
  EXPECT_THAT(ops_of(node.constant("depth", FloatList{3}).constant("values", FloatList{0, 1})),
              HasSubstr("cast(%a) {to=i64}"));
  EXPECT_THAT(ops_of(node), HasSubstr("depth=3"));
  OneNode bad("OneHot", 11, {{2}});
  EXPECT_THAT(ops_of(bad.constant("depth", List{3, 4}).constant("values", FloatList{0, 1})),
              HasSubstr("its input \"depth\" has 2 elements, expected 1"));
}

TEST(CountedRows, NameTheirSizes) {
  EXPECT_EQ(ops_of(OneNode("NonZero", 13, {{2, 3}})), "%0 = nonzero(%a) {size=\"nonzero_1\"}\n");
  EXPECT_EQ(ops_of(OneNode("Unique", 13, {{2, 3}}).with("sorted", 0)),
            "%0 = unique(%a) {size=\"unique_1\", sorted=false}\n");
  OneNode compress("Compress", 13, {{2, 3}});
  compress.model.input("c", {2}, onnx::TensorProto::BOOL);
  compress.model.graph().mutable_node(0)->add_input("c");
  EXPECT_EQ(ops_of(compress.with("axis", 0)),
            "%0 = compress(%a, %c) {axis=0, size=\"compress_2\"}\n");
}

TEST(CountedRows, AreConstantsForConstants) {
  OneNode node("NonZero", 13, {});
  EXPECT_THAT(ops_of(node.constant("x", List{0, 5, 0, 7})), HasSubstr("const([1,3]) : i64[1,2]"));
}

TEST(NonMaxSuppressionRow, HasTheBoundOfAConstant) {
  OneNode node("NonMaxSuppression", 11, {{1, 6, 4}, {1, 2, 6}});
  node.constant("most", List{3}).constant("iou", FloatList{0.5f});
  EXPECT_THAT(ops_of(node), HasSubstr("= non_max_suppression(%a, %b, "));
  EXPECT_THAT(ops_of(node), HasSubstr("most_per_class=3"));
  EXPECT_THAT(ops_of(OneNode("NonMaxSuppression", 11, {{1, 6, 4}, {1, 2, 6}})),
              HasSubstr("most_per_class=0"));
}

TEST(ResizeRow, TakesScalesOrSizes) {
  OneNode scales("Resize", 13, {{1, 1, 4, 4}});
  scales.constant("", List{}).constant("scales", FloatList{1, 1, 2, 0.5f}).with("mode", "linear");
  EXPECT_EQ(ops_of(scales), "%0 = resize(%a) {mode=\"linear\", scales=[1.0,1.0,2.0,0.5]}\n");
  OneNode sizes("Resize", 13, {{1, 1, 4, 4}});
  sizes.constant("", List{}).constant("", List{}).constant("sizes", List{1, 1, 8, 2});
  EXPECT_EQ(
      ops_of(
          sizes.with("coordinate_transformation_mode", "asymmetric").with("nearest_mode", "floor")),
      "%0 = resize(%a) {coordinates=\"asymmetric\", nearest=\"floor\", sizes=[1,1,8,2]}\n");
}

TEST(ResizeRow, SpreadsSizesOfSomeAxes) {
  OneNode node("Resize", 18, {{1, 1, 4, 5}});
  node.constant("", List{}).constant("", List{}).constant("sizes", List{8}).with("axes", List{2});
  EXPECT_EQ(ops_of(node), "%0 = resize(%a) {sizes=[1,1,8,5]}\n");
  OneNode scales("Resize", 18, {{1, 1, 4, 5}});
  scales.constant("", List{}).constant("scales", FloatList{2}).with("axes", List{3});
  EXPECT_EQ(ops_of(scales), "%0 = resize(%a) {scales=[1.0,1.0,1.0,2.0]}\n");
}

TEST(ResizeRow, PassesAntialiasOn) {
  OneNode node("Resize", 18, {{4}});
  node.constant("", List{}).constant("s", FloatList{0.5}).with("antialias", 1);
  EXPECT_THAT(ops_of(node), HasSubstr("antialias requires the mode linear or cubic"));
  EXPECT_EQ(ops_of(node.with("mode", "linear")),
            "%0 = resize(%a) {antialias=true, mode=\"linear\", scales=[0.5]}\n");
}

TEST(ResizeRow, KeepsTheAspectRatioOfSizes) {
  auto resized = [](const char* policy) {
    OneNode node("Resize", 19, {{2, 4}});
    node.constant("", List{}).constant("", List{}).constant("sizes", List{6, 8});
    return ops_of(node.with("keep_aspect_ratio_policy", policy));
  };
  EXPECT_EQ(resized("not_larger"), "%0 = resize(%a) {scales=[2.0,2.0], sizes=[4,8]}\n");
  EXPECT_EQ(resized("not_smaller"), "%0 = resize(%a) {scales=[3.0,3.0], sizes=[6,12]}\n");
  EXPECT_EQ(resized("stretch"), "%0 = resize(%a) {sizes=[6,8]}\n");
  EXPECT_THAT(resized("fit"), HasSubstr("keep_aspect_ratio_policy is \"fit\", expected"));
}

TEST(ResizeRow, RefusesScalesThatAreComputed) {
  OneNode computed("Resize", 13, {{4}, {0}, {1}});
  EXPECT_THAT(ops_of(computed), HasSubstr("its input \"scales\" is computed at run time"));
}

TEST(UpsampleRow, PlacesCellsAsymmetrically) {
  EXPECT_EQ(ops_of(OneNode("Upsample", 9, {{1, 1, 2, 2}}).constant("s", FloatList{1, 1, 2, 3})),
            "%0 = resize(%a) {coordinates=\"asymmetric\", nearest=\"floor\", "
            "scales=[1.0,1.0,2.0,3.0]}\n");
}

TEST(RoiAlignRow, TakesBothModes) {
  OneNode node("RoiAlign", 16, {{1, 1, 4, 4}, {2, 4}});
  EXPECT_THAT(ops_of(node.constant("i", List{0, 0})), HasSubstr("roi_align("));
  OneNode old("RoiAlign", 10, {{1, 1, 4, 4}, {2, 4}});
  EXPECT_THAT(ops_of(old.constant("i", List{0, 0})), HasSubstr("half_pixel=false"));
  EXPECT_THAT(ops_of(node.with("mode", "max")), HasSubstr("mode=\"max\""));
  OneNode least("RoiAlign", 16, {{1, 1, 4, 4}, {2, 4}});
  least.constant("i", List{0, 0}).with("mode", "min");
  EXPECT_THAT(ops_of(least), HasSubstr("its mode is \"min\", expected avg or max"));
}

OneNode lstm(int outputs = 3) {
  return OneNode("LSTM", 14, {{5, 2, 3}, {1, 16, 3}, {1, 16, 4}}, outputs);
}

TEST(RecurrentRow, TakesOperandsInItsOwnOrder) {
  EXPECT_EQ(ops_of(lstm()), "%0 = lstm(%a, %b, %c)\n");
  OneNode gru("GRU", 14, {{5, 2, 3}, {1, 12, 3}, {1, 12, 4}});
  EXPECT_EQ(ops_of(gru.with("linear_before_reset", 1)),
            "%0 = gru(%a, %b, %c) {linear_before_reset=true}\n");
  EXPECT_EQ(ops_of(OneNode("RNN", 14, {{5, 2, 3}, {1, 4, 3}, {1, 4, 4}}, 2)),
            "%0 = rnn(%a, %b, %c)\n");
}

TEST(RecurrentRow, FillsOmittedOperandsWithZeros) {
  OneNode node = lstm();
  node.constant("", List{}).constant("lengths", List{5, 5});
  node.model.input("h", {1, 2, 4});
  node.model.graph().mutable_node(0)->add_input("h");
  EXPECT_THAT(ops_of(node), HasSubstr("lstm(%a, %b, %c, %0, %h)"));
}

TEST(RecurrentRow, TransposesWhenTheBatchComesFirst) {
  OneNode node("LSTM", 14, {{2, 5, 3}, {1, 16, 3}, {1, 16, 4}}, 2);
  EXPECT_EQ(ops_of(node.with("layout", 1)),
            "%0 = transpose(%a) {perm=[1,0,2]}\n%1 = lstm(%0, %b, %c)\n%2 = transpose(%1) "
            "{perm=[2,0,1,3]}\n"
            "%3 = transpose(%1#1) {perm=[1,0,2]}\n");
}

TEST(RecurrentRow, PassesVariantsOn) {
  EXPECT_EQ(ops_of(lstm().with("clip", 1.0f).with("input_forget", 1)),
            "%0 = lstm(%a, %b, %c) {clip=1.0, input_forget=true}\n");
  EXPECT_THAT(ops_of(OneNode("LSTM", 14, {{5, 3}, {1, 16, 3}, {1, 16, 4}})),
              HasSubstr("X and R must have rank 3"));
}

TEST(RecurrentRow, RefusesAnOutputThatTheOpDoesNotHave) {
  EXPECT_THAT(ops_of(OneNode("GRU", 14, {{5, 2, 3}, {1, 12, 3}, {1, 12, 4}}, 3)),
              HasSubstr("it has 3 outputs, GRU has at most 2"));
  EXPECT_THAT(ops_of(OneNode("LayerNormalization", 17, {{2, 3}, {3}}, 5)),
              HasSubstr("it has 5 outputs, LayerNormalization has at most 3"));
}

TEST(QuantizeRow, RefusesAListOfZeroPointsForAScalar) {
  OnnxModel model;
  model.input("x", {}).input("scale", {}).input("zero", {3}, onnx::TensorProto::UINT8).output("y");
  model.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"}, "q");
  EXPECT_THAT(ops_of(model), HasSubstr("reshape: "));
}

TEST(QuantizeRow, NamesTheChannelsOfAConvolutionThatDoNotFit) {
  OnnxModel model;
  const int u8 = onnx::TensorProto::UINT8;
  model.input("x", {1, 3, 4, 4}, u8).input("xs", {}).input("xz", {}, u8);
  model.input("w", {2, 5, 3, 3}, u8).input("ws", {2}).input("wz", {}, u8);
  model.input("ys", {}).input("yz", {}, u8).output("y");
  model.node("QLinearConv", {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"}, "q");
  EXPECT_THAT(ops_of(model), testing::AllOf(HasSubstr("conv2d: "), HasSubstr("channels")));
}

TEST(QuantizeRow, IsOneOpForSmallIntegers) {
  EXPECT_EQ(ops_of(OneNode("QuantizeLinear", 13, {{2, 3}, {}})),
            "%0 = const(0) : u8[]\n%1 = quantize(%a, %b, %0) {axis=0}\n");
  OnnxModel model;
  const int i8 = onnx::TensorProto::INT8;
  model.input("x", {2, 3}, i8).input("scale", {3}).input("zero", {3}, i8).output("y");
  model.node("DequantizeLinear", {"x", "scale", "zero"}, {"y"}, "d");
  set(*model.graph().mutable_node(0), "axis", -1);
  EXPECT_EQ(ops_of(model), "%0 = dequantize(%x, %scale, %zero)\n");
}

TEST(QuantizeRow, SpellsOutTheArithmeticOfOtherTypes) {
  EXPECT_EQ(ops_of(OneNode("DequantizeLinear", 13, {{2, 3}, {3}}).with("axis", -1)),
            "%0 = cast(%a) {to=i32}\n%1 = cast(%0) {to=f32}\n%2 = reshape(%b) {shape=[-1]}\n%3 = "
            "multiply(%1, %2)\n");
  EXPECT_THAT(ops_of(OneNode("QuantizeLinear", 13, {{2, 3}, {}, {}})),
              HasSubstr("quantising to f32 is not supported"));
  OnnxModel half;
  half.input("x", {2}, onnx::TensorProto::FLOAT16).input("scale", {}, onnx::TensorProto::FLOAT16);
  half.output("y").node("QuantizeLinear", {"x", "scale"}, {"y"}, "q");
  EXPECT_THAT(ops_of(half), HasSubstr("clip(%2) {max=255.0, min=0.0}"));
}

// Weights stay integers, whatever their size, so that plugins can multiply integers.
TEST(QuantizeRow, KeepsTheIntegersOfWeights) {
  OneNode node("DequantizeLinear", 13, {});
  for (const char* name : {"x", "zero"}) {
    auto& tensor = *node.model.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT8);
    for (int64_t dim : {2, 1}) {
      if (name[0] == 'x' || dim == 2) tensor.add_dims(dim);
    }
    tensor.set_raw_data(std::string(2, name[0] == 'x' ? '\x05' : '\0'));
  }
  node.model.graph().mutable_node(0)->add_input("x");
  node.constant("scale", std::vector<float>{0.5f, 2});
  node.model.graph().mutable_node(0)->add_input("zero");
  EXPECT_THAT(ops_of(node.with("axis", 0)), HasSubstr("dequantize("));
}

}  // namespace
}  // namespace byoc::test
