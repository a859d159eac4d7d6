// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes operands of the weights of functions that differ in nothing else.
//   before: fn main(%x) {
//             %0 = @chip_main_0(%x)
//             %1 = @chip_main_1(%0)
//             return %1
//           }
//   after:  fn main(%x) {
//             %w = const<..>
//             %v = const<..>
//             %0 = @chip_main_0(%x, %w)
//             %1 = @chip_main_1(%0, %v)
//             return %1
//           }
// The two functions are equal then, and are compiled once.
#include "byoc/pass/pass.h"

namespace byoc {

/// Does so for plugins whose manifest has weights_as_inputs, with constants of more than 64
/// elements, at level 1 and above. A function whose weights are the only ones keeps them.
/// Cost: linear, and a look at the file of each plugin with two functions.
void lift_weights(IRModule& module, const PassContext& context);

}  // namespace byoc
