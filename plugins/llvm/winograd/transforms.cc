// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/winograd/transforms.h"

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using Polynomial = std::vector<double>;  // coefficients, of 1 first

// The points were chosen by the largest error of random layers: 0.75 and 1.5 have a quarter of that
// of the usual 1 and 2.
std::vector<double> points_of(int64_t products) {
  if (products == 4) return {0, 1, -1};
  if (products == 6) return {0, 0.75, -0.75, 1.5, -1.5};
  if (products == 8) return {0, 0.5, -0.5, 1, -1, 2, -2};
  BYOC_CHECK(products == 1, "there are no points for ", products, " products");
  return {};
}

// Returns the product of (x - p) over all points except number `without`.
Polynomial product_of(const std::vector<double>& points, size_t without) {
  Polynomial out = {1};
  for (size_t k = 0; k < points.size(); ++k) {
    if (k == without) continue;
    Polynomial next(out.size() + 1, 0);
    for (size_t d = 0; d < out.size(); ++d) {
      next[d + 1] += out[d];
      next[d] -= points[k] * out[d];
    }
    out = std::move(next);
  }
  return out;
}

std::vector<double> powers_of(double x, int64_t count) {
  std::vector<double> out;
  double power = 1;
  for (int64_t k = 0; k < count; ++k, power *= x) out.push_back(power);
  return out;
}

// Returns the highest power alone, the value of a polynomial at infinity.
std::vector<double> at_infinity(int64_t count) {
  std::vector<double> out(static_cast<size_t>(count), 0);
  out.back() = 1;
  return out;
}

Matrix transposed(const Matrix& x) {
  Matrix out(x[0].size(), std::vector<double>(x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < x[i].size(); ++j) out[j][i] = x[i][j];
  }
  return out;
}

}  // namespace

Transforms transforms_of(int64_t m, int64_t r) {
  Transforms out{m, r, {}, {}, {}};
  const std::vector<double> points = points_of(out.products());
  Matrix evaluation;  // of a polynomial of m coefficients, per point
  for (size_t k = 0; k < points.size(); ++k) {
    double scale = 1;
    for (size_t j = 0; j < points.size(); ++j) {
      if (j != k) scale *= points[k] - points[j];
    }
    std::vector<double> filter = powers_of(points[k], r);
    for (double& x : filter) x /= scale;
    evaluation.push_back(powers_of(points[k], m));
    out.filter.push_back(std::move(filter));
    Polynomial input = product_of(points, k);
    input.resize(static_cast<size_t>(out.products()), 0);
    out.input.push_back(std::move(input));
  }
  evaluation.push_back(at_infinity(m));
  out.filter.push_back(at_infinity(r));
  out.input.push_back(product_of(points, points.size()));
  out.output = transposed(evaluation);
  return out;
}

}  // namespace byoc::llvm_plugin::winograd
