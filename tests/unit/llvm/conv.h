// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions as tensor expressions of the llvm plugin.
#include <gtest/gtest.h>

#include "byoc/text/builder.h"
#include "plugins/llvm/families/family.h"

namespace byoc::test {

struct Conv {
  int64_t c, o, h, w, kernel, stride, pad;
  bool is_depthwise = false;
  int64_t oh() const { return (h + 2 * pad - kernel) / stride + 1; }
  int64_t ow() const { return (w + 2 * pad - kernel) / stride + 1; }
};

/// Returns relu(conv(x, w) + bias) with the computes that the plugin selects and
/// channels in blocks of 8.
inline te::Dag translated(const Conv& conv, const te::Target& target) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const Ints shape = {conv.o / 8, conv.c / 8, conv.kernel, conv.kernel, 8, 8};
  ValueId x = f.param("x", {DType::kF32, {1, conv.c / 8, conv.h, conv.w, 8}});
  ValueId w = f.param("w", {DType::kF32, make_shape(shape)});
  ValueId bias = f.param("bias", {DType::kF32, {1, conv.o / 8, 1, 1, 8}});
  ValueId y = f.call("conv2d_nchwc", {x, w},
                     {{"strides", Ints(2, conv.stride)}, {"pads", Ints(4, conv.pad)}});
  EXPECT_TRUE(f.finish("main", {f.call("relu", {f.call("add", {y, bias})})}).ok());
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  return *std::move(dag);
}

}  // namespace byoc::test
