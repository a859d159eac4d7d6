// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single elements of constants as text, exact in both directions for every dtype.
#include <cstddef>
#include <string>
#include <string_view>

#include "byoc/base/dtype.h"

namespace byoc {

/// Appends the shortest decimal that reads back equal, "inf", "-inf", "nan", "true" or
/// "false". Values without such a form (other NaNs, bools that are neither 0 nor 1) are
/// printed as bits, "0x...".
void print_element(std::string& out, DType dtype, const std::byte* from);
/// Writes one element; returns false when `text` is no element of `dtype`, or does not fit.
bool parse_element(std::string_view text, DType dtype, std::byte* to);
/// Returns the element as a number; 64-bit integers are rounded.
double element_value(DType dtype, const std::byte* from);

}  // namespace byoc
