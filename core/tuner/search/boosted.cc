// SPDX-License-Identifier: Apache-2.0
// Gradient-boosted trees by XGBoost's C API. Empty in builds without the library.
#include "byoc/base/check.h"
#include "core/tuner/search/cost_model.h"

#ifdef BYOC_XGBOOST
#include <xgboost/c_api.h>

#include <cmath>
#include <memory>

namespace byoc::tune {
namespace {

using Table = std::unique_ptr<void, decltype(&XGDMatrixFree)>;

constexpr int kTrees = 64;

Status checked(int code, std::string_view call) {
  if (code == 0) return {};
  return Status(Code::kInternal, cat("xgboost: ", call, ": ", XGBGetLastError()));
}

Result<Table> make_table(const Matrix& rows) {
  BYOC_CHECK(rows.cells.size() == rows.rows() * rows.columns, rows.cells.size(), " cells in ",
             rows.rows(), " rows");
  DMatrixHandle handle = nullptr;
  const int code = XGDMatrixCreateFromMat_omp(rows.cells.data(), rows.rows(), rows.columns,
                                              std::nanf(""), &handle, 1);
  BYOC_TRY_STATUS(checked(code, "XGDMatrixCreateFromMat_omp"));
  return Table(handle, &XGDMatrixFree);
}

Status set_options(BoosterHandle booster, uint64_t seed) {
  const std::pair<const char*, std::string> options[] = {
      {"objective", "reg:squarederror"},
      {"tree_method", "hist"},
      {"nthread", "1"},
      {"seed", cat(seed % 0x7fffffff)},
      {"verbosity", "0"},
      {"max_depth", "6"},
      {"eta", "0.15"},
      {"max_bin", "64"},
      {"min_child_weight", "1"},
      {"base_score", "0"},
      {"lambda", "0.02"}};  // few rows, and exact ones
  for (const auto& [name, value] : options)
    BYOC_TRY_STATUS(checked(XGBoosterSetParam(booster, name, value.c_str()), name));
  return {};
}

Result<std::vector<float>> predict(BoosterHandle booster, const Matrix& rows) {
  if (rows.rows() == 0) return std::vector<float>();
  BYOC_TRY(const Table table, make_table(rows));
  bst_ulong n = 0;
  const float* scores = nullptr;
  BYOC_TRY_STATUS(
      checked(XGBoosterPredict(booster, table.get(), 0, 0, 0, &n, &scores), "XGBoosterPredict"));
  return std::vector<float>(scores, scores + n);
}

Result<Predictor> train_boosted(const Matrix& rows, std::span<const float> scores, uint64_t seed) {
  BYOC_TRY(const Table table, make_table(rows));
  BYOC_TRY_STATUS(
      checked(XGDMatrixSetFloatInfo(table.get(), "label", scores.data(), scores.size()), "label"));
  BYOC_CHECK(scores.size() == rows.rows(), scores.size(), " scores of ", rows.rows(), " rows");
  const DMatrixHandle tables[] = {table.get()};
  BoosterHandle handle = nullptr;
  BYOC_TRY_STATUS(checked(XGBoosterCreate(tables, 1, &handle), "XGBoosterCreate"));
  const std::shared_ptr<void> booster(handle, &XGBoosterFree);
  BYOC_TRY_STATUS(set_options(handle, seed));
  for (int k = 0; k < kTrees; ++k)
    BYOC_TRY_STATUS(
        checked(XGBoosterUpdateOneIter(handle, k, table.get()), "XGBoosterUpdateOneIter"));
  return Predictor([booster](const Matrix& points) { return predict(booster.get(), points); });
}

}  // namespace

CostModel boosted_trees(uint64_t seed) {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return {cat("xgboost ", major, ".", minor, ".", patch),
          [seed](const Matrix& rows, std::span<const float> scores) {
            return train_boosted(rows, scores, seed);
          }};
}

}  // namespace byoc::tune
#endif
