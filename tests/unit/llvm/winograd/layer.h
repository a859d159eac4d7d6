// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions in blocks of channels, by any compute of the llvm plugin, and the same
// sums in f64 by plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/topi/schedule.h"
#include "unit/llvm/run_loops.h"

namespace byoc::test {

struct Layer {
  int64_t n = 1, c = 16, o = 16, h = 8, w = 8, rows = 3, columns = 3;
  Ints pads = {1, 1, 1, 1};  // top, left, bottom, right
  int64_t block = 16;
  bool has_bias = false, has_residual = false, has_relu = false;
  int64_t stride = 1;
  bool is_plain = false;  // the image is not in blocks of channels
  int64_t c_block() const { return is_plain ? 1 : block; }
  int64_t oh() const { return (h + pads[0] + pads[2] - rows) / stride + 1; }
  int64_t ow() const { return (w + pads[1] + pads[3] - columns) / stride + 1; }
  std::string text() const {
    return cat(n, " images, ", c, " to ", o, " channels, ", h, "x", w, ", window ", rows, "x",
               columns, ", pads ", pads[0], pads[1], pads[2], pads[3], ", stride ", stride,
               is_plain ? ", plain, block " : ", block ", block);
  }
};

struct LayerData {
  std::vector<float> x, weight, bias, residual;  // plain: NCHW and OIHW
};

inline std::vector<float> uniform(int64_t count, std::mt19937& random, float low, float high) {
  std::uniform_real_distribution<float> value(low, high);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = value(random);
  return out;
}

inline LayerData data_of(const Layer& s, uint32_t seed) {
  std::mt19937 random(seed);
  return {uniform(s.n * s.c * s.h * s.w, random, -1, 1),
          uniform(s.o * s.c * s.rows * s.columns, random, -1, 1), uniform(s.o, random, -1, 1),
          uniform(s.n * s.o * s.oh() * s.ow(), random, -1, 1)};
}

// Returns [n, c, cells] as [n, c / block, cells, block].
inline std::vector<float> in_blocks(const std::vector<float>& x, int64_t n, int64_t c,
                                    int64_t cells, int64_t block) {
  std::vector<float> out(x.size());
  for (int64_t i = 0; i < n * c * cells; ++i) {
    const int64_t cell = i % cells, channel = i / cells % c, image = i / cells / c;
    const int64_t to =
        ((image * c / block + channel / block) * cells + cell) * block + channel % block;
    out[static_cast<size_t>(to)] = x[static_cast<size_t>(i)];
  }
  return out;
}

// Returns OIHW as [o / block, c / block, rows, columns, block of c, block of o].
inline std::vector<float> weight_in_blocks(const Layer& s, const std::vector<float>& weight) {
  std::vector<float> out(weight.size());
  const int64_t taps = s.rows * s.columns, of_c = s.c_block();
  for (int64_t i = 0; i < s.o * s.c * taps; ++i) {
    const int64_t tap = i % taps, c = i / taps % s.c, o = i / taps / s.c;
    const int64_t to =
        (((o / s.block * (s.c / of_c) + c / of_c) * taps + tap) * of_c + c % of_c) * s.block +
        o % s.block;
    out[static_cast<size_t>(to)] = weight[static_cast<size_t>(i)];
  }
  return out;
}

// Returns relu(conv(x, weight) + bias + residual) as [n, o, oh, ow], by the definition, in f64.
inline std::vector<double> expected(const Layer& s, const LayerData& data) {
  std::vector<double> out;
  for (int64_t at = 0; at < s.n * s.o * s.oh() * s.ow(); ++at) {
    const int64_t x = at % s.ow(), y = at / s.ow() % s.oh(), o = at / s.ow() / s.oh() % s.o;
    const int64_t n = at / s.ow() / s.oh() / s.o;
    double sum = s.has_bias ? data.bias[static_cast<size_t>(o)] : 0;
    if (s.has_residual) sum += data.residual[static_cast<size_t>(at)];
    for (int64_t term = 0; term < s.c * s.rows * s.columns; ++term) {
      const int64_t column = term % s.columns, row = term / s.columns % s.rows;
      const int64_t c = term / s.columns / s.rows;
      const int64_t h = y * s.stride + row - s.pads[0], w = x * s.stride + column - s.pads[1];
      if (h < 0 || h >= s.h || w < 0 || w >= s.w) continue;
      sum += double{data.x[static_cast<size_t>(((n * s.c + c) * s.h + h) * s.w + w)]} *
             double{data.weight[static_cast<size_t>(((o * s.c + c) * s.rows + row) * s.columns +
                                                    column)]};
    }
    out.push_back(s.has_relu ? std::max(sum, 0.0) : sum);
  }
  return out;
}

inline te::StrategySelector by_name(const std::string& name) {
  return [name, usual = te::by_level()](const te::Site& site,
                                        std::span<const te::Strategy> all) -> Result<size_t> {
    for (size_t k = 0; k < all.size(); ++k) {
      if (all[k].name == name) return k;
    }
    if (site.op->name == "conv2d_nchwc") return not_found(cat("no compute ", name));
    return usual(site, all);
  };
}

// Returns the layer's module: parameters x, weight, then bias and residual when there are any.
inline IRModule module_of(const Layer& s) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const int64_t of_c = s.c_block();
  ValueId x = f.param("x", s.is_plain ? TensorType{DType::kF32, {s.n, s.c, s.h, s.w}}
                                      : TensorType{DType::kF32, {s.n, s.c / of_c, s.h, s.w, of_c}});
  ValueId w =
      f.param("w", {DType::kF32, {s.o / s.block, s.c / of_c, s.rows, s.columns, of_c, s.block}});
  ValueId bias, residual;
  if (s.has_bias) bias = f.param("bias", {DType::kF32, {1, s.o / s.block, 1, 1, s.block}});
  if (s.has_residual)
    residual = f.param("residual", {DType::kF32, {s.n, s.o / s.block, s.oh(), s.ow(), s.block}});
  ValueId y =
      f.call("conv2d_nchwc", {x, w}, {{"pads", s.pads}, {"strides", Ints{s.stride, s.stride}}});
  if (s.has_bias) y = f.call("add", {y, bias});
  if (s.has_residual) y = f.call("add", {y, residual});
  if (s.has_relu) y = f.call("relu", {y});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  return module;
}

inline Result<te::Dag> translated(const Layer& s, const std::string& compute,
                                  const te::Target& target) {
  const IRModule module = module_of(s);
  return te::translate_to_te(module, module.function("main"), target, by_name(compute),
                             llvm_plugin::strategies());
}

inline std::vector<Data> inputs_of(const Layer& s, const LayerData& data) {
  std::vector<Data> out = {f32(in_blocks(data.x, s.n, s.c, s.h * s.w, s.c_block())),
                           f32(weight_in_blocks(s, data.weight))};
  if (s.has_bias) out.push_back(f32(data.bias));
  if (s.has_residual)
    out.push_back(f32(in_blocks(data.residual, s.n, s.o, s.oh() * s.ow(), s.block)));
  return out;
}

// Returns the largest error divided by the largest output; NaN counts as infinity.
inline double relative_error(const Layer& s, const std::vector<float>& y,
                             const std::vector<double>& plain) {
  double largest = 0, error = 0;
  const int64_t cells = s.oh() * s.ow();
  for (int64_t i = 0; i < static_cast<int64_t>(plain.size()); ++i) {
    const int64_t cell = i % cells, o = i / cells % s.o, n = i / cells / s.o;
    const auto at = static_cast<size_t>(
        ((n * s.o / s.block + o / s.block) * cells + cell) * s.block + o % s.block);
    const double one = std::abs(double{y[at]} - plain[static_cast<size_t>(i)]);
    error = std::isnan(one) ? INFINITY : std::max(error, one);
    largest = std::max(largest, std::abs(plain[static_cast<size_t>(i)]));
  }
  return largest == 0 ? error : error / largest;
}

}  // namespace byoc::test
