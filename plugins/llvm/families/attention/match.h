// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds attention in a function: two products with softmax between them.
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin::attention {

/// The roles of both products.
inline constexpr std::string_view kScoresRole = "scores", kValuesRole = "values";

/// Returns the attentions of a function, in the order of their last nodes:
///   scores = matmul(queries, keys), then elementwise ops, such as a scale and a mask
///   weights = softmax(..) along the last axis, then elementwise ops
///   matmul(weights, values)
/// and nodes that only they read: before the products, which copy their operands, moves and factors
/// of what was moved; before other ops, arithmetic on as many elements as there are scores. Both
/// products have static shapes of f32, and but for `anywhere` at least 16 rows and 16 columns of
/// scores, for which a kernel of rows pays; nodes but the last have no reader outside.
std::vector<Match> find(const Function& function, bool anywhere = false);

}  // namespace byoc::llvm_plugin::attention
