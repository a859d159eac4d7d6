// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/graph.h"

#include <gtest/gtest.h>

#include "byoc/text/text.h"
#include "onnx_models.h"

namespace byoc::test {
namespace {

using onnx_import::GraphBuilder;
using onnx_import::Value;

class ImportGraph : public testing::Test {
 protected:
  ImportGraph() { x_ = graph_.param("x", {DType::kF32, {2, 3}}); }
  std::string finish(const std::vector<ValueId>& results) {
    return print(std::move(graph_).finish(results), "main");
  }

  IRModule module_;
  GraphBuilder graph_{module_, all_ops()};
  ValueId x_;
};

TEST_F(ImportGraph, FoldsOpsOnSmallConstants) {
  ValueId sum = graph_.call("add", {graph_.constant_ints({1, 2}), graph_.constant_ints({10, 20})});
  EXPECT_EQ(graph_.const_ints(sum), (Ints{11, 22}));
}

TEST_F(ImportGraph, FoldsChains) {
  ValueId value = graph_.scalar(DType::kF32, 1);
  for (int k = 0; k < 10; ++k) value = graph_.call("add", {value, value});
  EXPECT_EQ(graph_.const_floats(value), Floats{1024});
}

TEST_F(ImportGraph, LeavesOpsOnParametersAlone) {
  EXPECT_EQ(graph_.const_floats(graph_.call("relu", {x_})), std::nullopt);
}

TEST_F(ImportGraph, FoldsUpTo4096ElementsAndNoMore) {
  auto sum_of = [&](int64_t n) {
    ValueId zeros = graph_.constant_ints(Ints(static_cast<size_t>(n)));
    return graph_.const_ints(graph_.call("add", {zeros, zeros})).has_value();
  };
  EXPECT_TRUE(sum_of(4096));
  EXPECT_FALSE(sum_of(4097));
}

TEST_F(ImportGraph, DropsConstantsThatFoldedAway) {
  ValueId two = graph_.call("add", {graph_.scalar(DType::kF32, 1), graph_.scalar(DType::kF32, 1)});
  std::string text = finish({graph_.call("multiply", {x_, two})});
  EXPECT_EQ(text.find("f32[] = 1"), std::string::npos) << text;
}

TEST_F(ImportGraph, ReadsConstantsOfEveryDtype) {
  for (int k = 0; k < kDTypeCount; ++k) {
    auto dtype = static_cast<DType>(k);
    ValueId value = graph_.scalar(dtype, 1);
    if (is_float(dtype)) EXPECT_EQ(graph_.const_floats(value), Floats{1}) << dtype_name(dtype);
    else EXPECT_EQ(graph_.const_ints(value), Ints{1}) << dtype_name(dtype);
  }
}

TEST_F(ImportGraph, TakesNoFloatsForInts) {
  EXPECT_EQ(graph_.const_ints(graph_.scalar(DType::kF32, 1)), std::nullopt);
  EXPECT_EQ(graph_.const_floats(graph_.scalar(DType::kI64, 1)), std::nullopt);
}

TEST_F(ImportGraph, RemembersTheFirstErrorAndGoesOnHarmlessly) {
  ValueId bad = graph_.call("add", {x_, graph_.constant_ints({1})});
  std::string first = graph_.status().message();
  EXPECT_FALSE(first.empty());
  graph_.call("relu", {bad});
  EXPECT_EQ(graph_.type(bad), TensorType());
  EXPECT_EQ(graph_.const_ints(bad), std::nullopt);
  EXPECT_EQ(graph_.status().message(), first);
}

TEST_F(ImportGraph, ReportsAMissingOperand) {
  graph_.begin_node(std::vector<Value>{x_, std::nullopt}, "n");
  EXPECT_EQ(graph_.optional_input(1), std::nullopt);
  graph_.input(1);
  EXPECT_EQ(graph_.status().message(), "input 1 is missing");
}

TEST_F(ImportGraph, HasNoEmptyNamesAmongAllOperands) {
  graph_.begin_node(std::vector<Value>{x_, std::nullopt}, "n");
  graph_.inputs();
  EXPECT_EQ(graph_.status().message(),
            "input 1 has an empty name; this operator has no optional inputs");
}

TEST_F(ImportGraph, RefusesAConstantOfTheWrongSize) {
  graph_.constant({DType::kF32, {3}}, Buffer::copy(std::vector<std::byte>(8)));
  EXPECT_EQ(graph_.status().message(), "a constant of f32[3] needs 12 bytes, it has 8");
}

TEST_F(ImportGraph, NamesOpsAfterTheNode) {
  graph_.begin_node(std::vector<Value>{x_}, "Relu_7");
  ValueId y = graph_.call("relu", {graph_.input(0)});
  EXPECT_THAT(finish({y}), testing::HasSubstr("loc(\"Relu_7\")"));
}

}  // namespace
}  // namespace byoc::test
