// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents that are read out of the text of a task, when that is a te::canonical_text.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace byoc::tune {

/// The stage of a task with the most terms.
struct Anchor {
  std::string op;                             ///< such as "conv2d_nchwc"
  std::vector<int64_t> shape;                 ///< of its result
  std::vector<int64_t> terms;                 ///< extents of the sum, outer first
  std::vector<std::vector<int64_t>> tensors;  ///< shapes of all placeholders, in order
};
/// Returns nullopt for a text without a sum, or with extents that are not numbers. Cost: O(text).
std::optional<Anchor> anchor_of(std::string_view task);

}  // namespace byoc::tune
