// SPDX-License-Identifier: Apache-2.0
#pragma once
// The size of constants that rows compute.
#include <cstdint>

namespace byoc::onnx_import {

/// The most elements of a constant that a row computes: a node of a few bytes makes at most 128 MiB
/// of f64 or i64.
inline constexpr int64_t kMostComputed = int64_t{1} << 24;

}  // namespace byoc::onnx_import
