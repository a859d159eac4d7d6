// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/window.h"

#include "byoc/base/check.h"

namespace byoc::op {
namespace {

constexpr int64_t kMaxSetting = int64_t{1} << 31;  // sums and products of two stay in 63 bits

Result<Ints> read_list(std::string_view op, const Attrs& attrs, const char* name, size_t size,
                       int64_t fallback, int64_t least) {
  Ints list = attrs.ints(name);
  if (list.empty()) list.assign(size, fallback);
  if (list.size() != size) {
    return invalid(cat(op, ": ", name, " has ", list.size(), " entries, expected ", size));
  }
  for (int64_t value : list) {
    if (value < least || value >= kMaxSetting) {
      return invalid(cat(op, ": ", name, " holds ", value, ", expected at least ", least,
                         " and less than 2^31"));
    }
  }
  return list;
}

}  // namespace

Result<std::vector<Window>> read_windows(std::string_view op, const Attrs& attrs,
                                         std::span<const int64_t> kernel) {
  size_t rank = kernel.size();
  BYOC_TRY(Ints strides, read_list(op, attrs, "strides", rank, 1, 1));
  BYOC_TRY(Ints dilations, read_list(op, attrs, "dilations", rank, 1, 1));
  BYOC_TRY(Ints pads, read_list(op, attrs, "pads", 2 * rank, 0, 0));
  std::vector<Window> windows(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (kernel[d] < 1 || kernel[d] >= kMaxSetting) {
      return invalid(
          cat(op, ": the kernel's extent ", kernel[d], " is not at least 1 and less than 2^31"));
    }
    windows[d] = {kernel[d], strides[d], dilations[d], pads[d], pads[rank + d]};
  }
  return windows;
}

Result<Dim> window_extent(std::string_view op, Dim in, const Window& w, bool ceil_mode) {
  BYOC_CHECK(w.stride > 0, op, ": a window with a stride of ", w.stride);
  if (!in.is_static()) {
    if (w.stride == 1 && w.pad_begin + w.pad_end == w.reach() - 1) return in;
    return invalid(cat(op, ": the extent over which a window slides must be known, it is ", in))
        .with_slug("symbolic-shape");
  }
  int64_t room = in.extent() + w.pad_begin + w.pad_end - w.reach();
  const bool reaches_over_end = ceil_mode && room > -w.stride;  // the one window that there is
  if (room < 0 && !reaches_over_end) {
    return invalid(cat(op, ": a window that reaches over ", w.reach(), " does not fit into ",
                       in.extent(), " padded by ", w.pad_begin, " and ", w.pad_end));
  }
  int64_t steps = ceil_mode ? (room + w.stride - 1) / w.stride : room / w.stride;
  if (ceil_mode && steps * w.stride >= in.extent() + w.pad_begin) --steps;
  return Dim(steps + 1);
}

}  // namespace byoc::op
