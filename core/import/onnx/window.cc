// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/window.h"

#include "byoc/base/check.h"

namespace byoc::onnx_import {
namespace {

constexpr int64_t kMaxSetting = int64_t{1} << 31;  // a product of two stays in 63 bits

Status fill(Ints& list, std::string_view name, size_t size, int64_t value) {
  if (list.empty()) list.assign(size, value);
  if (list.size() != size) {
    return invalid(cat(name, " has ", list.size(), " entries, expected ", size));
  }
  for (int64_t entry : list) {
    if (entry <= -kMaxSetting || entry >= kMaxSetting) return invalid(cat(name, " holds ", entry));
  }
  return {};
}

// Sets pads so that the result has ceil(extent / stride) cells.
Status pad_to_same(WindowAttrs& window, const TensorType& x, bool odd_at_begin) {
  for (size_t d = 0; d < window.kernel.size(); ++d) {
    int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1, stride = window.strides[d];
    if (stride < 1) return invalid(cat("strides holds ", stride));
    Dim in = x.shape[2 + d];
    int64_t total = reach - stride;  // whenever the stride divides the extent
    if (in.is_static()) {
      total = reach - (in.extent() % stride == 0 ? stride : in.extent() % stride);
    } else if (stride != 1) {
      return unimplemented(cat("auto_pad needs the extent of dim ", 2 + d, ", which is ", in));
    }
    split_padding(window.pads, d, std::max<int64_t>(total, 0), odd_at_begin);
  }
  return {};
}

}  // namespace

void split_padding(Ints& pads, size_t d, int64_t total, bool odd_at_begin) {
  size_t spatial = pads.size() / 2;
  BYOC_CHECK(spatial + d < pads.size(), "dim ", d, " of ", spatial);
  int64_t smaller = total / 2, larger = total - smaller;
  pads[d] = odd_at_begin ? larger : smaller;
  pads[spatial + d] = odd_at_begin ? smaller : larger;
}

Result<WindowAttrs> read_window(const OnnxNode& node, const TensorType& x, const Ints& kernel) {
  size_t spatial = kernel.size();
  WindowAttrs window{kernel, node.ints("strides"), node.ints("dilations"), node.ints("pads")};
  if (x.shape.size() != spatial + 2) {
    return invalid(cat("kernel_shape has ", spatial, " entries, x is ", x));
  }
  BYOC_TRY_STATUS(fill(window.kernel, "kernel_shape", spatial, 1));
  BYOC_TRY_STATUS(fill(window.strides, "strides", spatial, 1));
  BYOC_TRY_STATUS(fill(window.dilations, "dilations", spatial, 1));
  BYOC_TRY_STATUS(fill(window.pads, "pads", 2 * spatial, 0));
  std::string auto_pad = node.s("auto_pad", "NOTSET");
  if (auto_pad == "NOTSET") return window;
  if (auto_pad == "VALID") window.pads.assign(2 * spatial, 0);
  else if (auto_pad == "SAME_UPPER") BYOC_TRY_STATUS(pad_to_same(window, x, false));
  else if (auto_pad == "SAME_LOWER") BYOC_TRY_STATUS(pad_to_same(window, x, true));
  else return invalid(cat("auto_pad is \"", auto_pad, "\""));
  return window;
}

Attrs to_attrs(const WindowAttrs& window) {
  return {{"strides", window.strides}, {"dilations", window.dilations}, {"pads", window.pads}};
}

}  // namespace byoc::onnx_import
