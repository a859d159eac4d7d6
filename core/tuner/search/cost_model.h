// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models that predict how fast a point is, from measurements: gradient-boosted trees where XGBoost
// is installed, else ridge regression.
#include <functional>
#include <string>

#include "byoc/base/status.h"
#include "core/tuner/search/features.h"

namespace byoc::tune {

/// Returns a score per row: greater is faster. Errors: those of the library.
using Predictor = std::function<Result<std::vector<float>>(const Matrix& rows)>;
/// Trains on rows and their scores, of which there is at least one. Deterministic. Errors: those of
/// the library.
using Trainer = std::function<Result<Predictor>(const Matrix& rows, std::span<const float> scores)>;

/// A kind of model.
struct CostModel {
  std::string name;  ///< with the library's version, such as "xgboost 1.7.4"
  Trainer train;     ///< makes a model of this kind
};

/// Returns the best model of this build.
CostModel best_model(uint64_t seed);
/// Returns linear regression on standardised columns and their squares. Absent values are taken for
/// average ones.
CostModel ridge_regression();
#ifdef BYOC_XGBOOST
/// Returns boosted trees, trained in this thread alone.
CostModel boosted_trees(uint64_t seed);
#endif

}  // namespace byoc::tune
