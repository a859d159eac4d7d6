// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Schedules convolutions and matrix products of floats: tiles of as many sums in registers as hide
/// the latency of a multiply-add. Has none for other Dags.
std::optional<Template> anchor_template(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
