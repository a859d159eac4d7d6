// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs in which every pass of the pipeline has something to do.
#include "byoc/ir/module.h"

namespace byoc::test {

enum class Shape { kChain, kLadder, kRandom };

/// A function `main` of f32[1,2,4,4] with about `ops` ops: convolutions with batch_norm and relu,
/// elementwise ops of one and two operands, ops on constants, dead ops and equal ops.
IRModule make_graph(Shape shape, uint32_t ops);

}  // namespace byoc::test
