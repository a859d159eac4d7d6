// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX files of any number of ops, whose outputs are computed without running them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace byoc::bench {

enum class Shape {
  kChain,   // relu, tanh, sigmoid, add of a constant, and again
  kLadder,  // a' = tanh(a + b), b' = sigmoid(a - b): every rung reads both values twice
  kRandom,  // ops of thirteen kinds on some of the 32 values before them; every value is read
};
/// Returns the shape "chain", "ladder" or "random"; nullopt for any other name.
std::optional<Shape> shape_of(std::string_view name);

/// Writes a model of one input `x` f32[1,64] and one output `y` of the same type, `ops` nodes, give
/// or take three (kRandom: at most 40 more). Errors of f32 do not add up: `y` is exact to 1e-5.
/// Deterministic. Aborts when the file cannot be written. Returns the value of every element of `y`
/// where every element of `x` is `x`, computed in f64.
double write_onnx_graph(const std::string& path, Shape shape, uint32_t ops, double x);

}  // namespace byoc::bench
