// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules the stages of a Dag when no better schedule exists.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Has a schedule for every Dag: the last of a chain.
te::ScheduleProvider default_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
