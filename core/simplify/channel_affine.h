// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps y = scale[c] * x + shift[c] with one pair per channel c. A batch_norm, and a product or sum
// with per-channel constants, is such a map; the weights of a convolution or matrix product can
// absorb it.
#include <optional>

#include "byoc/ir/visit.h"
#include "byoc/op/op.h"

namespace byoc::simplify {

struct ChannelAffine {
  std::vector<double> scale, shift;
};

/// A linear op with weights: the position of the channels in its output and in its weights.
/// Weight element [i, j, k] of the view outer x extent x inner belongs to channel
/// (i / outer_per_group) * extent + j.
struct LinearOp {
  size_t channel_axis = 0;  // of the output
  int64_t outer = 1, extent = 1, inner = 1, outer_per_group = 1;
  int64_t channels() const { return outer / outer_per_group * extent; }
};
/// Returns node `node` as a linear op with constant f32 or f64 weights (operand 1), if it is one.
std::optional<LinearOp> linear_op(const Function& function, uint32_t node);
/// Returns the weights with each channel multiplied by its scale, computed in double.
std::shared_ptr<const Buffer> scaled_weights(const LinearOp& op, const Buffer& weights, DType dtype,
                                             const std::vector<double>& scale);

/// Returns `values` as a constant of f32 or f64.
std::shared_ptr<const Buffer> reals(const std::vector<double>& values, DType dtype);
bool all_finite(const Buffer& reals, DType dtype);

/// Returns the operand that node `node` maps channel by channel, if it does. Such a node is a
/// batch_norm, or a multiply or add with a constant that varies along `op.channel_axis` at most and
/// does not change the shape.
std::optional<ValueId> affine_operand(const Function& function, uint32_t node, const LinearOp& op);
/// Returns the composition of `before` and such a node.
ChannelAffine then(const ChannelAffine& before, const Function& function, uint32_t node);

}  // namespace byoc::simplify
