// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the numbers of quantised ops, and adds ops and constants to a function that is rewritten.
#include <optional>
#include <span>
#include <vector>

#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
#include "byoc/pass/pattern.h"

namespace byoc::integers {

/// Returns a dequantize's pattern, with and without zero point. `kind` of operand: "any", "const".
std::string dequantized(std::string_view name, std::string_view kind);

/// Returns the value that a match captured under this name; nullopt: none.
std::optional<ValueId> captured(const Match& match, std::string_view name);

/// Returns the elements of a constant as f32, which holds integers of 8 bits exactly; nullopt for
/// other values, and for types that are no f32, u8 or i8.
std::optional<std::vector<float>> numbers_of(const Function& function, ValueId value);

inline bool is_byte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

/// A scale and a zero point of a quantize or dequantize.
struct Scale {
  std::vector<float> factors;      // one, or one per entry of a dim
  std::vector<float> zero_points;  // one, or one per entry
  float factor(size_t k) const { return factors[factors.size() == 1 ? 0 : k]; }
  float zero_point(size_t k) const { return zero_points[zero_points.size() == 1 ? 0 : k]; }
  bool is_single() const { return factors.size() == 1; }
};
/// Reads NAME_scale and NAME_zero of a match; without the latter zero points are 0. Returns nullopt
/// when one is no constant, or a factor is not positive and finite.
std::optional<Scale> scale_of(const Function& function, const Match& match, std::string_view name);

/// Records in the attributes of a product of integers that all its weights are small, if they are:
/// magnitudes of at most 64, of which two products with u8 fit in i16.
void set_most_weight(Attrs& attrs, std::span<const int8_t> weights);

/// Adds ops and constants. Borrows all that it is made of.
class Adder {
 public:
  Adder(IRModule& module, const OpRegistry& ops, Function& to, Symbol loc)
      : module_(module), ops_(ops), to_(to), loc_(loc) {}
  /// Adds an op. Operands are values of the new function. Aborts when their types do not fit.
  ValueId add(std::string_view op, Attrs attrs, std::vector<ValueId> args);
  template <class T>
  ValueId constant(DType dtype, Shape shape, const std::vector<T>& values) {
    return constant(TensorType{dtype, std::move(shape)}, std::as_bytes(std::span(values)));
  }

 private:
  ValueId constant(TypeId type, std::span<const std::byte> bytes);

  IRModule& module_;
  const OpRegistry& ops_;
  Function& to_;
  Symbol loc_;
};

}  // namespace byoc::integers
