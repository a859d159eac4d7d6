// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes one op immediately: for constant folding at import and as a pass, and for the
// tests' evaluator.
#include <memory>

#include "byoc/op/op.h"

namespace byoc {

/// Returns the results of `op`, computed by its reference kernel on compact tensors of the types
/// `inputs`. An op that reads the types of its operands alone may get null data. Errors:
/// kUnimplemented when there is no kernel for these types, kResourceExhausted when allocation
/// fails, kOutOfRange for an index outside of its tensor, those of size_bytes.
Result<std::vector<std::shared_ptr<const Buffer>>> evaluate(const OpDef& op, const Attrs& attrs,
                                                            Types inputs, Types outputs,
                                                            std::span<const Buffer* const> data);
/// Returns true when the op's results depend on the types of its operands and not on their
/// elements: `shape`.
bool reads_types_alone(const OpDef& op);
/// Returns true for a dequantize of weights, elements of 8 bits in two dims or more. The importer
/// leaves these as they are, so that plugins get the integers; fold_constants computes those that
/// no product of integers reads.
bool is_dequantized_weight(const OpDef& op, Types inputs);

}  // namespace byoc
