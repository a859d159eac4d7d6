// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of the primitives that add stages.
#include "byoc/te/rewrite.h"
#include "core/te/schedule/reads.h"

namespace byoc::te {

std::vector<Axis> fresh_axes(const std::vector<Axis>& axes);
VarMap renaming(const std::vector<Axis>& from, const std::vector<Axis>& to);
Exprs vars_of(const std::vector<Axis>& axes);
/// Returns tensors of the same types, named `name`, `name`#1, ...
std::vector<Tensor> tensors_like(const std::vector<Tensor>& outputs, const std::string& name);
/// Returns a stage that `stage` reads, perhaps through inlined ones, and that is
/// computed at some loop.
std::optional<std::string> placed_producer(const ScheduleState& state, const std::string& stage);
/// Gives `to` the reads of `from`, and makes `from` read `to`.
void move_reads(ScheduleState& state, const std::string& from, const std::string& to);

}  // namespace byoc::te
