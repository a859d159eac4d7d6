// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "byoc/base/json.h"

namespace byoc::tune {

/// Returns the mean of a list of times; nothing for another form, or without a time. In logs of TVM
/// 1e9 seconds and more mean a failure.
inline std::optional<double> mean_seconds(const Json& list) {
  constexpr double kFailed = 1e9;
  if (!list.is_array() || list.empty()) return std::nullopt;
  double sum = 0;
  for (const Json& seconds : list) {
    if (!seconds.is_number()) return std::nullopt;
    sum += seconds.get<double>();
  }
  const double mean = sum / static_cast<double>(list.size());
  return mean > 0 && mean < kFailed ? std::optional(mean) : std::nullopt;
}

}  // namespace byoc::tune
