// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models that predict how fast a point is, from measurements: gradient-boosted trees where XGBoost
// is installed, else ridge regression.
#include "byoc/tune/search.h"

namespace byoc::tune {

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
