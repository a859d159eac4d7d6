// SPDX-License-Identifier: Apache-2.0
// Convolutions in blocks of channels, in tiles of registers.
#include "plugins/llvm/families/conv/computes.h"
#include "plugins/llvm/families/conv/flat.h"
#include "plugins/llvm/families/conv/tiling.h"

namespace byoc::llvm_plugin::conv {
namespace {

std::optional<topi::TilingTemplate> tilings_of(const te::Stage& anchor, const te::Target& target) {
  const bool is_integers = anchor.op == "conv2d_nchwc_integers" && anchor.compute != "direct";
  const bool is_f32 = anchor.op == "conv2d_nchwc" && anchor.outputs[0].dtype() == DType::kF32;
  return is_integers || is_f32 ? conv_tiling(anchor, target) : flat_tiling(anchor, target);
}

std::optional<topi::Template> schedules(const te::Dag& dag, const te::Target& target) {
  return topi::tiled(dag, target, tilings_of);
}

}  // namespace

extern const Family kFamily{.name = "conv", .add_computes = add_computes, .schedules = schedules};

}  // namespace byoc::llvm_plugin::conv
