// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds attention: two products with softmax between them.
#include <vector>

#include "byoc/ir/module.h"

namespace byoc {

/// A product of the weights that softmax makes with the values, and what leads to it:
///   scores = matmul(queries, keys), then elementwise ops, such as a scale and a mask
///   weights = softmax(..) along the last axis, then elementwise ops
///   matmul(weights, values)
struct Attention {
  uint32_t scores = 0, values = 0;  ///< the products' nodes
  std::vector<uint32_t> between;    ///< the other nodes, from `values` back to `scores`
};

/// Returns the attentions of a function, which may be annotated, in the order of their last nodes.
/// Both products have static shapes of f32 and at least 16 rows and 16 columns of scores, for which
/// a kernel of rows pays; all nodes but the last have no reader outside. Cost: linear.
std::vector<Attention> find_attentions(const Function& function);

}  // namespace byoc
