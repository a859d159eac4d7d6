// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposed convolutions by the definition of ONNX's ConvTranspose, in f64.
#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/families/phases/geometry.h"

namespace byoc::test {

/// One call. Lists have an entry per spatial dim, `pads` the begins, then the ends.
struct Transposed {
  int64_t n = 1, c = 1, o = 1, group = 1;  // all channels
  Ints in, kernel, strides, dilations, pads, output_padding;
  bool has_bias = false;
  bool has_residual = false;
  DType dtype = DType::kF32;

  size_t spatial() const { return in.size(); }
  int64_t out(size_t d) const {
    return (in[d] - 1) * strides[d] + dilations[d] * (kernel[d] - 1) + 1 - pads[d] -
           pads[d + spatial()] + output_padding[d];
  }
  Ints extents() const {
    Ints out;
    for (size_t d = 0; d < spatial(); ++d) out.push_back(this->out(d));
    return out;
  }
  Attrs attrs() const {
    return {{"strides", strides},
            {"dilations", dilations},
            {"pads", pads},
            {"group", group},
            {"output_padding", output_padding}};
  }
  std::string text() const {
    std::string out = cat("n ", n, " c ", c, " o ", o, " group ", group);
    for (const Ints* list : {&in, &kernel, &strides, &dilations, &pads, &output_padding}) {
      out += " [";
      for (int64_t x : *list) out += cat(x, " ");
      out += "]";
    }
    return out;
  }
};

inline int64_t product(const Ints& extents) {
  int64_t out = 1;
  for (int64_t x : extents) out *= x;
  return out;
}

/// Values of a call; the bias is empty where it has none.
struct TransposedData {
  std::vector<float> x, weight, bias, residual;
};
inline TransposedData data_of(const Transposed& conv, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  auto some = [&](int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float& x : out) x = value(random);
    return out;
  };
  return {some(conv.n * conv.c * product(conv.in)),
          some(conv.c * (conv.o / conv.group) * product(conv.kernel)),
          some(conv.has_bias ? conv.o : 0),
          some(conv.has_residual ? conv.n * conv.o * product(conv.extents()) : 0)};
}

/// Calls visit(indices) for all indices below `extents`, in order.
template <class Visit>
void each_index(const Ints& extents, Visit&& visit) {
  for (int64_t at = 0; at < product(extents); ++at) {
    Ints index(extents.size());
    int64_t rest = at;
    for (size_t d = extents.size(); d-- > 0;) index[d] = rest % extents[d], rest /= extents[d];
    visit(index);
  }
}

inline int64_t place_of(const Ints& index, const Ints& extents) {
  int64_t out = 0;
  for (size_t d = 0; d < extents.size(); ++d) out = out * extents[d] + index[d];
  return out;
}

/// Adds each element times its weights to the results that the definition gives it: x[i] w[k] to
/// y[i * stride + k * dilation - pad].
inline std::vector<double> definition(const Transposed& conv, const TransposedData& data) {
  const Ints y = conv.extents();
  const int64_t c = conv.c / conv.group, o = conv.o / conv.group;
  std::vector<double> out(static_cast<size_t>(conv.n * conv.o * product(y)), 0);
  for (int64_t image = 0; image < conv.n; ++image) {
    for (int64_t to = 0; to < conv.o && conv.has_bias; ++to) {
      for (int64_t at = 0; at < product(y); ++at)
        out[static_cast<size_t>((image * conv.o + to) * product(y) + at)] =
            double{data.bias[static_cast<size_t>(to)]};
    }
  }
  auto scatter = [&](int64_t image, int64_t from, int64_t to, const Ints& i, const Ints& k) {
    Ints q;
    for (size_t d = 0; d < i.size(); ++d) {
      q.push_back(i[d] * conv.strides[d] + k[d] * conv.dilations[d] - conv.pads[d]);
      if (q.back() < 0 || q.back() >= y[d]) return;
    }
    const int64_t at_x = (image * conv.c + from) * product(conv.in) + place_of(i, conv.in);
    const int64_t at_w = (from * o + to) * product(conv.kernel) + place_of(k, conv.kernel);
    const int64_t channel = image * conv.o + from / c * o + to;
    out[static_cast<size_t>(channel * product(y) + place_of(q, y))] +=
        double{data.x[static_cast<size_t>(at_x)]} * double{data.weight[static_cast<size_t>(at_w)]};
  };
  for (int64_t image = 0; image < conv.n; ++image) {
    for (int64_t from = 0; from < conv.c; ++from) {
      for (int64_t to = 0; to < o; ++to) {
        each_index(conv.in, [&](const Ints& i) {
          each_index(conv.kernel, [&](const Ints& k) { scatter(image, from, to, i, k); });
        });
      }
    }
  }
  return out;
}

/// Returns a module of the call; with a bias it is a relu of the sum with the bias,
/// and y of that with a residual (residual + y) y.
inline IRModule module_of(const Transposed& conv) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  Ints image = {conv.n, conv.c}, filter = {conv.c, conv.o / conv.group};
  image.insert(image.end(), conv.in.begin(), conv.in.end());
  filter.insert(filter.end(), conv.kernel.begin(), conv.kernel.end());
  const ValueId x = f.param("x", {conv.dtype, make_shape(image)});
  const ValueId w = f.param("w", {conv.dtype, make_shape(filter)});
  Ints channels(conv.spatial() + 1, 1);
  channels[0] = conv.o;
  ValueId bias;
  if (conv.has_bias) bias = f.param("bias", {conv.dtype, make_shape(channels)});
  Ints result = {conv.n, conv.o};
  for (int64_t extent : conv.extents()) result.push_back(extent);
  ValueId residual;
  if (conv.has_residual) residual = f.param("residual", {conv.dtype, make_shape(result)});
  ValueId y = f.call(cat("conv", conv.spatial(), "d_transpose"), {x, w}, conv.attrs());
  if (conv.has_bias) y = f.call("relu", {f.call("add", {y, bias})});
  if (conv.has_residual) y = f.call("multiply", {f.call("add", {residual, y}), y});
  EXPECT_TRUE(f.finish("main", {y}).ok()) << conv.text();
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  return module;
}

/// Returns a random call with results.
inline Transposed random_transposed(std::mt19937& random) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Transposed out;
  const auto spatial = static_cast<size_t>(between(1, 3));
  const int64_t most = spatial == 1 ? 40 : spatial == 2 ? 9 : 4;
  out.n = between(1, 2), out.group = between(0, 2) > 0 ? 1 : between(2, 5);
  const int64_t per_group = between(0, 3) > 0 || out.group == 1 ? between(1, 5) : 1;
  out.c = out.group * per_group, out.o = out.group * between(1, spatial == 3 ? 4 : 9);
  if (between(0, 3) == 0) out.o = out.group;
  out.pads.assign(2 * spatial, 0);
  for (size_t d = 0; d < spatial; ++d) {
    out.in.push_back(between(1, most));
    out.kernel.push_back(between(1, spatial == 1 ? 12 : spatial == 2 ? 6 : 3));
    out.strides.push_back(between(1, spatial == 1 ? 9 : 4));
    out.dilations.push_back(between(0, 2) > 0 ? 1 : between(2, 4));
    out.output_padding.push_back(between(0, std::max(out.strides[d], out.dilations[d]) - 1));
    for (size_t side : {d, d + spatial}) {
      const int64_t reach = out.dilations[d] * (out.kernel[d] - 1) + 1;
      out.pads[side] = between(0, std::max<int64_t>(0, std::min(reach, out.out(d) - 1)));
    }
  }
  out.has_bias = between(0, 3) == 0;
  return out;
}

}  // namespace byoc::test
