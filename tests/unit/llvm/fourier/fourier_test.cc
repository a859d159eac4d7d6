// SPDX-License-Identifier: Apache-2.0
// Fourier transforms by steps against the sums of the definition in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/fourier/plan.h"
#include "unit/llvm/relative_error.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

constexpr double kBound = 1e-6;  // of the largest output

/// One call: x of `shape`, whose last dim is 1 or 2, along `axis`.
struct Dft {
  Ints shape;
  int64_t axis = -2, length = 0;
  bool inverse = false, onesided = false;
  DType dtype = DType::kF32;
};

std::string text_of(const Dft& d) {
  std::string out = cat("axis ", d.axis, ", length ", d.length, d.inverse ? ", inverse" : "",
                        d.onesided ? ", onesided, x" : ", x");
  for (int64_t extent : d.shape) out += cat(" ", extent);
  return out;
}

/// The transform of one line: `extent` elements of x, `length` terms, `results`.
struct Line {
  int64_t extent, length, results, outer = 1, inner = 1;
};
Line line_of(const Dft& d) {
  const auto rank = static_cast<int64_t>(d.shape.size());
  const auto axis = d.axis < 0 ? d.axis + rank : d.axis;
  Line out{.extent = d.shape[static_cast<size_t>(axis)], .length = d.length, .results = 0};
  if (out.length == 0) out.length = d.inverse && d.onesided ? 2 * (out.extent - 1) : out.extent;
  out.results = d.onesided && !d.inverse ? out.length / 2 + 1 : out.length;
  for (int64_t k = 0; k < axis; ++k) out.outer *= d.shape[static_cast<size_t>(k)];
  for (int64_t k = axis + 1; k + 1 < rank; ++k) out.inner *= d.shape[static_cast<size_t>(k)];
  return out;
}

/// Returns the terms of a line: cut or filled up with zeros, and with the second side of a spectrum
/// whose first one is given.
std::vector<std::complex<double>> terms_of(const Dft& d, const Line& line,
                                           const std::vector<std::complex<double>>& x) {
  const bool is_side = d.inverse && d.onesided;
  std::vector<std::complex<double>> out(static_cast<size_t>(line.length));
  for (int64_t n = 0; n < line.length; ++n) {
    const bool is_mirrored = is_side && n > line.length / 2;
    const int64_t from = is_mirrored ? line.length - n : n;
    if (from >= line.extent) continue;
    const std::complex<double> value = x[static_cast<size_t>(from)];
    out[static_cast<size_t>(n)] = is_mirrored ? std::conj(value) : value;
  }
  if (!is_side) return out;
  out[0] = out[0].real();  // these are their own mirror image
  if (line.length % 2 == 0) {
    auto& middle = out[static_cast<size_t>(line.length / 2)];
    middle = middle.real();
  }
  return out;
}

std::vector<double> expected(const Dft& d, const std::vector<double>& x) {
  const Line line = line_of(d);
  const int64_t parts = d.shape.back(), to_parts = d.inverse && d.onesided ? 1 : 2;
  std::vector<double> out(static_cast<size_t>(line.outer * line.results * line.inner * to_parts));
  for (int64_t at = 0; at < line.outer * line.inner; ++at) {
    const int64_t outer = at / line.inner, inner = at % line.inner;
    std::vector<std::complex<double>> values;
    for (int64_t n = 0; n < line.extent; ++n) {
      const int64_t place = ((outer * line.extent + n) * line.inner + inner) * parts;
      values.emplace_back(x[static_cast<size_t>(place)],
                          parts == 2 ? x[static_cast<size_t>(place + 1)] : 0);
    }
    values = terms_of(d, line, values);
    for (int64_t k = 0; k < line.results; ++k) {
      std::complex<double> sum;
      for (int64_t n = 0; n < line.length; ++n) {
        const double turn = 2 * std::numbers::pi * static_cast<double>(n * k % line.length) /
                            static_cast<double>(line.length);
        sum += values[static_cast<size_t>(n)] * std::polar(1.0, d.inverse ? turn : -turn);
      }
      if (d.inverse) sum /= static_cast<double>(line.length);
      const int64_t place = ((outer * line.results + k) * line.inner + inner) * to_parts;
      out[static_cast<size_t>(place)] = sum.real();
      if (to_parts == 2) out[static_cast<size_t>(place + 1)] = sum.imag();
    }
  }
  return out;
}

te::Dag dag_of(const Dft& d, bool exact_sums = false) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId x = f.param("x", {d.dtype, make_shape(d.shape)});
  ValueId y = f.call(
      "dft", {x},
      {{"axis", d.axis}, {"length", d.length}, {"inverse", d.inverse}, {"onesided", d.onesided}});
  EXPECT_TRUE(f.finish("main", {y}).ok()) << text_of(d);
  module.function("main").attrs.set(llvm_plugin::kExactSumsAttr, exact_sums);
  auto dag = llvm_plugin::translate(module, llvm_plugin::host_target());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

bool is_by_steps(const te::Dag& dag) {
  return dag.stages.back().compute == llvm_plugin::fourier::kCompute;
}

/// Returns what the kernel computes of x, after its matrices.
test::Data run(const Dft& d, const test::Data& x, uint32_t threads) {
  const te::Dag dag = dag_of(d);
  EXPECT_TRUE(is_by_steps(dag)) << te::print(dag);
  auto made = llvm_plugin::lower_with_constants(dag, 1, llvm_plugin::host_target());
  EXPECT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE(made->constants && made->constants->loops.inputs.empty());
  std::vector<test::Data> inputs = {x};
  for (test::Data& table : test::run_loops(made->constants->loops, {}))
    inputs.push_back(std::move(table));
  return test::run_loops(made->loops, inputs, {threads, {}})[0];
}

template <class T>
std::vector<T> random_values(const Dft& d, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> value(-1, 1);
  std::vector<T> out(static_cast<size_t>(
      std::accumulate(d.shape.begin(), d.shape.end(), int64_t{1}, std::multiplies())));
  for (T& x : out) x = value(random);
  return out;
}

void expect_sums(const Dft& d, uint32_t threads = 1) {
  SCOPED_TRACE(text_of(d));
  const auto x = random_values<float>(d, static_cast<uint32_t>(line_of(d).length));
  const auto y = run(d, test::f32(x), threads).as<float>();
  const auto sums = expected(d, {x.begin(), x.end()});
  ASSERT_EQ(y.size(), sums.size());
  EXPECT_LE(test::relative_error(y, sums), kBound);
}

// Each length with two of the four kinds, so that neighbours share none.
TEST(Fourier, ComputesEveryLengthUpTo70) {
  for (int64_t n = 1; n <= 70; ++n) {
    const bool is_even = n % 2 == 0;
    expect_sums({.shape = {2, n, is_even ? 2 : 1}, .inverse = n % 4 < 2});
    if (is_even) expect_sums({.shape = {3, n, 1}, .onesided = true});
    else expect_sums({.shape = {3, n / 2 + 1, 2}, .length = n, .inverse = true, .onesided = true});
  }
}

TEST(Fourier, ComputesLengthsOfModels) {
  for (int64_t n : {101, 127, 160, 257, 320, 360, 400, 480, 512, 1000, 1024, 2187, 4096}) {
    expect_sums({.shape = {3, n, 1}, .onesided = true}, 2);
    expect_sums({.shape = {3, n / 2 + 1, 2}, .length = n, .inverse = true, .onesided = true});
    expect_sums({.shape = {2, n, 2}, .inverse = n % 2 == 0});
  }
}

TEST(Fourier, CutsAndFillsUp) {
  for (int64_t length : {1, 7, 24, 39, 41, 64, 90}) {
    expect_sums({.shape = {2, 40, 2}, .length = length});
    expect_sums({.shape = {2, 40, 1}, .length = length, .onesided = true});
    expect_sums({.shape = {2, 40, 2}, .length = length, .inverse = true, .onesided = true});
  }
}

TEST(Fourier, TransformsAnyDim) {
  for (int64_t axis : {0, 1, 2, -3}) {
    expect_sums({.shape = {6, 20, 5, 2}, .axis = axis}, 3);
    expect_sums({.shape = {20, 6, 48, 1}, .axis = axis, .onesided = true});
    expect_sums({.shape = {3, 33, 17, 2}, .axis = axis, .inverse = true, .onesided = true});
  }
  expect_sums({.shape = {30, 1}});
  expect_sums({.shape = {2, 1, 3, 36, 2, 2}, .axis = 3});
}

TEST(Fourier, ComputesF64InF64) {
  const Dft d{.shape = {2, 48, 2}, .dtype = DType::kF64};
  const auto x = random_values<double>(d, 1);
  const auto y = run(d, test::Data::of(DType::kF64, x), 1).as<double>();
  const auto sums = expected(d, x);
  for (size_t at = 0; at < sums.size(); ++at) EXPECT_NEAR(y[at], sums[at], 1e-12) << at;
}

// A length of one large prime number has no steps, and exact sums have none.
TEST(Fourier, LeavesOtherCallsDirect) {
  EXPECT_FALSE(is_by_steps(dag_of({.shape = {1, 10007, 2}})));
  EXPECT_TRUE(is_by_steps(dag_of({.shape = {1, 64, 2}})));
  EXPECT_FALSE(is_by_steps(dag_of({.shape = {1, 64, 2}}, true)));
}

TEST(FourierFactors, MultiplyToTheLength) {
  const te::Target target = llvm_plugin::host_target();
  for (int64_t n : {1, 2, 30, 64, 97, 400, 1024, 65536, 1 << 20, 3 * 5 * 7 * 11 * 13}) {
    const std::vector<int64_t> factors = llvm_plugin::fourier::factors_of(n, target);
    EXPECT_EQ(std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies()), n);
  }
  EXPECT_GE(llvm_plugin::fourier::factors_of(1024, target).size(), 2u);
  EXPECT_TRUE(llvm_plugin::fourier::factors_of(1000003, target).empty());
}

}  // namespace
}  // namespace byoc
