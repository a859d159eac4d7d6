// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/graph_check.h"

#include <gtest/gtest.h>

#include "onnx_models.h"

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

TEST(GraphCheck, TellsNodesInTheWrongOrderFromACycle) {
  OnnxModel model;
  model.input("x", {2}).output("b");
  model.node("Relu", {"a"}, {"b"}, "late");
  model.node("Relu", {"x"}, {"a"}, "early");
  EXPECT_ERROR(model.import(), "onnx-graph",
               "the nodes are not in order: \"late\" reads \"a\", which \"early\" computes later");
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
