// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/narrow.h"

#include <algorithm>
#include <iterator>

#include "core/import/onnx/file/dtypes.h"

namespace byoc::onnx_import {
namespace {

constexpr NarrowType kTypes[] = {
    {17, "FLOAT8E4M3FN", 8, DType::kU8, "f8e4m3fn"},
    {18, "FLOAT8E4M3FNUZ", 8, DType::kU8, "f8e4m3fnuz"},
    {19, "FLOAT8E5M2", 8, DType::kU8, "f8e5m2"},
    {20, "FLOAT8E5M2FNUZ", 8, DType::kU8, "f8e5m2fnuz"},
    {21, "UINT4", 4, DType::kU8, ""},
    {22, "INT4", 4, DType::kI8, ""},
    {23, "FLOAT4E2M1", 4, DType::kU8, "f4e2m1"},
    {24, "FLOAT8E8M0", 8, DType::kU8, "f8e8m0"},
    {25, "UINT2", 2, DType::kU8, ""},
    {26, "INT2", 2, DType::kI8, ""},
    {27, "FLOAT6E2M3", 6, DType::kU8, "f6e2m3"},
    {28, "FLOAT6E3M2", 6, DType::kU8, "f6e3m2"},
};

constexpr const char* kMovers[] = {"Concat",    "Expand",   "Flatten", "Gather", "GatherElements",
                                   "GatherND",  "Identity", "Reshape", "Shape",  "Size",
                                   "Slice",     "Split",    "Squeeze", "Tile",   "TensorScatter",
                                   "Transpose", "Unsqueeze"};
constexpr const char* kReaders[] = {"Cast", "CastLike", "DequantizeLinear", "GatherBlockQuantized",
                                    "QuantizeLinear"};

template <class List>
bool has(const List& list, const std::string& op_type) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const char* name) { return op_type == name; });
}

}  // namespace

const NarrowType* narrow_type(int32_t onnx_dtype) {
  for (const NarrowType& type : kTypes) {
    if (type.onnx == onnx_dtype) return &type;
  }
  return nullptr;
}

Result<DType> stored_dtype(int32_t onnx_dtype) {
  if (const NarrowType* narrow = narrow_type(onnx_dtype)) return narrow->stored;
  return dtype_from_onnx(onnx_dtype);
}

int64_t packed_size(const NarrowType& type, int64_t n) {
  return n / 8 * type.bits + (n % 8 * type.bits + 7) / 8;
}

void unpack(const NarrowType& type, std::span<const std::byte> packed, int64_t n, std::byte* out) {
  for (int64_t k = 0; k < n; ++k) {
    const auto byte = static_cast<size_t>(k / 8 * type.bits + k % 8 * type.bits / 8);
    unsigned pair = std::to_integer<unsigned>(packed[byte]);
    if (byte + 1 < packed.size()) pair |= std::to_integer<unsigned>(packed[byte + 1]) << 8;
    auto value = static_cast<int>(pair >> (k % 8 * type.bits % 8) & ((1u << type.bits) - 1));
    if (type.stored == DType::kI8 && value > type.most()) value -= 1 << type.bits;
    out[k] = static_cast<std::byte>(value);
  }
}

bool moves_narrow(const std::string& op_type) { return has(kMovers, op_type); }
bool reads_narrow(const std::string& op_type) { return has(kReaders, op_type); }

}  // namespace byoc::onnx_import
