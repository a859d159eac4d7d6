// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of every convolution, transposed or not, over one to three spatial dims.
#include <array>
#include <vector>

#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/window.h"

namespace byoc::op {

/// The input cell that tap k of output cell y reads along one spatial dim: cell t / divide, where
/// t = y * multiply + offset + k * step; none when t is no multiple of `divide` or the cell lies
/// outside of [0, in). A plain convolution multiplies by its stride, a transposed one divides by
/// it; they do not differ otherwise.
struct ConvAxis {
  int64_t in = 1, out = 1, kernel = 1;
  int64_t multiply = 1, divide = 1, offset = 0, step = 1;
  int64_t source(int64_t k, int64_t y) const;  // -1: none
};

struct ConvPlan {
  int64_t n = 1, groups = 1;
  int64_t c = 0, o = 0;                // per group
  int64_t weight_o = 0, weight_c = 0;  // weight strides in elements; taps are dense
  std::array<ConvAxis, 3> axes;        // the last ones; missing ones have extent 1
};

/// Returns the plan of x [n, c, in...] -> y [n, o, out...]; `windows` are those of
/// the spatial dims.
ConvPlan make_conv_plan(const TensorType& x, const TensorType& weight, const TensorType& y,
                        std::span<const Window> windows, int64_t groups, bool transposed);

/// The types that convolutions compute in. f16 and bf16 are summed in f32; i32 (quantised
/// networks) wraps around.
using ConvTypes = decltype(FloatTypes{} + TypeList<int32_t>{});

/// Returns a kernel with in = {x, weight} of one of these types.
Result<RefKernel> conv_kernel(std::string_view op, DType dtype, const ConvPlan& plan);

/// Returns x [n, c, spatial..., ...] with cells of `fill` around its planes, as a stage of its own;
/// x itself where the windows have no pads.
Tensor padded(te::Builder& builder, const Tensor& x, const std::vector<Window>& windows,
              double fill = 0);

}  // namespace byoc::op
