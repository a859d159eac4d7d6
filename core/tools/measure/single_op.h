// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model of one op, made from the words of a command line.
#include <string>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::driver {

struct SingleOp {
  std::string op;                    // "conv2d"
  std::vector<std::string> shapes;   // "x=1x64x56x56", f32, or "indices=i64[8]"
  std::vector<std::string> attrs;    // "pads=[1,1,1,1]", as in the text form
  std::vector<std::string> weights;  // names of operands that are constants, random ones
  uint64_t seed = 0;                 // of the weights
};
/// Returns a module whose entry calls the op once, on parameters with its operands' names, and
/// returns its first result. A variadic operand is given several times. Errors: slugs "unknown-op",
/// "usage", and those of the op's inference.
Result<IRModule> single_op_module(const SingleOp& op);

}  // namespace byoc::driver
