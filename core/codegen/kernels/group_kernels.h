// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Closes the open regions of plugins with the flag ONE_ANCHOR as kernels. A kernel is an op with
/// those predecessors whose readers are all in the kernel, as long as one loop nest can compute
/// them (below). So only one op of a kernel has results that leave it, the kernel is convex, and it
/// computes nothing twice. Other regions stay open. Cost: linear.
///
/// A kernel has at most one anchor or reduction, or with the flag ATTENTION both products and the
/// softmax of one attention (attention.h), or with the flag CHAINS the convolutions of one chain
/// (chains.h), and at most the plugin's `max_ops` ops:
/// - After an anchor or reduction: elementwise, broadcast and injective ops on as many elements as
///   it has.
/// - Before a reduction whose windows do not overlap: elementwise and broadcast ops on as many
///   elements as it reads.
/// - Before an anchor: no ops, because an anchor reads an element more than once. Before the
///   products of attention, which copy their operands: moves, and then ops with a scalar.
/// - Without an anchor or reduction: elementwise, broadcast and injective ops of any size. An op
///   with more elements must not read a computed value, which it would compute more than once.
/// - An opaque op is a kernel of its own. So is a concat whose operands can be computed in its
///   result (core/codegen/kernels/joins.h), unless the op that reads it can compute it.
Result<Function> group_kernels(Function function, Symbol name, const PassContext& context);

}  // namespace byoc
