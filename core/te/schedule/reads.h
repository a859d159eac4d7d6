// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds and replaces the tensors that stages read.
#include "core/te/schedule/state.h"

namespace byoc::te {

/// Returns the tensors that a stage loads, each once, in the order of its expressions.
std::vector<Tensor> tensors_read(const Stage& stage);
/// Returns the expressions with some tensors replaced, by Tensor::id().
Exprs with_tensors(const Exprs& values, const std::unordered_map<const void*, Tensor>& tensors);

void add_read(ScheduleState& state, const std::string& producer, const std::string& reader);
void remove_read(ScheduleState& state, const std::string& producer, const std::string& reader);

}  // namespace byoc::te
