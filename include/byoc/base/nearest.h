// SPDX-License-Identifier: Apache-2.0
#pragma once
// "Did you mean": finds the known name closest to a misspelt one.
#include <span>
#include <string>
#include <string_view>

namespace byoc {

/// Returns the candidate with the fewest edits (insert, delete, replace, swap of neighbours),
/// the first of equals; "" when more than a third of the letters (and more than one) would have
/// to change.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);
/// Returns `; did you mean "relu"?`, or "" when no candidate is near.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace byoc
