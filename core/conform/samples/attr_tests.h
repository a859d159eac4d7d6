// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "core/region/pattern_tree.h"

namespace byoc::conform {

/// Returns `attrs` with the values that the pattern requires; `pick` chooses one of n.
Attrs with_tests(const PatternNode::Op& spec, Attrs attrs,
                 const std::function<uint64_t(uint64_t n)>& pick);

}  // namespace byoc::conform
