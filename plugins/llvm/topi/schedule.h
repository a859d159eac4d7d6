// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules the stages of a Dag.
#include "plugins/llvm/topi/space.h"

namespace byoc::llvm_plugin::topi {

/// Schedules stage by stage, for Dags that no better template exists for. Has a template for
/// every Dag.
Template default_template(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
