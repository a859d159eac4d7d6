// SPDX-License-Identifier: Apache-2.0
#pragma once
// The time of a unit as oneDNN's primitives run it, from the description of a machine.
#include "byoc/plugin/sdk/machine.h"
#include "primitives/primitives.h"

namespace byoc::onednn {

/// Returns the estimated ns of one run: the larger of arithmetic and memory, at the shares of the
/// machine's peaks that primitives of the kind and the implementation reach, and a call. Changes of
/// layout of weights that are not constant are included, those of activations are not: the host
/// has them as costs of borders.
double estimate_ns(const Region& region, const Unit& unit, const Built& built,
                   const sdk::Machine& machine);

}  // namespace byoc::onednn
