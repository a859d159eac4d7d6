// SPDX-License-Identifier: Apache-2.0
#include "bench/support/resnet50.h"

#include <cmath>
#include <random>

#include "byoc/base/check.h"
#include "byoc/text/builder.h"

namespace byoc::bench {
namespace {

class Topology {
 public:
  explicit Topology(uint32_t seed) : random_(seed) {}

  int conv(std::string name, int from, int64_t channels, int64_t kernel, int64_t stride, bool relu,
           int residual = -1) {
    Layer layer{.kind = Layer::kConv, .name = std::move(name), .from = from, .residual = residual};
    layer.channels_out = channels;
    layer.kernel = kernel, layer.stride = stride, layer.pad = kernel / 2, layer.relu = relu;
    return add(std::move(layer));
  }
  int other(Layer::Kind kind, std::string name, int64_t channels = 0) {
    Layer layer{.kind = kind, .name = std::move(name), .from = last()};
    layer.channels_out = channels;
    if (kind == Layer::kMaxPool) layer.kernel = 3, layer.stride = 2, layer.pad = 1;
    return add(std::move(layer));
  }
  /// Appends 1x1, 3x3, and 1x1 back to four times as many channels, added to the block's input.
  void bottleneck(const std::string& name, int64_t channels, int64_t stride, bool project) {
    int in = last();
    int a = conv(name + ".conv1", in, channels, 1, 1, true);
    int b = conv(name + ".conv2", a, channels, 3, stride, true);
    int residual = project ? conv(name + ".downsample", in, 4 * channels, 1, stride, false) : in;
    conv(name + ".conv3", b, 4 * channels, 1, 1, true, residual);
  }
  int last() const { return static_cast<int>(layers_.size()) - 1; }
  std::vector<Layer> take() { return std::move(layers_); }

 private:
  int add(Layer layer) {
    bool is_first = layer.from < 0;
    const Layer* from = is_first ? nullptr : &layers_[static_cast<size_t>(layer.from)];
    layer.channels_in = is_first ? 3 : from->channels_out;
    layer.size_in = is_first ? kImageSize : from->size_out;
    if (layer.channels_out == 0) layer.channels_out = layer.channels_in;
    bool is_flat = layer.kind == Layer::kGlobalAverage || layer.kind == Layer::kDense;
    layer.size_out =
        is_flat ? 1 : (layer.size_in + 2 * layer.pad - layer.kernel) / layer.stride + 1;
    if (layer.kind == Layer::kConv || layer.kind == Layer::kDense) fill(layer);
    layers_.push_back(std::move(layer));
    return last();
  }
  // Fills the weights with a variance that keeps that of the activations, smaller where a residual
  // is added.
  void fill(Layer& layer) {
    int64_t fan_in = layer.channels_in * layer.kernel * layer.kernel;
    double deviation = std::sqrt((layer.residual < 0 ? 2.0 : 0.2) / static_cast<double>(fan_in));
    std::uniform_real_distribution<float> of_weight(-1, 1), of_bias(-0.1f, 0.1f);
    layer.weight.resize(static_cast<size_t>(layer.channels_out * fan_in));
    layer.bias.resize(static_cast<size_t>(layer.channels_out));
    float scale = static_cast<float>(deviation * std::sqrt(3.0));
    for (float& w : layer.weight) w = scale * of_weight(random_);
    for (float& b : layer.bias) b = of_bias(random_);
  }

  std::mt19937 random_;
  std::vector<Layer> layers_;
};

}  // namespace

double Layer::flops() const {
  if (kind != kConv && kind != kDense) return 0;
  return 2.0 * static_cast<double>(weight.size()) * static_cast<double>(size_out * size_out);
}

double flops_of(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.flops();
  return sum;
}

std::vector<Layer> resnet50(uint32_t seed) {
  Topology net(seed);
  net.conv("conv1", -1, 64, 7, 2, true);
  net.other(Layer::kMaxPool, "maxpool");
  const int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < kBlocks[stage]; ++block) {
      bool is_first = block == 0;
      net.bottleneck(cat("layer", stage + 1, ".", block), 64 << stage,
                     is_first && stage > 0 ? 2 : 1, is_first);
    }
  }
  net.other(Layer::kGlobalAverage, "avgpool");
  net.other(Layer::kDense, "fc", 1000);
  return net.take();
}

namespace {

ValueId add_layer(FunctionBuilder& f, const Layer& layer, ValueId x, const ValueId* residual) {
  Ints kernel{layer.kernel, layer.kernel}, strides{layer.stride, layer.stride};
  Ints pads(4, layer.pad);
  Symbol loc(layer.name);
  switch (layer.kind) {
    case Layer::kMaxPool:
      return f.call("max_pool", {x},
                    {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}}, loc);
    case Layer::kGlobalAverage:
      return f.call("global_average_pool", {x}, {}, loc);
    case Layer::kDense: {
      ValueId w = f.constant_f32({layer.channels_out, layer.channels_in}, layer.weight);
      ValueId flat = f.call("flatten", {x}, {{"axis", int64_t{1}}});
      ValueId y = f.call("gemm", {flat, w}, {{"trans_b", true}}, loc);
      return f.call("add", {y, f.constant_f32({layer.channels_out}, layer.bias)}, {}, loc);
    }
    case Layer::kConv:
      break;
  }
  ValueId w = f.constant_f32({layer.channels_out, layer.channels_in, layer.kernel, layer.kernel},
                             layer.weight);
  ValueId y = f.call("conv2d", {x, w}, {{"strides", strides}, {"pads", pads}}, loc);
  y = f.call("add", {y, f.constant_f32({layer.channels_out, 1, 1}, layer.bias)}, {}, loc);
  if (residual != nullptr) y = f.call("add", {y, *residual}, {}, loc);
  return layer.relu ? f.call("relu", {y}, {}, loc) : y;
}

}  // namespace

IRModule module_of(const std::vector<Layer>& layers) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  ValueId input = f.param("x", {DType::kF32, {1, 3, kImageSize, kImageSize}});
  std::vector<ValueId> values;
  for (const Layer& layer : layers) {
    ValueId x = layer.from < 0 ? input : values[static_cast<size_t>(layer.from)];
    const ValueId* residual =
        layer.residual < 0 ? nullptr : &values[static_cast<size_t>(layer.residual)];
    values.push_back(add_layer(f, layer, x, residual));
  }
  Status status = f.finish("main", {values.back()});
  BYOC_CHECK(status.ok(), status.to_string());
  return module;
}

}  // namespace byoc::bench
