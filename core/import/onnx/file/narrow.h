// SPDX-License-Identifier: Apache-2.0
#pragma once
// ONNX's element types of at most 8 bits that byoc's IR lacks: they are kept as one byte per
// element, a number for integers and a code for floats (op encode_float). The importer remembers
// the type of such values, and what reads them.
#include <span>
#include <string>

#include "byoc/base/dtype.h"

namespace byoc::onnx_import {

/// One of these types.
struct NarrowType {
  int32_t onnx;        ///< ONNX's number
  const char* name;    ///< in ONNX
  int bits;            ///< in files, packed
  DType stored;        ///< u8, or i8 for integers with a sign
  const char* format;  ///< of the op encode_float; "" for integers
  bool is_float() const { return *format != '\0'; }
  int64_t least() const { return stored == DType::kI8 ? -(int64_t{1} << (bits - 1)) : 0; }
  int64_t most() const { return least() + (int64_t{1} << bits) - 1; }
};

/// Returns null for other types.
const NarrowType* narrow_type(int32_t onnx_dtype);
/// Returns the dtype of an ONNX type, or the one that a narrow type is stored in.
/// Errors: as dtype_from_onnx.
Result<DType> stored_dtype(int32_t onnx_dtype);

/// Returns the bytes of n packed elements.
int64_t packed_size(const NarrowType& type, int64_t n);
/// Unpacks n elements, lowest bits first, to one byte each.
void unpack(const NarrowType& type, std::span<const std::byte> packed, int64_t n, std::byte* out);

/// Returns true for ops that move elements without reading them, so that they take narrow types and
/// return the type of their first operand.
bool moves_narrow(const std::string& op_type);
/// Returns true for ops whose rows read narrow types.
bool reads_narrow(const std::string& op_type);

}  // namespace byoc::onnx_import
