// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/graph_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/import/onnx_models.h"

namespace byoc::test {
namespace {

TEST(GraphCheck, NamesTheNodesOfACycle) {
  OnnxModel model;
  model.input("x", {2}).output("c");
  model.node("Add", {"x", "c"}, {"a"}, "first");
  model.node("Relu", {"a"}, {"b"}, "second");
  model.node("Relu", {"b"}, {"c"}, "third");
  model.node("Relu", {"c"}, {"d"}, "after");
  EXPECT_ERROR(model.import(), "onnx-graph",
               "the graph has a cycle: \"first\" -> \"second\" -> \"third\" -> \"first\"");
}

TEST(GraphCheck, NamesANodeThatReadsItself) {
  OnnxModel model;
  model.input("x", {2}).output("a");
  model.node("Add", {"x", "a"}, {"a"}, "self");
  EXPECT_ERROR(model.import(), "onnx-graph", "cycle: \"self\" -> \"self\"");
}

TEST(GraphCheck, ShortensALongCycle) {
  OnnxModel model;
  model.input("x", {2}).output("v0");
  for (int k = 0; k < 20; ++k) {
    model.node("Relu", {cat("v", (k + 19) % 20)}, {cat("v", k)}, cat("n", k));
  }
  EXPECT_ERROR(model.import(), "onnx-graph", "\"n7\" -> ... 12 more -> \"n0\"");
}

std::string ops_in_order(const Result<IRModule>& module) {
  if (!module.ok()) return module.status().to_string();
  std::string out;
  for (const Node& node : module->function("main").nodes) {
    if (auto* call = std::get_if<Call>(&node.kind)) out += cat(call->op->name, " ");
  }
  return out;
}

TEST(GraphCheck, SortsNodesInTheWrongOrderWithAWarning) {
  OnnxModel model;
  model.input("x", {2}).output("d");
  model.node("Relu", {"a"}, {"b"}, "late");
  model.node("Abs", {"x"}, {"a"}, "early");
  model.node("Add", {"c", "b"}, {"d"}, "last");
  model.node("Neg", {"b"}, {"c"}, "third");
  Result<IRModule> module = model.import();
  EXPECT_EQ(ops_in_order(module), "abs relu negative add ");
  EXPECT_THAT(module->function("main").attrs.strings("import_warnings"),
              ::testing::ElementsAre("the nodes of graph \"test\" are not in order, as ONNX "
                                     "requires: \"late\" reads \"a\", which \"early\" computes "
                                     "later; they are sorted"));
}

// Every order of a chain gives the nodes of the chain, and no order that fits is changed.
TEST(GraphCheck, SortsEveryOrderOfAChain) {
  const char* ops[] = {"Abs", "Neg", "Relu", "Exp", "Floor"};
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    OnnxModel model;
    model.input("v0", {2}).output("v5");
    for (int k : order) model.node(ops[k], {cat("v", k)}, {cat("v", k + 1)});
    Result<IRModule> module = model.import();
    ASSERT_EQ(ops_in_order(module), "abs negative relu exp floor ");
    const bool is_sorted = std::is_sorted(order.begin(), order.end());
    EXPECT_EQ(module->function("main").attrs.has("import_warnings"), !is_sorted);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(GraphCheck, SortsByWhatBranchesRead) {
  OnnxModel model;
  model.input("x", {2}).input("c", {}, onnx::TensorProto::BOOL).output("y");
  auto& choice = model.node("If", {"c"}, {"y"}, "choose");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = choice.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    auto& node = *attribute->mutable_g()->add_node();
    node.set_op_type("Neg");
    node.add_input("later");
    node.add_output("z");
    attribute->mutable_g()->add_output()->set_name("z");
  }
  model.node("Relu", {"x"}, {"later"}, "late");
  Result<IRModule> module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_TRUE(module->function("main").attrs.has("import_warnings"));
}

TEST(GraphCheck, RefusesAValueNobodyDefines) {
  OnnxModel model;
  model.input("x", {2}).output("y");
  model.node("Add", {"x", "ghost"}, {"y"}, "sum");
  EXPECT_ERROR(model.import(), "onnx-graph", "node \"sum\" reads \"ghost\", which no node");
}

TEST(GraphCheck, RefusesTwoDefinitionsOfAValue) {
  OnnxModel model;
  model.input("x", {2}).output("y");
  model.node("Relu", {"x"}, {"y"}, "one");
  model.node("Relu", {"x"}, {"y"}, "two");
  EXPECT_ERROR(model.import(), "onnx-graph",
               "the value \"y\" is defined twice: by node \"one\" and by node \"two\"");
}

TEST(GraphCheck, RefusesANodeThatDefinesAnInputAgain) {
  OnnxModel model;
  model.input("x", {2}).output("x");
  model.node("Relu", {"x"}, {"x"}, "again");
  EXPECT_ERROR(model.import(), "onnx-graph",
               "by an input or initializer of the graph and by node \"again\"");
}

TEST(GraphCheck, RefusesTwoInputsOfOneName) {
  OnnxModel model = relu_model();
  model.input("x", {2, 3});
  EXPECT_ERROR(model.import(), "onnx-graph", "two inputs named \"x\"");
}

TEST(GraphCheck, RefusesTwoInitializersOfOneName) {
  OnnxModel model = relu_model();
  model.initializer("w", {1}, {1});
  model.initializer("w", {1}, {2});
  EXPECT_ERROR(model.import(), "onnx-graph", "two initializers named \"w\"");
}

TEST(GraphCheck, RefusesAnOutputThatDoesNotExist) {
  OnnxModel model = relu_model();
  model.output("z");
  EXPECT_ERROR(model.import(), "onnx-graph", "the graph output \"z\" is defined by no node");
}

TEST(GraphCheck, RefusesTwoOutputsOfOneName) {
  OnnxModel model = relu_model();
  model.output("y");
  EXPECT_ERROR(model.import(), "onnx-graph", "two outputs named \"y\"");
}

TEST(GraphCheck, RefusesAGraphWithoutOutputs) {
  OnnxModel model = relu_model();
  model.graph().clear_output();
  EXPECT_ERROR(model.import(), "onnx-graph", "the graph has no outputs");
}

TEST(GraphCheck, CallsANamelessNodeByItsOutput) {
  OnnxModel model;
  model.input("x", {2}).output("sum");
  model.node("Add", {"x", "ghost"}, {"sum"});
  EXPECT_ERROR(model.import(), "onnx-graph", "node \"sum\" reads");
}

TEST(GraphCheck, EscapesControlCharactersOfNames) {
  OnnxModel model;
  model.input("x", {2}).output("y");
  model.node("Add", {"x", "\x1b[31m"}, {"y"}, "sum");
  EXPECT_ERROR(model.import(), "onnx-graph", "reads \"\\x1b[31m\"");
}

}  // namespace
}  // namespace byoc::test
