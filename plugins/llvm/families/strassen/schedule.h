// SPDX-License-Identifier: Apache-2.0
#pragma once
// Schedules Strassen's products: for a block of columns of each half, the seven products are added
// up in tiles of registers and then to the result, while they are in the second cache.
#include "byoc/te/schedule.h"
#include "byoc/te/target.h"
#include "plugins/llvm/families/strassen/compute.h"

namespace byoc::llvm_plugin::strassen {

/// Returns the extents of a Dag with this compute and no other reduction; m is that of the
/// quarters, two times their rows.
std::optional<Product> find_product(const te::Dag& dag);
/// Schedules such a Dag with tiles of `tile_rows`. Errors: those of the primitives.
Result<te::Schedule> schedule_products(const te::Dag& dag, int64_t tile_rows,
                                       const te::Target& target);

/// Returns true for a Dag that makes panels and does nothing else.
bool has_panels_alone(const te::Dag& dag);
/// Schedules such a Dag. Errors: those of the primitives.
Result<te::Schedule> schedule_panels(const te::Dag& dag);

}  // namespace byoc::llvm_plugin::strassen
