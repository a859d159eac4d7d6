// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layers as a sequence of oneDNN's primitives, written by hand: formats `any`, weights
// reordered in advance, bias, residual and relu fused, sums in place, memory of dead tensors
// reused, scratchpads supplied by the caller.
#include "bench/support/resnet50.h"
#include "plugins/onednn/library/dnnl_compat.h"

namespace byoc::bench {

class OnednnSequence {
 public:
  explicit OnednnSequence(const std::vector<Layer>& layers);
  /// in: [1, 3, 224, 224]; the result is output().
  void run(const float* in);
  const float* output() const { return static_cast<const float*>(result_.get_data_handle()); }
  size_t primitives() const { return steps_.size(); }
  size_t reorders() const { return reorders_; }

 private:
  using Memory = dnnl::memory;
  struct Tensor {
    Memory memory;
    int last_use = -1;
  };
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, Memory> args;
  };
  void add_conv(const Layer& layer);
  void add_pool(const Layer& layer);
  void add_dense(const Layer& layer);
  void add(dnnl::primitive primitive, const onednn::Desc& scratchpad,
           std::unordered_map<int, Memory> args);
  /// Returns the layer's input in that format: unchanged, or reordered.
  Memory source(const Layer& layer, const onednn::Desc& want);
  /// Returns the plain values, reordered now.
  Memory packed(const std::vector<float>& values, const std::vector<int64_t>& dims,
                const onednn::Desc& want);
  Memory result_of(const Layer& layer, const onednn::Desc& desc);
  void free_dead(int layer);
  std::shared_ptr<char> take(size_t bytes);

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Tensor> tensors_;               // per layer
  std::vector<std::shared_ptr<char>> homes_;  // per layer
  std::vector<size_t> sizes_;                 // per layer, of its home
  std::vector<std::pair<size_t, std::shared_ptr<char>>> free_;
  std::vector<std::shared_ptr<char>> all_;
  std::vector<Step> steps_;
  Memory input_, result_;
  size_t reorders_ = 0;
};

}  // namespace byoc::bench
