// SPDX-License-Identifier: Apache-2.0
#pragma once
// Follows steps of rounding through a function. An op such as quantize rounds: near a tie, right
// implementations give integers that are one step apart. A dequantize makes that step its scale:
//   %1 = quantize(%0, %s, %z)         one step of 1
//   %2 = dequantize(%1, %s, %z)       one step of s, one per channel if s has several
//   %3 = transpose(%2)                likewise
//   %4 = conv2d(%3, %w)               a step has no size: it depends on the weights
//   %5 = quantize(%4, ...)            one step of 1, rounded twice
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::driver {

/// Describes the changes of one value by rounding.
struct ValueSteps {
  uint32_t roundings = 0;          // on the way with the most of them; at most 2: several
  std::vector<double> sizes = {};  // of one step: one, or one per entry of dim `axis`
  size_t axis = 0;
  bool is_exact() const { return roundings == 0; }
  bool has_size() const { return !sizes.empty(); }
};

/// Returns true for the call of an op that rounds: its result is of integers of 8 or 16 bits.
bool is_rounding(const Function& function, uint32_t node);
/// Returns true when the module quantises values: a function rounds to integers of 8 or 16 bits, or
/// one has `round` and one makes such integers. It is for whole models: a part may lack either.
bool rounds(const IRModule& module);

/// Returns the steps of the results of `function`, whose parameters are exact. Calls of other
/// functions round several times when the module rounds. Cost: O(nodes, elements of scales).
std::vector<ValueSteps> result_steps(const IRModule& module, const Function& function);

}  // namespace byoc::driver
