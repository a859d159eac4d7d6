// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who reads what.
#include "core/te/schedule/state.h"

namespace byoc::te {

/// The tensors that a stage loads, each once, in the order of its expressions.
std::vector<Tensor> tensors_read(const Stage& stage);
/// The same expressions with other tensors in the place of some, by Tensor::id().
Exprs with_tensors(const Exprs& values, const std::unordered_map<const void*, Tensor>& tensors);

void add_read(ScheduleState& state, const std::string& producer, const std::string& reader);
void remove_read(ScheduleState& state, const std::string& producer, const std::string& reader);

}  // namespace byoc::te
