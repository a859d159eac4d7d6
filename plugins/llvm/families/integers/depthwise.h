// SPDX-License-Identifier: Apache-2.0
#pragma once
// Depthwise convolutions of integers of 8 bits, with sums in f32.
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::integers {

/// Returns the compute of a conv2d_nchwc_integers of every channel with itself, in equal blocks.
/// Its sums have so few terms that f32 holds them. nullopt: another op.
///   weights[o, 0, kh, kw, 0, b]   of the weights alone, as f32
///   cells[n, o, h, w, b]          x with its edges, as f32
///   sums[n, o, h, w, b]           over kh, kw
///   y[n, o, h, w, b]              as i32
/// A multiply-add of f32 has as many lanes as one of i32, and no instruction multiplies bytes of
/// one channel each without interleaving them first.
std::optional<ComputeFn> depthwise_compute_of(const te::Site& site);

}  // namespace byoc::llvm_plugin::integers
