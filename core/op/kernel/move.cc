// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/move.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

Status shape_error(std::string message, TypeId x) {
  return invalid(cat(message, " (x ", x, ")")).with_slug("op-shape");
}

RefKernel strided_kernel(DType dtype, const std::vector<int64_t>& extents,
                         const std::vector<int64_t>& strides, int64_t offset) {
  BYOC_CHECK(extents.size() == strides.size(), strides.size(), " strides of ", extents.size(),
             " dims");
  Walk<1> walk(extents, {strides});
  return for_width(dtype, [&]<class U>() -> RefKernel {
    return [walk, offset](const void* const* in, void* const* out) {
      const U* x = static_cast<const U*>(in[0]) + offset;
      U* y = static_cast<U*>(out[0]);
      walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
        const U* from = x + at[0];
        if (step[0] == 1) y = std::copy_n(from, n, y);
        else if (step[0] == 0) y = std::fill_n(y, n, *from);
        else
          for (int64_t k = 0; k < n; ++k) *y++ = from[k * step[0]];
      });
    };
  });
}

RefKernel table_kernel(DType dtype, const std::vector<std::vector<int64_t>>& tables,
                       uint64_t fill) {
  std::vector<std::vector<int64_t>> outer = tables;
  std::vector<int64_t> inner = {0};
  if (!outer.empty()) {
    inner = std::move(outer.back());
    outer.pop_back();
  }
  BYOC_CHECK(outer.size() <= kMaxRank, tables.size(), " tables of offsets");
  bool is_empty = inner.empty();
  for (const auto& table : outer) is_empty = is_empty || table.empty();
  if (is_empty) return [](const void* const*, void* const*) {};
  return for_width(dtype, [&]<class U>() -> RefKernel {
    return [outer, inner, filler = static_cast<U>(fill)](const void* const* in, void* const* out) {
      const U* x = static_cast<const U*>(in[0]);
      U* y = static_cast<U*>(out[0]);
      std::array<size_t, kMaxRank> index{};
      for (bool more = true; more;) {
        int64_t base = 0;
        for (size_t d = 0; d < outer.size() && base >= 0; ++d) {
          int64_t offset = outer[d][index[d]];
          base = offset < 0 ? -1 : base + offset;
        }
        for (int64_t offset : inner) *y++ = base < 0 || offset < 0 ? filler : x[base + offset];
        more = false;
        for (size_t d = outer.size(); d-- > 0 && !more;) {
          more = ++index[d] < outer[d].size();
          if (!more) index[d] = 0;
        }
      }
    };
  });
}

uint64_t bits_of(DType dtype, double value) {
  uint64_t bits = 0;
  auto done = for_dtype("a constant", dtype, AllTypes{}, [&]<class T>() -> RefKernel {
    T element = static_cast<T>(static_cast<Compute<T>>(value));
    std::memcpy(&bits, &element, sizeof element);
    return {};
  });
  BYOC_CHECK(done.ok(), "no bits for ", dtype);
  return bits;
}

}  // namespace byoc::op
