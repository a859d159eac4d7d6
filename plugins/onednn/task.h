// SPDX-License-Identifier: Apache-2.0
#pragma once
// A region as a tuning task: its text without names, and the size of its work.
#include "region/region.h"

namespace byoc::onednn {

/// Returns ops, attributes, operands and types, one node per line; a composite is written once.
/// Names of values, nodes and functions, and the values of constants, do not occur. O(graph).
std::string task_text(const Graph& graph, const ChainRules& rules);

/// Returns floating-point operations of one run, all dims being numbers: two per multiplication of
/// convolutions and products, one per cell that other ops read or write, none for views.
double flops_of(const Graph& graph);
/// Returns the bytes of inputs, constants and results.
double bytes_of(const Graph& graph);

}  // namespace byoc::onednn
