// SPDX-License-Identifier: Apache-2.0
// Branches that do not fit the sizes of a model, and that its runs do not take.
#include <cmath>

#include "byoc/text/text.h"
#include "support/evaluate.h"
#include "unit/import/control/inner_graphs.h"
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// y = c ? Relu(x) : the graph `other`, x f32[1,512]
OnnxModel choice_with(const InnerGraph& other, bool is_first = false) {
  OnnxModel model(13);
  model.input("c", {}, onnx::TensorProto::BOOL).input("x", {1, 512}).output("y");
  model.initializer("k", {1, 3}, {1, 2, 3});
  model.initializer("m", {2, 2}, {1, 2, 3, 4});
  model.initializer("w", {1, 2, 3}, {1, 2, 3, 4, 5, 6});
  ints(model, "three", {3, -1});
  ints(model, "zero", {0});
  ints(model, "one", {1});
  ints(model, "far", {7});
  ints(model, "pads", {0, 1, 1});
  auto& node = model.node("If", {"c"}, {"y"}, "choose");
  const InnerGraph relu = InnerGraph().node("Relu", {"x"}, {"a"}).output("a");
  set_graph(node, "then_branch", is_first ? other : relu);
  set_graph(node, "else_branch", is_first ? relu : other);
  return model;
}

InnerGraph misfit(const std::string& op, const std::vector<std::string>& operands) {
  return InnerGraph().node(op, operands, {"b"}).output("b");
}

struct Misfit {
  const char* op;
  std::vector<std::string> operands;
  const char* message;
};

const Misfit kMisfits[] = {
    {"Add", {"x", "k"}, "add: dims 512 and 3 do not broadcast"},
    {"Reshape", {"x", "three"}, "reshape: "},
    {"MatMul", {"x", "m"}, "matmul: "},
    {"Gather", {"x", "far"}, ""},  // fits: the index is checked by each run
    {"Squeeze", {"x", "one"}, "squeeze: "},
    {"Pad", {"x", "pads"}, "pad: "},
    {"Conv", {"x", "w"}, "kernel_shape has 1 entries"},
    {"Concat", {"x", "w"}, "concat: "},
};

TEST(DeadBranches, AreErrorsOfTheRunsThatTakeThem) {
  for (const Misfit& misfits : kMisfits) {
    for (bool is_first : {false, true}) {
      OnnxModel model = choice_with(misfit(misfits.op, misfits.operands), is_first);
      if (misfits.op == std::string("Concat")) {
        auto* node = model.graph().mutable_node(0);
        set(*node->mutable_attribute(is_first ? 0 : 1)->mutable_g()->mutable_node(0), "axis", 0);
      }
      Result<IRModule> module = model.import();
      ASSERT_TRUE(module.ok()) << misfits.op << ": " << module.status().to_string();
      const std::string text = print(*module);
      if (*misfits.message == '\0') continue;
      EXPECT_THAT(text, HasSubstr("= if(%c, @then_0, @else_1, %x")) << misfits.op;
      EXPECT_THAT(text, HasSubstr("f32[1,512] loc(\"choose\")")) << misfits.op;
      EXPECT_THAT(text, HasSubstr("= raise() {")) << misfits.op;
      EXPECT_THAT(text, HasSubstr(is_first ? "takes its then branch" : "takes its else branch"));
      EXPECT_THAT(text, HasSubstr(misfits.message)) << misfits.op;
    }
  }
}

TEST(DeadBranches, AreWarnings) {
  Result<IRModule> module = choice_with(misfit("Add", {"x", "k"})).import();
  ASSERT_TRUE(module.ok());
  EXPECT_THAT(
      module->function("main").attrs.strings("import_warnings"),
      ::testing::ElementsAre(
          "node \"choose\" (If): its else branch does not fit; a run that takes it ends "
          "with this error: node \"b\" (Add, domain ai.onnx, opset 13): add: dims 512 and 3 "
          "do not broadcast (f32[1,512], f32[1,3])"));
}

TEST(DeadBranches, TwoAreAnError) {
  OnnxModel model = choice_with(misfit("Add", {"x", "k"}));
  auto* attribute = model.graph().mutable_node(0)->mutable_attribute(0);
  *attribute->mutable_g() = misfit("Add", {"x", "k"}).proto;
  EXPECT_ERROR(model.import(), "op-shape", "dims 512 and 3 do not broadcast");
}

TEST(DeadBranches, MayHaveSeveralResultsAndGraphsInside) {
  InnerGraph inner = misfit("Add", {"x", "k"}), outer;
  onnx::NodeProto node;
  node.set_op_type("If");
  node.add_input("c");
  node.add_output("z");
  set_graph(node, "then_branch", inner);
  set_graph(node, "else_branch", misfit("MatMul", {"x", "m"}));
  *outer.proto.add_node() = node;
  outer.output("z").output("x");
  OnnxModel model = choice_with(outer);
  model.output("q").graph().mutable_node(0)->add_output("q");
  InnerGraph both = InnerGraph().node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"b"});
  both.output("a").output("b");
  *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g() = both.proto;
  Result<IRModule> module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr(": f32[1,512], f32[1,512] loc(\"choose\")"));
  EXPECT_EQ(module->functions.size(), 3u) << text;  // main and the two branches
}

TEST(DeadBranches, FaultsOfTheModelStayErrors) {
  OnnxModel model = choice_with(misfit("Add", {"x", "zero"}));
  EXPECT_ERROR(model.import(), "op-dtype", "add");
  EXPECT_ERROR(choice_with(misfit("Add", {"x"})).import(), "onnx-graph", "it has 1 input");
  EXPECT_ERROR(choice_with(misfit("Foo", {"x"})).import(), "onnx-unsupported", "no such operator");
}

TEST(DeadBranches, OfAKnownConditionAreNotConverted) {
  for (const char* op : {"Foo", "Bernoulli", "Add"}) {
    OnnxModel model = choice_with(misfit(op, {"x", "k"}));
    add_scalar(model, "yes", 1, onnx::TensorProto::BOOL);
    model.graph().mutable_node(0)->set_input(0, "yes");
    Result<IRModule> module = model.import();
    ASSERT_TRUE(module.ok()) << module.status().to_string();
    EXPECT_THAT(print(*module), Not(HasSubstr("if(")));
    EXPECT_FALSE(module->function("main").attrs.has("import_warnings"));
  }
}

TEST(DeadBranches, OtherBranchRunsAndTheDeadOneIsAnErrorThatNamesIt) {
  Result<IRModule> module = choice_with(misfit("Add", {"x", "k"})).import();
  ASSERT_TRUE(module.ok());
  std::vector<byoc::testing::Values> inputs = byoc::testing::random_inputs(*module, 1);
  inputs[0].values[0] = 1;
  auto right = byoc::testing::evaluate(*module, inputs);
  ASSERT_TRUE(right.ok()) << right.status().to_string();
  for (size_t k = 0; k < 512; ++k)
    ASSERT_EQ((*right)[0].values[k], std::max(0.0, inputs[1].values[k]));
  inputs[0].values[0] = 0;
  EXPECT_ERROR(byoc::testing::evaluate(*module, inputs), "branch-misfit",
               "node \"choose\" (If) takes its else branch, which does not fit");
}

// ---- ranks

/// y = c ? x : Unsqueeze(x), x f32[4], followed by nodes.
OnnxModel ranks() {
  OnnxModel model(13);
  model.input("c", {}, onnx::TensorProto::BOOL).input("x", {4});
  ints(model, "zero", {0});
  auto& node = model.node("If", {"c"}, {"y"}, "choose");
  set_graph(node, "then_branch", InnerGraph().node("Neg", {"x"}, {"a"}).output("a"));
  set_graph(node, "else_branch", InnerGraph().node("Unsqueeze", {"x", "zero"}, {"a"}).output("a"));
  return model;
}

std::vector<double> run_ranks(const OnnxModel& model, bool condition) {
  Result<IRModule> module = model.import();
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return {};
  byoc::testing::Values c{TensorType{DType::kBool, {}}, {condition ? 1.0 : 0.0}};
  auto out = byoc::testing::evaluate(*module, {c, byoc::testing::f32({4}, {1, 2, 3, 5})});
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? (*out)[0].values : std::vector<double>();
}

TEST(BranchRanks, NodesThatReadTheResultsMoveIntoTheBranches) {
  OnnxModel model = ranks();
  set(model.output("z").node("ReduceSum", {"y"}, {"z"}, "sum"), "keepdims", 0);
  Result<IRModule> module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const std::string text = print(*module);
  EXPECT_THAT(text, HasSubstr("= if(%c, @then_0, @else_1, %x) : f32[] loc(\"choose\")")) << text;
  EXPECT_FALSE(module->function("main").attrs.has("import_warnings"));
}

TEST(BranchRanks, AsFewNodesMoveAsNeeded) {
  OnnxModel model = ranks();
  model.output("z");
  set(model.node("ReduceSum", {"y"}, {"s"}, "sum"), "keepdims", 0);
  for (int k = 0; k < 20; ++k)
    model.node("Exp", {k == 0 ? "s" : cat("e", k - 1)}, {k == 19 ? "z" : cat("e", k)});
  Result<IRModule> module = model.import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  size_t in_main = 0;
  for (const Node& node : module->function("main").nodes)
    in_main += std::holds_alternative<Call>(node.kind) ? 1 : 0;
  EXPECT_EQ(in_main, 20u);
}

TEST(BranchRanks, BothBranchesAreRight) {
  OnnxModel model = ranks();
  model.output("z").node("Exp", {"x"}, {"other"});
  set(model.node("ReduceSum", {"y"}, {"s"}, "sum"), "keepdims", 0);
  model.node("ReduceMax", {"other"}, {"m"}, "largest");
  model.node("Mul", {"s", "m"}, {"z"}, "product");
  const double largest = std::exp(5.0F);
  EXPECT_NEAR(run_ranks(model, true)[0], -11 * largest, 1e-3);
  EXPECT_NEAR(run_ranks(model, false)[0], 11 * largest, 1e-3);
}

// A graph's output has one rank: the declared one, or that of the first branch.
TEST(BranchRanks, OfAnOutputAreThoseThatTheModelDeclares) {
  OnnxModel model = ranks();
  model.output("y");
  model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  Result<IRModule> first = model.import();
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  EXPECT_EQ(cat(first->function("main").result_types()[0]), "f32[4]");
  EXPECT_THAT(first->function("main").attrs.strings("import_warnings")[0],
              HasSubstr("its else branch does not fit"));
  EXPECT_THAT(print(*first),
              HasSubstr("its result 0 is f32[1,4], in the other branch it is f32[4], "
                        "which has another rank; to run this branch, bind the "
                        "condition: it depends on inputs of the model; give their "
                        "values: --bind c=..."));
  auto* shape =
      model.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->add_dim();
  shape->add_dim();
  Result<IRModule> second = model.import();
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(cat(second->function("main").result_types()[0]), "f32[1,4]");
  EXPECT_EQ(run_ranks(model, false), (std::vector<double>{1, 2, 3, 5}));
}

TEST(BranchRanks, ABoundConditionGivesTheBranch) {
  OnnxModel model = ranks();
  model.output("y");
  const bool no = false;
  ImportOptions options;
  options.bind["c"] = {{DType::kBool, {}}, Buffer::copy(std::as_bytes(std::span(&no, 1)))};
  Result<IRModule> module = model.import(options);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(cat(module->function("main").result_types()[0]), "f32[1,4]");
}

}  // namespace
}  // namespace byoc::test
