// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products by instructions that multiply tiles of bytes.
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin::integers {

inline constexpr std::string_view kTilesCompute = "tiles";

/// Returns true for a product of static shapes whose rows and columns fill a good part of a tile,
/// on processors that have tiles.
bool pays_tiles(const te::Site& site);
/// Returns the compute "tiles": y[.., m, n] over q and t < 4 of a[.., m, 4 q + t] *
/// panels[n / 32, q, n % 32, t]. Rows and panels end with zeros where they are no whole tiles.
te::Strategy product_of_tiles();
/// Returns schedules of Dags whose sums have that compute.
std::optional<topi::Template> tiles_schedules(const te::Dag& dag, const te::Target& target);

}  // namespace byoc::llvm_plugin::integers
