// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/file/tensor_proto.h"

#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "byoc/base/check.h"
#include "core/import/onnx/file/large_data.h"
#include "core/import/onnx/file/narrow.h"
#include "core/import/onnx/file/protobuf_text.h"

namespace byoc::onnx_import {
namespace {

using onnx::TensorProto;

struct DTypeRow {
  DType dtype;
  int32_t onnx;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kF32, TensorProto::FLOAT},   {DType::kF64, TensorProto::DOUBLE},
    {DType::kF16, TensorProto::FLOAT16}, {DType::kBF16, TensorProto::BFLOAT16},
    {DType::kI8, TensorProto::INT8},     {DType::kU8, TensorProto::UINT8},
    {DType::kI16, TensorProto::INT16},   {DType::kU16, TensorProto::UINT16},
    {DType::kI32, TensorProto::INT32},   {DType::kU32, TensorProto::UINT32},
    {DType::kI64, TensorProto::INT64},   {DType::kU64, TensorProto::UINT64},
    {DType::kBool, TensorProto::BOOL}};

Status bad_tensor(std::string message) {
  return invalid(std::move(message)).with_slug("onnx-parse");
}

struct ExternalEntry {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<uint64_t> parse_size(const std::string& key, const std::string& text) {
  constexpr size_t kMostDigits = 18;  // every such number is below 2^63
  if (text.empty() || text.size() > kMostDigits ||
      text.find_first_not_of("0123456789") != text.npos) {
    return invalid(cat("external data: ", key, " is ", in_quotes(text), ", not a size"))
        .with_slug("external-data");
  }
  return std::stoull(text);
}

Result<ExternalEntry> external_entry(const TensorProto& tensor) {
  ExternalEntry entry;
  for (const auto& pair : tensor.external_data()) {
    if (pair.key() == "location") entry.location = pair.value();
    if (pair.key() == "offset") {
      BYOC_TRY(entry.offset, parse_size("offset", pair.value()));
    }
    if (pair.key() == "length") {
      BYOC_TRY(entry.length, parse_size("length", pair.value()));
    }
  }
  return entry;
}

Result<ExternalFolder::Slice> external_slice(const TensorProto& tensor, uint64_t size,
                                             const ExternalFolder& folder) {
  BYOC_TRY(ExternalEntry entry, external_entry(tensor));
  if (entry.length && *entry.length != size) {
    if (entry.location == kModelFile)
      return bad_tensor(cat("the tensor needs ", size, " bytes, its raw data has ", *entry.length));
    return invalid(cat("external data: length is ", *entry.length, ", the tensor needs ", size,
                       " bytes"))
        .with_slug("external-data");
  }
  return folder.find(entry.location, entry.offset, size);
}

/// Returns the number of elements in the typed field for `dtype`.
int64_t field_size(const TensorProto& tensor, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return tensor.float_data_size();
    case DType::kF64:
      return tensor.double_data_size();
    case DType::kI64:
      return tensor.int64_data_size();
    case DType::kU32:
    case DType::kU64:
      return tensor.uint64_data_size();
    default:
      return tensor.int32_data_size();
  }
}

/// Copies the elements of the field as T. Errors: an element that does not fit.
template <class T, class Field>
Status copy_field(const Field& field, DType dtype, std::byte* out) {
  T* to = reinterpret_cast<T*>(out);
  for (auto value : field) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value))
        return bad_tensor(cat("the value ", value, " does not fit ", dtype));
    }
    *to++ = static_cast<T>(value);
  }
  return {};
}

Status copy_bools(const TensorProto& tensor, std::byte* out) {
  for (int32_t value : tensor.int32_data()) *out++ = std::byte{value != 0};
  return {};
}

Status read_field(const TensorProto& tensor, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::kF32:
      return copy_field<float>(tensor.float_data(), dtype, out);
    case DType::kF64:
      return copy_field<double>(tensor.double_data(), dtype, out);
    case DType::kI64:
      return copy_field<int64_t>(tensor.int64_data(), dtype, out);
    case DType::kU64:
      return copy_field<uint64_t>(tensor.uint64_data(), dtype, out);
    case DType::kU32:
      return copy_field<uint32_t>(tensor.uint64_data(), dtype, out);
    case DType::kI32:
      return copy_field<int32_t>(tensor.int32_data(), dtype, out);
    case DType::kI16:
      return copy_field<int16_t>(tensor.int32_data(), dtype, out);
    case DType::kI8:
      return copy_field<int8_t>(tensor.int32_data(), dtype, out);
    case DType::kU8:
      return copy_field<uint8_t>(tensor.int32_data(), dtype, out);
    // 16-bit floats are packed as their bit patterns.
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return copy_field<uint16_t>(tensor.int32_data(), dtype, out);
    case DType::kBool:
      return copy_bools(tensor, out);
  }
  return {};
}

/// Returns the bytes that the elements have in the file; `size` are those in memory.
int64_t file_size(const TensorProto& tensor, const TensorSpec& spec, int64_t size) {
  const NarrowType* narrow = narrow_type(tensor.data_type());
  return narrow ? packed_size(*narrow, num_elements(spec)) : size;
}

/// Returns the number of entries of the typed field. It has packed bytes for types of at most four
/// bits, elements for others.
int64_t field_entries(const TensorProto& tensor, const TensorSpec& spec) {
  const NarrowType* narrow = narrow_type(tensor.data_type());
  return narrow && narrow->bits <= 4 ? packed_size(*narrow, num_elements(spec))
                                     : num_elements(spec);
}

Status check_size(const TensorProto& tensor, const TensorSpec& spec, int64_t size,
                  const ExternalFolder& folder) {
  if (tensor.has_segment())
    return unimplemented("tensors in segments are not supported").with_slug("onnx-unsupported");
  const int64_t bytes = file_size(tensor, spec, size);
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    return std::move(external_slice(tensor, static_cast<uint64_t>(bytes), folder)).status();
  }
  if (tensor.has_raw_data()) {
    if (static_cast<int64_t>(tensor.raw_data().size()) == bytes) return {};
    return bad_tensor(
        cat("the tensor needs ", bytes, " bytes, its raw data has ", tensor.raw_data().size()));
  }
  int64_t expected = field_entries(tensor, spec), given = field_size(tensor, spec.dtype);
  if (expected == given) return {};
  return bad_tensor(cat(spec, " needs ", expected, " elements, the file holds ", given));
}

Result<TensorSpec> checked_spec(const TensorProto& tensor, const ExternalFolder& folder) {
  TensorSpec spec;
  BYOC_TRY(spec.dtype, stored_dtype(tensor.data_type()));
  spec.dims.assign(tensor.dims().begin(), tensor.dims().end());
  if (spec.dims.size() > kMaxRank) {
    return bad_tensor(cat("rank ", spec.dims.size(), ", at most ", kMaxRank, " is supported"));
  }
  BYOC_TRY(int64_t size, size_bytes(spec));
  BYOC_TRY_STATUS(check_size(tensor, spec, size, folder));
  return spec;
}

std::string place_of(const TensorProto& tensor) { return cat("tensor ", in_quotes(tensor.name())); }

}  // namespace

std::string onnx_dtype_name(int32_t onnx_dtype) {
  if (const NarrowType* narrow = narrow_type(onnx_dtype)) return narrow->name;
  if (!onnx::TensorProto_DataType_IsValid(onnx_dtype)) return cat("type ", onnx_dtype);
  return onnx::TensorProto_DataType_Name(static_cast<TensorProto::DataType>(onnx_dtype));
}

Result<DType> dtype_from_onnx(int32_t onnx_dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.onnx == onnx_dtype) return row.dtype;
  }
  if (onnx_dtype == TensorProto::UNDEFINED) return bad_tensor("no element type is given");
  return unimplemented(cat("element type ", onnx_dtype_name(onnx_dtype), " is not supported"))
      .with_slug("onnx-unsupported");
}

int32_t dtype_to_onnx(DType dtype) {
  const DTypeRow& row = kDTypes[static_cast<int>(dtype)];
  BYOC_CHECK(row.dtype == dtype, "kDTypes has ", row.dtype, " in the place of ", dtype);
  return row.onnx;
}

Result<TensorSpec> tensor_spec(const TensorProto& tensor, const ExternalFolder& folder) {
  auto spec = checked_spec(tensor, folder);
  if (!spec.ok()) return std::move(spec.status()).at(place_of(tensor));
  return spec;
}

namespace {

/// Reads elements of a narrow type.
Status read_narrow(const TensorProto& tensor, const NarrowType& type, const TensorSpec& spec,
                   const ExternalFolder& folder, std::byte* out) {
  const int64_t n = num_elements(spec), size = packed_size(type, n);
  std::vector<std::byte> packed;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    BYOC_TRY(auto slice, external_slice(tensor, static_cast<uint64_t>(size), folder));
    packed.resize(static_cast<size_t>(size));
    BYOC_TRY_STATUS(ExternalFolder::read(slice, packed.data()));
  } else if (tensor.has_raw_data()) {
    BYOC_CHECK(tensor.raw_data().size() == static_cast<uint64_t>(size), "tensor_spec checks sizes");
    auto bytes = std::as_bytes(std::span(tensor.raw_data()));
    packed.assign(bytes.begin(), bytes.end());
  } else {
    BYOC_CHECK(field_size(tensor, spec.dtype) == field_entries(tensor, spec),
               "tensor_spec checks sizes");
    for (int32_t value : tensor.int32_data()) packed.push_back(static_cast<std::byte>(value));
    if (type.bits > 4) {  // one element per entry; entries of 6 bits may have more above them
      for (std::byte& value : packed) *out++ = value & std::byte((1u << type.bits) - 1);
      return {};
    }
  }
  unpack(type, packed, n, out);
  return {};
}

}  // namespace

Status read_elements(const TensorProto& tensor, const TensorSpec& spec,
                     const ExternalFolder& folder, std::byte* out) {
  Status status;
  BYOC_TRY(int64_t size, size_bytes(spec));
  if (const NarrowType* narrow = narrow_type(tensor.data_type())) {
    status = read_narrow(tensor, *narrow, spec, folder, out);
    return status.ok() ? status : std::move(status).at(place_of(tensor));
  }
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    BYOC_TRY(auto slice, external_slice(tensor, static_cast<uint64_t>(size), folder));
    status = ExternalFolder::read(slice, out);
  } else if (tensor.has_raw_data()) {
    BYOC_CHECK(tensor.raw_data().size() == static_cast<uint64_t>(size), "tensor_spec checks sizes");
    if (size > 0) std::memcpy(out, tensor.raw_data().data(), static_cast<size_t>(size));
  } else {
    BYOC_CHECK(field_size(tensor, spec.dtype) == num_elements(spec), "tensor_spec checks sizes");
    status = read_field(tensor, spec.dtype, out);
  }
  if (!status.ok()) return std::move(status).at(place_of(tensor));
  if (spec.dtype == DType::kBool) {  // kernels rely on 0 and 1
    for (int64_t k = 0; k < size; ++k) out[k] = std::byte{out[k] != std::byte{0}};
  }
  return {};
}

TensorType tensor_type(const TensorSpec& spec) { return {spec.dtype, make_shape(spec.dims)}; }

Result<TypedBuffer> read_tensor(const TensorProto& tensor, const ExternalFolder& folder) {
  BYOC_TRY(TensorSpec spec, tensor_spec(tensor, folder));
  BYOC_TRY(int64_t size, size_bytes(spec));
  Status status;
  auto buffer = Buffer::make(static_cast<size_t>(size), [&](std::byte* out) {
    status = read_elements(tensor, spec, folder, out);
  });
  BYOC_TRY_STATUS(std::move(status));
  return TypedBuffer{tensor_type(spec), std::move(buffer)};
}

}  // namespace byoc::onnx_import
