// SPDX-License-Identifier: Apache-2.0
#include "byoc/import.h"

#include <gtest/gtest.h>

#include "byoc/text/text.h"
#include "onnx_models.h"

namespace byoc::test {
namespace {

/// Returns the module as text, or the error.
std::string text_of(const Result<IRModule>& module) {
  return module.ok() ? print(*module) : module.status().to_string();
}

TEST(ImportOnnx, TurnsNodesIntoNamedOps) {
  auto module = relu_model().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_TRUE(verify(*module).ok());
  EXPECT_THAT(print(*module), testing::HasSubstr("relu(%x) loc(\"the_relu\")"));
}

TEST(ImportOnnx, KeepsTheNamesOfInputsAndOutputs) {
  OnnxModel model;
  model.input("b/in:0", {2}).input("a", {2}).output("out.1");
  model.node("Add", {"a", "b/in:0"}, {"out.1"});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Attrs& attrs = module->function("main").attrs;
  EXPECT_THAT(attrs.strings("input_names"), testing::ElementsAre("b/in:0", "a"));
  EXPECT_THAT(attrs.strings("output_names"), testing::ElementsAre("out.1"));
}

TEST(ImportOnnx, PrintsAndParsesBackEqual) {
  OnnxModel model;
  model.input("b/in:0", {"N", ""}).output("out.1");
  model.node("Relu", {"b/in:0"}, {"out.1"}, "strange \"name\"\n");
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto again = parse_module(print(*module), all_ops());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  std::string why;
  EXPECT_TRUE(equal(*module, *again, &why)) << why;
}

TEST(ImportOnnx, TakesInitializersAsConstantsOnce) {
  OnnxModel model;
  model.input("x", {2}).output("y");
  model.initializer("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"a"});
  model.node("Add", {"a", "w"}, {"y"});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->function("main").nodes.size(), 4u);
  EXPECT_EQ(module->constants.size(), 1u);
}

TEST(ImportOnnx, TakesAnInputWithAnInitializerAsAConstant) {
  OnnxModel model;
  model.input("x", {2}).input("w", {2}).output("y");
  model.initializer("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->function("main").num_params(), 1u);
}

TEST(ImportOnnx, BindsInputsToValues) {
  OnnxModel model;
  model.input("x", {"N"}).input("w", {"N"}).output("y");
  model.initializer("w", {2}, {1, 2});
  model.node("Add", {"x", "w"}, {"y"});
  float values[] = {5, 6, 7};
  ImportOptions options;
  options.bind["w"] = {{DType::kF32, {3}}, Buffer::copy(std::as_bytes(std::span(values)))};
  auto module = model.import(options);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_THAT(print(*module), testing::HasSubstr("%x: f32[3]"));
  EXPECT_EQ(module->constants.begin()->second->size(), sizeof values);
}

TEST(ImportOnnx, BindsSizesBeforeAnythingIsInferred) {
  OnnxModel model;
  model.input("x", {"N", 3}).output("y");
  model.node("Relu", {"x"}, {"y"});
  auto module = model.import({.shapes = {{"N", {4}}}});
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const Function& main = module->function("main");
  EXPECT_EQ(cat(main.result_types()[0]), "f32[4,3]");
}

TEST(ImportOnnx, PassesInputsAndInitializersThroughToOutputs) {
  OnnxModel model;
  model.input("x", {2}).output("x").output("w");
  model.initializer("w", {1}, {3});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->function("main").results.size(), 2u);
}

TEST(ImportOnnx, ReadsConstantNodesOfEveryForm) {
  OnnxModel model;
  for (const char* name : {"a", "b", "c", "d", "e"}) model.output(name);
  auto add = [&](const char* out, const char* attr_name) {
    auto* attr = model.node("Constant", {}, {out}).add_attribute();
    attr->set_name(attr_name);
    return attr;
  };
  auto* a = add("a", "value_float");
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_f(0.5);
  auto* b = add("b", "value_floats");
  b->set_type(onnx::AttributeProto::FLOATS);
  b->add_floats(1.5);
  auto* c = add("c", "value_int");
  c->set_type(onnx::AttributeProto::INT);
  c->set_i(7);
  auto* d = add("d", "value_ints");
  d->set_type(onnx::AttributeProto::INTS);
  d->add_ints(8);
  auto* e = add("e", "value");
  e->set_type(onnx::AttributeProto::TENSOR);
  e->mutable_t()->set_data_type(onnx::TensorProto::BOOL);
  e->mutable_t()->add_int32_data(1);
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto types = module->function("main").result_types();
  EXPECT_EQ(cat(types[0], types[1], types[2], types[3], types[4]), "f32[]f32[1]i64[]i64[1]bool[]");
}

TEST(ImportOnnx, RefusesAnUnknownOperatorByNodeOpDomainAndOpset) {
  OnnxModel model(15);
  model.input("x", {2}).output("y");
  model.node("Frobnicate", {"x"}, {"y"}, "frob");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"frob\" (Frobnicate, domain ai.onnx, opset 15): no such operator is known");
}

TEST(ImportOnnx, RefusesACustomDomain) {
  OnnxModel model;
  model.set_opset("com.acme", 3).input("x", {2}).output("y");
  model.node("Relu", {"x"}, {"y"}, "fast").set_domain("com.acme");
  EXPECT_ERROR(
      model.import(), "onnx-unsupported",
      "node \"fast\" (Relu, domain com.acme, opset 3): operators of this domain are not known");
  EXPECT_THAT(model.import().status().help(), testing::HasSubstr("--pass-library"));
}

TEST(ImportOnnx, TellsEqualRefusalsOnceAndCountsThem) {
  OnnxModel model;
  model.input("x", {2}).output("y");
  model.node("Foo", {"x"}, {"a"}, "foo1");
  model.node("Bar", {"a"}, {"b"}, "bar");
  model.node("Foo", {"b"}, {"y"}, "foo2");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"foo1\" (Foo, domain ai.onnx, opset 13) and 1 more: ");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"bar\" (Bar, domain ai.onnx, opset 13): ");
}

TEST(ImportOnnx, RefusesNodesWithGraphsOfTheirOwn) {
  OnnxModel model;
  model.input("c", {}, onnx::TensorProto::BOOL).output("y");
  auto* body = model.node("SequenceMap", {"c"}, {"y"}, "map").add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "node \"map\" (SequenceMap, domain ai.onnx, opset 13): it runs a graph of its own "
               "(attribute \"body\")");
}

TEST(ImportOnnx, SaysHowToExportWhatIsRefused) {
  OnnxModel model;
  model.input("c", {}, onnx::TensorProto::BOOL).output("y");
  for (const char* name : {"map", "map_again"}) {
    auto* body = model.node("SequenceMap", {"c"}, {name}, name).add_attribute();
    body->set_name("body");
    body->set_type(onnx::AttributeProto::GRAPH);
  }
  model.node("Frobnicate", {"map"}, {"y"}, "frob");
  EXPECT_EQ(model.import().status().help(),
            "export the model without control flow: trace it with example inputs, which decides "
            "branches and unrolls loops; replace the operator before the export by those of "
            "ai.onnx");
}

// An opset that came after this byoc: only operators that are seen to have changed are refused.
TEST(ImportOnnx, TakesOpsetsOfTheFutureForUnchangedOperators) {
  auto newest = relu_model(newest_onnx_opset()).import(), later = relu_model(99).import();
  ASSERT_TRUE(later.ok()) << later.status().to_string();
  EXPECT_EQ(newest->function("main").nodes.size(), later->function("main").nodes.size());
  EXPECT_EQ(later->function("main").attrs.i("opset"), 99);
  EXPECT_TRUE(relu_model(2147483647).import().ok());
}

TEST(ImportOnnx, RefusesOperatorsThatChangedInAnOpsetOfTheFuture) {
  OnnxModel model = relu_model(99);
  auto& attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("slope");
  attribute.set_type(onnx::AttributeProto::FLOAT);
  EXPECT_ERROR(
      model.import(), "onnx-unsupported",
      "node \"the_relu\" (Relu, domain ai.onnx, opset 99): opset 28, the newest one known, "
      "does not have the attribute \"slope\"");
  EXPECT_EQ(model.import().status().help(), "export the model with opset 28 or an older one");
}

TEST(ImportOnnx, RefusesMoreOperandsInAnOpsetOfTheFuture) {
  OnnxModel model(29);
  model.input("x", {2, 3}).output("y");
  model.node("Relu", {"x", "x"}, {"y"});
  EXPECT_ERROR(model.import(), "onnx-unsupported", "does not have input 1");
  model = OnnxModel(29);
  model.input("x", {2, 3}).output("y");
  model.node("Relu", {"x"}, {"y", "z"});
  EXPECT_ERROR(model.import(), "onnx-unsupported", "does not have output 1");
  model = OnnxModel(29);
  model.input("x", {2, 3}).output("y");
  model.node("Sharpen", {"x"}, {"y"});
  EXPECT_ERROR(model.import(), "onnx-unsupported", "does not have the operator");
}

// Domains without nodes are of no importance, whatever their opset.
TEST(ImportOnnx, TakesAnyOpsetOfADomainWithoutNodes) {
  OnnxModel model = relu_model(13);
  model.set_opset("ai.onnx.ml", 99).set_opset("com.acme", 3);
  EXPECT_TRUE(model.import().ok());
}

TEST(ImportOnnx, RefusesContradictingOpsets) {
  OnnxModel model = relu_model(13);
  model.set_opset("ai.onnx", 14);
  EXPECT_ERROR(model.import(), "onnx-parse", "two opsets of domain \"\": 13 and 14");
}

TEST(ImportOnnx, RefusesAnOutputDeclaredWithAnotherDType) {
  OnnxModel model;
  model.input("x", {2}).output("y", onnx::TensorProto::DOUBLE);
  model.node("Relu", {"x"}, {"y"});
  EXPECT_ERROR(model.import(), "onnx-graph",
               "the graph output \"y\" is declared as DOUBLE, its value is FLOAT");
}

TEST(ImportOnnx, RefusesAPassedInputDeclaredWithAnotherDType) {
  OnnxModel model;
  model.input("x", {2}, onnx::TensorProto::INT64).output("x", onnx::TensorProto::STRING);
  EXPECT_ERROR(model.import(), "onnx-graph",
               "the graph output \"x\" is declared as STRING, its value is INT64");
}

TEST(ImportOnnx, TakesOutputsOfTheDTypeThatIsComputed) {
  OnnxModel model;
  model.input("x", {2}).output("y", onnx::TensorProto::BOOL);
  model.node("IsNaN", {"x"}, {"y"});
  EXPECT_TRUE(model.import().ok());
}

TEST(ImportOnnx, RefusesSparseInitializers) {
  OnnxModel model = relu_model();
  model.graph().add_sparse_initializer();
  EXPECT_ERROR(model.import(), "onnx-unsupported", "sparse initializers");
}

TEST(ImportOnnx, NamesTheNodeWhoseTypesDoNotFit) {
  OnnxModel model;
  model.input("x", {2}).input("y", {3}).output("z");
  model.node("Add", {"x", "y"}, {"z"}, "sum");
  auto module = model.import();
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.status().where(),
              testing::HasSubstr("node \"sum\" (Add, domain ai.onnx, opset 13)"));
}

TEST(ImportOnnx, NamesTheNodeThatLacksAnOperand) {
  OnnxModel model;
  model.input("x", {2}).output("z");
  model.node("Add", {"x"}, {"z"}, "sum");
  EXPECT_ERROR(model.import(), "onnx-graph", "it has 1 input, Add needs 2");
  EXPECT_ERROR(model.import(), "onnx-graph", "node \"sum\" (Add");
}

TEST(ImportOnnx, RefusesDimsThatOverflow) {
  OnnxModel model;
  model.input("x", {}).output("y");
  auto* shape =
      model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int k = 0; k < 3; ++k) shape->add_dim()->set_dim_value(int64_t{1} << 40);
  model.node("Relu", {"x"}, {"y"}, "r");
  auto module = model.import();
  ASSERT_FALSE(module.ok()) << text_of(module);
  EXPECT_THAT(module.status().to_string(), testing::HasSubstr("63 bits"));
}

TEST(ImportOnnx, ReadsAChainOf100000NodesWithoutRecursion) {
  OnnxModel model;
  model.input("v0", {2}).output("v100000");
  for (int k = 0; k < 100000; ++k) model.node("Relu", {cat("v", k)}, {cat("v", k + 1)});
  auto module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->function("main").nodes.size(), 100001u);
}

}  // namespace
}  // namespace byoc::test
