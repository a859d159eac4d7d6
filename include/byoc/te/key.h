// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds Dags that are the same except for names: for tuning records, and so that equal functions
// are compiled once.
#include "byoc/base/buffer.h"
#include "byoc/te/tensor.h"

namespace byoc::te {

/// Returns stages, types, expressions and choices of computes, with numbers instead of the names of
/// stages, tensors and variables: equal for Dags that differ in names alone. Its length is linear
/// in the nodes, shared ones counted once.
std::string canonical_text(const Dag& dag);
/// Returns the content key of that text.
ContentKey key_of(const Dag& dag);

}  // namespace byoc::te
