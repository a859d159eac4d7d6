// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for DLPack views, shared by npy, session and the commands.
#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace byoc {

/// Returns true for row-major without gaps; strides of extents of 1 are ignored.
inline bool is_compact(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t stride = 1;
  bool compact = true;
  for (int32_t k = tensor.ndim; k-- > 0;) {
    if (tensor.shape[k] == 0) return true;
    if (tensor.shape[k] != 1 && tensor.strides[k] != stride) compact = false;
    if (__builtin_mul_overflow(stride, tensor.shape[k], &stride)) return false;
  }
  return compact;
}

inline std::byte* data_of(const DLTensor& tensor) {
  return tensor.data == nullptr ? nullptr
                                : static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

/// Copies a tensor of any strides to compact memory. Allocates nothing; strides count elements.
void copy_to_compact(const DLTensor& from, std::byte* to);

}  // namespace byoc
