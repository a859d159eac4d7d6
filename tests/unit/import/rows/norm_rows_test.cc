// SPDX-License-Identifier: Apache-2.0
// Rows of core/import/onnx/rows/norm.cc.
#include "unit/import/rows.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

OnnxModel batch_norm(int opset, std::vector<std::string> outputs = {"y"}) {
  OnnxModel model(opset);
  model.input("x", {2, 3, 4}).output("y");
  for (const char* name : {"s", "b", "m", "v"}) model.input(name, {3});
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, outputs, "n");
  return model;
}
onnx::NodeProto& norm_node(OnnxModel& model) { return *model.graph().mutable_node(0); }

TEST(BatchNormRow, KeepsInferenceWhole) {
  EXPECT_EQ(ops_of(batch_norm(9)), "%0 = batch_norm(%x, %s, %b, %m, %v)\n");
}

TEST(BatchNormRow, BringsParametersToTheDtypeOfX) {
  OnnxModel model(15);
  model.input("x", {2, 3}, onnx::TensorProto::FLOAT16).output("y");
  for (const char* name : {"s", "b"}) model.input(name, {3}, onnx::TensorProto::FLOAT16);
  for (const char* name : {"m", "v"}) model.input(name, {3});
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"});
  EXPECT_EQ(ops_of(model),
            "%0 = cast(%m) {to=f16}\n%1 = cast(%v) {to=f16}\n"
            "%2 = batch_norm(%x, %s, %b, %0, %1)\n");
}

TEST(BatchNormRow, RefusesTrainingAndStatisticsPerPixelOfOldOpsets) {
  EXPECT_THAT(ops_of(batch_norm(6)), HasSubstr("is_test=0, training"));
  OnnxModel per_pixel = batch_norm(7);
  set(norm_node(per_pixel), "spatial", 0);
  EXPECT_THAT(ops_of(per_pixel),
              HasSubstr("spatial=0, statistics per pixel instead of per channel"));
  EXPECT_THAT(ops_of(batch_norm(9, {"y", "mean"})),
              HasSubstr("outputs of training are not supported"));
}

TEST(LayerNormRow, AsksForStatisticsOnlyWhenTheyAreNamed) {
  OnnxModel model(17);
  model.input("x", {2, 3}).input("s", {3}).output("y");
  auto& node = model.node("LayerNormalization", {"x", "s"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = layer_norm(%x, %s)\n");
  node.add_output("mean");
  EXPECT_EQ(ops_of(model), "%0 = layer_norm(%x, %s) {stats=true}\n");
}

TEST(DropoutRow, PassesItsInputOn) {
  OnnxModel model;
  model.input("x", {2, 3}).output("y");
  model.node("Dropout", {"x"}, {"d"}, "n");
  model.node("Relu", {"d"}, {"y"});
  EXPECT_EQ(ops_of(model), "%0 = relu(%x)\n");
}

TEST(DropoutRow, GivesAFullMaskWhenOneIsAskedFor) {
  OnnxModel model;
  model.input("x", {2}).output("y").output("mask");
  model.node("Dropout", {"x"}, {"y", "mask"}, "n");
  EXPECT_THAT(ops_of(model), HasSubstr("const([true,true]) : bool[2]"));
  OnnxModel unknown;
  unknown.input("x", {"N"}).output("y").output("mask");
  unknown.node("Dropout", {"x"}, {"y", "mask"}, "n");
  EXPECT_EQ(ops_of(unknown), "%0 = cast(%x) {to=bool}\n%1 = equal(%0, %0)\n");
}

TEST(DropoutRow, RefusesTraining) {
  OnnxModel old(6);
  old.input("x", {2}).output("y");
  old.node("Dropout", {"x"}, {"y"}, "n");
  EXPECT_THAT(ops_of(old), HasSubstr("training, with random results"));
  OnnxModel now;
  now.input("x", {2}).output("y");
  now.node("Dropout", {"x", "", "t"}, {"y"}, "n");
  auto* training = now.graph().add_initializer();
  training->set_name("t");
  training->set_data_type(onnx::TensorProto::BOOL);
  training->add_int32_data(1);
  EXPECT_THAT(ops_of(now), HasSubstr("training, with random results"));
}

}  // namespace
}  // namespace byoc::test
