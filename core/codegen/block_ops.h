// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rewrites ops for tensors in blocks.
#include "core/codegen/blocked_function.h"

namespace byoc {

/// The block sizes that a default codegen lists, in its order of preference.
struct WantedBlocks {
  const Plugin* plugin;
  std::vector<int64_t> image;   // conv2d: channels in a block
  std::vector<int64_t> matrix;  // matmul: columns in a panel
};

/// Adds the ops that replace `node` in the blocks of `wanted`, within an attempt of `to`. Returns
/// false and adds nothing when the op, its attributes or its types have no such form, or when none
/// of its operands is in blocks.
bool block_op(BlockedFunction& to, const WantedBlocks& wanted, uint32_t node);

}  // namespace byoc
