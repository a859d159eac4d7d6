// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes of kernels for benchmarks, their operands, and the expected results: sums in f64.
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace byoc::bench {

enum class Kind {
  kConv,     // relu(conv(x, w) + bias) with one image
  kMatmul,   // relu(x w + bias): [size, c] times [c, o], a row of m cells
  kMaxPool,  // a pool of one image; group is c
  kMean,     // the means of the image's planes; group is c
};
struct Shape {
  const char* name;
  int64_t c, o, size, kernel, stride = 1, group = 1;
  Kind kind = Kind::kConv;
  bool is_matmul() const { return kind == Kind::kMatmul; }
  bool has_weights() const { return kind == Kind::kConv || kind == Kind::kMatmul; }
  int64_t pad() const { return kind == Kind::kMean ? 0 : kernel / 2; }
  int64_t out() const { return is_matmul() ? size : (size + 2 * pad() - kernel) / stride + 1; }
  int64_t cells() const { return is_matmul() ? size : out() * out(); }
  double flops() const {
    return 2.0 * static_cast<double>(cells() * o * (c / group) * kernel * kernel);
  }
};

inline const Shape kShapes[] = {
    {"matmul 512x512x512", 512, 512, 512, 1, 1, 1, Kind::kMatmul},
    {"matmul 128x768x768", 768, 768, 128, 1, 1, 1, Kind::kMatmul},
    {"matmul 128x768x3072", 768, 3072, 128, 1, 1, 1, Kind::kMatmul},
    {"matmul 128x3072x768", 3072, 768, 128, 1, 1, 1, Kind::kMatmul},
    {"matmul 197x768x3072", 768, 3072, 197, 1, 1, 1, Kind::kMatmul},
    {"matmul 197x3072x768", 3072, 768, 197, 1, 1, 1, Kind::kMatmul},
    {"matmul 64x4096x4096", 4096, 4096, 64, 1, 1, 1, Kind::kMatmul},
    {"matmul 32x768x3072", 768, 3072, 32, 1, 1, 1, Kind::kMatmul},
    {"matmul 32x3072x768", 3072, 768, 32, 1, 1, 1, Kind::kMatmul},
    {"matmul 7x768x3072", 768, 3072, 7, 1, 1, 1, Kind::kMatmul},
    {"matmul 1x1280x1000", 1280, 1000, 1, 1, 1, 1, Kind::kMatmul},
    {"conv 3x3 64@56", 64, 64, 56, 3},
    {"conv 3x3 128@28", 128, 128, 28, 3},
    {"conv 3x3 256@14", 256, 256, 14, 3},
    {"conv 3x3 512@7", 512, 512, 7, 3},
    {"conv 3x3 512@14", 512, 512, 14, 3},
    {"conv 3x3 256@28", 256, 256, 28, 3},
    {"conv 3x3 64@112", 64, 64, 112, 3},
    {"conv 3x3 /2 128@56", 128, 128, 56, 3, 2},
    {"conv 3x3 /2 256@28", 256, 256, 28, 3, 2},
    {"conv 3x3 /2 512@14", 512, 512, 14, 3, 2},
    {"conv 3x3 /2 64-128@56", 64, 128, 56, 3, 2},
    {"conv 3x3 /2 128-256@28", 128, 256, 28, 3, 2},
    {"conv 1x1 64-256@56", 64, 256, 56, 1},
    {"conv 1x1 256-64@56", 256, 64, 56, 1},
    {"conv 1x1 512-128@28", 512, 128, 28, 1},
    {"conv 1x1 1024-256@14", 1024, 256, 14, 1},
    {"conv 1x1 2048-512@7", 2048, 512, 7, 1},
    {"conv 1x1 /2 256-512@56", 256, 512, 56, 1, 2},
    {"stem 3x3 /2 3-32@224", 3, 32, 224, 3, 2},
    {"stem 7x7 /2 3-64@224", 3, 64, 224, 7, 2},
    {"stem 3x3 3-64@224", 3, 64, 224, 3},
    {"max_pool 3x3 /2 64@112", 64, 64, 112, 3, 2, 64, Kind::kMaxPool},
    {"max_pool 3x3 480@14", 480, 480, 14, 3, 1, 480, Kind::kMaxPool},
    {"mean 1280@7", 1280, 1280, 7, 7, 1, 1280, Kind::kMean},
    {"mean 96@56", 96, 96, 56, 56, 1, 96, Kind::kMean},
    {"depthwise 3x3 32@112", 32, 32, 112, 3, 1, 32},
    {"depthwise 3x3 144@56", 144, 144, 56, 3, 1, 144},
    {"depthwise 3x3 192@28", 192, 192, 28, 3, 1, 192},
    {"depthwise 3x3 576@14", 576, 576, 14, 3, 1, 576},
    {"depthwise 3x3 960@7", 960, 960, 7, 3, 1, 960},
    {"depthwise 3x3 /2 96@112", 96, 96, 112, 3, 2, 96},
    {"depthwise 3x3 /2 144@56", 144, 144, 56, 3, 2, 144},
    {"depthwise 3x3 /2 576@14", 576, 576, 14, 3, 2, 576},
    {"depthwise 5x5 240@28", 240, 240, 28, 5, 1, 240},
    {"depthwise 5x5 672@14", 672, 672, 14, 5, 1, 672},
    {"depthwise 5x5 /2 144@56", 144, 144, 56, 5, 2, 144},
    {"depthwise 5x5 /2 672@14", 672, 672, 14, 5, 2, 672},
};

struct Data {
  std::vector<float> x, weight, bias,
      expected;  // plain: [c, h, w] or [m, k], [o, c, k, k] or [k, n]
};

inline std::vector<float> random_values(size_t n, uint32_t seed) {
  std::minstd_rand random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> out(n);
  for (float& value : out) value = values(random);
  return out;
}

// Returns the greatest element or the mean of a window that starts at cell (i / out, i % out).
inline double pooled_at(const Shape& s, const Data& data, int64_t i, int64_t o) {
  double sum = 0, greatest = -INFINITY;
  for (int64_t tap = 0; tap < s.kernel * s.kernel; ++tap) {
    const int64_t h = i / s.out() * s.stride + tap / s.kernel - s.pad();
    const int64_t w = i % s.out() * s.stride + tap % s.kernel - s.pad();
    if (h < 0 || h >= s.size || w < 0 || w >= s.size) continue;
    const double x = data.x[static_cast<size_t>((o * s.size + h) * s.size + w)];
    sum += x, greatest = std::max(greatest, x);
  }
  return s.kind == Kind::kMaxPool ? greatest : sum / static_cast<double>(s.kernel * s.kernel);
}

// Returns one result: the terms of matrix row i, or of cell (i / out, i % out), with channel o.
inline double sum_at(const Shape& s, const Data& data, int64_t i, int64_t o) {
  if (!s.has_weights()) return pooled_at(s, data, i, o);
  double sum = data.bias[static_cast<size_t>(o)];
  if (s.is_matmul()) {
    for (int64_t k = 0; k < s.c; ++k)
      sum += static_cast<double>(data.x[static_cast<size_t>(i * s.c + k)]) *
             static_cast<double>(data.weight[static_cast<size_t>(k * s.o + o)]);
    return std::max(sum, 0.0);
  }
  const int64_t per_group = s.c / s.group, first = o / (s.o / s.group) * per_group;
  for (int64_t k = 0; k < per_group; ++k) {
    for (int64_t kh = 0; kh < s.kernel; ++kh) {
      for (int64_t kw = 0; kw < s.kernel; ++kw) {
        const int64_t h = i / s.out() * s.stride + kh - s.pad();
        const int64_t w = i % s.out() * s.stride + kw - s.pad();
        if (h < 0 || h >= s.size || w < 0 || w >= s.size) continue;
        const int64_t at_w = ((o * per_group + k) * s.kernel + kh) * s.kernel + kw;
        sum += static_cast<double>(
                   data.x[static_cast<size_t>(((first + k) * s.size + h) * s.size + w)]) *
               static_cast<double>(data.weight[static_cast<size_t>(at_w)]);
      }
    }
  }
  return std::max(sum, 0.0);
}

inline Data make_data(const Shape& s) {
  const size_t cells = static_cast<size_t>(s.is_matmul() ? s.size : s.size * s.size);
  Data out{random_values(static_cast<size_t>(s.c) * cells, 1),
           random_values(static_cast<size_t>(s.o * (s.c / s.group) * s.kernel * s.kernel), 2),
           random_values(static_cast<size_t>(s.o), 3),
           {}};
  for (int64_t o = 0; o < s.o; ++o) {
    for (int64_t i = 0; i < s.cells(); ++i)
      out.expected.push_back(static_cast<float>(sum_at(s, out, i, o)));
  }
  return out;
}

/// Returns the largest error relative to the largest value. `value(o, i)`: the result at channel o
/// and cell i.
template <class Value>
double error_of(const Shape& s, const Data& data, Value&& value) {
  double error = 0, largest = 0;
  for (int64_t o = 0; o < s.o; ++o) {
    for (int64_t i = 0; i < s.cells(); ++i) {
      const double right = data.expected[static_cast<size_t>(o * s.cells() + i)];
      error = std::max(error, std::abs(static_cast<double>(value(o, i)) - right));
      largest = std::max(largest, std::abs(right));
    }
  }
  return error / largest;
}

}  // namespace byoc::bench
