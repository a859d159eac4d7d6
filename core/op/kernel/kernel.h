// SPDX-License-Identifier: Apache-2.0
#pragma once
// Typed loops: from a DType to a C++ type once, then plain loops over raw pointers.
// f16 and bf16 are Eigen's types; they are computed in f32.
#include <Eigen/Core>
#include <memory>
#include <type_traits>

#include "core/op/kernel/util.h"

namespace byoc::op {

using f16 = Eigen::half;
using bf16 = Eigen::bfloat16;

template <class... Ts>
struct TypeList {};
template <class... As, class... Bs>
TypeList<As..., Bs...> operator+(TypeList<As...>, TypeList<Bs...>);

using FloatTypes = TypeList<float, double, f16, bf16>;
using SignedTypes = TypeList<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using BoolTypes = TypeList<bool>;
using IntTypes = decltype(SignedTypes{} + UnsignedTypes{});
using NumericTypes = decltype(FloatTypes{} + IntTypes{});
using AllTypes = decltype(NumericTypes{} + BoolTypes{});
static_assert(sizeof(bool) == 1, "a bool tensor holds one byte an element");

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  else if constexpr (std::is_same_v<T, double>) return DType::kF64;
  else if constexpr (std::is_same_v<T, f16>) return DType::kF16;
  else if constexpr (std::is_same_v<T, bf16>) return DType::kBF16;
  else if constexpr (std::is_same_v<T, int8_t>) return DType::kI8;
  else if constexpr (std::is_same_v<T, uint8_t>) return DType::kU8;
  else if constexpr (std::is_same_v<T, int16_t>) return DType::kI16;
  else if constexpr (std::is_same_v<T, uint16_t>) return DType::kU16;
  else if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
  else if constexpr (std::is_same_v<T, uint32_t>) return DType::kU32;
  else if constexpr (std::is_same_v<T, int64_t>) return DType::kI64;
  else if constexpr (std::is_same_v<T, uint64_t>) return DType::kU64;
  else {
    static_assert(std::is_same_v<T, bool>);
    return DType::kBool;
  }
}

template <class... Ts>
constexpr DTypes dtypes_of(TypeList<Ts...>) {
  return {dtype_of<Ts>()...};
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
/// The type that an element is computed in: f32 for the two 16-bit floats, else its own type.
template <class T>
using Compute = std::conditional_t<is_half<T>, float, T>;
/// The type of sums of T: f64 for floats; integers wrap around, as unsigned numbers do.
template <class T>
using Sum = std::conditional_t<is_half<T> || std::is_floating_point_v<T>, double, uint64_t>;

template <class T>
const T* in_as(const void* const* in, size_t k) {
  return static_cast<const T*>(in[k]);
}
template <class T>
T* out_as(void* const* out, size_t k) {
  return static_cast<T*>(out[k]);
}

/// Returns make.operator()<T>() for the C++ type T of `dtype`: a kernel, or a loop for one. Errors:
/// kUnimplemented when `dtype` is not in the list.
template <class Made = RefKernel, class... Ts, class Make>
Result<Made> for_dtype(std::string_view op, DType dtype, TypeList<Ts...> list, Make&& make) {
  Result<Made> made = Status(Code::kUnimplemented, "");
  bool found = ((dtype == dtype_of<Ts>() && (made = make.template operator()<Ts>(), true)) || ...);
  if (found) return made;
  return unimplemented(cat(op, " has no kernel for ", dtype, ", only for ", dtypes_of(list)));
}

/// Typed loops over one row; `f` points at the function object that the kernel holds. Only these
/// are compiled per op and element type; the rest of a kernel is compiled once.
using MapRow = void (*)(const void* f, const void* x, void* y, int64_t n);
using BroadcastRow = void (*)(const void* f, const void* a, const void* b, void* y, int64_t n,
                              const std::array<int64_t, 2>& step);
RefKernel map_kernel(int64_t n, MapRow row, std::shared_ptr<const void> f);
/// Returns the kernel of y = f(a, b) with numpy's broadcasting; both inputs have one dtype.
RefKernel broadcast_kernel(Types inputs, Types outputs, BroadcastRow row,
                           std::shared_ptr<const void> f);

/// Returns the function object at `f`; one without state is constructed, and `f` is not read.
template <class F>
decltype(auto) function_at(const void* f) {
  if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F>) return F{};
  else return *static_cast<const F*>(f);
}

template <class From, class To, class F>
void map_row(const void* f, const void* x, void* y, int64_t n) {
  const F& function = function_at<F>(f);
  const From* from = static_cast<const From*>(x);
  To* to = static_cast<To*>(y);
  for (int64_t k = 0; k < n; ++k) to[k] = static_cast<To>(function(Compute<From>(from[k])));
}

template <class From, class To, class F>
void broadcast_row(const void* f, const void* a, const void* b, void* y, int64_t n,
                   const std::array<int64_t, 2>& step) {
  using C = Compute<From>;
  const F& function = function_at<F>(f);
  const From *left = static_cast<const From*>(a), *right = static_cast<const From*>(b);
  To* to = static_cast<To*>(y);
  if (step[0] == 1 && step[1] == 1) {
    for (int64_t k = 0; k < n; ++k) to[k] = static_cast<To>(function(C(left[k]), C(right[k])));
  } else {
    const int64_t left_step = step[0], right_step = step[1];
    for (int64_t k = 0; k < n; ++k)
      to[k] = static_cast<To>(function(C(left[k * left_step]), C(right[k * right_step])));
  }
}

/// One of an op's typed rows; all rows of one op have the function object of one type.
template <class Row>
struct TypedRow {
  DType dtype;
  Row row;
};
template <class Row>
using TypedRows = std::vector<TypedRow<Row>>;
/// Makes the function object of an op from its attributes; null: the object has no state.
using MakeFunction = std::function<std::shared_ptr<const void>(const Attrs&)>;

template <class F, bool kToBool, class... Ts>
TypedRows<MapRow> map_rows(TypeList<Ts...>) {
  return {{dtype_of<Ts>(), map_row<Ts, std::conditional_t<kToBool, bool, Ts>, F>}...};
}
template <class F, bool kToBool, class... Ts>
TypedRows<BroadcastRow> broadcast_rows(TypeList<Ts...>) {
  return {{dtype_of<Ts>(), broadcast_row<Ts, std::conditional_t<kToBool, bool, Ts>, F>}...};
}
template <class Row>
DTypes dtypes_of(const TypedRows<Row>& rows) {
  DTypes out;
  for (const TypedRow<Row>& row : rows) out.add(row.dtype);
  return out;
}
/// Returns the row for `dtype`. Errors: kUnimplemented when there is none.
template <class Row>
Result<Row> row_for(std::string_view op, DType dtype, const TypedRows<Row>& rows) {
  for (const TypedRow<Row>& row : rows) {
    if (row.dtype == dtype) return row.row;
  }
  return unimplemented(cat(op, " has no kernel for ", dtype, ", only for ", dtypes_of(rows)));
}

}  // namespace byoc::op
