#pragma once
// ONNX files of any number of ops, whose outputs are known without running them.
#include <cstdint>
#include <string>

namespace byoc::bench {

enum class Shape {
  kChain,   // relu, tanh, sigmoid, add of a constant, and again
  kLadder,  // a' = tanh(a + b), b' = sigmoid(a - b): every rung reads both values twice
};

/// Writes a model of one input `x` f32[1,64] and one output `y` of the same type, `ops` nodes, give
/// or take three. Aborts when the file cannot be written. Returns what every element of `y` is
/// where every element of `x` is `x`, computed in f64.
double write_onnx_graph(const std::string& path, Shape shape, uint32_t ops, double x);

}  // namespace byoc::bench
