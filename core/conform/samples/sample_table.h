// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

namespace byoc::conform {

/// ops: names with spaces between. operands: alternatives with "|" between, each a list of types
/// where T stands for the dtype that is tried and ":low..high" for the values; attrs: alternatives
/// too. Every alternative of one goes with every one of the other.
struct SampleRow {
  std::string_view ops, operands, attrs;
};
std::span<const SampleRow> sample_rows();

/// What rules of the table use for ops of one operand, and of two with broadcasting.
inline constexpr std::string_view kUnary = "T[2,3,5] | T[7] | T[1] | T[] | T[0,3] | T[3,1,1,1,2]";
inline constexpr std::string_view kBinary =
    "T[2,3,5] T[2,3,5] | T[2,3,5] T[5] | T[2,1,5] T[3,1] | T[] T[3,5] | T[1] T[1] | T[0,5] T[5] | "
    "T[2,3,4,5] T[3,1,1]";
inline constexpr std::string_view kReduced = "T[2,3,5] | T[1,1,1] | T[7,1,3]";
inline constexpr std::string_view kReductions =
    "axes=[1] | axes=[0,-1], keepdims=false | axes=[] | axes=[2,1]";

}  // namespace byoc::conform
