// SPDX-License-Identifier: Apache-2.0
#pragma once
// Templates and sketches as one space. The knob "sketch" is "template" or a derivation's name.
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::sketch {

/// Returns the families' template_of(dag, target) with the sketches of the Dag added: its first
/// point is the same schedule. Both outlive it.
topi::Template template_of(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::sketch
