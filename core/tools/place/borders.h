// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensors that go from a region of one plugin into one of another, with their layouts.
#include "byoc/base/json.h"
#include "byoc/pass/pass.h"

namespace byoc::driver {

/// Tensors of one type that cross in the same way.
struct Border {
  std::string from, to;  ///< ids of plugins
  std::string type;      ///< such as "f32[1,8,56,56,8]"
  std::string layout;  ///< "NCHW8c" where a region has a layout_transform at this border; may be ""
  std::string changed_in;  ///< the plugins whose regions have that, such as "onednn"; "": none
  std::string first;       ///< "@onednn_main_0 -> @llvm_main_1"
  size_t tensors = 0;
  uint64_t bytes = 0;  ///< of all of them
};

/// Returns the borders between different plugins of a module after fuse_ops, in the order of their
/// first tensors. A tensor that several regions of one plugin read counts once for each.
std::vector<Border> borders_of(const IRModule& module);
std::string borders_text(const std::vector<Border>& borders);  ///< Returns a table.
Json borders_json(const std::vector<Border>& borders);         ///< Returns an array.

}  // namespace byoc::driver
