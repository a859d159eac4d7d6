// SPDX-License-Identifier: Apache-2.0
// Functions of a model are replaced by their bodies.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

onnx::FunctionProto& function(OnnxModel& model, const char* name,
                              const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  auto* out = model.proto.add_functions();
  out->set_name(name);
  out->set_domain("local");
  for (const auto& text : inputs) out->add_input(text);
  for (const auto& text : outputs) out->add_output(text);
  return *out;
}
onnx::NodeProto& body(onnx::FunctionProto& function, const char* op,
                      const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const char* domain = "") {
  auto* node = function.add_node();
  node->set_op_type(op);
  node->set_domain(domain);
  for (const auto& text : inputs) node->add_input(text);
  for (const auto& text : outputs) node->add_output(text);
  return *node;
}
OnnxModel calling(const char* name, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
  OnnxModel model;
  model.set_opset("local", 1).input("x", {2});
  for (const auto& text : outputs) model.output(text);
  model.node(name, inputs, outputs, "call").set_domain("local");
  return model;
}

TEST(ModelFunctions, AreReplacedByTheirBodies) {
  OnnxModel model = calling("Twice", {"x"}, {"y"});
  auto& twice = function(model, "Twice", {"a"}, {"c"});
  body(twice, "Relu", {"a"}, {"b"});
  body(twice, "Add", {"b", "b"}, {"c"});
  EXPECT_EQ(ops_of(model), "%0 = relu(%x)\n%1 = add(%0, %0)\n");
}

TEST(ModelFunctions, MayCallEachOther) {
  OnnxModel model = calling("Outer", {"x"}, {"y"});
  auto& outer = function(model, "Outer", {"x"}, {"y"});  // names as in the graph, and in each other
  body(outer, "Inner", {"x"}, {"t"}, "local");
  body(outer, "Inner", {"t"}, {"y"}, "local");
  auto& inner = function(model, "Inner", {"x"}, {"y"});
  body(inner, "Neg", {"x"}, {"t"});
  body(inner, "Exp", {"t"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = negative(%x)\n%1 = exp(%0)\n%2 = negative(%1)\n%3 = exp(%2)\n");
}

TEST(ModelFunctions, TakeAttributesOfTheCallOrOfTheOp) {
  OnnxModel model = calling("Leak", {"x"}, {"y"});
  auto& leak = function(model, "Leak", {"x"}, {"y"});
  leak.add_attribute("slope");
  auto& node = body(leak, "LeakyRelu", {"x"}, {"y"});
  auto* alpha = node.add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  alpha->set_type(onnx::AttributeProto::FLOAT);
  EXPECT_EQ(ops_of(model), "%0 = leaky_relu(%x)\n");
  set(*model.graph().mutable_node(0), "slope", 0.25f);
  EXPECT_EQ(ops_of(model), "%0 = leaky_relu(%x) {alpha=0.25}\n");
}

// Field 11 of FunctionProto, attribute_proto, came with ONNX 1.13.
TEST(ModelFunctions, HaveDefaultAttributes) {
  OnnxModel model = calling("Leak", {"x"}, {"y"});
  auto& leak = function(model, "Leak", {"x"}, {"y"});
  onnx::AttributeProto fallback;
  fallback.set_name("slope");
  fallback.set_type(onnx::AttributeProto::FLOAT);
  fallback.set_f(0.5);
  leak.GetReflection()->MutableUnknownFields(&leak)->AddLengthDelimited(
      11, fallback.SerializeAsString());
  auto& node = body(leak, "LeakyRelu", {"x"}, {"y"});
  auto* alpha = node.add_attribute();
  alpha->set_name("alpha");
  alpha->set_ref_attr_name("slope");
  EXPECT_EQ(ops_of(model), "%0 = leaky_relu(%x) {alpha=0.5}\n");
}

TEST(ModelFunctions, HaveAnOpsetOfTheirOwn) {
  OnnxModel model = calling("Total", {"x"}, {"y"});  // opset 13: ReduceSum has axes as an input
  auto& total = function(model, "Total", {"x"}, {"y"});
  auto* import = total.add_opset_import();
  import->set_version(11);
  set(body(total, "ReduceSum", {"x"}, {"y"}), "axes", std::vector<int64_t>{0});
  EXPECT_EQ(ops_of(model), "%0 = sum(%x) {axes=[0]}\n");
}

TEST(ModelFunctions, MayReturnAnOperandAndOmitResults) {
  OnnxModel model = calling("Same", {"x"}, {"y"});
  auto& same = function(model, "Same", {"x"}, {"x", "rest"});
  body(same, "Neg", {"x"}, {"rest"});
  model.node("Exp", {"y"}, {"z"});
  model.output("z");
  EXPECT_THAT(ops_of(model), HasSubstr("exp(%x)"));
}

/// Adds an If whose branches call a function on x.
onnx::NodeProto& choice(onnx::NodeProto& node, const char* name) {
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute.mutable_g();
    graph.set_name(branch);
    auto& call = *graph.add_node();
    call.set_op_type(name);
    call.set_domain("local");
    call.add_input("x");
    call.add_output(cat(branch, "_y"));
    graph.add_output()->set_name(cat(branch, "_y"));
  }
  return node;
}

TEST(ModelFunctions, AreReplacedInTheGraphsOfNodes) {
  OnnxModel model;
  model.set_opset("local", 1).input("x", {2}).input("c", {}, onnx::TensorProto::BOOL).output("y");
  choice(model.node("If", {"c"}, {"y"}), "Twice");
  auto& twice = function(model, "Twice", {"a"}, {"b"});
  body(twice, "Relu", {"a"}, {"t"});
  body(twice, "Add", {"t", "t"}, {"b"});
  EXPECT_THAT(ops_of(model), HasSubstr("if(%c, @then"));
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->functions.size(), 3u);
  for (const auto& [name, made] : module->functions)
    EXPECT_EQ(made.nodes.size(), 3u) << name.str();  // relu and add; c, x and the choice in main
}

TEST(ModelFunctions, AreRefusedWhenTheGraphOfANodeCallsThemAgain) {
  OnnxModel model = calling("Again", {"x"}, {"y"});
  auto& again = function(model, "Again", {"x"}, {"y"});
  body(again, "Greater", {"x", "x"}, {"c"});
  choice(body(again, "If", {"c"}, {"y"}), "Again");
  EXPECT_ERROR(model.import(), "onnx-graph", "function \"Again\" calls itself");
}

TEST(ModelFunctions, AreRefusedWhenTheyCallThemselves) {
  OnnxModel model = calling("Loop", {"x"}, {"y"});
  auto& loop = function(model, "Loop", {"x"}, {"y"});
  body(loop, "Loop", {"x"}, {"y"}, "local");
  EXPECT_ERROR(model.import(), "onnx-graph", "function \"Loop\" calls itself");
}

// Thirty functions that call the next one twice have 2^30 nodes.
TEST(ModelFunctions, AreRefusedWhenTheirBodiesAreTooMany) {
  OnnxModel model = calling("F0", {"x"}, {"y"});
  for (int k = 0; k < 30; ++k) {
    auto& twice = function(model, cat("F", k).c_str(), {"x"}, {"y"});
    body(twice, cat("F", k + 1).c_str(), {"x"}, {"t"}, "local");
    body(twice, cat("F", k + 1).c_str(), {"t"}, {"y"}, "local");
  }
  body(function(model, "F30", {"x"}, {"y"}), "Relu", {"x"}, {"y"});
  EXPECT_THAT(ops_of(model), HasSubstr("have more than 500,000 nodes inlined"));
}

TEST(ModelFunctions, AreRefusedWhenTheyAreTooDeep) {
  OnnxModel model = calling("F0", {"x"}, {"y"});
  for (int k = 0; k < 600; ++k)
    body(function(model, cat("F", k).c_str(), {"x"}, {"y"}), cat("F", k + 1).c_str(), {"x"}, {"y"},
         "local");
  body(function(model, "F600", {"x"}, {"y"}), "Relu", {"x"}, {"y"});
  EXPECT_THAT(ops_of(model), HasSubstr("functions call each other more than 500 deep"));
}

// The names of the values were one character longer with each call, and each was tried.
TEST(ModelFunctions, CalledOftenTakeTimeInProportion) {
  constexpr int kCalls = 20000;
  OnnxModel model;
  model.set_opset("local", 1).input("v0", {2}).output(cat("v", kCalls));
  for (int k = 0; k < kCalls; ++k)
    model.node("Twice", {cat("v", k)}, {cat("v", k + 1)}).set_domain("local");
  auto& twice = function(model, "Twice", {"a"}, {"c"});
  body(twice, "Relu", {"a"}, {"b"});
  body(twice, "Neg", {"b"}, {"c"});
  const std::string ops = ops_of(model);
  EXPECT_LT(ops.size(), size_t{kCalls} * 100) << ops.substr(0, 200);
}

TEST(ModelFunctions, AreRefusedWithTooManyOperands) {
  OnnxModel model = calling("One", {"x", "x"}, {"y"});
  body(function(model, "One", {"x"}, {"y"}), "Relu", {"x"}, {"y"});
  EXPECT_ERROR(model.import(), "onnx-graph",
               "node \"call\" calls function \"One\" with 2 inputs and 1 outputs, it has 1 and 1");
}

}  // namespace
}  // namespace byoc::test
