// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages of constants alone are computed at compile, for example the transform of a convolution's
// filters. What they compute becomes an input of the Dag, a packed constant.
#include <optional>
#include <vector>

#include "byoc/te/tensor.h"

namespace byoc::llvm_plugin {

struct Hoisted {
  te::Dag rest;       // reads constants that are still in use, then the outputs of `constants`
  te::Dag constants;  // one stage or more; its inputs are constants of the Dag
  std::vector<size_t> reads;  // per input of `constants`: the number of the constant
  std::vector<bool> is_kept;  // per constant: `rest` reads it
};
/// Splits a Dag whose inputs after the first `inputs` are constants. nullopt: it has no stage of
/// constants alone. Constant folding has computed those of ops, so that only stages that a
/// strategy has added are left. Linear.
std::optional<Hoisted> hoist_constants(const te::Dag& dag, size_t inputs);

}  // namespace byoc::llvm_plugin
