// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules convolutions of every channel with itself, in blocks of channels.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Has no schedule (nullopt) for other Dags.
te::ScheduleProvider depthwise_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
