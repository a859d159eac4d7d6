// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/reduce.cc.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

OnnxModel one_input(const char* op, int opset, const std::vector<DimSpec>& dims) {
  OnnxModel model(opset);
  model.input("x", dims).output("y");
  model.node(op, {"x"}, {"y"}, "n");
  return model;
}
onnx::NodeProto& node_of(OnnxModel& model) { return *model.graph().mutable_node(0); }

TEST(ReduceRow, TakesAxesAsAnAttributeOrAsAnInputByOpset) {
  const char* kWritten = "sum(%x) {axes=[1]}\n";
  OnnxModel old = one_input("ReduceSum", 12, {2, 3});
  auto* axes = node_of(old).add_attribute();
  axes->set_name("axes");
  axes->set_type(onnx::AttributeProto::INTS);
  axes->add_ints(1);
  EXPECT_THAT(ops_of(old), HasSubstr(kWritten));
  OnnxModel now = one_input("ReduceSum", 13, {2, 3});
  ints(now, "axes", {1});
  node_of(now).add_input("axes");
  EXPECT_THAT(ops_of(now), HasSubstr(kWritten));
}

TEST(ReduceRow, RefusesAxesThatAreComputed) {
  OnnxModel model = one_input("ReduceMean", 18, {2, 3});
  model.input("axes", {1}, onnx::TensorProto::INT64);
  node_of(model).add_input("axes");
  EXPECT_THAT(ops_of(model), HasSubstr("its input \"axes\" is computed at run time"));
}

TEST(SoftmaxRow, RunsAlongOneAxisFromOpset13On) {
  OnnxModel model = one_input("Softmax", 13, {2, 3, 4});
  set(node_of(model), "axis", 1);
  EXPECT_EQ(ops_of(model), "%0 = softmax(%x) {axis=1}\n");
}

TEST(SoftmaxRow, TakesTrailingAxesAsOneBefore) {
  EXPECT_EQ(ops_of(one_input("Softmax", 11, {2, 3, 4})),
            "%0 = flatten(%x)\n%1 = softmax(%0) {axis=1}\n"
            "%2 = reshape(%1) {shape=[2,3,4]}\n");
  EXPECT_EQ(ops_of(one_input("LogSoftmax", 11, {2, 3})), "%0 = log_softmax(%x)\n");
}

TEST(SoftmaxRow, RefusesToFlattenTwoUnknownExtents) {
  EXPECT_THAT(ops_of(one_input("Softmax", 11, {"N", "T", 4})),
              HasSubstr("it flattens [N,T,4], and more than one extent is unknown"));
}

TEST(SoftmaxRow, ChecksTheAxis) {
  OnnxModel model = one_input("Hardmax", 11, {2, 3});
  set(node_of(model), "axis", 2);
  EXPECT_THAT(ops_of(model), HasSubstr("axis 2 is outside [-2, 2)"));
}

TEST(CumSumRow, WantsOneConstantAxis) {
  OnnxModel model = one_input("CumSum", 14, {2, 3});
  node_of(model).add_input("axis");
  ints(model, "axis", {1});
  set(node_of(model), "reverse", 1);
  EXPECT_THAT(ops_of(model), HasSubstr("cumsum(%x) {axis=1, reverse=true}\n"));
  OnnxModel two = one_input("CumSum", 14, {2, 3});
  node_of(two).add_input("axis");
  ints(two, "axis", {0, 1});
  EXPECT_THAT(ops_of(two), HasSubstr("its input \"axis\" has 2 elements, expects 1"));
}

TEST(TopKRow, TakesKAsAnAttributeOrAsAnInputByOpset) {
  OnnxModel old = one_input("TopK", 9, {2, 3});
  set(node_of(old), "k", 2);
  EXPECT_THAT(ops_of(old), HasSubstr("topk(%x) {k=2}\n"));
  OnnxModel now = one_input("TopK", 11, {2, 3});
  node_of(now).add_input("k");
  ints(now, "k", {2});
  set(node_of(now), "largest", 0);
  EXPECT_THAT(ops_of(now), HasSubstr("topk(%x) {k=2, largest=false}\n"));
}

TEST(TopKRow, CountsForAKThatIsComputed) {
  OnnxModel model = one_input("TopK", 11, {2, 3});
  model.input("k", {1}, onnx::TensorProto::INT64);
  node_of(model).add_input("k");
  EXPECT_THAT(ops_of(model), HasSubstr("topk_counted(%x, %k) {size=\"topk_2\"}\n"));
  OnnxModel two = one_input("TopK", 11, {2, 3});
  node_of(two).add_input("k");
  ints(two, "k", {1, 2});
  EXPECT_THAT(ops_of(two), HasSubstr("its input \"K\" has 2 elements, expects 1"));
}

}  // namespace
}  // namespace byoc::test
