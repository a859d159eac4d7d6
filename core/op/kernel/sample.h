// SPDX-License-Identifier: Apache-2.0
#pragma once
// sample_compute.cc: grid_sample and roi_align as expressions.
#include <array>

#include "core/op/kernel/expression.h"

namespace byoc::op {

Result<Tensors> compute_grid_sample(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_roi_align(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
