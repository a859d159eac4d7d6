// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules Winograd's convolutions batch by batch: the rows of tiles of a batch are transformed,
// multiplied and transformed back before the next, so that both sides of the products stay in the
// second cache.
#include "byoc/te/schedule.h"
#include "plugins/llvm/families/winograd/plan.h"

namespace byoc::llvm_plugin::winograd {

/// Returns the extents of a Dag with one of compute_of's computes and no other reduction.
std::optional<Shape> find_shape(const te::Dag& dag);
/// Schedules such a Dag. Errors: those of the primitives.
Result<te::Schedule> schedule_batches(const te::Dag& dag, const Plan& plan,
                                      const te::Target& target);

/// Returns true for a Dag that transforms filters and does nothing else.
bool has_filters_alone(const te::Dag& dag);
/// Schedules such a Dag. Errors: those of the primitives.
Result<te::Schedule> schedule_filters(const te::Dag& dag);

}  // namespace byoc::llvm_plugin::winograd
