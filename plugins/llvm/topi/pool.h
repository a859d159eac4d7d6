// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules pooling of images in blocks of channels.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Has no schedule (nullopt) for other Dags.
te::ScheduleProvider pool_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
