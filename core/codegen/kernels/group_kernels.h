// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Closes open regions of default codegens as kernels: the legal groups of plugins with the slot
/// `partition` (legal_groups.h), and for plugins with the flag ONE_ANCHOR all ops. Other regions
/// stay open. Such a kernel is an op or a group with those predecessors whose readers are all in
/// the kernel, as long as one loop nest can compute them (below). So only one op of a kernel has
/// results that leave it, the kernel is convex, and it computes nothing twice. Errors: those of the
/// slot. Cost: linear.
///
/// A kernel has at most one anchor, reduction or group, and at most the plugin's `max_ops` ops:
/// - After an anchor, a reduction or a group: elementwise, broadcast and injective ops on as many
///   elements as it has. A resize, which has sums, is in no kernel with a group but as its member.
/// - Before a reduction whose windows do not overlap: elementwise and broadcast ops on as many
///   elements as it reads.
/// - Before an anchor: no ops, because an anchor reads an element more than once; nor before a
///   group, which lists its ops.
/// - Without these: elementwise, broadcast and injective ops of any size. An op with more elements
///   must not read a computed value, which it would compute more than once.
/// - An opaque op is a kernel of its own. So is a concat whose operands can be computed in its
///   result (core/codegen/kernels/joins.h), unless the op that reads it can compute it.
/// - A group is a kernel of its own when its plugin lacks the flag, when it calls a composite, and
///   when values of other ops than its last one are read outside.
Result<Function> group_kernels(const IRModule& module, Function function, Symbol name,
                               const PassContext& context);

}  // namespace byoc
