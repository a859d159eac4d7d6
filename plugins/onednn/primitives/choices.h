// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices that a region leaves open; the defaults are what the plugin compiles by itself.
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "library/dnnl_compat.h"

namespace byoc::onednn {

/// Layouts of constants, by the number of the constant and the layout that it has in the graph, as
/// layout_text.
using PackedLayouts = std::map<std::pair<uint32_t, std::string>, Desc>;

struct Choices {
  /// Images of convolutions: in the layout that oneDNN prefers ("any"; "loop": by the plugin's own
  /// loop where it has one), in blocks of channels ("blocked"), with channels last ("nhwc"), or
  /// row-major ("plain").
  std::string convolution = "loop";
  /// Max pools in blocks of channels or with channels last: by the plugin's own loop ("loop"), or
  /// by oneDNN's kernel with that loop after it for NaN and infinities ("primitive").
  std::string max_pool = "loop";
  /// Products by a constant: as a 1x1 convolution where that is possible ("convolution"), by a
  /// product whose constant is packed ("packed"), or kept as it is ("plain").
  std::string product = "convolution";
  /// Cells of a loop over cells that one thread computes at least: more are shared by all threads.
  int64_t piece = int64_t{1} << 14;
  /// Layouts in place of those that oneDNN prefers, where it has a fast kernel for them: primitives
  /// for several sizes then read the same packed weights. May be null.
  const PackedLayouts* packed = nullptr;
};

}  // namespace byoc::onednn
