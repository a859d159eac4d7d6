// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of images that are not in blocks of channels: the first of a network.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// nullopt: the Dag is not about one.
te::ScheduleProvider stem_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
