// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules convolutions of images that are not in blocks of channels: the first of a network.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Has no schedule (nullopt) for other Dags.
te::ScheduleProvider stem_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
