// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules a Dag with open sizes as the same Dag with numbers is.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin {

/// Runs the steps of a schedule of `nominal` on `dag`, whose stages and axes have the same names.
/// Factors that reach over all of a loop do so in any run; loops that are vectors as a whole become
/// vectors and a rest; open loops are not written out. Errors: kFailedPrecondition, slug
/// "open-schedule", where a step is refused: the schedule was made for this function, and no other
/// takes its place.
Result<te::Schedule> schedule_as(const te::Dag& dag, const te::Dag& nominal, const te::Trace& trace,
                                 const te::Target& target);

}  // namespace byoc::llvm_plugin
