// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

namespace byoc::conform {

/// Samples of some ops. `ops` has names separated by spaces. `operands` has alternatives separated
/// by "|", each a list of types: T is the dtype that is tried, ":low..high" the range of values.
/// `attrs` has alternatives as well. Each alternative of operands is tried with each one of attrs.
struct SampleRow {
  std::string_view ops, operands, attrs;
};
std::span<const SampleRow> sample_rows();

/// Operands for ops without a row: of one operand, of two with broadcasting, and of reductions.
inline constexpr std::string_view kUnary = "T[2,3,5] | T[7] | T[1] | T[] | T[0,3] | T[3,1,1,1,2]";
inline constexpr std::string_view kBinary =
    "T[2,3,5] T[2,3,5] | T[2,3,5] T[5] | T[2,1,5] T[3,1] | T[] T[3,5] | T[1] T[1] | T[0,5] T[5] | "
    "T[2,3,4,5] T[3,1,1]";
inline constexpr std::string_view kReduced = "T[2,3,5] | T[1,1,1] | T[7,1,3]";
inline constexpr std::string_view kReductions =
    "axes=[1] | axes=[0,-1], keepdims=false | axes=[] | axes=[2,1]";

}  // namespace byoc::conform
