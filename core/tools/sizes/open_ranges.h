// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranges for the open sizes of a model that is compiled for all of them.
#include "core/tools/model/model_options.h"

namespace byoc::driver {

/// The upper bound of a size that neither the model nor --shape gives, of inputs with up to three
/// of them; smaller where one has more, as batches of videos have. Bounds cost no memory; they keep
/// products of several sizes from overflowing.
inline constexpr int64_t kUsualBound = 65536;

struct RangedModel {
  IRModule module;
  std::vector<std::string> ranges;  // as --shape has them: those that were added
};

/// Loads the model. Sizes of its inputs that have no upper bound get the range from 1, or from
/// their own lower bound, to kUsualBound or less. Errors: those of load_model; after a range was
/// added, with the numbers for --shape as their cure.
Result<RangedModel> load_ranged(const ModelOptions& options);

/// Returns the warning about ranges that were added: exact sizes may be faster. Not empty.
std::string ranges_text(const std::vector<std::string>& ranges);

}  // namespace byoc::driver
