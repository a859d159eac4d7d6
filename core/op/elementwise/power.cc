// SPDX-License-Identifier: Apache-2.0
// power: the two dtypes may differ, as in ONNX; the result has the dtype of the base.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {
namespace {

// Computes by squaring; wraps around like a product. A negative exponent gives the
// quotient cut towards 0.
template <class T>
T integer_power(T base, int64_t exponent) {
  if (exponent < 0) {
    bool is_minus_one = std::is_signed_v<T> && base == static_cast<T>(-1);
    if (is_minus_one) return exponent % 2 ? base : T(1);
    return base == T(1) ? T(1) : T(0);
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (auto bits = static_cast<uint64_t>(exponent); bits; bits >>= 1) {
    if (bits & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T, class E>
T power_of(T base, E exponent) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(base, static_cast<T>(exponent));
  } else if constexpr (std::is_integral_v<E>) {
    return integer_power(base, static_cast<int64_t>(exponent));
  } else {
    bool is_whole = exponent == std::trunc(exponent) && std::abs(exponent) < 0x1p53;
    if (is_whole) return integer_power(base, static_cast<int64_t>(exponent));
    return saturated<T>(std::pow(static_cast<double>(base), exponent));
  }
}

template <class T>
double element(const void* data, int64_t k) {
  return static_cast<double>(Compute<T>(static_cast<const T*>(data)[k]));
}

// Reads an exponent of another dtype than the base. These are few and slow, so one switch per
// element is acceptable.
double element_of(DType dtype, const void* data, int64_t k) {
  switch (dtype) {
    case DType::kF32:
      return element<float>(data, k);
    case DType::kF64:
      return element<double>(data, k);
    case DType::kF16:
      return element<f16>(data, k);
    case DType::kBF16:
      return element<bf16>(data, k);
    case DType::kI8:
      return element<int8_t>(data, k);
    case DType::kU8:
      return element<uint8_t>(data, k);
    case DType::kI16:
      return element<int16_t>(data, k);
    case DType::kU16:
      return element<uint16_t>(data, k);
    case DType::kI32:
      return element<int32_t>(data, k);
    case DType::kU32:
      return element<uint32_t>(data, k);
    case DType::kI64:
      return element<int64_t>(data, k);
    case DType::kU64:
      return element<uint64_t>(data, k);
    case DType::kBool:
      return element<bool>(data, k);
  }
  return 0;
}

using MixedRow = void (*)(const void* base, const void* exponents, DType dtype, int64_t first,
                          void* y, int64_t n, const std::array<int64_t, 2>& step);

template <class T>
void mixed_row(const void* base, const void* exponents, DType dtype, int64_t first, void* y,
               int64_t n, const std::array<int64_t, 2>& step) {
  const T* a = static_cast<const T*>(base);
  for (int64_t k = 0; k < n; ++k) {
    double exponent = element_of(dtype, exponents, first + k * step[1]);
    static_cast<T*>(y)[k] = static_cast<T>(power_of(Compute<T>(a[k * step[0]]), exponent));
  }
}

RefKernel mixed_kernel(Types inputs, Types outputs, MixedRow row) {
  BYOC_CHECK(inputs.size() == 2 && outputs.size() == 1, inputs.size(), " operands of power");
  const Shape& to = outputs[0]->shape;
  Walk<2> walk(static_extents(to),
               {broadcast_strides(inputs[0]->shape, to), broadcast_strides(inputs[1]->shape, to)});
  auto size = static_cast<int64_t>(dtype_size(inputs[0]->dtype));
  return [=, walk = std::move(walk), dtype = inputs[1]->dtype](const void* const* in,
                                                               void* const* out) {
    char* y = out_as<char>(out, 0);
    walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
      row(in_as<char>(in, 0) + at[0] * size, in[1], dtype, at[1], y, n, step);
      y += n * size;
    });
  };
}

Result<std::vector<TensorType>> infer_power(Types inputs, const Attrs&) {
  constexpr DTypes kNumeric = dtypes_of(NumericTypes{});
  BYOC_TRY_STATUS(expect_dtype("power", "a", inputs[0], kNumeric));
  BYOC_TRY_STATUS(expect_dtype("power", "b", inputs[1], kNumeric));
  BYOC_TRY(Shape shape, broadcast_shapes("power", inputs));
  return one_result({inputs[0]->dtype, std::move(shape)});
}

Result<RefKernel> reference_power(Types inputs, Types outputs, const Attrs&) {
  constexpr NumericTypes kNumeric;
  DType dtype = inputs[0]->dtype;
  if (dtype != inputs[1]->dtype) {
    BYOC_TRY(MixedRow row, for_dtype<MixedRow>("power", dtype, kNumeric,
                                               []<class T>() -> MixedRow { return mixed_row<T>; }));
    return mixed_kernel(inputs, outputs, row);
  }
  auto power = [](auto a, auto b) { return power_of(a, b); };
  BYOC_TRY(BroadcastRow row,
           for_dtype<BroadcastRow>("power", dtype, kNumeric, []<class T>() -> BroadcastRow {
             return broadcast_row<T, T, decltype(power)>;
           }));
  return broadcast_kernel(inputs, outputs, row, std::make_shared<decltype(power)>(power));
}

// Writes integer_power as statements: by squaring, because few exponents have more than four bits.
te::Stmt integer_power(const Expr& base, const Expr& exponent, const auto& give) {
  Scalar result("result", base.dtype()), square("square", base.dtype());
  Expr one = like(base, 1), none = zero(base.dtype());
  Expr bits = select(exponent < 16, Expr(4), Expr(63));
  te::Stmt squaring = te::loop("bit", bits, [&](Expr bit) {
    Expr rest = te::binary(te::BinaryOp::kShiftRight, exponent, bit);
    Expr is_set = te::binary(te::BinaryOp::kAnd, rest, 1) == Expr(1);
    return te::make_block({te::make_if(is_set, result.set(result.get() * square.get())),
                           square.set(square.get() * square.get())});
  });
  Expr reciprocal = select(base == one, one, none);
  if (is_signed_int(base.dtype())) {
    Expr is_odd = te::binary(te::BinaryOp::kAnd, exponent, 1) == Expr(1);
    reciprocal = select(base == like(base, -1), select(is_odd, base, one), reciprocal);
  }
  te::Stmt positive =
      te::make_block({result.set(one), square.set(base), squaring, give(result.get())});
  return te::make_if(exponent < 0, give(reciprocal), result.in(square.in(positive)));
}

// Computes one element of integers to any power; `give(value)` stores it.
te::Stmt integer_element(const Expr& base, const Expr& exponent, const auto& give) {
  if (base.dtype() == exponent.dtype())
    return integer_power(base, te::cast(DType::kI64, exponent), give);
  te::Var power("power", DType::kF64);
  Expr p = power, size = te::unary(te::UnaryOp::kAbs, p);
  Expr is_whole = p == te::unary(te::UnaryOp::kTrunc, p) && size < like(p, 0x1p53);
  Expr rounded = te::cast(DType::kI64, select(is_whole, p, like(p, 0)));
  Expr any = te::binary(te::BinaryOp::kPower, te::cast(DType::kF64, base), p);
  te::Stmt choice = te::make_if(is_whole, integer_power(base, rounded, give),
                                give(converted_to(base.dtype(), any)));
  return te::make_let(power, te::cast(DType::kF64, widened(exponent)), choice);
}

Result<Tensors> compute_power(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  if (is_float(out[0]->dtype)) {
    auto power = [](Expr a, Expr b) {
      return te::binary(te::BinaryOp::kPower, a, te::cast(a.dtype(), b));
    };
    return broadcast_compute("power", always(power))(builder, in, out, attrs);
  }
  BYOC_CHECK(in.size() == 2, in.size(), " operands of power");
  for (Dim dim : out[0]->shape)
    if (is_open(dim)) return needs_number("power", dim);
  return builder.procedure("power", {*out[0]}, {in.begin(), in.end()}, [&](const Tensors& y) {
    return nested_loops(static_extents(out[0]->shape), [&](const Exprs& i) {
      auto give = [&](Expr value) { return te::make_store(y[0], i, std::move(value)); };
      return integer_element(in[0](broadcast_index(in[0], i)), in[1](broadcast_index(in[1], i)),
                             give);
    });
  });
}

}  // namespace

void add_power_ops(OpRegistry& ops) {
  OpDef op{.name = "power", .kind = FusionKind::kBroadcast};
  op.doc = "y = a^b in the dtype of a; integers wrap around, and a^b is cut towards 0 where b < 0";
  op.inputs = {{"a", "any number"}, {"b", "any number, broadcast with a"}};
  op.infer = infer_power;
  op.reference = reference_power;
  op.compute = with_open_sizes(compute_power);
  ops.add(std::move(op));
}

}  // namespace byoc::op
