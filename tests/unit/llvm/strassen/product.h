// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of rows with a constant matrix in panels, by Strassen's scheme, and the same sums in f64
// by plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/strassen/compute.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc::test {

struct Product {
  Ints leading = {64};  // the extents of a before k
  int64_t k = 64, n = 128, block = 32, panel = 1;
  bool has_bias = false, has_residual = false;
  std::string last = {};  // an op of one operand at the end
  Ints reshaped = {};     // the shape of the result, when it is another
  int64_t m() const {
    int64_t out = 1;
    for (int64_t extent : leading) out *= extent;
    return out;
  }
  Ints shape(int64_t columns) const {
    Ints out = leading;
    out.push_back(columns);
    return out;
  }
};

struct ProductData {
  std::vector<float> a, bias, residual, matrix;  // matrix: [k, n]
};

inline std::vector<float> uniform_values(int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = value(random);
  return out;
}

inline ProductData product_data(const Product& p, uint32_t seed) {
  std::mt19937 random(seed);
  return {uniform_values(p.m() * p.k, random), uniform_values(p.n, random),
          uniform_values(p.m() * p.n, random), uniform_values(p.k * p.n, random)};
}

// Returns [k, n] as [n / block, k, block].
inline std::vector<float> in_panels(const Product& p, const std::vector<float>& matrix) {
  std::vector<float> out(matrix.size());
  for (int64_t at = 0; at < p.k * p.n; ++at) {
    const int64_t row = at / p.n, column = at % p.n;
    out[static_cast<size_t>((column / p.block * p.k + row) * p.block + column % p.block)] =
        matrix[static_cast<size_t>(at)];
  }
  return out;
}

// Returns a b + bias + residual, without the last op.
inline std::vector<double> sums_of(const Product& p, const ProductData& data) {
  std::vector<double> out;
  for (int64_t at = 0; at < p.m() * p.n; ++at) {
    const int64_t row = at / p.n, column = at % p.n;
    double sum = p.has_bias ? data.bias[static_cast<size_t>(column)] : 0;
    if (p.has_residual) sum += data.residual[static_cast<size_t>(at)];
    for (int64_t k = 0; k < p.k; ++k)
      sum += double{data.a[static_cast<size_t>(row * p.k + k)]} *
             double{data.matrix[static_cast<size_t>(k * p.n + column)]};
    out.push_back(sum);
  }
  return out;
}

// Returns the module: parameters a, bias, residual as far as there are, then the matrix.
inline IRModule module_of(const Product& p) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  int64_t inputs = 1;
  auto param = [&](const char* name, const Ints& shape) {
    ++inputs;
    return f.param(name, {DType::kF32, Shape(shape.begin(), shape.end())});
  };
  ValueId a = param("a", p.shape(p.k)), bias, residual;
  --inputs;
  if (p.has_bias) bias = param("bias", {p.n});
  if (p.has_residual) residual = param("residual", p.shape(p.n));
  ValueId b = f.param("b", {DType::kF32, {p.n / p.block, p.k, p.block}});
  ValueId y = f.call("matmul_packed", {a, b});
  if (p.has_bias) y = f.call("add", {y, bias});
  if (p.has_residual) y = f.call("add", {residual, y});
  if (!p.last.empty()) y = f.call(p.last, {y});
  if (!p.reshaped.empty()) y = f.call("reshape", {y}, {{"shape", p.reshaped}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, inputs);
  return module;
}

// Returns the strategies with Strassen's alone for products, whatever they cost.
inline te::StrategyTable strassen_alone(int64_t panel) {
  return [panel, direct = te::direct_strategies()](const te::Site& site) {
    auto product = llvm_plugin::strassen::product_of(site);
    if (!product) return direct(site);
    product->panel = panel;
    return std::vector<te::Strategy>{{.name = llvm_plugin::strassen::kCompute,
                                      .compute = llvm_plugin::strassen::compute_of(*product)}};
  };
}

inline te::Dag dag_of(const Product& p, const te::StrategyTable& table) {
  const IRModule module = module_of(p);
  auto dag = te::translate_to_te(module, module.function("main"), llvm_plugin::host_target(),
                                 te::by_level(), table);
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

inline std::vector<Data> inputs_of(const Product& p, const ProductData& data) {
  std::vector<Data> out = {f32(data.a)};
  if (p.has_bias) out.push_back(f32(data.bias));
  if (p.has_residual) out.push_back(f32(data.residual));
  return out;
}

/// A product's kernel, and that of its panels.
struct StrassenKernel {
  explicit StrassenKernel(const Product& p) {
    const te::Dag dag = dag_of(p, strassen_alone(p.panel));
    const size_t inputs = 1 + size_t{p.has_bias} + size_t{p.has_residual};
    auto made = llvm_plugin::lower_with_constants(dag, inputs, llvm_plugin::host_target());
    EXPECT_TRUE(made.ok()) << made.status().message();
    loops = *std::move(made);
  }
  std::vector<float> run(const Product& p, const ProductData& data, uint32_t threads = 1) const {
    std::vector<Data> inputs = inputs_of(p, data);
    inputs.push_back(run_loops(loops.constants->loops, {f32(in_panels(p, data.matrix))})[0]);
    return run_loops(loops.loops, inputs, {threads, {}})[0].as<float>();
  }
  llvm_plugin::KernelLoops loops;
};

}  // namespace byoc::test
