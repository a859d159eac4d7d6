// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/window.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"

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

Result<Dim> moved(Dim dim, int64_t by) {
  return by < 0 ? dim_difference(dim, Dim(-by)) : dim_sum(dim, Dim(by));
}

// Returns the extent of windows over an open one, which fit into it at every size.
Result<Dim> open_extent(std::string_view op, Dim in, const Window& w, bool ceil_mode) {
  const int64_t pads = w.pad_begin + w.pad_end, least = std::max<int64_t>(w.reach() - pads, 1);
  if (in.is_counted())
    return invalid(cat(op, ": the extent over which a window slides must be known, it is ", in))
        .with_slug("symbolic-shape");
  if (in.min() < least)
    return invalid(cat(op, ": a window that reaches over ", w.reach(), " needs an extent of ",
                       least, ", and ", in, " may be ", in.min()))
        .with_slug("symbolic-shape")
        .with_help("give the sizes bounds, as in --shape H=32..512");
  BYOC_TRY(const Dim room, moved(in, pads - w.reach()));
  BYOC_TRY(Dim steps, ceil_mode ? dim_ceil_quotient(room, w.stride) : dim_quotient(room, w.stride));
  if (ceil_mode) {  // windows that would start in the padding at the end are dropped
    BYOC_TRY(const Dim last, moved(in, w.pad_begin - 1));
    BYOC_TRY(const Dim most, dim_quotient(last, w.stride));
    BYOC_TRY(steps, dim_min(steps, most));
  }
  return dim_sum(steps, Dim(1));
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
    return open_extent(op, in, w, ceil_mode);
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
