// SPDX-License-Identifier: Apache-2.0
// update_rows. Expected values are worked out by hand from the text of ONNX's TensorScatter.
#include "ops/constants.h"
#include "pattern.h"

namespace byoc::testing {
namespace {

std::vector<Values> operands(std::vector<double> starts) {
  return {f32({2, 3, 1}, {1, 2, 3, 4, 5, 6}), f32({2, 2, 1}, {10, 20, 30, 40}),
          i64({2}, std::move(starts))};
}

std::string error_of(std::vector<double> starts, const char* mode) {
  auto y = run_op("update_rows", operands(std::move(starts)), {{"mode", mode}});
  return y.ok() ? "no error" : y.status().message();
}

TEST(UpdateRows, WritesAtAStartPerImage) {
  EXPECT_EQ(run_op1("update_rows", operands({1, 0})).values,
            (std::vector<double>{1, 10, 20, 30, 40, 6}));
}

TEST(UpdateRows, GoesAroundTheEnd) {
  EXPECT_EQ(run_op1("update_rows", operands({2, 1}), {{"mode", "circular"}}).values,
            (std::vector<double>{20, 2, 10, 4, 30, 40}));
}

// ONNX: "the write index is modulo max_sequence_length". Its remainder is numpy's, which is not
// negative here.
TEST(UpdateRows, TakesStartsBeyondTheEndModuloTheRows) {
  const std::vector<double> around = {20, 2, 10, 4, 30, 40};  // as from starts 2 and 1
  for (const auto& starts :
       std::vector<std::vector<double>>{{5, 4}, {2, 301}, {-1, -2}, {-301, 1}}) {
    EXPECT_EQ(run_op1("update_rows", operands(starts), {{"mode", "circular"}}).values, around)
        << starts[0] << ", " << starts[1];
  }
  const Values cache = f32({1, 3, 1}, {1, 2, 3}), rows = f32({1, 2, 1}, {10, 20});
  EXPECT_EQ(run_op1("update_rows", {cache, rows, tensor(DType::kI32, {1}, {-2147483647})},
                    {{"mode", "circular"}})
                .values,
            (std::vector<double>{20, 2, 10}));  // -2147483647 = 2 - 3 * 715827883
}

TEST(UpdateRows, WritesAlongAnyDimButTheFirst) {
  EXPECT_EQ(run_op1("update_rows",
                    {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({1, 2, 1}, {7, 8}), i64({1}, {2})},
                    {{"axis", -1}})
                .values,
            (std::vector<double>{1, 2, 7, 4, 5, 8}));
  const Values cache = tensor(DType::kBool, {1, 2, 1, 2}, {0, 1, 0, 1});
  EXPECT_EQ(
      run_op1("update_rows", {cache, tensor(DType::kBool, {1, 1, 1, 2}, {1, 0}), i64({1}, {1})},
              {{"axis", 1}})
          .values,
      (std::vector<double>{0, 1, 1, 0}));
}

TEST(UpdateRows, WithoutRowsIsTheCache) {
  EXPECT_EQ(
      run_op1("update_rows", {f32({1, 2, 1}, {1, 2}), f32({1, 0, 1}, {}), i64({1}, {2})}).values,
      (std::vector<double>{1, 2}));
}

TEST(UpdateRows, RefusesStartsForWhichRowsDoNotFit) {
  EXPECT_EQ(error_of({1, 2}, "linear"), "update_rows: starts holds 2, expected 0 to 1");
  EXPECT_EQ(error_of({-1, 0}, "linear"), "update_rows: starts holds -1, expected 0 to 1");
}

TEST(UpdateRowsInfer, RejectsWhatDoesNotFit) {
  const TensorType cache = f32_type({2, 3, 4}), starts = type_of(DType::kI64, {2});
  const auto of = [&](const TensorType& rows, Attrs attrs = {}) {
    return infer("update_rows", {cache, rows, starts}, std::move(attrs));
  };
  EXPECT_EQ(of(f32_type({2, 1, 4})), "f32[2,3,4]");
  EXPECT_EQ(of(f32_type({2, 1, 3})),
            "update_rows: rows must have the dims of cache except for dim 1, and starts one number "
            "per image (cache f32[2,3,4], rows f32[2,1,3], starts i64[2])");
  EXPECT_EQ(of(f32_type({2, 4, 4})),
            "update_rows: 4 rows do not fit into 3 (cache f32[2,3,4], "
            "rows f32[2,4,4], starts i64[2])");
  const OpDef* op = *all_ops().get("update_rows");
  const TensorType open{DType::kF32, {Dim(2), Dim::symbol(Symbol("T"), 1, 65536), Dim(4)}};
  const std::vector<TypeId> types = {TypeId(cache), TypeId(open), TypeId(starts)};
  const Status status = infer_types(*op, types, *complete_attrs(*op, {})).status();
  EXPECT_EQ(status.message(),
            "update_rows: up to 65536 rows do not fit into 3 (cache f32[2,3,4], "
            "rows f32[2,1<=T<=65536,4], starts i64[2])");
  EXPECT_EQ(status.help(), "--shape T=1..3");
  EXPECT_EQ(of(f32_type({1, 3, 4}), {{"axis", 0}}),
            "update_rows: axis is 0, the dim of the images (cache f32[2,3,4], rows f32[1,3,4], "
            "starts i64[2])");
  EXPECT_EQ(of(type_of(DType::kF16, {2, 1, 4})),
            "update_rows: cache is f32[2,3,4], rows are f16[2,1,4], expects one dtype");
  EXPECT_EQ(of(f32_type({2, 1, 4}), {{"mode", "ring"}}),
            "update_rows: mode is \"ring\", expected linear or circular");
}

}  // namespace
}  // namespace byoc::testing
