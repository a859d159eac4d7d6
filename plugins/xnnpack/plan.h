// SPDX-License-Identifier: Apache-2.0
#pragma once
// A region as steps: operators on images with channels last, and changes of layout at its borders.
#include "byoc/plugin/sdk/memory.h"
#include "operators.h"

namespace byoc::xnnpack {

using Piece = sdk::StepMemory::Piece;

/// An operator, or a copy of a tensor into another layout or other memory.
struct Step {
  enum Kind { kOperator, kToImage, kToPlain, kCopy };
  Kind kind = kOperator;
  Piece a = 0, b = 0, y = 0;  // b: of kBinary, else that of a
  uint32_t value_a = 0, value_b = 0, value_y = 0;
  uint64_t elements = 0;                         // of the result
  int64_t images = 1, channels = 1, pixels = 1;  // of a change of layout
  bool sets_range = false;                       // some step computes with value_y afterwards
  int64_t node = -1;
  Unit unit;
  Operator op;
  Operands operands;  // the dims; addresses of constants
  float largest = 0;  // the largest |operand| with which XNNPACK is right
};

struct Plan {
  sdk::StepMemory memory;
  std::vector<Step> steps;
  std::vector<sdk::Held> held;  // weights and biases, for the loops of exact.h
  uint32_t values = 0;
  uint64_t packed_bytes = 0;  // about: the weights in XNNPACK's operators
};

/// Makes the plan of a function. An image gets its channels last before the first operator that
/// needs it so, and keeps them until one or the caller needs the plain layout. Throws
/// sdk::Declined.
Plan make_plan(sdk::Function& function);

}  // namespace byoc::xnnpack
