// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes modules whose rounded values are a step off, to measure how far that moves other values.
#include "byoc/ir/module.h"

namespace byoc::driver {

enum class Moved {
  /// One in 64 of the values that are rounded again later on, up or down. A right implementation
  /// may do so: sums in another order differ by up to 1e-4 of the largest value, which is 1/80 of a
  /// step of 8 bits.
  kSome,
  /// All values that are not rounded again, up or down: the size of a step of what follows.
  kLast,
};

/// Moves rounded values of each function that is no composite and has no loops:
///   before: %1 = quantize(%0, %s, %z)
///           %2 = conv2d(%1, %w)            kSome: if a later op rounds; kLast: if none does
///   after:  %1 = quantize(%0, %s, %z)
///           %2 = dequantize(%1, 1)
///           %3 = add(%2, [0, 0, 1, 0, -1, ...])
///           %4 = quantize(%3, 1, 0)
///           %5 = conv2d(%4, %w)
/// Results of the function that are rounded values themselves are not moved with kSome. Which
/// elements move depends on the module alone. Cost: O(nodes), with up to 4096 elements for each, or
/// the trailing dims that have more together.
IRModule with_moved_rounding(IRModule module, Moved which);

}  // namespace byoc::driver
