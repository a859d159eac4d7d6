// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/view.h"

#include <cstring>

namespace byoc {
namespace {

/// Copies one innermost row, element by element where its stride is not 1.
void copy_row(const std::byte* from, int64_t stride, int64_t n, size_t element, std::byte* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * element);
    return;
  }
  for (int64_t k = 0; k < n; ++k, to += element) {
    std::memcpy(to, from + k * stride * static_cast<int64_t>(element), element);
  }
}

}  // namespace

void copy_to_compact(const DLTensor& from, std::byte* to) {
  size_t element = from.dtype.bits / size_t{8};
  int64_t rows = 1;
  for (int32_t k = 0; k + 1 < from.ndim; ++k) rows *= from.shape[k];
  int64_t columns = from.ndim == 0 ? 1 : from.shape[from.ndim - 1];
  if (rows == 0 || columns == 0) return;
  if (is_compact(from)) {
    std::memcpy(to, data_of(from), static_cast<size_t>(rows * columns) * element);
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, offset = 0;
    for (int32_t k = from.ndim - 1; k-- > 0;) {
      offset += rest % from.shape[k] * from.strides[k];
      rest /= from.shape[k];
    }
    copy_row(data_of(from) + offset * static_cast<int64_t>(element), from.strides[from.ndim - 1],
             columns, element, to + static_cast<size_t>(row * columns) * element);
  }
}

}  // namespace byoc
