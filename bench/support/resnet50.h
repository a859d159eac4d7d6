// SPDX-License-Identifier: Apache-2.0
#pragma once
// ResNet-50 (torchvision's, with the stride in the 3x3 convolutions, batch norms folded in): its
// topology as a list and seeded weights. It is run in two ways: as a module of byoc's, and as a
// sequence of oneDNN's primitives (onednn_resnet50.h).
#include <string>
#include <vector>

#include "byoc/ir/module.h"

namespace byoc::bench {

struct Layer {
  enum Kind { kConv, kMaxPool, kGlobalAverage, kDense };
  Kind kind = kConv;
  std::string name;
  int from = -1, residual = -1;  // layers; from -1: the input
  int64_t channels_in = 0, channels_out = 0, size_in = 0, size_out = 0;  // images are square
  int64_t kernel = 1, stride = 1, pad = 0;
  bool relu = false;
  std::vector<float> weight, bias;  // [out, in, k, k] or [out, in]
  double flops() const;
};

constexpr int64_t kImageSize = 224;
std::vector<Layer> resnet50(uint32_t seed);
double flops_of(const std::vector<Layer>& layers);
IRModule module_of(const std::vector<Layer>& layers);

}  // namespace byoc::bench
