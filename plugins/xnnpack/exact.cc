// SPDX-License-Identifier: Apache-2.0
#include "exact.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace byoc::xnnpack {
namespace {

float bounded(const Unit& unit, float v) {
  return v < unit.low ? unit.low : v > unit.high ? unit.high : v;
}

// Calls body(ky, kx, iy, ix) for the cells of a window that are in the image.
template <class Body>
void for_cells(const Window& w, int64_t oy, int64_t ox, Body&& body) {
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const int64_t iy = oy * w.stride_h - w.top + ky * w.dilation_h;
    if (iy < 0 || iy >= w.h) continue;
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t ix = ox * w.stride_w - w.left + kx * w.dilation_w;
      if (ix >= 0 && ix < w.w) body(ky, kx, iy, ix);
    }
  }
}

// Calls body(x of the image, oy, ox, oc) for each element of the result, channels last.
template <class Body>
void for_results(const Window& w, const float* x, float* y, Body&& body) {
  for (int64_t n = 0; n < w.n; ++n, x += w.h * w.w * w.c) {
    for (int64_t oy = 0; oy < w.out_h; ++oy) {
      for (int64_t ox = 0; ox < w.out_w; ++ox) {
        for (int64_t oc = 0; oc < w.out_c; ++oc) *y++ = body(x, oy, ox, oc);
      }
    }
  }
}

void convolve(const Unit& unit, const Operands& in, float* y) {
  const Window& w = unit.window;
  const int64_t inner = w.c / w.groups, outer = w.out_c / w.groups;
  for_results(w, in.a, y, [&](const float* x, int64_t oy, int64_t ox, int64_t oc) {
    float sum = 0;
    const float* weight = in.weight + oc * inner * w.kernel_h * w.kernel_w;
    for_cells(w, oy, ox, [&](int64_t ky, int64_t kx, int64_t iy, int64_t ix) {
      const float* cell = x + (iy * w.w + ix) * w.c + oc / outer * inner;
      for (int64_t c = 0; c < inner; ++c)
        sum += cell[c] * weight[(c * w.kernel_h + ky) * w.kernel_w + kx];
    });
    return bounded(unit, in.bias ? sum + in.bias[oc] : sum);
  });
}

void multiply_rows(const Unit& unit, const Operands& in, float* y) {
  const Product& p = unit.product;
  const int64_t k_step = p.by_columns ? 1 : p.n, n_step = p.by_columns ? p.k : 1;
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.n; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += in.a[r * p.k + k] * in.weight[k * k_step + n * n_step];
      *y++ = bounded(unit, in.bias ? sum + in.bias[n] : sum);
    }
  }
}

void pool(const Unit& unit, const float* x, float* y) {
  Window w = unit.window;
  if (unit.kind == Unit::kGlobalAverage) w.kernel_h = w.h, w.kernel_w = w.w;
  const bool is_max = unit.kind == Unit::kMaxPool;
  for_results(w, x, y, [&](const float* image, int64_t oy, int64_t ox, int64_t oc) {
    float best = is_max ? -kInfinity : 0;
    int64_t cells = 0;
    for_cells(w, oy, ox, [&](int64_t, int64_t, int64_t iy, int64_t ix) {
      const float v = image[(iy * w.w + ix) * w.c + oc];
      ++cells;
      if (!is_max) best += v;
      else if (v > best || std::isnan(v)) best = v;
    });
    return bounded(unit, is_max ? best : best / static_cast<float>(cells));
  });
}

float unary(const Unit& unit, float x) {
  const std::string& op = unit.name;
  if (op == "abs") return std::fabs(x);
  if (op == "negative") return -x;
  if (op == "floor") return std::floor(x);
  if (op == "ceil") return std::ceil(x);
  if (op == "round") return std::nearbyint(x);
  if (op == "sqrt") return std::sqrt(x);
  if (op == "sigmoid") return 1 / (1 + std::exp(-x));
  if (op == "leaky_relu") return x < 0 ? unit.parameter * x : x;
  if (op == "elu") return x < 0 ? unit.parameter * std::expm1(x) : x;
  if (op == "hard_swish") {
    const float gate = x / 6 + 0.5F;
    return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
  }
  return bounded(unit, x);  // relu, clip
}

void softmax(int64_t channels, const float* x, uint64_t elements, float* y) {
  for (uint64_t row = 0; row < elements; row += static_cast<uint64_t>(channels)) {
    float most = -kInfinity, sum = 0;
    for (int64_t c = 0; c < channels; ++c) {
      if (x[c] > most || std::isnan(x[c])) most = x[c];
    }
    for (int64_t c = 0; c < channels; ++c) sum += y[c] = std::exp(x[c] - most);
    for (int64_t c = 0; c < channels; ++c) y[c] /= sum;
    x += channels, y += channels;
  }
}

float binary(const std::string& op, float a, float b) {
  return op == "add" ? a + b : op == "subtract" ? a - b : a * b;
}

// Returns the stride of each dim of `to` in a tensor of the dims `from`; 0 where it broadcasts.
std::vector<int64_t> strides_over(const std::vector<int64_t>& from,
                                  const std::vector<int64_t>& to) {
  std::vector<int64_t> out(to.size(), 0);
  int64_t stride = 1;
  for (size_t d = from.size(); d-- > 0; stride *= from[d]) {
    if (from[d] != 1) out[to.size() - from.size() + d] = stride;
  }
  return out;
}

void combine(const Unit& unit, const Operands& in, uint64_t elements, float* y) {
  const auto a = strides_over(in.a_dims, in.y_dims), b = strides_over(in.b_dims, in.y_dims);
  for (uint64_t k = 0; k < elements; ++k) {
    int64_t at_a = 0, at_b = 0, rest = static_cast<int64_t>(k);
    for (size_t d = in.y_dims.size(); d-- > 0; rest /= in.y_dims[d]) {
      at_a += rest % in.y_dims[d] * a[d];
      at_b += rest % in.y_dims[d] * b[d];
    }
    y[k] = bounded(unit, binary(unit.name, in.a[at_a], in.b[at_b]));
  }
}

// Returns the largest sum of |weight| of one result.
float gain_of(const Unit& unit, const float* weight) {
  const Product& p = unit.product;
  const Window& w = unit.window;
  const bool is_product = unit.kind == Unit::kProduct;
  const int64_t results = is_product ? p.n : w.out_c;
  const int64_t terms = is_product ? p.k : w.c / w.groups * w.kernel_h * w.kernel_w;
  const bool is_by_rows = is_product && !p.by_columns;
  std::vector<float> sums(static_cast<size_t>(results), 0);
  for (int64_t k = 0; k < results * terms; ++k)
    sums[static_cast<size_t>(is_by_rows ? k % results : k / terms)] += std::fabs(weight[k]);
  float gain = 0;
  for (float sum : sums) gain = sum > gain || std::isnan(sum) ? sum : gain;
  return gain;
}

}  // namespace

Range range_of(const float* x, uint64_t n) {
  uint32_t most = 0, denormal = 0;
  for (uint64_t k = 0; k < n; ++k) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[k]) & 0x7fffffffU;
    most = bits > most ? bits : most;
    denormal |= bits - 1 < 0x007fffffU ? 1U : 0U;  // 0 wraps around
  }
  return {most >= 0x7f800000U ? kInfinity : std::bit_cast<float>(most), denormal != 0};
}

void compute(const Unit& unit, const Operands& in, uint64_t elements, float* y) {
  switch (unit.kind) {
    case Unit::kConvolution:
      return convolve(unit, in, y);
    case Unit::kProduct:
      return multiply_rows(unit, in, y);
    case Unit::kMaxPool:
    case Unit::kAveragePool:
    case Unit::kGlobalAverage:
      return pool(unit, in.a, y);
    case Unit::kSoftmax:
      return softmax(unit.channels, in.a, elements, y);
    case Unit::kBinary:
      return combine(unit, in, elements, y);
    case Unit::kUnary:
      for (uint64_t k = 0; k < elements; ++k) y[k] = unary(unit, in.a[k]);
  }
}

float largest_operand(const Unit& unit, const float* weight, const float* bias) {
  constexpr float kMost = 1e38F;
  if (unit.name == "sigmoid") return 80;  // e^-x is 0 in XNNPACK from about 87 on
  if (unit.name == "hard_swish") return 1e18F;
  if (unit.kind == Unit::kMaxPool || unit.kind == Unit::kUnary || unit.kind == Unit::kBinary)
    return std::numeric_limits<float>::max();
  if (unit.kind == Unit::kAveragePool || unit.kind == Unit::kGlobalAverage)
    return kMost / static_cast<float>(unit.window.h * unit.window.w);
  if (unit.kind == Unit::kSoftmax) return kMost;
  const float gain = gain_of(unit, weight);
  float offset = 0;
  const int64_t results = unit.kind == Unit::kProduct ? unit.product.n : unit.window.out_c;
  for (int64_t k = 0; bias && k < results; ++k) {
    const float v = std::fabs(bias[k]);
    offset = v > offset || std::isnan(v) ? v : offset;
  }
  const float most = (kMost - offset) / std::max(gain, 1.0F);
  return most > 0 && std::isfinite(gain) ? most : -1;  // -1: the loops compute every operand
}

}  // namespace byoc::xnnpack
