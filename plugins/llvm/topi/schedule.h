// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the stages of a Dag are computed when nothing better is known.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Has a schedule for every Dag: the last of a chain.
te::ScheduleProvider default_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
