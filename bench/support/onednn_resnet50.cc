// SPDX-License-Identifier: Apache-2.0
#include "bench/support/onednn_resnet50.h"

#include <algorithm>
#include <cstdlib>

#include "byoc/base/check.h"

namespace byoc::bench {
namespace {

using dnnl::algorithm;
using onednn::Desc;
using Dims = std::vector<int64_t>;
constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto kInference = dnnl::prop_kind::forward_inference;

Desc any(const Dims& dims) { return Desc(dims, kF32, dnnl::memory::format_tag::any); }

Desc plain(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * dims[k];
  return Desc(dims, kF32, strides);
}

Dims image(int64_t channels, int64_t size) { return {1, channels, size, size}; }
Dims input_dims(const Layer& layer) { return image(layer.channels_in, layer.size_in); }
Dims output_dims(const Layer& layer) { return image(layer.channels_out, layer.size_out); }

dnnl::primitive_attr attributes(const Layer& layer) {
  dnnl::post_ops ops;
  if (layer.residual >= 0) ops.append_sum(1.0f);
  if (layer.relu) onednn::append_eltwise(ops, algorithm::eltwise_relu, 0, 0);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace

OnednnSequence::OnednnSequence(const std::vector<Layer>& layers) : tensors_(layers.size()) {
  for (int k = 0; k < static_cast<int>(layers.size()); ++k) {
    const Layer& layer = layers[static_cast<size_t>(k)];
    if (layer.from >= 0) tensors_[static_cast<size_t>(layer.from)].last_use = k;
    if (layer.residual >= 0) tensors_[static_cast<size_t>(layer.residual)].last_use = k;
  }
  input_ = Memory(plain(input_dims(layers[0])), engine_, nullptr);
  for (int k = 0; k < static_cast<int>(layers.size()); ++k) {
    const Layer& layer = layers[static_cast<size_t>(k)];
    if (layer.kind == Layer::kConv) add_conv(layer);
    else if (layer.kind == Layer::kDense) add_dense(layer);
    else add_pool(layer);
    free_dead(k);
  }
  result_ = tensors_.back().memory;
  stream_.wait();
}

void OnednnSequence::run(const float* in) {
  input_.set_data_handle(const_cast<float*>(in));
  for (const Step& step : steps_) step.primitive.execute(stream_, step.args);
  stream_.wait();
}

std::shared_ptr<char> OnednnSequence::take(size_t bytes) {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->first >= bytes && (best == free_.end() || it->first < best->first)) best = it;
  }
  size_t size = (bytes + 63) / 64 * 64;
  std::shared_ptr<char> memory;
  if (best != free_.end()) {
    size = best->first;
    memory = best->second;
    free_.erase(best);
  } else {
    memory.reset(static_cast<char*>(std::aligned_alloc(64, size)), std::free);
    all_.push_back(memory);
  }
  sizes_.push_back(size);
  homes_.push_back(memory);
  return memory;
}

void OnednnSequence::free_dead(int layer) {
  for (int k = 0; k <= layer; ++k) {
    auto index = static_cast<size_t>(k);
    if (tensors_[index].last_use != layer || !homes_[index]) continue;
    bool taken_over = k != layer && homes_[index] == homes_[static_cast<size_t>(layer)];
    if (!taken_over) free_.emplace_back(sizes_[index], homes_[index]);
    homes_[index].reset();
  }
}

// Writes the result into the residual's memory, which no later layer reads.
OnednnSequence::Memory OnednnSequence::result_of(const Layer& layer, const Desc& desc) {
  size_t index = homes_.size();
  if (layer.residual >= 0) {
    auto residual = static_cast<size_t>(layer.residual);
    BYOC_CHECK(tensors_[residual].last_use == static_cast<int>(index) &&
                   tensors_[residual].memory.get_desc() == desc,
               layer.name, " cannot be summed in place");
    homes_.push_back(homes_[residual]);
    sizes_.push_back(sizes_[residual]);
    return tensors_[index].memory = tensors_[residual].memory;
  }
  return tensors_[index].memory = Memory(desc, engine_, take(desc.get_size()).get());
}

OnednnSequence::Memory OnednnSequence::packed(const std::vector<float>& values, const Dims& dims,
                                              const Desc& want) {
  Memory to(want, engine_), from(plain(dims), engine_, const_cast<float*>(values.data()));
  dnnl::reorder(from, to).execute(stream_, from, to);
  stream_.wait();
  return to;
}

OnednnSequence::Memory OnednnSequence::source(const Layer& layer, const Desc& want) {
  Memory from = layer.from < 0 ? input_ : tensors_[static_cast<size_t>(layer.from)].memory;
  if (from.get_desc() == want) return from;
  ++reorders_;
  Memory to(want, engine_);
  dnnl::reorder::primitive_desc pd(engine_, from.get_desc(), engine_, want);
  steps_.push_back({dnnl::reorder(pd), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  return to;
}

void OnednnSequence::add(dnnl::primitive primitive, const Desc& scratchpad,
                         std::unordered_map<int, Memory> args) {
  if (scratchpad.get_size() > 0) args.emplace(DNNL_ARG_SCRATCHPAD, Memory(scratchpad, engine_));
  steps_.push_back({std::move(primitive), std::move(args)});
}

void OnednnSequence::add_conv(const Layer& layer) {
  Dims weight{layer.channels_out, layer.channels_in, layer.kernel, layer.kernel};
  Dims bias{layer.channels_out}, strides(2, layer.stride), no_dilation(2, 0), pads(2, layer.pad);
  auto pd = onednn::describe<dnnl::convolution_forward>(
      engine_, attributes(layer), kInference, algorithm::convolution_direct, any(input_dims(layer)),
      any(weight), any(bias), any(output_dims(layer)), strides, no_dilation, pads, pads);
  Memory x = source(layer, pd.src_desc());
  Memory w = packed(layer.weight, weight, pd.weights_desc());
  Memory b = packed(layer.bias, bias, pd.bias_desc());
  Memory y = result_of(layer, pd.dst_desc());
  add(dnnl::convolution_forward(pd), pd.scratchpad_desc(),
      {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, y}});
}

void OnednnSequence::add_pool(const Layer& layer) {
  bool is_max = layer.kind == Layer::kMaxPool;
  Desc in = tensors_[static_cast<size_t>(layer.from)].memory.get_desc();
  Dims kernel(2, is_max ? layer.kernel : layer.size_in), strides(2, is_max ? layer.stride : 1);
  Dims no_dilation(2, 0), pads(2, layer.pad);
  auto pd = onednn::describe<onednn::PoolingForward>(
      engine_, attributes(layer), kInference,
      is_max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding, in,
      any(output_dims(layer)), strides, kernel, no_dilation, pads, pads);
  Memory x = source(layer, pd.src_desc());
  Memory y = result_of(layer, pd.dst_desc());
  add(onednn::PoolingForward(pd), pd.scratchpad_desc(), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
}

void OnednnSequence::add_dense(const Layer& layer) {
  Dims weight{layer.channels_out, layer.channels_in, 1, 1}, bias{layer.channels_out};
  Desc result = plain({1, layer.channels_out});
  auto pd = onednn::describe<dnnl::inner_product_forward>(engine_, attributes(layer), kInference,
                                                          any(input_dims(layer)), any(weight),
                                                          any(bias), result);
  Memory x = source(layer, pd.src_desc());
  Memory w = packed(layer.weight, weight, pd.weights_desc());
  Memory b = packed(layer.bias, bias, pd.bias_desc());
  Memory y = result_of(layer, pd.dst_desc());
  add(dnnl::inner_product_forward(pd), pd.scratchpad_desc(),
      {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, b}, {DNNL_ARG_DST, y}});
}

}  // namespace byoc::bench
