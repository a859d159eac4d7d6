// SPDX-License-Identifier: Apache-2.0
#include "library/format_text.h"

#include <algorithm>
#include <numeric>

namespace byoc::onednn {

std::string format_text(const Desc& desc) {
  Blocking blocking = blocking_of(desc);
  if (blocking.strides.empty()) return "opaque";
  std::vector<size_t> order(blocking.strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocking.strides[a] > blocking.strides[b]; });
  auto letter = [](char first, size_t dim) {
    return static_cast<char>(first + static_cast<int>(dim));
  };
  std::string text;
  for (size_t dim : order) {
    const auto& blocked = blocking.block_dims;
    bool in_blocks =
        std::find(blocked.begin(), blocked.end(), static_cast<int64_t>(dim)) != blocked.end();
    text += letter(in_blocks ? 'A' : 'a', dim);
  }
  for (size_t k = 0; k < blocking.block_sizes.size(); ++k) {
    text += std::to_string(blocking.block_sizes[k]);
    text += letter('a', static_cast<size_t>(blocking.block_dims[k]));
  }
  return text;
}

}  // namespace byoc::onednn
