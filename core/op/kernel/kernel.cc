// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/kernel.h"

#include "byoc/base/check.h"

namespace byoc::op {

RefKernel map_kernel(int64_t n, MapRow row, std::shared_ptr<const void> f) {
  BYOC_CHECK(n >= 0 && row != nullptr, "a kernel of ", n, " elements");
  return [n, row, f = std::move(f)](const void* const* in, void* const* out) {
    row(f.get(), in[0], out[0], n);
  };
}

RefKernel broadcast_kernel(Types inputs, Types outputs, BroadcastRow row,
                           std::shared_ptr<const void> f) {
  BYOC_CHECK(inputs.size() == 2 && outputs.size() == 1, inputs.size(), " operands and ",
             outputs.size(), " results of a binary op");
  const Shape& to = outputs[0]->shape;
  Walk<2> walk(static_extents(to),
               {broadcast_strides(inputs[0]->shape, to), broadcast_strides(inputs[1]->shape, to)});
  auto size = static_cast<int64_t>(dtype_size(inputs[0]->dtype));
  auto result_size = static_cast<int64_t>(dtype_size(outputs[0]->dtype));
  return [=, walk = std::move(walk), f = std::move(f)](const void* const* in, void* const* out) {
    const char *a = in_as<char>(in, 0), *b = in_as<char>(in, 1);
    char* y = out_as<char>(out, 0);
    walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
      row(f.get(), a + at[0] * size, b + at[1] * size, y, n, step);
      y += n * result_size;
    });
  };
}

}  // namespace byoc::op
