// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line of database_tuning_record.json, which TVM's MetaSchedule writes:
//   [workload, [[[instruction...], [[index, decision]...]], [seconds...], target, arguments]]
// An instruction is [name, inputs, attributes, outputs]. Used are
//   ["GetLoops", ["b0"], [], ["l1", "l2"]]                     the loops of a block
//   ["SamplePerfectTile", ["l1"], [parts, most], ["v3", ...]]  decided as the parts of the loop
//   ["SampleCategorical", [], [[0, 16], [0.5, 0.5]], ["v9"]]   decided as an index
//   ["Annotate", ["b0", "v9"], ["meta_schedule.unroll_explicit"], []]
// Source: src/meta_schedule/database/database.cc and src/tir/schedule/trace.cc of Apache TVM 0.18.
// The workload itself is a serialised module of TVM in database_workload.json; the loops' extents
// are the products of their parts, so that it is not read.
#include "byoc/base/json.h"
#include "core/tuner/starts/tiled_loops.h"

namespace byoc::tune {

/// Returns true for a line of this form.
bool is_meta_line(const Json& line);
/// Returns the loops of the block with the most work that is tiled in four and two parts. Errors:
/// the message is the reason that the line is of no use.
Result<TiledSum> parse_meta_line(const Json& line);

}  // namespace byoc::tune
