// SPDX-License-Identifier: Apache-2.0
// Floats of 4 to 8 bits, kept as codes in u8: encode_float and decode_float.
// Sources: ONNX opset 28, Cast (rules of saturation); OCP Microscaling Formats 1.0, section 5.3;
// arXiv:2209.05433 (E4M3FN, E5M2); arXiv:2206.02915 (the FNUZ formats).
#include <bit>
#include <cmath>
#include <limits>

#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

// The codes that are no numbers.
enum class Special : uint8_t {
  kNone,   // there are none
  kFn,     // all ones but the sign: NaN
  kIeee,   // the greatest exponent: infinity and NaN
  kFnuz,   // the sign alone: NaN, instead of -0
  kScale,  // f8e8m0, a power of 2 without sign; 255: NaN
};

struct Format {
  std::string_view name;
  int bits, mantissa, bias;
  Special special;

  int64_t sign() const { return int64_t{1} << (bits - 1); }
  int64_t most() const {  // the code of the greatest finite number
    if (special == Special::kScale) return 254;
    if (special == Special::kFn) return sign() - 2;
    if (special == Special::kIeee) return infinity() - 1;
    return sign() - 1;
  }
  int64_t infinity() const { return sign() - (int64_t{1} << mantissa); }
  int64_t nan() const {
    if (special == Special::kScale) return 255;
    if (special == Special::kFn) return sign() - 1;
    if (special == Special::kIeee) return infinity() + (int64_t{1} << (mantissa - 1));
    return sign();
  }
  // Returns the code of numbers that are too large.
  int64_t beyond(bool saturate) const {
    if (saturate || special == Special::kNone) return most();
    return special == Special::kIeee ? infinity() : nan();
  }
  int least_exponent() const { return 1 - bias; }
};

constexpr Format kFormats[] = {
    {"f8e4m3fn", 8, 3, 7, Special::kFn},    {"f8e4m3fnuz", 8, 3, 8, Special::kFnuz},
    {"f8e5m2", 8, 2, 15, Special::kIeee},   {"f8e5m2fnuz", 8, 2, 16, Special::kFnuz},
    {"f8e8m0", 8, 0, 127, Special::kScale}, {"f6e2m3", 6, 3, 1, Special::kNone},
    {"f6e3m2", 6, 2, 3, Special::kNone},    {"f4e2m1", 4, 1, 1, Special::kNone},
};

Result<Format> read_format(std::string_view op, const Attrs& attrs) {
  std::string name = attrs.s("format"), all;
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
    all += cat(all.empty() ? "" : ", ", format.name);
  }
  return invalid(cat(op, ": format is \"", name, "\", expected one of ", all));
}

enum class Rounding : uint8_t { kNearest, kUp, kDown };

struct Encoding {
  Format format;
  bool saturate;
  Rounding rounding;  // of f8e8m0; the other formats round to the nearest, halves to even
};

Result<Encoding> read_encoding(const Attrs& attrs) {
  BYOC_TRY(Format format, read_format("encode_float", attrs));
  std::string rounding = attrs.s("rounding", "nearest");
  Encoding encoding{format, attrs.b("saturate", true), Rounding::kNearest};
  if (rounding == "up") encoding.rounding = Rounding::kUp;
  else if (rounding == "down") encoding.rounding = Rounding::kDown;
  else if (rounding != "nearest")
    return invalid(
        cat("encode_float: rounding is \"", rounding, "\", expected nearest, up or down"));
  return encoding;
}

// ---- as numbers

int64_t encode_scale(const Encoding& how, double x) {
  const Format& f = how.format;
  if (std::isnan(x) || x < 0) return f.nan();
  if (x == 0) return how.saturate ? 0 : f.nan();
  if (std::isinf(x)) return how.saturate ? f.most() : f.nan();
  int exponent = std::ilogb(x);
  double part = std::ldexp(x, -exponent);  // in [1, 2)
  if (how.rounding == Rounding::kUp ? part > 1 : how.rounding == Rounding::kNearest && part >= 1.5)
    ++exponent;
  int64_t code = exponent + f.bias;
  if (code >= 0 && code <= f.most()) return code;
  return how.saturate ? (code < 0 ? 0 : f.most()) : f.nan();
}

int64_t encode(const Encoding& how, double x) {
  const Format& f = how.format;
  if (f.special == Special::kScale) return encode_scale(how, x);
  const bool is_negative = std::signbit(x), has_zeros = f.special != Special::kFnuz;
  const int64_t sign = is_negative ? f.sign() : 0;
  if (std::isnan(x)) return f.nan();  // its sign is not determined: processors differ
  double size = std::fabs(x);
  int64_t code = f.most() + 1;
  if (!std::isinf(x)) {
    int exponent = size == 0 ? f.least_exponent() : std::max(std::ilogb(size), f.least_exponent());
    if (exponent < 1024 - f.mantissa) {
      double steps = std::nearbyint(std::ldexp(size, f.mantissa - exponent));
      int64_t binade = exponent - f.least_exponent();
      code = binade > f.sign() ? code : (binade << f.mantissa) + static_cast<int64_t>(steps);
    }
  }
  if (code > f.most()) code = f.beyond(how.saturate);
  if (code == f.nan() && !has_zeros) return code;
  return code == 0 && !has_zeros ? 0 : code | sign;
}

double decode(const Format& f, int64_t code) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.special == Special::kScale)
    return code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - f.bias);
  code &= 2 * f.sign() - 1;
  if (f.special == Special::kFnuz && code == f.sign()) return kNan;
  const int64_t size = code & (f.sign() - 1), part = size & ((int64_t{1} << f.mantissa) - 1);
  const int exponent = static_cast<int>(size >> f.mantissa);
  double value = std::ldexp(static_cast<double>(part + (exponent ? int64_t{1} << f.mantissa : 0)),
                            std::max(exponent, 1) - f.bias - f.mantissa);
  if (f.special == Special::kFn && size == f.nan()) value = kNan;
  if (f.special == Special::kIeee && size >= f.infinity())
    value = size == f.infinity() ? std::numeric_limits<double>::infinity() : kNan;
  return code & f.sign() ? -value : value;
}

// ---- as expressions, on the bits of f64

constexpr int64_t kDoubleBias = 1023, kDoubleMantissa = 52;

Expr f64(double value) { return te::constant(DType::kF64, value); }
Expr i64_bits(const Expr& x) { return te::bitcast(DType::kI64, x); }
Expr shifted_left(const Expr& x, int64_t by) {
  return te::binary(te::BinaryOp::kShiftLeft, x, Expr(by));
}
Expr shifted_right(const Expr& x, int64_t by) {
  return te::binary(te::BinaryOp::kShiftRight, x, Expr(by));
}
Expr masked(const Expr& x, int64_t mask) { return te::binary(te::BinaryOp::kAnd, x, Expr(mask)); }
Expr power_of_2(const Expr& exponent) {
  return te::bitcast(DType::kF64, shifted_left(exponent + kDoubleBias, kDoubleMantissa));
}
// Returns the exponent of |x|, and -1023 for numbers below 2^-1022.
Expr exponent_of(const Expr& x) {
  return masked(shifted_right(i64_bits(x), kDoubleMantissa), 0x7ff) - kDoubleBias;
}

Expr encode_scale_expr(const Encoding& how, const Expr& x) {
  const Format& f = how.format;
  Expr part = masked(i64_bits(x), (int64_t{1} << kDoubleMantissa) - 1), code = exponent_of(x);
  int64_t half = int64_t{1} << (kDoubleMantissa - 1);
  if (how.rounding == Rounding::kUp) code = select(part > Expr(0), code + 1, code);
  if (how.rounding == Rounding::kNearest) code = select(part >= Expr(half), code + 1, code);
  code = code + f.bias;
  if (how.saturate) code = clamped(code, 0, f.most());
  else code = select(is_within(code, f.most() + 1) && x > f64(0), code, Expr(f.nan()));
  return select(is_nan(x) || x < f64(0), Expr(f.nan()), code);
}

Expr encode_expr(const Encoding& how, const Expr& x) {
  const Format& f = how.format;
  if (f.special == Special::kScale) return encode_scale_expr(how, x);
  const bool has_zeros = f.special != Special::kFnuz;
  Expr size = te::unary(te::UnaryOp::kAbs, x);
  Expr exponent = max(exponent_of(size), Expr(f.least_exponent()));
  // Numbers of 2^60 and more are beyond every format.
  Expr steps =
      te::unary(te::UnaryOp::kRound, size * power_of_2(Expr(f.mantissa) - min(exponent, Expr(60))));
  Expr code = (exponent - f.least_exponent()) * (int64_t{1} << f.mantissa) +
              te::cast(DType::kI64, min(steps, f64(0x1p10)));
  code = select(size >= f64(0x1p60), Expr(f.beyond(how.saturate)),
                select(code > Expr(f.most()), Expr(f.beyond(how.saturate)), code));
  Expr with_sign = code + select(i64_bits(x) < Expr(0), Expr(f.sign()), Expr(0));
  if (has_zeros) return select(is_nan(x), Expr(f.nan()), with_sign);
  Expr plain = select(code == Expr(0) || code == Expr(f.nan()), code, with_sign);
  return select(is_nan(x), Expr(f.nan()), plain);
}

Expr decode_expr(const Format& f, const Expr& given) {
  Expr nan = f64(std::numeric_limits<double>::quiet_NaN());
  if (f.special == Special::kScale)
    return select(given == Expr(255), nan, power_of_2(given - f.bias));
  Expr code = masked(given, 2 * f.sign() - 1), size = masked(code, f.sign() - 1);
  Expr part = masked(size, (int64_t{1} << f.mantissa) - 1);
  Expr exponent = shifted_right(size, f.mantissa);
  Expr steps = select(exponent > Expr(0), part + (int64_t{1} << f.mantissa), part);
  Expr value =
      te::cast(DType::kF64, steps) * power_of_2(max(exponent, Expr(1)) - (f.bias + f.mantissa));
  if (f.special == Special::kFn) value = select(size == Expr(f.nan()), nan, value);
  if (f.special == Special::kIeee) {
    Expr inf = f64(std::numeric_limits<double>::infinity());
    value = select(size == Expr(f.infinity()), inf, select(size > Expr(f.infinity()), nan, value));
  }
  value = select(code >= Expr(f.sign()), -value, value);
  return f.special == Special::kFnuz ? select(code == Expr(f.sign()), nan, value) : value;
}

// ---- ops

OpDef encode_float() {
  OpDef op{.name = "encode_float", .kind = FusionKind::kElementwise};
  op.doc =
      "y = the code of x in a format of at most 8 bits, rounded to the nearest, halves to even";
  op.inputs = {{"x", "any float"}};
  op.outputs = {{"y", "u8"}};
  op.attrs = {
      {"format", "", "f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, f6e2m3, f6e3m2 or f4e2m1",
       AttrSpec::kRequired},
      {"saturate", true,
       "numbers that are too large, and infinity, become the greatest number; else infinity "
       "or NaN"},
      {"rounding", "nearest", "of f8e8m0: nearest (halves up), up or down"}};
  op.infer = [](Types in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype("encode_float", "x", in[0], dtypes_of(FloatTypes{})));
    BYOC_TRY_STATUS(read_encoding(attrs).status());
    return one_result({DType::kU8, in[0]->shape});
  };
  op.reference = [](Types in, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(Encoding how, read_encoding(attrs));
    return for_dtype("encode_float", in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
      return [how, n = count(in[0])](const void* const* from, void* const* to) {
        const T* x = in_as<T>(from, 0);
        for (int64_t k = 0; k < n; ++k)
          out_as<uint8_t>(to, 0)[k] = static_cast<uint8_t>(encode(how, static_cast<double>(x[k])));
      };
    });
  };
  op.compute = with_open_sizes(
      [](te::Builder& builder, Inputs in, Types, const Attrs& attrs) -> Result<Tensors> {
        BYOC_TRY(Encoding how, read_encoding(attrs));
        return one(builder.compute("encode_float", in[0].shape(), [&](const Exprs& i) {
          return te::cast(DType::kU8, encode_expr(how, te::cast(DType::kF64, widened(in[0](i)))));
        }));
      });
  return op;
}

OpDef decode_float() {
  OpDef op{.name = "decode_float", .kind = FusionKind::kElementwise};
  op.doc =
      "y = the number of a code of encode_float, exact in f32; bits above the format's are not "
      "read";
  op.inputs = {{"x", "u8"}};
  op.outputs = {{"y", "f32"}};
  op.attrs = {{"format", "", "as of encode_float", AttrSpec::kRequired}};
  op.infer = [](Types in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype("decode_float", "x", in[0], {DType::kU8}));
    BYOC_TRY_STATUS(read_format("decode_float", attrs).status());
    return one_result({DType::kF32, in[0]->shape});
  };
  op.reference = [](Types in, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(Format format, read_format("decode_float", attrs));
    return RefKernel([format, n = count(in[0])](const void* const* from, void* const* to) {
      const uint8_t* x = in_as<uint8_t>(from, 0);
      for (int64_t k = 0; k < n; ++k)
        out_as<float>(to, 0)[k] = static_cast<float>(decode(format, x[k]));
    });
  };
  op.compute = with_open_sizes(
      [](te::Builder& builder, Inputs in, Types, const Attrs& attrs) -> Result<Tensors> {
        BYOC_TRY(Format format, read_format("decode_float", attrs));
        return one(builder.compute("decode_float", in[0].shape(), [&](const Exprs& i) {
          return te::cast(DType::kF32, decode_expr(format, te::cast(DType::kI64, in[0](i))));
        }));
      });
  return op;
}

}  // namespace

void add_minifloat_ops(OpRegistry& ops) {
  ops.add(encode_float());
  ops.add(decode_float());
}

}  // namespace byoc::op
