// SPDX-License-Identifier: Apache-2.0
#pragma once
// Limits of results of regions that are computed from right inputs.
#include "core/tools/model/compare.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/rounding/value_steps.h"

namespace byoc::driver {

/// Returns the tolerance of values between regions, -1 for that of their dtypes. In a model that
/// rounds to 16 bits, f32 ones are made of such values: products read them as f32.
double border_tolerance(const IRModule& module, double tolerance);

struct RegionLimits {
  std::vector<ValueSteps> steps;  // of each result of each region, as RegionValues::right()
  std::vector<Limit> limits;      // likewise; a limit has no steps when nothing is rounded
};

/// Returns the limits of all results of all regions. Where regions round several times, or steps
/// have no size, the reference runs all regions again with moved rounding. Errors: those of
/// compiling and running by the reference.
Result<RegionLimits> region_limits(const RegionValues& values, double tolerance);
/// Returns true when a result of the region is rounded several times, or has steps without a size.
bool rounds_several_times(const RegionLimits& limits, const RegionCall& region);

/// Returns the limits of the results of `region`, a part of a model that rounds: it rounds once on
/// each way at most, and calls no composites.
std::vector<Limit> part_limits(const IRModule& plain, Symbol region, double tolerance);

}  // namespace byoc::driver
