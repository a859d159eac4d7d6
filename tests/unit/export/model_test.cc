// SPDX-License-Identifier: Apache-2.0
// Names, functions, constants and errors of ONNX files that byoc writes.
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "byoc/export.h"
#include "byoc/import.h"
#include "byoc/text/text.h"
#include "support/evaluate.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using ::testing::HasSubstr;

IRModule parsed(const std::string& text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

class ExportModel : public ::testing::Test {
 protected:
  onnx::ModelProto written(const IRModule& module, const ExportOptions& options = {}) {
    Status status = export_onnx(module, path_, options);
    EXPECT_TRUE(status.ok()) << status.to_string();
    onnx::ModelProto model;
    std::ifstream in(path_, std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&in));
    return model;
  }
  void expect_same(const IRModule& module) {
    auto read = import_onnx(path_, all_ops());
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    testing::expect_same_results(module, *read, 1e-6);
  }
  test::TempFolder folder_;
  std::string path_ = folder_.file("m.onnx");
};

/// A region that calls a composite, twice; both have a constant.
constexpr const char* kRegions = R"(
fn conv_relu(%a: f32[2], %b: f32[2]) {composite="p.add_relu", owner="p"} {
  %0 = add(%a, %b)
  %1 = relu(%0)
  return %1 }
fn region(%x: f32[2]) {compiler="p", global_symbol="region", primitive=true} {
  %c = const([0.5, -3]) : f32[2]
  %0 = @conv_relu(%x, %c)
  %1 = exp(%0) loc("Exp_0")
  return %1 }
fn main(%x: f32[2]) {input_names=["image"], output_names=["y", "z", "w"]} {
  %0 = @region(%x)
  %1 = @region(%0)
  return %1, %x, %1 })";

TEST_F(ExportModel, WritesRegionsAsFunctions) {
  IRModule module = parsed(kRegions);
  onnx::ModelProto model = written(module);
  ASSERT_EQ(model.functions_size(), 2);
  EXPECT_EQ(model.functions(0).name(), "conv_relu");
  EXPECT_EQ(model.functions(0).doc_string(), "composite=p.add_relu");
  EXPECT_EQ(model.functions(1).name(), "region");
  EXPECT_EQ(model.functions(1).doc_string(), "compiler=p");
  EXPECT_EQ(model.functions(1).input_size(), 2);  // x and the constant
  EXPECT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().node(0).op_type(), "region");
  EXPECT_EQ(model.graph().node(0).domain(), "byoc");
  expect_same(module);
}

TEST_F(ExportModel, KeepsNamesAndOpenSizes) {
  onnx::ModelProto model = written(parsed(kRegions));
  EXPECT_EQ(model.graph().input(0).name(), "image");
  EXPECT_EQ(model.graph().output(0).name(), "y");
  EXPECT_EQ(model.graph().output(1).name(), "z");  // an input, by an Identity
  EXPECT_EQ(model.graph().output(2).name(), "w");  // the same as y
  model = written(parsed("fn main(%x: f32[N,3]) { %0 = relu(%x) loc(\"Relu_0\") return %0 }"));
  const auto& shape = model.graph().input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 3);
  EXPECT_EQ(model.graph().node(0).name(), "Relu_0");
  EXPECT_EQ(model.opset_import(0).version(), 17);
}

TEST_F(ExportModel, PutsLargeConstantsIntoASecondFile) {
  IRModule module = parsed(R"(fn main(%x: f32[40,40]) {
    %a = const(0.5) : f32[40,40]
    %b = const([2]) : f32[1]
    %c = const(0.25) : f32[40,50]
    %0 = add(%x, %a)
    %1 = multiply(%0, %b)
    %2 = matmul(%1, %c)
    return %2 })");
  EXPECT_EQ(written(module).graph().initializer(0).external_data_size(), 0);
  EXPECT_EQ(folder_.count(), 1u);
  onnx::ModelProto model = written(module, {.max_inline_bytes = 1000});
  EXPECT_EQ(folder_.count(), 2u);
  EXPECT_EQ(model.graph().initializer(0).external_data(0).value(), "m.onnx.data");
  EXPECT_EQ(model.graph().initializer(2).external_data(1).value(), "8192");  // a multiple of 4096
  EXPECT_LT(test::get(path_).size(), 2000u);
  expect_same(module);
}

TEST_F(ExportModel, MakesModelsInMemory) {
  IRModule module = parsed(R"(fn main(%x: f32[40,40]) {input_names=["image"]} {
    %a = const(0.5) : f32[40,40]
    %b = const([2]) : f32[1]
    %0 = add(%x, %a)
    %1 = multiply(%0, %b)
    return %1 })");
  Result<OnnxModel> made = make_onnx(module);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->inputs, std::vector<std::string>{"image"});
  EXPECT_EQ(made->outputs, std::vector<std::string>{"output0"});
  ASSERT_EQ(made->constants.size(), 1u);  // the smaller one is in the message
  EXPECT_EQ(made->constants[0].data->size(), 6400u);
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(made->bytes));
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).name(), made->constants[0].name);
  EXPECT_EQ(model.graph().initializer(0).external_data(0).value(), "constants");
  EXPECT_EQ(model.graph().initializer(1).raw_data().size(), 4u);
}

TEST_F(ExportModel, WritesReshapesToOpenSizes) {
  const auto shape_of = [&](const std::string& shape, const std::string& x) {
    const onnx::ModelProto model = written(parsed(
        cat("fn main(%x: ", x, ") { %0 = reshape(%x) {open_shape=", shape, "} return %0 }")));
    const std::string& bytes = model.graph().node(0).attribute(0).t().raw_data();
    Ints out(bytes.size() / sizeof(int64_t));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  EXPECT_EQ(shape_of(R"(["N<=8","2","3"])", "f32[N<=8,6]"), (Ints{0, 2, 3}));
  EXPECT_EQ(shape_of(R"(["2","3","N<=8"])", "f32[N<=8,6]"), (Ints{2, 3, -1}));
  EXPECT_EQ(shape_of(R"(["N<=8","T<=4","3"])", "f32[N<=8,3,T<=4]"), (Ints{0, -1, 3}));
}

TEST_F(ExportModel, RefusesOpenSizesThatOnnxLacks) {
  for (const char* text : {R"(fn main(%x: f32[N<=8,6,T<=4]) {
             %0 = reshape(%x) {open_shape=["T<=4","6","N<=8"]} return %0 })",
                           R"(fn main(%x: f32[1], %s: f32[N<=8]) {
             %0 = expand(%x) {open_shape=["N<=8"]} return %0, %s })",
                           R"(fn main(%x: f32[2,N<=8]) {
             %0 = layer_norm(%x) return %0 })"}) {
    const Status status = export_onnx(parsed(text), path_);
    EXPECT_EQ(status.slug(), "onnx-export") << text;
  }
}

TEST_F(ExportModel, GivesEachNodeANameOfItsOwn) {
  const onnx::ModelProto model = written(parsed(R"(fn main(%x: f32[4], %y: f32[4]) {
    %0 = add(%x, %y) loc("Conv_0")
    %1 = rsqrt(%0) loc("Conv_0")
    return %1 })"));
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ::testing::ElementsAre("Conv_0", "Conv_0_1", "Conv_0_2"));
}

TEST_F(ExportModel, KeepsInfinitiesInClip) {  // which ONNX's own bounds would make finite
  const onnx::ModelProto model =
      written(parsed("fn main(%x: f32[4]) { %0 = clip(%x) {min=0.0} return %0 }"));
  ASSERT_EQ(model.graph().node_size(), 3);
  const std::string& bytes = model.graph().node(1).attribute(0).t().raw_data();
  float largest = 0;
  std::memcpy(&largest, bytes.data(), sizeof largest);
  EXPECT_TRUE(std::isinf(largest) && largest > 0) << largest;
  EXPECT_EQ(model.graph().node(2).input(2), model.graph().node(1).output(0));
}

TEST_F(ExportModel, TakesTheOpsetThatOperatorsNeed) {
  IRModule module = parsed(R"(fn main(%x: f32[2,3]) {
    %0 = mean(%x) {axes=[1]}
    %1 = gelu(%0)
    return %1 })");
  onnx::ModelProto model = written(module);
  EXPECT_EQ(model.opset_import(0).version(), 20);    // Gelu
  EXPECT_EQ(model.graph().node(1).input_size(), 2);  // axes are an operand since opset 18
  expect_same(module);
}

/// A loop whose body has a region and a choice, with constants in all of them.
constexpr const char* kControl = R"(
fn region(%x: f32[4]) {compiler="p", global_symbol="region", primitive=true} {
  %half = const(0.5) : f32[]
  %0 = multiply(%x, %half)
  return %0 }
fn more(%x: f32[4], %y: f32[4]) {
  %0 = add(%x, %y)
  return %0 }
fn same(%x: f32[4], %y: f32[4]) {
  %c = const([1, 2, 3, 4]) : f32[4]
  %0 = subtract(%x, %c)
  return %0 }
fn step(%i: i64[], %v: f32[4], %y: f32[4]) {
  %limit = const(1.0) : f32[]
  %true = const(true) : bool[]
  %0 = @region(%v)
  %1 = max(%0) {axes=[0], keepdims=false}
  %2 = greater(%1, %limit)
  %3 = if(%2, @more, @same, %0, %y) : f32[4]
  return %true, %3, %1 }
fn main(%x: f32[4], %y: f32[4]) {
  %n = const(3) : i64[]
  %true = const(true) : bool[]
  %0 = loop(%n, %true, @step, %x, %y) {carried=1} : f32[4], f32[3] loc("Loop_0")
  return %0#0, %0#1 })";

TEST_F(ExportModel, WritesControlFlow) {
  IRModule module = parsed(kControl);
  onnx::ModelProto model = written(module);
  const onnx::NodeProto& loop = model.graph().node(0);
  EXPECT_EQ(loop.op_type(), "Loop");
  EXPECT_EQ(loop.name(), "Loop_0");
  const onnx::GraphProto& body = loop.attribute(0).g();
  EXPECT_EQ(body.input_size(), 3);   // the iteration, the condition, v
  EXPECT_EQ(body.output_size(), 3);  // the condition, v, a row
  EXPECT_EQ(body.node(0).op_type(), "step");
  EXPECT_EQ(model.graph().value_info(0).name(), model.graph().output(1).name());
  expect_same(module);
}

// The number of iterations is that of the run.
TEST_F(ExportModel, WritesLoopsThatEndByACondition) {
  IRModule module = parsed(R"(
fn step(%i: i64[], %v: f32[2]) {
  %limit = const(100.0) : f32[]
  %two = const(2.0) : f32[]
  %0 = multiply(%v, %two)
  %1 = max(%0) {axes=[0], keepdims=false}
  %2 = less(%1, %limit)
  return %2, %0 }
fn main(%n: i64[], %x: f32[2]) {
  %true = const(true) : bool[]
  %0 = loop(%n, %true, @step, %x) {carried=1} : f32[2]
  return %0 })");
  written(module);
  expect_same(module);
}

TEST_F(ExportModel, ListsWhatOnnxDoesNotHave) {
  Status status = export_onnx(parsed(R"(fn main(%x: f32[4,4]) {
    %0 = compiler_begin(%x) {compiler="p", region=0}
    %1 = relu(%0)
    %2 = call_dps_packed(@f, %1) : f32[4,4]
    return %2 })"),
                              path_);
  EXPECT_EQ(status.slug(), "onnx-export");
  EXPECT_THAT(status.message(), HasSubstr("compiler_begin, the compiled function @f"));
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(ExportModel, NamesAFileThatCannotBeWritten) {
  Status status = export_onnx(parsed(kRegions), "/nowhere/m.onnx");
  EXPECT_THAT(status.to_string(), HasSubstr("/nowhere/m.onnx"));
}

}  // namespace
}  // namespace byoc
