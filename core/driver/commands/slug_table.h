// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of each slug of an error, as `byoc error SLUG` and `byoc help SLUG` print it.
#include <span>
#include <string_view>

namespace byoc::driver {

struct SlugRow {
  std::string_view slug;
  std::string_view meaning;  // what is wrong, and what to do
};
/// Returns a row for each slug that a Status may have, in alphabetical order.
std::span<const SlugRow> slug_table();

}  // namespace byoc::driver
