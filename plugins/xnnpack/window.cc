// SPDX-License-Identifier: Apache-2.0
// Windows of convolutions and pools, read off attributes.
#include <algorithm>

#include "unit.h"

namespace byoc::xnnpack {
namespace {

using sdk::Declined;

sdk::Ints list_of(const sdk::Node& op, std::string_view name, size_t size, int64_t fallback) {
  sdk::Ints list = op.attrs.ints(name);
  if (list.empty()) list.assign(size, fallback);
  if (list.size() != size)
    throw Declined(op.op + " has " + std::string(name) + " for another rank");
  return list;
}

Window read_window(const sdk::Node& op, const sdk::Type& x, const sdk::Type& y,
                   const sdk::Ints& kernel) {
  const sdk::Ints strides = list_of(op, "strides", 2, 1), pads = list_of(op, "pads", 4, 0);
  const sdk::Ints dilations = list_of(op, "dilations", 2, 1);
  Window w{.n = x.dims[0], .c = x.dims[1], .h = x.dims[2], .w = x.dims[3]};
  w.out_c = y.dims[1], w.out_h = y.dims[2], w.out_w = y.dims[3];
  w.kernel_h = kernel.at(0), w.kernel_w = kernel.at(1);
  w.stride_h = strides[0], w.stride_w = strides[1];
  w.dilation_h = dilations[0], w.dilation_w = dilations[1];
  w.top = pads[0], w.left = pads[1], w.bottom = pads[2], w.right = pads[3];
  return w;
}

/// Returns the extent that XNNPACK computes: it rounds down, and a window must fit.
int64_t extent_of(int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation) {
  const int64_t room = in + pads - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

void check_extents(const sdk::Node& op, const Window& w) {
  if (w.out_h != extent_of(w.h, w.top + w.bottom, w.kernel_h, w.stride_h, w.dilation_h) ||
      w.out_w != extent_of(w.w, w.left + w.right, w.kernel_w, w.stride_w, w.dilation_w))
    throw Declined("XNNPACK rounds the extents of " + op.op + " down");
}

/// Returns true when a window along one dim has no cell of the image: it lies in the pads.
bool has_empty_window(int64_t in, int64_t out, int64_t begin, int64_t kernel, int64_t stride,
                      int64_t dilation) {
  for (int64_t cell = 0; cell < out; ++cell) {
    bool is_empty = true;
    for (int64_t tap = 0; tap < kernel && is_empty; ++tap) {
      const int64_t at = cell * stride + tap * dilation - begin;
      is_empty = at < 0 || at >= in;
    }
    if (is_empty) return true;
  }
  return false;
}

}  // namespace

Window read_convolution(const sdk::Node& op, const sdk::Type& x, const sdk::Type& weight,
                        const sdk::Type& y) {
  refuse_unknown(op, {"strides", "pads", "dilations", "group"});
  Window w = read_window(op, x, y, {weight.dims[2], weight.dims[3]});
  w.groups = op.attrs.i("group", 1);
  check_extents(op, w);
  return w;
}

Window read_pool(const sdk::Node& op, const sdk::Type& x, const sdk::Type& y) {
  refuse_unknown(op, {"kernel_shape", "strides", "pads", "dilations", "ceil_mode", "with_indices",
                      "storage_order", "count_include_pad"});
  if (op.types.size() != 1) throw Declined("XNNPACK gives no indices of maxima as the op has them");
  Window w = read_window(op, x, y, list_of(op, "kernel_shape", 2, 1));
  const bool has_pads = w.top + w.left + w.bottom + w.right != 0;
  if (w.kernel_h * w.kernel_w == 1) throw Declined("XNNPACK has no pools of one cell");
  if (op.op == "average_pool") {
    if (w.dilation_h != 1 || w.dilation_w != 1)
      throw Declined("XNNPACK has no dilated average_pool");
    if (has_pads && op.attrs.b("count_include_pad", false))
      throw Declined("XNNPACK does not count padding in average_pool");
  }
  check_extents(op, w);
  if (has_empty_window(w.h, w.out_h, w.top, w.kernel_h, w.stride_h, w.dilation_h) ||
      has_empty_window(w.w, w.out_w, w.left, w.kernel_w, w.stride_w, w.dilation_w))
    throw Declined("XNNPACK has no result for windows that lie in the pads");
  return w;
}

}  // namespace byoc::xnnpack
