// SPDX-License-Identifier: Apache-2.0
#pragma once
// Units as XNNPACK's operators. An operator holds the addresses of its last run: one run at a time.
#include <memory>

#include "exact.h"

struct xnn_operator;

namespace byoc::xnnpack {

struct DeleteOperator {
  void operator()(xnn_operator* op) const;
};
using Operator = std::unique_ptr<xnn_operator, DeleteOperator>;

/// Initialises XNNPACK once per process. Throws sdk::Error when it does not run on this CPU.
void initialise();

/// Makes the operator of a unit that has results of `elements` elements, and packs its weights,
/// which are read here alone. Throws sdk::Declined when XNNPACK refuses it.
Operator make_operator(const Unit& unit, const float* weight, const float* bias, uint64_t elements);

/// Runs an operator on the calling thread. Throws sdk::Error.
void run_operator(const Unit& unit, xnn_operator* op, const Operands& in, uint64_t elements,
                  float* y);

}  // namespace byoc::xnnpack
