// SPDX-License-Identifier: Apache-2.0
#pragma once
// Synthetic models of any size, in the forms that networks have.
#include "byoc/ir/module.h"

namespace byoc::bench {

enum class Family { kChain, kTransformer, kNas, kRandom };
std::string_view family_name(Family family);

/// About `ops` ops on f32[64]: relu, tanh, add, multiply, exp, so that plugins with different
/// tastes share it.
///   chain         one op after another
///   transformer   layers of eight ops with two residuals each
///   nas           cells of five nodes, each reading two earlier ones of the cell or the cell
///   before random        each op reads one or two of the last 32 values
/// Deterministic.
IRModule make_graph(Family family, uint32_t ops, uint32_t seed = 1);

}  // namespace byoc::bench
