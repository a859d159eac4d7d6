// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/winograd/transforms.h"

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::winograd {
namespace {

using Polynomial = std::vector<double>;  // coefficients, of 1 first

// Returns the points but for infinity. They were chosen by the largest error of random layers: 0.75
// and 1.5 have a quarter of that of the usual 1 and 2.
std::vector<double> points_of(int64_t products) {
  switch (products) {
    case 1:
      return {};
    case 2:
      return {0};
    case 3:
      return {1, -1};
    case 4:
      return {0, 1, -1};
    case 5:
      return {0.5, -0.5, 1.25, -1.25};
    case 6:
      return {0, 0.75, -0.75, 1.5, -1.5};
    case 7:
      return {0.25, -0.25, 0.875, -0.875, 1.75, -1.75};
    case 8:
      return {0, 0.5, -0.5, 1, -1, 2, -2};
    case 10:
      return {0, 0.5, -0.5, 0.875, -0.875, 1.25, -1.25, 2, -2};
    default:
      BYOC_CHECK(false, "there are no points for ", products, " products");
      return {};
  }
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

/// Appends the products of one point to the matrices.
class Appender {
 public:
  Appender(Transforms& out, std::vector<double> points) : out_(out), points_(std::move(points)) {}

  size_t points() const { return points_.size(); }
  bool is_pair(size_t k) const { return k + 1 < points() && points_[k] == -points_[k + 1]; }
  /// Appends the product of phase `q` at point k; points(): infinity.
  void append(int64_t q, size_t k) {
    const int64_t taps = taps_of(q);
    std::vector<double> filter = k < points() ? powers_of(points_[k], taps) : at_infinity(taps);
    for (double& x : filter) x /= scale_of(k);
    out_.filter.push_back(spread(filter, q, out_.r));
    out_.input.push_back(spread(product_of(points_, k), q, out_.reach()));
    evaluation_.push_back(k < points() ? powers_of(points_[k], out_.m) : at_infinity(out_.m));
  }
  int64_t taps_of(int64_t q) const { return (out_.r - q + out_.stride - 1) / out_.stride; }
  void finish() { out_.output = transposed(evaluation_); }

 private:
  double scale_of(size_t k) const {
    double out = 1;
    for (size_t j = 0; j < points() && k < points(); ++j) {
      if (j != k) out *= points_[k] - points_[j];
    }
    return out;
  }
  // Returns `count` values, 0 but for those of phase q.
  std::vector<double> spread(const std::vector<double>& values, int64_t q, int64_t count) const {
    std::vector<double> out(static_cast<size_t>(count), 0);
    for (size_t i = 0; i < values.size(); ++i)
      out[i * static_cast<size_t>(out_.stride) + static_cast<size_t>(q)] = values[i];
    return out;
  }

  Transforms& out_;
  const std::vector<double> points_;
  Matrix evaluation_;  // of a polynomial of m coefficients, per product
};

}  // namespace

Transforms transforms_of(int64_t m, int64_t r, int64_t stride) {
  BYOC_CHECK(stride <= r, "a stride of ", stride, " passes over inputs of ", r, " taps");
  Transforms out{m, r, stride, {}, {}, {}};
  const int64_t most_taps = (r + stride - 1) / stride;
  Appender appender(out, points_of(m + most_taps - 1));
  for (size_t k = 0; k <= appender.points(); ++k) {
    const bool is_pair = appender.is_pair(k);
    for (int64_t q = 0; q < stride; ++q) {
      // Phases with a tap less have a product less.
      if (k == appender.points() && appender.taps_of(q) < most_taps) continue;
      appender.append(q, k);
      if (is_pair) appender.append(q, k + 1);
    }
    if (is_pair) ++k;
  }
  appender.finish();
  return out;
}

}  // namespace byoc::llvm_plugin::winograd
