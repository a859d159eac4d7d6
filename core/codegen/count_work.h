// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "byoc/ir/module.h"

namespace byoc {

/// Adds the flops and ops of a function, including those of its composites, to `out`.
void count_work(const IRModule& module, const Function& function, ExternalFunction& out);

/// Counts the calls of each function that plugins compile in one run: the entry alone calls them.
std::unordered_map<Symbol, size_t> count_calls(const IRModule& module);

}  // namespace byoc
