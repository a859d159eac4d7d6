// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules convolutions of images that are not in blocks of channels: the first of a network.
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Returns nullopt for other Dags.
std::optional<Template> stem_template(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
