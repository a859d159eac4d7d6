// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Closes the open regions of plugins with the flag ONE_ANCHOR as kernels: an op and, going up from
/// it, every op all of whose readers stand in the kernel already, as far as one loop nest can hold
/// them (below). So a kernel has one op whose results leave, is convex, and computes nothing twice.
/// Other regions stay open. Linear.
///
/// A kernel holds at most one anchor or reduction. Behind it stand elementwise, broadcast and
/// injective ops on as many elements as it has; before a reduction whose windows do not overlap
/// elementwise and broadcast ops on as many elements as it reads, and before an anchor none, since
/// it reads an element more than once. Without an anchor or reduction: elementwise, broadcast and
/// injective ops of any size; but what is computed must not be read from a larger place, where it
/// would be computed again. Opaque ops stand alone. At most `max_ops` ops of the plugin's table.
Result<Function> group_kernels(Function function, Symbol name, const PassContext& context);

}  // namespace byoc
