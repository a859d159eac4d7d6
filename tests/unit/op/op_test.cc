// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/op.h"

#include "support/run_op.h"

namespace byoc {
namespace {

const OpDef& op(std::string_view name) { return *all_ops().find(name); }

std::string error_of(std::string_view name, Attrs attrs) {
  auto complete = complete_attrs(op(name), std::move(attrs));
  return complete.ok() ? "" : complete.status().to_string();
}

TEST(CompleteAttrs, FillsDefaults) {
  Attrs attrs = *complete_attrs(op("leaky_relu"), {});
  EXPECT_EQ(attrs.f("alpha"), 0.01);
}

TEST(CompleteAttrs, KeepsWhatWasGiven) {
  Attrs attrs = *complete_attrs(op("leaky_relu"), {{"alpha", 0.5}});
  EXPECT_EQ(attrs.f("alpha"), 0.5);
}

TEST(CompleteAttrs, TakesAnIntegerWhereAFloatIsDue) {
  Attrs attrs = *complete_attrs(op("leaky_relu"), {{"alpha", 2}});
  EXPECT_TRUE(std::holds_alternative<double>(*attrs.find("alpha")));
  EXPECT_EQ(attrs.f("alpha"), 2.0);
}

TEST(CompleteAttrs, LeavesAnOptionalAttributeAbsent) {
  EXPECT_FALSE(complete_attrs(op("clip"), {{"min", 0.0}})->has("max"));
}

TEST(CompleteAttrs, RefusesAnUnknownNameWithTheNearestOne) {
  EXPECT_EQ(error_of("leaky_relu", {{"alhpa", 0.5}}),
            "error[unknown-attr]: leaky_relu has no attribute \"alhpa\"; did you mean \"alpha\"?");
}

TEST(CompleteAttrs, SaysThatAnOpHasNoAttributes) {
  EXPECT_EQ(error_of("relu", {{"alpha", 0.5}}),
            "error[unknown-attr]: relu has no attribute \"alpha\"; it has none");
}

TEST(CompleteAttrs, NamesBothKinds) {
  EXPECT_EQ(
      error_of("leaky_relu", {{"alpha", "much"}}),
      "error[attr-kind]: leaky_relu: attribute \"alpha\" is a float, got the string \"much\"");
}

TEST(CompleteAttrs, NamesAMissingAttribute) {
  EXPECT_EQ(error_of("compiler_begin", {{"compiler", "onednn"}}),
            "error[missing-attr]: compiler_begin needs the attribute \"region\" (integer)");
}

TEST(InferTypes, CountsInputs) {
  TensorType x{DType::kF32, make_shape(std::vector<int64_t>{2})};
  EXPECT_EQ(testing::infer("add", {x}), "add takes 2 inputs, got 1");
  EXPECT_EQ(testing::infer("relu", {x, x}), "relu takes 1 input, got 2");
}

TEST(InferTypes, RefusesAResultThatDoesNotFitIn63Bits) {
  TensorType a{DType::kF32, make_shape(std::vector<int64_t>{int64_t{1} << 40, 1})};
  TensorType b{DType::kF32, make_shape(std::vector<int64_t>{1, int64_t{1} << 40})};
  EXPECT_THAT(testing::infer("add", {a, b}), ::testing::HasSubstr("does not fit in 63 bits"));
}

TEST(InferTypes, KeepsSymbolicDims) {
  TensorType x{DType::kF32, {Dim::symbol("N", 1, 64), Dim(3)}};
  EXPECT_EQ(testing::infer("relu", {x}), "f32[1<=N<=64,3]");
}

TEST(Flops, AreOnePerElementUnlessTheOpSaysOtherwise) {
  std::vector<TypeId> types = {TensorType{DType::kF32, make_shape(std::vector<int64_t>{2, 3})}};
  EXPECT_EQ(flops(op("relu"), types, types, {}), 6);
  EXPECT_EQ(flops(op("compiler_begin"), types, types, {}), 0);
}

TEST(Flops, AreUnknownAsZeroForSymbolicShapes) {
  std::vector<TypeId> types = {TensorType{DType::kF32, {Dim::symbol("N")}}};
  EXPECT_EQ(flops(op("relu"), types, types, {}), 0);
}

TEST(AllOps, AreDocumented) {
  for (const OpDef* op : all_ops().all()) {
    EXPECT_FALSE(op->doc.empty()) << op->name;
    for (const InputSpec& input : op->inputs) EXPECT_FALSE(input.doc.empty()) << op->name;
    for (const AttrSpec& attr : op->attrs)
      EXPECT_FALSE(attr.doc.empty()) << op->name << " " << attr.name;
    EXPECT_TRUE(op->reference) << op->name;
  }
}

TEST(Annotations, CopyTheirInput) {
  for (const char* name : {"compiler_begin", "compiler_end"}) {
    auto x = testing::tensor(DType::kI32, {3}, {1, -2, 3});
    auto y = testing::run_op1(name, {x}, {{"compiler", "json"}, {"region", 4}});
    testing::expect_close(y, x);
    EXPECT_TRUE(op(name).is_annotation);
  }
}

}  // namespace
}  // namespace byoc
