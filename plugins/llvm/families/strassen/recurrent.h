// SPDX-License-Identifier: Apache-2.0
#pragma once
// The products of lstm, gru and rnn that do not depend on the state: the input at all times by the
// matrices w of all directions is one product of matrices, [time * batch, input] by
// [input, directions * gates * hidden].
#include "plugins/llvm/families/strassen/compute.h"

namespace byoc::llvm_plugin::strassen {

/// Returns the extents of that product for a recurrent net of f32 whose terms and blocks of columns
/// are even in number. nullopt as well for nets with lengths of sequences: a NaN after the end of
/// one would spread to steps of another.
std::optional<Product> input_product_of(const te::Site& site, int64_t block);

/// Returns whether threads share the steps of nets of two directions, rather than take one each.
inline bool shares_steps(const te::Target& target) { return target.threads > 2; }

/// Returns the compute of the net with the stages of `add_product` before its steps, whose
/// products have their matrix in panels for vectors of the target.
ComputeFn recurrent_compute_of(const te::Site& site, const Product& product);

}  // namespace byoc::llvm_plugin::strassen
