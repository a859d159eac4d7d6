// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// Schedules convolutions and matrix products of floats: tiles of as many sums in registers as hide
/// the latency of a multiply-add. Has none for other Dags.
te::ScheduleProvider anchor_schedules(const te::Target& target);

}  // namespace byoc::llvm_plugin::topi
