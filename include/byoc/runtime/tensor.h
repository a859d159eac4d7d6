// SPDX-License-Identifier: Apache-2.0
#pragma once
// Owned tensors for inputs and outputs, and their DLPack views.
#include <dlpack/dlpack.h>

#include <span>

#include "byoc/base/external.h"

namespace byoc {

DLDataType to_dlpack(DType dtype);  ///< bool crosses as 8-bit unsigned
/// Errors: kInvalidArgument for a DLPack type that has no DType.
Result<DType> from_dlpack(DLDataType type);

/// Memory aligned to 64 bytes with a type. Movable; copy() is explicit.
class Tensor {
 public:
  Tensor() = default;
  /// Makes a tensor of zeros. Errors: kOutOfRange (slug "tensor-size") when the size overflows,
  /// kResourceExhausted when allocation fails.
  static Result<Tensor> make(const TensorSpec& spec);
  Result<Tensor> copy() const;                           ///< a tensor with memory of its own
  const TensorSpec& spec() const { return spec_; }       ///< dtype and dims
  std::byte* data() { return data_.get(); }              ///< the elements, aligned to 64 bytes
  const std::byte* data() const { return data_.get(); }  ///< the elements, aligned to 64 bytes
  uint64_t size_bytes() const { return size_bytes_; }    ///< the size of the elements
  /// Keeps the first elements, as a tensor of the shape `dims`, which has no more of them.
  void shrink(std::span<const int64_t> dims);
  /// Valid until this tensor is moved or destroyed. Compact: strides is null.
  DLTensor view() const;

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  TensorSpec spec_;
  std::unique_ptr<std::byte, Free> data_;
  uint64_t size_bytes_ = 0;
};

/// Reads NumPy .npy (format 1.0 to 3.0, C order, little endian; f4 f8 f2 i1..i8 u1..u8 b1). Errors
/// name the file and the fault.
Result<Tensor> read_npy(const std::string& path);
/// Writes an .npy file; strides are followed. Errors: slug "file".
Status write_npy(const DLTensor& tensor, DType dtype, const std::string& path);
/// Fills with uniform values in [-1, 1) for floats, small ints in [0, 8), bools; a function of seed
/// and index alone.
void fill_random(Tensor& tensor, uint64_t seed);

}  // namespace byoc
