// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chains of convolutions: operands, functions, and what they compute by definition.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/family.h"

namespace byoc::test {

/// x [n, c / 8, h, w, 8] -> mid channels -> o channels, in blocks of `lanes`. No c or o: there is
/// no such convolution.
struct Chain {
  int64_t n = 1, c = 8, mid = 32, o = 16, lanes = 8;
  int64_t h = 9, w = 11, rows = 3, columns = 3, stride = 1, pad = 1, dilation = 1;
  std::string between = "relu";  // an op on the values between; "silu": x * sigmoid(x)
  bool has_residual = false;     // the result is added to another image
  int64_t oh() const { return (h + 2 * pad - (rows - 1) * dilation - 1) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - (columns - 1) * dilation - 1) / stride + 1; }
  int64_t in() const { return c > 0 ? c : mid; }
  int64_t out() const { return o > 0 ? o : mid; }
};

/// Operands in the order of the function's parameters.
using Operands = std::vector<std::vector<float>>;

inline Operands operands_of(const Chain& chain, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  auto some = [&](int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float& x : out) x = value(random);
    return out;
  };
  Operands out = {some(chain.n * chain.in() * chain.h * chain.w)};
  if (chain.c > 0) out.push_back(some(chain.mid * chain.c));
  out.push_back(some(chain.mid * chain.rows * chain.columns));
  if (chain.o > 0) out.push_back(some(chain.o * chain.mid));
  if (chain.has_residual) out.push_back(some(chain.n * chain.out() * chain.oh() * chain.ow()));
  return out;
}

inline ValueId applied(FunctionBuilder& f, const std::string& op, ValueId x) {
  if (op.empty()) return x;
  if (op != "silu") return f.call(op, {x});
  return f.call("multiply", {x, f.call("sigmoid", {x})});
}

inline IRModule module_of(const Chain& chain) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const int64_t b = chain.lanes;
  auto param = [&](const char* name, Shape shape) {
    return f.param(name, {DType::kF32, std::move(shape)});
  };
  ValueId y = param("x", {chain.n, chain.in() / b, chain.h, chain.w, b}), e, p, r;
  if (chain.c > 0) e = param("e", {chain.mid / b, chain.c / b, 1, 1, b, b});
  const ValueId d = param("d", {chain.mid / b, 1, chain.rows, chain.columns, 1, b});
  if (chain.o > 0) p = param("p", {chain.o / b, chain.mid / b, 1, 1, b, b});
  if (chain.has_residual) r = param("r", {chain.n, chain.out() / b, chain.oh(), chain.ow(), b});
  if (chain.c > 0) y = applied(f, chain.between, f.call("conv2d_nchwc", {y, e}));
  y = f.call("conv2d_nchwc", {y, d},
             {{"group", chain.mid},
              {"strides", Ints(2, chain.stride)},
              {"dilations", Ints(2, chain.dilation)},
              {"pads", Ints(4, chain.pad)}});
  y = applied(f, chain.between, y);
  if (chain.o > 0) y = f.call("conv2d_nchwc", {y, p});
  if (chain.has_residual) y = f.call("add", {y, r});
  const Status status = f.finish("main", {y});
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "+chain");
  EXPECT_TRUE(status.ok()) << status.message();
  return module;
}

inline double applied(const std::string& op, double x) {
  if (op == "relu") return std::max(x, 0.0);
  if (op == "silu") return x / (1 + std::exp(-x));
  return x;
}

/// An image of `n` times `c` channels in blocks.
struct Image {
  int64_t c, h, w, lanes;
  std::vector<double> values;
  double& at(int64_t n, int64_t channel, int64_t row, int64_t column) {
    const int64_t block = n * (c / lanes) + channel / lanes;
    return values[static_cast<size_t>(((block * h + row) * w + column) * lanes + channel % lanes)];
  }
};

/// Returns the image of sums over all channels, with weights [o / b, c / b, b, b].
inline Image pointwise(const Chain& chain, Image& x, int64_t o, const std::vector<float>& weight) {
  const int64_t b = chain.lanes;
  Image y{o, x.h, x.w, b, std::vector<double>(static_cast<size_t>(chain.n * o * x.h * x.w), 0)};
  for (int64_t n = 0; n < chain.n; ++n) {
    for (int64_t to = 0; to < o; ++to) {
      for (int64_t from = 0; from < x.c; ++from) {
        const int64_t place = ((to / b * (x.c / b) + from / b) * b + from % b) * b + to % b;
        for (int64_t row = 0; row < x.h; ++row) {
          for (int64_t column = 0; column < x.w; ++column)
            y.at(n, to, row, column) +=
                x.at(n, from, row, column) * double{weight[static_cast<size_t>(place)]};
        }
      }
    }
  }
  return y;
}

/// Returns the sum of a window of channel `c`; there are zeros around the image.
inline double window_sum(const Chain& chain, Image& x, const std::vector<float>& weight, int64_t n,
                         int64_t c, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t r = 0; r < chain.rows; ++r) {
    for (int64_t s = 0; s < chain.columns; ++s) {
      const int64_t row = i * chain.stride + r * chain.dilation - chain.pad;
      const int64_t column = j * chain.stride + s * chain.dilation - chain.pad;
      if (row < 0 || row >= x.h || column < 0 || column >= x.w) continue;
      const int64_t tap = (c / chain.lanes * chain.rows + r) * chain.columns + s;
      const auto place = static_cast<size_t>(tap * chain.lanes + c % chain.lanes);
      sum += x.at(n, c, row, column) * double{weight[place]};
    }
  }
  return sum;
}

inline Image depthwise(const Chain& chain, Image& x, const std::vector<float>& weight) {
  const int64_t h = chain.oh(), w = chain.ow();
  Image y{chain.mid, h, w, chain.lanes,
          std::vector<double>(static_cast<size_t>(chain.n * chain.mid * h * w), 0)};
  for (int64_t n = 0; n < chain.n; ++n) {
    for (int64_t c = 0; c < chain.mid; ++c) {
      for (int64_t i = 0; i < h; ++i) {
        for (int64_t j = 0; j < w; ++j) y.at(n, c, i, j) = window_sum(chain, x, weight, n, c, i, j);
      }
    }
  }
  return y;
}

inline std::vector<double> definition(const Chain& chain, const Operands& operands) {
  size_t next = 0;
  const std::vector<float>& x = operands[next++];
  Image y{chain.in(), chain.h, chain.w, chain.lanes, {x.begin(), x.end()}};
  auto apply = [&] {
    for (double& value : y.values) value = applied(chain.between, value);
  };
  if (chain.c > 0) {
    y = pointwise(chain, y, chain.mid, operands[next++]);
    apply();
  }
  y = depthwise(chain, y, operands[next++]);
  apply();
  if (chain.o > 0) y = pointwise(chain, y, chain.o, operands[next++]);
  for (size_t k = 0; chain.has_residual && k < y.values.size(); ++k)
    y.values[k] += double{operands[next][k]};
  return y.values;
}

inline te::Dag dag_of(const Chain& chain, const te::Target& target) {
  const IRModule module = module_of(chain);
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

}  // namespace byoc::test
