// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan as nodes and functions of the module. tests/models/control has their results.
#include "byoc/text/text.h"
#include "support/evaluate.h"
#include "unit/import/control/inner_graphs.h"
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const OnnxModel& model) {
  Result<IRModule> module = model.import();
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? print(*module) : "";
}

/// y = c ? x + w : -x
OnnxModel choice(bool is_known = false) {
  OnnxModel model;
  if (is_known) add_scalar(model, "c", 1, onnx::TensorProto::BOOL);
  else model.input("c", {}, onnx::TensorProto::BOOL);
  model.input("x", {2}).output("y").initializer("w", {2}, {1, 2});
  auto& node = model.node("If", {"c"}, {"y"}, "choose");
  set_graph(node, "then_branch", InnerGraph().node("Add", {"x", "w"}, {"a"}).output("a"));
  set_graph(node, "else_branch", InnerGraph().node("Neg", {"x"}, {"a"}).output("a"));
  return model;
}

TEST(ImportControl, BranchesAreFunctionsOfWhatTheyRead) {
  std::string text = text_of(choice());
  EXPECT_THAT(text, HasSubstr("%0 = if(%c, @then_0, @else_1, %x) : f32[2] loc(\"choose\")"));
  EXPECT_THAT(text, HasSubstr("fn then_0(%x: f32[2] loc(\"x\")) {\n"
                              "    %0 = const([1.0,2.0]) : f32[2] loc(\"w\")\n"
                              "    %1 = add(%x, %0) loc(\"a\")\n"));
}

TEST(ImportControl, AKnownConditionLeavesOneBranch) {
  std::string text = text_of(choice(true));
  EXPECT_THAT(text, Not(HasSubstr("if(")));
  EXPECT_THAT(text, HasSubstr("add(%x, "));
  EXPECT_THAT(text, Not(HasSubstr("negative")));
}

/// y = c ? -x : -z
OnnxModel choice_of(const std::vector<DimSpec>& x, const std::vector<DimSpec>& z,
                    int dtype = onnx::TensorProto::FLOAT) {
  OnnxModel model;
  model.input("c", {}, onnx::TensorProto::BOOL).input("x", x).input("z", z, dtype).output("y");
  auto& node = model.node("If", {"c"}, {"y"}, "choose");
  set_graph(node, "then_branch", InnerGraph().node("Neg", {"x"}, {"a"}).output("a"));
  set_graph(node, "else_branch", InnerGraph().node("Neg", {"z"}, {"a"}).output("a"));
  return model;
}

TEST(ImportControl, BranchesOfDifferentExtentsGiveCountedDims) {
  std::string text = text_of(choice_of({2, 4}, {3, 4}));
  EXPECT_THAT(text, HasSubstr(": f32[?if_3_0_0<=3,4] loc(\"choose\")"));
  EXPECT_THAT(text, HasSubstr("as_counted(%0) {dims=[\"if_3_0_0\",\"\"], most=[3,4]}"));
}

TEST(ImportControl, BranchesOfDifferentDtypesAreRefused) {
  EXPECT_ERROR(choice_of({2}, {2}, onnx::TensorProto::DOUBLE).import(), "onnx-unsupported",
               "result 0 is f32[2] in one branch and f64[2] in the other");
}

// Both branches count: the dims have the same name in their bodies, and another one outside.
TEST(ImportControl, CountedDimsOfBranchesGetNamesOfTheirOwn) {
  OnnxModel model;
  model.input("c", {}, onnx::TensorProto::BOOL).input("x", {4}).output("y");
  auto& node = model.node("If", {"c"}, {"y"}, "choose");
  set_graph(node, "then_branch", InnerGraph().node("NonZero", {"x"}, {"a"}).output("a"));
  set_graph(node, "else_branch", InnerGraph().node("NonZero", {"x"}, {"a"}).output("a"));
  EXPECT_THAT(text_of(model), HasSubstr(": i64[1,?if_2_0_1<=4] loc(\"choose\")"));
}

TEST(ImportControl, UnknownOpsInBodiesAreReported) {
  OnnxModel model = choice();
  model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type(
      "Foo");
  EXPECT_ERROR(model.import(), "onnx-unsupported", "(Foo, domain ai.onnx, opset 13)");
}

TEST(ImportControl, NamesThatNothingDefinesAreReported) {
  OnnxModel model = choice();
  model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(
      0, "nothing");
  EXPECT_ERROR(model.import(), "onnx-graph",
               "node \"a\" reads \"nothing\", which no node, input or initializer defines");
}

TEST(ImportControl, AMissingBranchIsAnError) {
  OnnxModel model = choice();
  model.graph().mutable_node(0)->mutable_attribute()->RemoveLast();
  EXPECT_ERROR(model.import(), "onnx-graph", "attribute \"else_branch\" is missing");
}

/// v, s = Loop(trips, goes_on, x): v + x per iteration, stacked before each.
OnnxModel loop(int64_t trips) {
  OnnxModel model;
  model.input("x", {2}).output("v").output("s");
  if (trips >= 0) add_scalar(model, "n", trips, onnx::TensorProto::INT64);
  else model.input("n", {}, onnx::TensorProto::INT64);
  InnerGraph body;
  body.input("i").input("c").input("b").node("Add", {"b", "x"}, {"after"});
  body.node("Identity", {"c"}, {"c_after"}).node("Identity", {"b"}, {"row"});
  body.output("c_after").output("after").output("row");
  set_graph(model.node("Loop", {"n", "", "x"}, {"v", "s"}, "repeat"), "body", body);
  return model;
}

TEST(ImportControl, ALoopWithAKnownCountHasStackedResults) {
  EXPECT_THAT(text_of(loop(5)),
              HasSubstr("= loop(%0, %1, @body_0, %x, %x) {carried=1} : f32[2], f32[5,2]"));
}

TEST(ImportControl, ALoopThatNeverRunsIsItsValuesBefore) {
  std::string text = text_of(loop(0));
  EXPECT_THAT(text, Not(HasSubstr("loop(")));
  EXPECT_THAT(text, Not(HasSubstr("fn body")));
  EXPECT_THAT(text, HasSubstr(": f32[0,2] loc(\"repeat\")"));
  EXPECT_THAT(text, HasSubstr("return %x, "));
}

TEST(ImportControl, StackedResultsOfUnknownLengthHaveRowsForTheMostIterationsAssumed) {
  EXPECT_THAT(text_of(loop(-1)), HasSubstr("<=1024,2]"));
  Result<IRModule> module = loop(-1).import({.shapes = {{"max_iterations", {7}}}});
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_THAT(print(*module), HasSubstr("<=7,2]"));
}

TEST(ImportControl, StackedResultsOfALoopThatMayEndEarlyAreCounted) {
  OnnxModel model = loop(5);
  model.input("go", {}, onnx::TensorProto::BOOL);
  model.graph().mutable_node(0)->set_input(1, "go");
  EXPECT_THAT(text_of(model), HasSubstr("f32[2], f32[?"));
  EXPECT_THAT(text_of(model), HasSubstr("<=5,2]"));
}

TEST(ImportControl, StackedResultsMayHaveADeclaredLength) {
  OnnxModel model = loop(-1);
  auto* shape =
      model.graph().mutable_output(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->add_dim()->set_dim_value(4);
  shape->add_dim()->set_dim_value(2);
  EXPECT_THAT(text_of(model), HasSubstr("@body_0, %x, %x) {carried=1} : f32[2], f32[4,2]"));
}

/// v = Loop(trips, goes_on, x): v and `operands` joined by `op` per iteration.
OnnxModel growing(int64_t trips, const std::string& op, const std::vector<std::string>& operands) {
  OnnxModel model;
  model.input("x", {2}).output("v");
  if (trips >= 0) add_scalar(model, "n", trips, onnx::TensorProto::INT64);
  else model.input("n", {}, onnx::TensorProto::INT64);
  InnerGraph body;
  body.input("i").input("c").input("b").node(op, operands, {"after"});
  body.node("Identity", {"c"}, {"c_after"}).output("c_after").output("after");
  auto* axis = body.proto.mutable_node(0)->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  set_graph(model.node("Loop", {"n", "", "x"}, {"v"}, "repeat"), "body", body);
  return model;
}

TEST(ImportControl, ACarriedValueMayGrowByANumberInEachIteration) {
  std::string text = text_of(growing(5, "Concat", {"b", "x"}));
  EXPECT_THAT(text, HasSubstr("as_counted(%x) {dims=[\"loop_3_0_0\"], most=[12]}"));
  EXPECT_THAT(text, HasSubstr("{carried=1} : f32[?loop_3_0_0<=12] loc(\"repeat\")"));
  EXPECT_THAT(text, HasSubstr("as_counted(%1) {dims=[\"loop_3_0_0\"], most=[12]}"));
  EXPECT_THAT(text, Not(HasSubstr("fn body_1")));  // of the bodies that were made, one stays
}

TEST(ImportControl, GrowthWithoutABoundIsRefused) {
  EXPECT_ERROR(growing(5, "Concat", {"b", "b"}).import(), "onnx-unsupported",
               "it grows by more than a number in each iteration");
  Result<IRModule> beyond =
      growing(-1, "Concat", {"b", "x"}).import({.shapes = {{"max_iterations", {1 << 28}}}});
  EXPECT_ERROR(beyond, "onnx-unsupported", "in 268435456 iterations it may grow beyond 2^28");
  EXPECT_EQ(beyond.status().help(), "compile with a smaller --shape max_iterations=N");
}

TEST(ImportControl, GrowthIsBoundedByTheMostIterationsAssumed) {
  EXPECT_THAT(text_of(growing(-1, "Concat", {"b", "x"})), HasSubstr("<=2050] loc(\"repeat\")"));
  EXPECT_THAT(text_of(growing(1 << 28, "Concat", {"b", "x"})),
              HasSubstr("<=2050] loc(\"repeat\")"));
}

TEST(ImportControl, ACarriedValueKeepsDtypeAndRank) {
  OnnxModel model = growing(5, "Unsqueeze", {"b", "zero"});
  ints(model, "zero", {0});
  model.graph()
      .mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(0)
      ->clear_attribute();
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "value 0 that it carries is f32[2] before an iteration and f32[1,2] after it");
}

TEST(ImportControl, RowsOfStackedResultsDoNotGrow) {
  OnnxModel model = growing(5, "Concat", {"b", "x"});
  auto* body = model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  onnx::NodeProto& copy = *body->add_node();
  copy.set_op_type("Identity");
  copy.add_input("after");
  copy.add_output("row");
  body->add_output()->set_name("row");
  model.graph().mutable_node(0)->add_output("rows");
  model.output("rows");
  EXPECT_ERROR(model.import(), "onnx-unsupported",
               "stacked output 0 has rows of type f32[?\"loop_3_0_0+2\"<=14]");
}

/// list = Loop(n, c, [z]): `body` appends x to the list or does something else; y stacks the list.
OnnxModel appending(const std::vector<std::string>& body_node, bool has_first = true) {
  OnnxModel model;
  model.input("x", {2}).input("z", {2}).input("p", {}, onnx::TensorProto::INT64).output("y");
  add_scalar(model, "n", 3, onnx::TensorProto::INT64);
  if (has_first) model.node("SequenceConstruct", {"z"}, {"first"}, "first");
  else model.node("SequenceEmpty", {}, {"first"}, "first");
  InnerGraph body;
  body.input("i").input("c").input("list");
  body.node("SequenceInsert", body_node, {"longer"}).node("Identity", {"longer"}, {"after"});
  body.node("Identity", {"c"}, {"c_after"}).output("c_after").output("after");
  set_graph(model.node("Loop", {"n", "", "first"}, {"list"}, "repeat"), "body", body);
  auto& concat = model.node("ConcatFromSequence", {"list"}, {"y"}, "joined");
  auto* axis = concat.add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  return model;
}

TEST(ImportControl, ASequenceThatALoopAppendsToIsItsStackedResult) {
  std::string text = text_of(appending({"list", "x"}, false));
  EXPECT_THAT(text, HasSubstr("{carried=0} : f32[3,2] loc(\"repeat\")"));
  EXPECT_THAT(text, HasSubstr("reshape(%2) {shape=[-1]}"));
}

TEST(ImportControl, ElementsBeforeTheLoopComeFirst) {
  std::string text = text_of(appending({"list", "x"}));
  EXPECT_THAT(text, HasSubstr("unsqueeze(%z) {axes=[0]}"));
  EXPECT_THAT(text, HasSubstr("{axis=0} loc(\"repeat\")"));
}

TEST(ImportControl, ALoopThatDoesMoreWithItsSequenceIsRefused) {
  const char* refused = "it carries the sequence \"list\"; only one SequenceInsert at its end";
  EXPECT_ERROR(appending({"list", "x", "p"}).import(), "onnx-unsupported", refused);
  OnnxModel reads = appending({"list", "x"});
  auto* body = reads.graph().mutable_node(1)->mutable_attribute(0)->mutable_g();
  onnx::NodeProto& length = *body->add_node();
  length.set_op_type("SequenceLength");
  length.add_input("list");
  length.add_output("length");
  EXPECT_ERROR(reads.import(), "onnx-unsupported", refused);
}

OnnxModel scan() {
  OnnxModel model;
  model.input("x", {2, 3}).input("sum", {2}).output("last").output("all");
  InnerGraph body;
  body.input("before").input("slice").node("Add", {"before", "slice"}, {"after"});
  body.node("Identity", {"after"}, {"row"}).output("after").output("row");
  auto& node = model.node("Scan", {"sum", "x"}, {"last", "all"}, "sums");
  set_graph(node, "body", body);
  auto* count = node.add_attribute();
  count->set_name("num_scan_inputs");
  count->set_type(onnx::AttributeProto::INT);
  count->set_i(1);
  set_ints(node, "scan_input_axes", {1});
  set_ints(node, "scan_output_axes", {-1});
  return model;
}

TEST(ImportControl, AScanTakesSlicesInItsBody) {
  std::string text = text_of(scan());
  EXPECT_THAT(text, HasSubstr("@body_0, %sum, %x) {carried=1} : f32[2], f32[3,2]"));
  EXPECT_THAT(text, HasSubstr("gather(%scanned0, %iteration) {axis=1}"));
  EXPECT_THAT(text, HasSubstr("transpose("));
}

OnnxModel batched_scan() {
  OnnxModel model(8);
  model.input("sum", {2, 2}).input("x", {2, 3, 2}).output("last").output("all");
  InnerGraph body;
  body.input("before").input("slice").node("Add", {"before", "slice"}, {"after"});
  body.node("Identity", {"after"}, {"row"}).output("after").output("row");
  auto& node = model.node("Scan", {"", "sum", "x"}, {"last", "all"}, "sums");
  set_graph(node, "body", body);
  set(node, "num_scan_inputs", 1);
  set(node, "directions", std::vector<int64_t>{1});
  return model;
}

// The sums are from the last slice on, for each of two images.
TEST(ImportControl, AScanOfOpset8RunsForEachImageOfABatch) {
  auto module = batched_scan().import();
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto results = byoc::testing::evaluate(
      *module, {byoc::testing::f32({2, 2}, {0, 0, 100, 200}),
                byoc::testing::f32({2, 3, 2}, {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60})});
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_EQ((*results)[0].values, (std::vector<double>{9, 12, 190, 320}));
  EXPECT_EQ((*results)[1].values,
            (std::vector<double>{5, 6, 8, 10, 9, 12, 150, 260, 180, 300, 190, 320}));
}

TEST(ImportControl, AScanOfOpset8IsRefusedWithLengths) {
  OnnxModel model = batched_scan();
  model.input("lengths", {2}, onnx::TensorProto::INT64);
  model.graph().mutable_node(0)->set_input(0, "lengths");
  EXPECT_ERROR(model.import(), "onnx-unsupported", "sequence_lens of opset 8 is not supported");
  model = batched_scan();
  model.graph().mutable_node(0)->clear_input();
  EXPECT_ERROR(model.import(), "onnx-graph", "it has 0 inputs, Scan needs at least 2");
}

TEST(ImportControl, ScannedInputsHaveEquallyManySlices) {
  OnnxModel model = scan();
  model.input("z", {3});
  auto* node = model.graph().mutable_node(0);
  node->add_input("z");
  node->mutable_attribute(0)->mutable_g()->add_input()->set_name("other");
  node->mutable_attribute(1)->set_i(2);
  node->mutable_attribute(2)->add_ints(0);
  EXPECT_TRUE(model.import().ok());
  model.graph()
      .mutable_input(2)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(4);
  EXPECT_ERROR(model.import(), "onnx-graph", "its scanned inputs have 3 and 4 slices");
}

}  // namespace
}  // namespace byoc::test
