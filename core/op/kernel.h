#pragma once
// Typed loops: from a DType to a C++ type once, then plain loops over raw pointers.
// f16 and bf16 are Eigen's types; they are computed in f32.
#include <Eigen/Core>
#include <type_traits>

#include "core/op/util.h"

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
/// What an element is computed in: f32 for the two 16-bit floats, else its own type.
template <class T>
using Compute = std::conditional_t<is_half<T>, float, T>;
/// What sums of T are kept in: f64 for floats; integers wrap around, as unsigned numbers do.
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

/// Calls make.operator()<T>() for the C++ type T of `dtype`.
/// Errors: kUnimplemented when `dtype` is not in the list.
template <class... Ts, class Make>
Result<RefKernel> for_dtype(std::string_view op, DType dtype, TypeList<Ts...> list, Make&& make) {
  Result<RefKernel> made = Status(Code::kUnimplemented, "");
  bool found = ((dtype == dtype_of<Ts>() && (made = make.template operator()<Ts>(), true)) || ...);
  if (found) return made;
  return unimplemented(cat(op, " has no kernel for ", dtype, ", only for ", dtypes_of(list)));
}

/// y[k] = f(x[k]).
template <class From, class To, class F>
RefKernel map_kernel(int64_t n, F f) {
  return [n, f](const void* const* in, void* const* out) {
    const From* x = in_as<From>(in, 0);
    To* y = out_as<To>(out, 0);
    for (int64_t k = 0; k < n; ++k) y[k] = static_cast<To>(f(static_cast<Compute<From>>(x[k])));
  };
}

/// y = f(a, b) with numpy's broadcasting.
template <class From, class To, class F>
RefKernel broadcast_kernel(Types inputs, Types outputs, F f) {
  const Shape& to = outputs[0]->shape;
  Walk<2> walk(static_extents(to),
               {broadcast_strides(inputs[0]->shape, to), broadcast_strides(inputs[1]->shape, to)});
  return [walk = std::move(walk), f](const void* const* in, void* const* out) {
    using C = Compute<From>;
    To* y = out_as<To>(out, 0);
    walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
      const From* a = in_as<From>(in, 0) + at[0];
      const From* b = in_as<From>(in, 1) + at[1];
      if (step[0] == 1 && step[1] == 1) {
        for (int64_t k = 0; k < n; ++k) y[k] = static_cast<To>(f(C(a[k]), C(b[k])));
      } else if (step[0] == 1 && step[1] == 0) {
        const C scalar(b[0]);
        for (int64_t k = 0; k < n; ++k) y[k] = static_cast<To>(f(C(a[k]), scalar));
      } else {
        for (int64_t k = 0; k < n; ++k)
          y[k] = static_cast<To>(f(C(a[k * step[0]]), C(b[k * step[1]])));
      }
      y += n;
    });
  };
}

}  // namespace byoc::op
