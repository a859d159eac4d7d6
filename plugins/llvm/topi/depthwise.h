// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules convolutions of every channel with itself, in blocks of channels, alone and in chains.
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Returns nullopt for other Dags. Those of integers have sums in f32, too.
std::optional<Template> depthwise_template(const te::Dag& dag, const te::Target& target);
/// Returns nullopt for Dags that are no chain (plugins/llvm/chain).
std::optional<Template> chain_template(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
