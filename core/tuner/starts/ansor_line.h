// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of a log of TVM's auto_scheduler (Ansor), version 0.6 of its format, for CPUs:
//   {"i": [[workload, target, hardware, ...], [[], [step...]]],
//    "r": [[seconds...], error, seconds of the trial, time], "v": "v0.6"}
// A step is a list that begins with its kind; the next number is the stage. Used are
//   ["SP", stage, loop, extent, [lengths], inner_to_outer]    a loop is split
//   ["PR", stage, loop, "auto_unroll_max_step$64"]            loops are unrolled
// Source: src/auto_scheduler/measure_record.cc and transform_step.cc of Apache TVM 0.8.
#include "byoc/base/json.h"
#include "core/tuner/starts/tiled_loops.h"

namespace byoc::tune {

/// Returns the loops of the stage with the most work that is tiled in four and two parts. Errors:
/// the message is the reason that the line is of no use.
Result<TiledSum> parse_ansor_line(const Json& line);

}  // namespace byoc::tune
