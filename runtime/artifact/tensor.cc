// SPDX-License-Identifier: Apache-2.0
#include "byoc/runtime/tensor.h"

#include <cstring>

#include "byoc/base/memory.h"

namespace byoc {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014) of one counter: without state, so that any index can be
/// computed directly.
uint64_t random_bits(uint64_t seed, uint64_t index) {
  uint64_t z = seed * 0xd1342543de82ef95 + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Returns k * 2^-bits - 1 with k of bits + 1 bits: uniform in [-1, 1), and exact in a type whose
/// significand has more than `bits` bits.
double uniform(uint64_t random, int bits) {
  return static_cast<double>(random >> (63 - bits)) / static_cast<double>(uint64_t{1} << bits) -
         1.0;
}

/// Returns the f16 bit pattern of an f32 value that f16 represents exactly and normally,
/// or of zero.
uint16_t exact_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) == 0) return 0;
  uint32_t exponent = (bits >> 23 & 255) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
}

uint16_t exact_bfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>(bits >> 16);
}

template <class T, class Value>
void fill(Tensor& tensor, uint64_t seed, Value value) {
  auto* data = reinterpret_cast<T*>(tensor.data());
  auto n = static_cast<uint64_t>(num_elements(tensor.spec()));
  for (uint64_t k = 0; k < n; ++k) data[k] = static_cast<T>(value(random_bits(seed, k)));
}

}  // namespace

DLDataType to_dlpack(DType dtype) {
  auto type = [&](int code) {
    return DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(dtype_size(dtype) * 8), 1};
  };
  if (dtype == DType::kBF16) return type(kDLBfloat);
  if (is_float(dtype)) return type(kDLFloat);
  return type(is_signed_int(dtype) ? kDLInt : kDLUInt);
}

Result<DType> from_dlpack(DLDataType type) {
  for (int k = 0; k < kDTypeCount; ++k) {
    auto dtype = static_cast<DType>(k);
    DLDataType known = to_dlpack(dtype);
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
  }
  return invalid(cat("no dtype for DLPack code ", type.code, " with ", type.bits, " bits and ",
                     type.lanes, " lanes"))
      .with_slug("dlpack-type");
}

Result<Tensor> Tensor::make(const TensorSpec& spec) {
  BYOC_TRY(int64_t size, byoc::size_bytes(spec));
  Tensor tensor;
  tensor.spec_ = spec;
  tensor.spec_.open.clear();
  tensor.size_bytes_ = static_cast<uint64_t>(size);
  uint64_t rounded = (tensor.size_bytes_ + Buffer::kAlignment) / Buffer::kAlignment *
                     Buffer::kAlignment;  // never zero
  auto* data = static_cast<std::byte*>(aligned_memory(rounded, Buffer::kAlignment));
  if (data == nullptr) {
    return Status(Code::kResourceExhausted, cat("no memory for ", spec, ", ", size, " bytes"))
        .with_slug("tensor-size");
  }
  std::memset(data, 0, rounded);
  tensor.data_.reset(data);
  return tensor;
}

Result<Tensor> Tensor::copy() const {
  BYOC_TRY(Tensor tensor, make(spec_));
  if (size_bytes_ != 0) std::memcpy(tensor.data(), data(), size_bytes_);
  return tensor;
}

void Tensor::shrink(std::span<const int64_t> dims) {
  spec_.dims.assign(dims.begin(), dims.end());
  spec_.counted = 0;
  spec_.open.clear();
  size_bytes_ = static_cast<uint64_t>(num_elements(spec_)) * dtype_size(spec_.dtype);
}

DLTensor Tensor::view() const {
  return {.data = data_.get(),
          .device = {kDLCPU, 0},
          .ndim = static_cast<int32_t>(spec_.dims.size()),
          .dtype = to_dlpack(spec_.dtype),
          .shape = const_cast<int64_t*>(spec_.dims.data()),  // DLPack has no const
          .strides = nullptr,
          .byte_offset = 0};
}

void fill_random(Tensor& tensor, uint64_t seed) {
  auto integer = [](uint64_t bits) { return bits >> 61; };
  switch (tensor.spec().dtype) {
    case DType::kF32:
      return fill<float>(tensor, seed, [](uint64_t b) { return uniform(b, 23); });
    case DType::kF64:
      return fill<double>(tensor, seed, [](uint64_t b) { return uniform(b, 52); });
    case DType::kF16:
      return fill<uint16_t>(
          tensor, seed, [](uint64_t b) { return exact_half(static_cast<float>(uniform(b, 10))); });
    case DType::kBF16:
      return fill<uint16_t>(
          tensor, seed, [](uint64_t b) { return exact_bfloat(static_cast<float>(uniform(b, 7))); });
    case DType::kI8:
    case DType::kU8:
      return fill<uint8_t>(tensor, seed, integer);
    case DType::kI16:
    case DType::kU16:
      return fill<uint16_t>(tensor, seed, integer);
    case DType::kI32:
    case DType::kU32:
      return fill<uint32_t>(tensor, seed, integer);
    case DType::kI64:
    case DType::kU64:
      return fill<uint64_t>(tensor, seed, integer);
    case DType::kBool:
      return fill<uint8_t>(tensor, seed, [](uint64_t b) { return b >> 63; });
  }
}

}  // namespace byoc
