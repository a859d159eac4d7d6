// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single elements of constants as text, exact in both directions for every dtype.
#include <cstddef>
#include <string>
#include <string_view>

#include "byoc/base/dtype.h"

namespace byoc {

/// Shortest decimal that reads back equal, "inf", "-inf", "nan", "true", "false"; "0x..." gives the
/// bits of what has no such form: other NaNs, bools that are neither 0 nor 1.
void print_element(std::string& out, DType dtype, const std::byte* from);
/// Writes one element; false when `text` is none of `dtype`, or does not fit.
bool parse_element(std::string_view text, DType dtype, std::byte* to);
/// The element as a number; 64-bit integers are rounded.
double element_value(DType dtype, const std::byte* from);

}  // namespace byoc
