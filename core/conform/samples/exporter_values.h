// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

namespace byoc::conform {

/// Returns the single numbers that exporters give the op as a constant operand, the most frequent
/// first; none for most ops.
/// A pattern for the pieces of an activation or a normalisation checks such numbers in judge.
std::span<const double> exporter_values(std::string_view op);

}  // namespace byoc::conform
