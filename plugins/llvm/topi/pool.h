// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pooling of images in blocks of channels.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// nullopt: the Dag is not about one.
te::ScheduleProvider pool_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
