// SPDX-License-Identifier: Apache-2.0
#pragma once
// How each op is written on tensors in blocks.
#include "core/codegen/blocked_function.h"

namespace byoc {

/// What a default codegen lists, in its order of preference.
struct WantedBlocks {
  const Plugin* plugin;
  std::vector<int64_t> image;   // conv2d: channels in a block
  std::vector<int64_t> matrix;  // matmul: columns in a panel
};

/// Adds what `node` becomes in the blocks of `wanted`, within an attempt of `to`. False: nothing
/// was added, because the op, its attributes or its types have no such form, or because none of
/// its operands is in blocks.
bool block_op(BlockedFunction& to, const WantedBlocks& wanted, uint32_t node);

}  // namespace byoc
