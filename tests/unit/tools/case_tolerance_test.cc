// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/case_tolerance.h"

#include <gtest/gtest.h>

#include <cstring>

namespace byoc::driver {
namespace {

Tensor zeros(DType dtype) {
  auto tensor = Tensor::make({dtype, {2}});
  std::memset(tensor->data(), 0, tensor->size_bytes());
  return *std::move(tensor);
}

Tensor floats(float a, float b) {
  auto tensor = Tensor::make({DType::kF32, {2}});
  const float values[] = {a, b};
  std::memcpy(tensor->data(), values, sizeof values);
  return *std::move(tensor);
}

// The values of onnx/backend/test/runner: rtol 1e-3, atol 1e-7, and two steps of bfloat16.
TEST(CaseTolerance, IsTheRunnersForAllOtherOperators) {
  CaseTolerance f32 = case_tolerance({"Conv", "Relu"}, floats(50, 0));
  EXPECT_EQ(f32.relative, 1e-3);
  EXPECT_EQ(f32.absolute, 1e-7);
  EXPECT_EQ(case_tolerance({"MatMul"}, zeros(DType::kF16)).relative, 1e-3);
  EXPECT_EQ(case_tolerance({"MatMul"}, zeros(DType::kBF16)).relative, 1.0 / 64);
}

TEST(CaseTolerance, IsWiderForTheOperatorsAndTypesOfTheTable) {
  EXPECT_EQ(case_tolerance({"Add", "DFT"}, floats(64, 0)).absolute, 64.0 / (1 << 24));
  EXPECT_EQ(case_tolerance({"DFT"}, floats(0.5F, 0)).absolute, 1e-7);
  EXPECT_EQ(case_tolerance({"Attention"}, zeros(DType::kF16)).relative, 1.0 / 512);
  EXPECT_EQ(case_tolerance({"Attention"}, floats(1, 0)).relative, 1e-3);
}

}  // namespace
}  // namespace byoc::driver
