// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/inputs.h"

#include <gtest/gtest.h>

#include "onnx_models.h"

namespace byoc::test {
namespace {

/// Returns the types of the inputs, such as "f32[N,3] f32[N]", or the error.
std::string types(const OnnxModel& model, const ImportOptions& options = {}) {
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const auto& input : model.proto.graph().input()) inputs.push_back(&input);
  auto types = onnx_import::input_types(inputs, options);
  if (!types.ok()) return types.status().to_string();
  std::string out;
  for (const TensorType& type : *types) out += cat(out.empty() ? "" : " ", type);
  return out;
}

OnnxModel two_inputs() {
  OnnxModel model;
  model.input("x", {"N", 3, ""}).input("y", {"N"});
  return model;
}

TEST(InputTypes, KeepNamedSizesAndNameOpenOnes) {
  EXPECT_EQ(types(two_inputs()), "f32[N,3,x_dim2] f32[N]");
}

TEST(InputTypes, TreatNegativeExtentsAsOpen) {
  OnnxModel model;
  model.input("x", {-1, 0});
  EXPECT_EQ(types(model), "f32[x_dim0,0]");
}

// Files of PaddlePaddle, such as those of PaddleOCR.
TEST(InputTypes, TreatQuestionMarksAsSizesOfTheirOwn) {
  OnnxModel model;
  model.input("x", {-1, 3, "?", "?"});
  EXPECT_EQ(types(model), "f32[x_dim0,3,x_dim2,x_dim3]");
  EXPECT_EQ(types(model, {.shapes = {{"x", {1, 3, 48, 192}}}}), "f32[1,3,48,192]");
}

TEST(InputTypes, GiveDifferentSizesDifferentPrintableNames) {
  OnnxModel model;
  model.input("x", {"a b", "a_b", "a.b", "2n", "a b"});
  EXPECT_EQ(types(model), "f32[a_b,a_b_1,a_b_2,d_2n,a_b]");
}

TEST(InputTypes, NeverUseASizeNameOfTheFileForAnOpenSize) {
  OnnxModel model;
  model.input("x", {""}).input("y", {"x_dim0"});
  EXPECT_EQ(types(model), "f32[x_dim0_1] f32[x_dim0]");
}

TEST(InputTypes, TakeANumberForANamedSizeEverywhere) {
  EXPECT_EQ(types(two_inputs(), {.shapes = {{"N", {4}}}}), "f32[4,3,x_dim2] f32[4]");
}

TEST(InputTypes, TakeAWholeShapeAndWhatItSaysAboutNamedSizes) {
  EXPECT_EQ(types(two_inputs(), {.shapes = {{"x", {4, 3, 5}}}}), "f32[4,3,5] f32[4]");
}

TEST(InputTypes, TakeTheShapeOfABoundInput) {
  TensorType type{DType::kF32, {2}};
  EXPECT_EQ(types(two_inputs(), {.bind = {{"y", {type, nullptr}}}}), "f32[2,3,x_dim2] f32[2]");
}

TEST(InputTypes, RefuseAnotherRank) {
  EXPECT_THAT(
      types(two_inputs(), {.shapes = {{"x", {4, 3}}}}),
      testing::HasSubstr("error[input-shape]: \"x\" is given [4,3], the model has f32[N,3,?]"));
}

TEST(InputTypes, RefuseANumberAgainstTheModelsOwn) {
  EXPECT_THAT(
      types(two_inputs(), {.shapes = {{"x", {4, 5, 1}}}}),
      testing::HasSubstr("error[input-shape]: \"x\" is given [4,5,1], the model has f32[N,3,?]"));
}

TEST(InputTypes, RefuseNumbersThatContradict) {
  EXPECT_THAT(
      types(two_inputs(), {.shapes = {{"x", {4, 3, 1}}, {"y", {5}}}}),
      testing::HasSubstr("error[input-shape]: size \"N\" is 4 in one place and 5 in another"));
}

TEST(InputTypes, RefuseUnknownNamesAndListTheInputs) {
  std::string text = types(two_inputs(), {.shapes = {{"z", {4}}}});
  EXPECT_THAT(text, testing::HasSubstr("\"z\", which is neither an input nor a size of the model"));
  EXPECT_THAT(text, testing::HasSubstr("help: inputs: x f32[N,3,?] y f32[N]"));
}

TEST(InputTypes, RefuseToBindWhatIsNoInput) {
  TensorType type{DType::kF32, {2}};
  EXPECT_THAT(types(two_inputs(), {.bind = {{"z", {type, nullptr}}}}),
              testing::HasSubstr("error[input-name]: --bind names \"z\", which is not an input"));
}

TEST(InputTypes, RefuseToBindAnotherDtype) {
  TensorType type{DType::kI64, {2}};
  EXPECT_THAT(
      types(two_inputs(), {.bind = {{"y", {type, nullptr}}}}),
      testing::HasSubstr("error[input-dtype]: \"y\" is bound to i64[2], the model has f32[N]"));
}

TEST(InputTypes, WantAShapeWhereTheModelGivesNone) {
  OnnxModel model;
  model.input("x", {});
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_THAT(types(model),
              testing::HasSubstr("error[input-shape]: the model has no shape for \"x\""));
  EXPECT_EQ(types(model, {.shapes = {{"x", {2, 2}}}}), "f32[2,2]");
  EXPECT_THAT(
      types(model, {.shapes = {{"x", std::vector<GivenSize>(kMaxRank + 1, GivenSize(1))}}}),
      testing::HasSubstr(cat("input \"x\" has rank ", kMaxRank + 1, ", at most ", kMaxRank)));
}

TEST(InputTypes, RefuseSequencesAndStrings) {
  OnnxModel model;
  model.input("x", {}).graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(types(model),
              testing::HasSubstr("error[onnx-unsupported]: input \"x\" is not a tensor"));
  OnnxModel text;
  text.input("x", {1}, onnx::TensorProto::STRING);
  EXPECT_THAT(types(text), testing::HasSubstr("error[onnx-unsupported]: element type STRING"));
}

}  // namespace
}  // namespace byoc::test
