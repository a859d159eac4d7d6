// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Dags are the same but for names: for tuning records, and so that equal functions are
// compiled once.
#include "byoc/base/buffer.h"
#include "byoc/te/tensor.h"

namespace byoc::te {

/// Stages, types, expressions and choices of computes, with numbers instead of the names of stages,
/// tensors and variables: equal for Dags that differ in names alone. Its length is that of the
/// nodes, shared ones counted once.
std::string canonical_text(const Dag& dag);
/// The content key of that text.
ContentKey key_of(const Dag& dag);

}  // namespace byoc::te
