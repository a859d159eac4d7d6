// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/shape.cc, extents.cc, dense.cc and constant.cc.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using List = std::vector<int64_t>;

TEST(ShapeRow, ReadsTargetShapesFromConstants) {
  EXPECT_EQ(ops_of(OneNode("Reshape", 13, {{2, 3}}).constant("shape", List{0, -1, 1})),
            "%0 = reshape(%a) {shape=[0,-1,1]}\n");
  OneNode zero("Reshape", 14, {{0, 3}});
  EXPECT_THAT(ops_of(zero.constant("shape", List{3, 0}).with("allowzero", 1)),
              HasSubstr("allow_zero=true"));
  EXPECT_EQ(ops_of(OneNode("Reshape", 1, {{2, 3}}).with("shape", List{6})),
            "%0 = reshape(%a) {shape=[6]}\n");
  EXPECT_EQ(ops_of(OneNode("Expand", 13, {{2, 1}}).constant("shape", List{2, 3})),
            "%0 = expand(%a) {shape=[2,3]}\n");
  EXPECT_EQ(ops_of(OneNode("Tile", 13, {{2, 1}}).constant("repeats", List{2, 3})),
            "%0 = tile(%a) {repeats=[2,3]}\n");
}

TEST(ShapeRow, RefusesTargetShapesThatAreComputed) {
  OneNode node("Reshape", 13, {{2, 3}});
  node.model.input("shape", {2}, onnx::TensorProto::INT64);
  node.model.graph().mutable_node(0)->add_input("shape");
  EXPECT_THAT(
      ops_of(node),
      HasSubstr("its input \"shape\" is computed at run time; only constants, and elements with "));
  EXPECT_THAT(ops_of(OneNode("Expand", 13, {{2, 3}})), HasSubstr("it has 1 input, Expand needs 2"));
}

TEST(ShapeRow, RefusesExtentsThatAreNoList) {
  for (const char* op : {"Reshape", "Expand", "Tile"}) {
    OneNode node(op, 13, {{2, 3}});
    node.model.input("extents", {}, onnx::TensorProto::INT64);
    node.model.graph().mutable_node(0)->add_input("extents");
    EXPECT_THAT(ops_of(node), HasSubstr("is i64[], expected one dim")) << op;
  }
  OneNode node("ConstantOfShape", 9, {});
  node.model.input("extents", {}, onnx::TensorProto::INT64);
  node.model.graph().mutable_node(0)->add_input("extents");
  EXPECT_THAT(ops_of(node), HasSubstr("its input \"input\" is i64[], expected one dim"));
}

TEST(ShapeRow, TakesAxesAsAttributesOrInputsByOpset) {
  EXPECT_EQ(ops_of(OneNode("Squeeze", 11, {{1, 3, 1}}).with("axes", List{0})),
            "%0 = squeeze(%a) {axes=[0]}\n");
  EXPECT_EQ(ops_of(OneNode("Squeeze", 13, {{1, 3, 1}}).constant("axes", List{0})),
            "%0 = squeeze(%a) {axes=[0]}\n");
  EXPECT_EQ(ops_of(OneNode("Squeeze", 13, {{1, 3, 1}})), "%0 = squeeze(%a)\n");
  EXPECT_EQ(ops_of(OneNode("Unsqueeze", 13, {{3}}).constant("axes", List{-1})),
            "%0 = unsqueeze(%a) {axes=[-1]}\n");
}

TEST(TransposeRow, SpellsOutTheDefault) {
  EXPECT_EQ(ops_of(OneNode("Transpose", 13, {{2, 3, 4}})), "%0 = transpose(%a) {perm=[2,1,0]}\n");
  EXPECT_EQ(ops_of(OneNode("Transpose", 13, {{2, 3}}).with("perm", List{0, 1})),
            "%0 = transpose(%a) {perm=[0,1]}\n");
}

TEST(ConcatRow, NeedsAnAxis) {
  EXPECT_EQ(ops_of(OneNode("Concat", 13, {{2, 3}, {2, 4}}).with("axis", 1)),
            "%0 = concat(%a, %b) {axis=1}\n");
  EXPECT_THAT(ops_of(OneNode("Concat", 13, {{2, 3}, {2, 4}})),
              HasSubstr("attribute \"axis\" is missing, which Concat of opset 13 needs"));
}

TEST(SplitRow, SplitsEvenlyWithoutSizes) {
  EXPECT_THAT(ops_of(OneNode("Split", 13, {{6}}, 3)), HasSubstr("split=[2,2,2]"));
  EXPECT_THAT(ops_of(OneNode("Split", 18, {{7}}, 3).with("num_outputs", 3)),
              HasSubstr("split=[3,3,1]"));
  EXPECT_THAT(
      ops_of(OneNode("Split", 13, {{7, 4}}, 2).constant("sizes", List{3, 1}).with("axis", -1)),
      HasSubstr("axis=1, split=[3,1]"));
  EXPECT_THAT(ops_of(OneNode("Split", 11, {{7}}, 2).with("split", List{3, 4})),
              HasSubstr("split=[3,4]"));
  EXPECT_THAT(ops_of(OneNode("Split", 13, {{7}}, 3).constant("sizes", List{3, 4})),
              HasSubstr("it has 3 outputs and 2 sizes"));
  EXPECT_THAT(ops_of(OneNode("Split", 13, {{"N"}}, 2)),
              HasSubstr("the extent of the axis must be known, it is N"));
}

TEST(SliceRow, TakesBoundsAsAttributesOrInputsByOpset) {
  EXPECT_EQ(ops_of(OneNode("Slice", 9, {{5}}).with("starts", List{1}).with("ends", List{3})),
            "%0 = slice(%a) {ends=[3], starts=[1]}\n");
  OneNode now("Slice", 13, {{4, 5}});
  now.constant("starts", List{-1})
      .constant("ends", List{0})
      .constant("axes", List{1})
      .constant("steps", List{-2});
  EXPECT_EQ(ops_of(now), "%0 = slice(%a) {axes=[1], ends=[0], starts=[-1], steps=[-2]}\n");
}

TEST(PadRow, TakesPadsAndValue) {
  EXPECT_EQ(ops_of(OneNode("Pad", 10, {{5}}).with("pads", List{1, 2}).with("value", 0.5f)),
            "%0 = pad(%a) {pads=[1,2], value=0.5}\n");
  OneNode now("Pad", 13, {{5}});
  EXPECT_EQ(ops_of(now.constant("pads", List{1, 2})
                       .constant("value", std::vector<float>{2})
                       .with("mode", "edge")),
            "%0 = pad(%a) {mode=\"edge\", pads=[1,2], value=2.0}\n");
  OneNode axes("Pad", 18, {{2, 3, 4}});
  EXPECT_EQ(
      ops_of(axes.constant("pads", List{1, 2}).constant("", List{}).constant("axes", List{-2})),
      "%0 = pad(%a) {pads=[0,1,0,0,2,0]}\n");
}

TEST(PadRow, ChecksPadsAndValue) {
  EXPECT_THAT(ops_of(OneNode("Pad", 13, {{5}})
                         .constant("pads", List{1, 2})
                         .constant("value", std::vector<float>{1, 2})),
              HasSubstr("its input \"constant_value\" must have one element"));
  EXPECT_THAT(ops_of(OneNode("Pad", 13, {{5}})
                         .constant("pads", List{1, 2})
                         .constant("value", List{(int64_t{1} << 53) + 1})),
              HasSubstr("its input \"constant_value\" is 9007199254740993, beyond 2^53"));
  EXPECT_THAT(ops_of(OneNode("Pad", 18, {{5}})
                         .constant("pads", List{1})
                         .constant("", List{})
                         .constant("axes", List{0})),
              HasSubstr("pads has 1 entries, expected 2"));
  OneNode computed("Pad", 13, {{5}});
  computed.constant("pads", List{1, 2}).model.input("v", {});
  computed.model.graph().mutable_node(0)->add_input("v");
  EXPECT_THAT(ops_of(computed), HasSubstr("its input \"constant_value\" is computed at run time"));
}

TEST(TriluRow, TakesItsDiagonalFromAConstant) {
  OneNode lower("Trilu", 14, {{3, 3}});
  EXPECT_EQ(ops_of(lower.constant("k", List{-1}).with("upper", 0)),
            "%0 = trilu(%a) {k=-1, upper=false}\n");
  EXPECT_THAT(ops_of(OneNode("Trilu", 14, {{3, 3}}).constant("k", List{1, 2})),
              HasSubstr("its input \"k\" has 2 elements, expected 1"));
  EXPECT_EQ(ops_of(OneNode("EyeLike", 9, {{3, 3}}).with("dtype", 7)),
            "%0 = eye_like(%a) {dtype=i64}\n");
}

TEST(GemmRow, ScalesAndAddsC) {
  EXPECT_EQ(ops_of(OneNode("Gemm", 13, {{2, 3}, {4, 3}, {4}}).with("transB", 1)),
            "%0 = gemm(%a, %b) {trans_b=true}\n%1 = add(%0, %c)\n");
  EXPECT_THAT(
      ops_of(OneNode("Gemm", 13, {{2, 3}, {3, 4}, {4}}).with("alpha", 0.5f).with("beta", 0.25f)),
      HasSubstr("multiply(%c, "));
  EXPECT_EQ(ops_of(OneNode("Gemm", 13, {{2, 3}, {3, 4}, {4}}).with("beta", 0.0f)),
            "%0 = gemm(%a, %b)\n");
}

TEST(ConstantRow, FoldsShapesAndSizes) {
  EXPECT_THAT(ops_of(OneNode("Shape", 15, {{2, 3, 4}}).with("start", 1)),
              HasSubstr("const([3,4]) : i64[2]"));
  EXPECT_THAT(ops_of(OneNode("Size", 13, {{2, 3, 4}})), HasSubstr("const(24) : i64[]"));
  EXPECT_EQ(ops_of(OneNode("Shape", 13, {{2, "N"}})), "%0 = shape(%a)\n");
  EXPECT_THAT(ops_of(OneNode("Size", 13, {{2, "N"}})), HasSubstr("prod(%0)"));
}

TEST(ConstantRow, FillsAShape) {
  EXPECT_THAT(ops_of(OneNode("ConstantOfShape", 9, {}).constant("shape", List{2})),
              HasSubstr("const([0.0,0.0]) : f32[2]"));
}

TEST(RangeRow, CountsInTheTypeOfItsOperands) {
  auto range = [](auto start, auto limit, auto delta) {
    using T = decltype(start);
    OneNode node("Range", 11, {});
    node.constant("s", std::vector<T>{start})
        .constant("l", std::vector<T>{limit})
        .constant("d", std::vector<T>{delta});
    return ops_of(node);
  };
  EXPECT_THAT(range(int64_t{1}, int64_t{8}, int64_t{3}), HasSubstr("const([1,4,7]) : i64[3]"));
  EXPECT_THAT(range(int64_t{5}, int64_t{-2}, int64_t{-3}), HasSubstr("const([5,2,-1]) : i64[3]"));
  EXPECT_THAT(range(int64_t{5}, int64_t{5}, int64_t{1}), HasSubstr("i64[0]"));
  EXPECT_THAT(range(1.0f, 2.0f, 0.25f), HasSubstr("const([1.0,1.25,1.5,1.75]) : f32[4]"));
  EXPECT_THAT(range(int64_t{0}, int64_t{5}, int64_t{0}), HasSubstr("its delta is 0"));
  EXPECT_THAT(range(0.0f, 5.0f, 0.0f), HasSubstr("has no length"));
  EXPECT_THAT(range(int64_t{0}, INT64_MAX, int64_t{1}),
              HasSubstr("its length 9223372036854775807 is beyond 2^24"));
  EXPECT_THAT(
      range(INT64_MIN, INT64_MAX, int64_t{1} << 62),
      HasSubstr("const([-9223372036854775808,-4611686018427387904,0,4611686018427387904])"));
  EXPECT_THAT(
      ops_of(OneNode("Range", 11, {{1}, {1}, {1}})),
      HasSubstr("its operands are computed at run time, and the length of its result has no "
                "upper bound"));
}

// y = Range(1, Shape(NonZero(x))[1] + 2, 3) of x [4, 5]
TEST(RangeRow, IsBoundedByComputedSizes) {
  OnnxModel model;
  model.input("x", {4, 5}).output("y");
  ints(model, "second", {1}).clear_dims();
  ints(model, "two", {2}).clear_dims();
  ints(model, "one", {1}).clear_dims();
  ints(model, "three", {3}).clear_dims();
  model.node("NonZero", {"x"}, {"places"});
  model.node("Shape", {"places"}, {"dims"});
  model.node("Gather", {"dims", "second"}, {"n"});
  model.node("Add", {"n", "two"}, {"limit"});
  model.node("Range", {"one", "limit", "three"}, {"y"});
  EXPECT_THAT(ops_of(model), HasSubstr("{most=7, size=\"range_"));
}

// ---- sequences are lists, and leave no ops

void set_position(OnnxModel& model, const std::string& name, int64_t value) {
  ints(model, name, {value}).clear_dims();
}

/// s = [a, b]; t = s with `c` at `position`; y = the op of t.
OnnxModel inserted(int64_t position) {
  OnnxModel model;
  for (const char* name : {"a", "b", "c"}) model.input(name, {2, 3});
  model.output("y");
  set_position(model, "p", position);
  model.node("SequenceConstruct", {"a", "b"}, {"s"});
  model.node("SequenceInsert", {"s", "c", "p"}, {"t"});
  return model;
}

TEST(SequenceRows, KeepTheOrderOfInsertions) {
  OnnxModel model = inserted(-2);
  set(model.node("ConcatFromSequence", {"t"}, {"y"}), "axis", 1);
  EXPECT_EQ(ops_of(model), "%0 = concat(%c, %a, %b) {axis=1}\n");
  OnnxModel end = inserted(2);
  auto& node = end.node("ConcatFromSequence", {"t"}, {"y"});
  set(node, "axis", 0);
  set(node, "new_axis", 1);
  EXPECT_THAT(ops_of(end), HasSubstr("= concat(%0, %1, %2) {axis=0}\n"));
}

TEST(SequenceRows, GiveElementsAndTheirNumber) {
  OnnxModel at = inserted(0);
  at.node("SequenceErase", {"t", "p"}, {"u"});
  at.node("SequenceAt", {"u", "p"}, {"e"});
  at.node("Relu", {"e"}, {"y"});
  EXPECT_EQ(ops_of(at), "%0 = relu(%a)\n");
  OnnxModel length = inserted(1);
  length.node("SequenceLength", {"t"}, {"y"});
  EXPECT_THAT(ops_of(length), HasSubstr("const(3) : i64[]"));
  OnnxModel empty;
  empty.output("y");
  empty.node("SequenceEmpty", {}, {"s"});
  empty.node("SequenceLength", {"s"}, {"y"});
  EXPECT_THAT(ops_of(empty), HasSubstr("const(0) : i64[]"));
}

TEST(SequenceRows, RefuseAPositionOutside) {
  OnnxModel model = inserted(3);
  model.node("SequenceLength", {"t"}, {"y"});
  EXPECT_THAT(ops_of(model), HasSubstr("position 3 is outside of a sequence of 2 elements"));
}

OnnxModel split(const std::string& sizes) {
  OnnxModel model;
  model.input("a", {5, 2}).output("y");
  set_position(model, "two", 2);
  set_position(model, "last", -1);
  ints(model, "parts", {1, 4});
  model.node("SplitToSequence", {"a", sizes}, {"s"});
  model.node("SequenceAt", {"s", "last"}, {"e"});
  model.node("Relu", {"e"}, {"y"});
  return model;
}

TEST(SequenceRows, SplitIntoEqualPartsGivenOnesOrSlices) {
  EXPECT_THAT(ops_of(split("two")), HasSubstr("split(%a) {split=[2,2,1]}"));
  EXPECT_THAT(ops_of(split("parts")), HasSubstr("split(%a) {split=[1,4]}"));
  OnnxModel slices = split("");
  set(*slices.graph().mutable_node(0), "keepdims", 0);
  EXPECT_THAT(ops_of(slices), HasSubstr("split=[1,1,1,1,1]"));
  EXPECT_THAT(ops_of(slices), HasSubstr("squeeze("));
}

TEST(SequenceRows, AreReadByNoOtherOps) {
  OnnxModel model = inserted(0);
  model.node("Relu", {"t"}, {"y"});
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "sequences are read by operators of sequences alone");
  OnnxModel tensor = relu_model();
  tensor.node("SequenceLength", {"y"}, {"n"});
  tensor.output("n");
  EXPECT_THAT(ops_of(tensor), HasSubstr("expected a sequence"));
}

TEST(SequenceRows, OfAnOutputAreOneOutputPerElement) {
  OnnxModel result = inserted(0);
  result.node("Identity", {"t"}, {"y"});
  Result<IRModule> module = result.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Attrs& attrs = module->function("main").attrs;
  EXPECT_THAT(attrs.strings("output_names"), ::testing::ElementsAre("y.0", "y.1", "y.2"));
  EXPECT_EQ(module->function("main").results.size(), 3u);
  EXPECT_THAT(attrs.strings("import_warnings"),
              ::testing::ElementsAre("the graph output \"y\" is a sequence; its elements are the "
                                     "outputs y.0 to y.2"));
}

TEST(SequenceRows, WithoutElementsAreNoOutputs) {
  OnnxModel empty;
  empty.output("y").node("SequenceEmpty", {}, {"y"});
  EXPECT_ERROR(empty.import(), "onnx-unsupported",
               "the graph output \"y\" is a sequence without elements");
}

// ---- extents computed of a counted size; tests/models/exported has results

/// y = op(a, ...), where "n" [1] is the number of elements of x [4] that are not 0.
OnnxModel with_count(const std::string& op, const std::vector<std::string>& operands) {
  OnnxModel model;
  model.input("x", {4}).input("a", {1, 9}).output("y");
  model.input("any", {1}, onnx::TensorProto::INT64);
  ints(model, "zero", {0});
  ints(model, "one", {1});
  ints(model, "two", {2});
  ints(model, "hundred", {100});
  model.node("NonZero", {"x"}, {"p"}, "p");
  model.node("Shape", {"p"}, {"dims"}, "dims");
  model.node("Slice", {"dims", "one", "two"}, {"n"}, "n");
  model.node("Min", {"n", "hundred"}, {"same"}, "same");
  model.node("Min", {"any", "two"}, {"few"}, "few");
  auto& concat = model.node("Concat", {"one", "n"}, {"row"}, "row");
  set(concat, "axis", 0);
  model.node(op, operands, {"y"}, "result");
  return model;
}

std::string type_of_result(const std::string& op, const std::vector<std::string>& operands) {
  Result<IRModule> module = with_count(op, operands).import();
  if (!module.ok()) return module.status().to_string();
  const Function& main = module->function("main");
  return cat(main.type(main.results[0]));
}

TEST(ExtentsRows, EqualSizesHaveOneName) {
  const std::string n = type_of_result("ConstantOfShape", {"n"});
  EXPECT_THAT(n, HasSubstr("f32[?nonzero_"));
  EXPECT_THAT(n, HasSubstr("<=4]"));
  EXPECT_EQ(type_of_result("ConstantOfShape", {"same"}), n);
  const std::string row = "f32[1," + n.substr(4);
  EXPECT_EQ(type_of_result("ConstantOfShape", {"row"}), row);
  EXPECT_EQ(type_of_result("Slice", {"a", "zero", "n", "one"}), row);
}

TEST(ExtentsRows, ResultsHaveTheBoundsOfTheirOperands) {
  EXPECT_THAT(type_of_result("Expand", {"a", "row"}), HasSubstr("f32[1,9]"));
  EXPECT_THAT(type_of_result("ConstantOfShape", {"few"}), HasSubstr("<=2]"));
  EXPECT_THAT(type_of_result("Tile", {"a", "row"}), HasSubstr("*9\"<=36]"));
  EXPECT_THAT(type_of_result("Slice", {"a", "any", "hundred", "one"}), HasSubstr("<=9]"));
  EXPECT_THAT(type_of_result("Slice", {"a", "zero", "few", "one"}), HasSubstr("<=9]"));
  EXPECT_EQ(type_of_result("Reshape", {"p", "n"}).substr(0, 13), "i64[?nonzero_");
}

TEST(ExtentsRows, SizesWithoutABoundAreRefused) {
  const char* refused = "is computed at run time; only constants, and elements with an upper bound";
  EXPECT_THAT(type_of_result("ConstantOfShape", {"any"}), HasSubstr(refused));
  EXPECT_THAT(type_of_result("Tile", {"x", "any"}), HasSubstr(refused));
  EXPECT_THAT(type_of_result("Expand", {"x", "any"}), HasSubstr("f32[4]"));
}

}  // namespace
}  // namespace byoc::test
