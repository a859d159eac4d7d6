// SPDX-License-Identifier: Apache-2.0
// Compares the machine code of every scalar operation of every type, for scalars and vectors, with
// the interpreter of tensor expressions.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "byoc/te/evaluate.h"
#include "run_loops.h"

namespace byoc {
namespace {

using te::BinaryOp;
using te::LoopKind;
using te::UnaryOp;

constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                            DType::kU8,  DType::kI16, DType::kU16, DType::kI32,  DType::kU32,
                            DType::kI64, DType::kU64, DType::kBool};
constexpr int64_t kCount = 61;  // not a multiple of any number of lanes

/// Returns small numbers of both signs as bytes of `dtype`. For divisors, none is 0.
test::Data numbers(DType dtype, uint32_t seed, bool with_zero = true) {
  std::minstd_rand random(seed);
  te::Tensor y("y", dtype, {kCount});
  std::vector<te::Stmt> stores;
  for (int64_t k = 0; k < kCount; ++k) {
    int64_t x = static_cast<int64_t>(random() % 23) - 11;
    if (!with_zero && x == 0) x = 5;
    if (!is_float(dtype) && !is_signed_int(dtype)) x = x < 0 ? -x : x;
    te::Expr value = is_float(dtype) ? te::constant(dtype, static_cast<double>(x) * 0.375)
                                     : te::int_constant(dtype, x);
    stores.push_back(te::make_store(y, {k}, value));
  }
  test::Data out{dtype, std::vector<std::byte>(kCount * dtype_size(dtype))};
  void* outputs[] = {out.bytes.data()};
  Status status = te::evaluate({"numbers", {}, {y}, te::make_block(stores)}, {}, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

std::vector<test::Data> interpret(const te::LoopFunction& function,
                                  const std::vector<test::Data>& inputs) {
  std::vector<test::Data> out;
  for (const te::Tensor& y : function.outputs)
    out.push_back({y.dtype(), std::vector<std::byte>(kCount * dtype_size(y.dtype()))});
  std::vector<const void*> in;
  std::vector<void*> outputs;
  for (const test::Data& input : inputs) in.push_back(input.bytes.data());
  for (test::Data& output : out) outputs.push_back(output.bytes.data());
  Status status = te::evaluate(function, in, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

bool close(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance * std::fabs(b);
}

/// Compares floats with `tolerance`, because the functions of libm and ours differ in the last
/// digits. Other types are compared exactly.
void expect_same(const test::Data& got, const test::Data& expected, double tolerance,
                 const std::string& what) {
  if (got.dtype == DType::kF32 && tolerance > 0) {
    for (size_t k = 0; k < kCount; ++k)
      EXPECT_TRUE(close(got.as<float>()[k], expected.as<float>()[k], tolerance))
          << what << " " << k;
  } else if (got.dtype == DType::kF64 && tolerance > 0) {
    for (size_t k = 0; k < kCount; ++k)
      EXPECT_TRUE(close(got.as<double>()[k], expected.as<double>()[k], tolerance))
          << what << " " << k;
  } else {
    for (size_t k = 0; k < got.bytes.size(); ++k)
      ASSERT_EQ(got.bytes[k], expected.bytes[k])
          << what << ", element " << k / dtype_size(got.dtype);
  }
}

struct Case {
  std::string what;
  DType out;
  double tolerance;
  std::function<te::Expr(te::Expr, te::Expr)> value;
};

/// Checks y_k[i] = value_k(a[i], b[i]) for each case k. All loops are in one function.
void check(DType in, const std::vector<Case>& cases) {
  std::vector<test::Data> inputs = {numbers(in, 1), numbers(in, 2, false)};
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
    te::Tensor a("a", in, {kCount}), b("b", in, {kCount});
    te::LoopFunction function{"ops", {a, b}, {}, {}};
    std::vector<te::Stmt> loops;
    for (const Case& c : cases) {
      te::Tensor y("y", c.out, {kCount});
      function.outputs.push_back(y);
      auto store = [&](te::Expr i) { return te::make_store(y, {i}, c.value(a(i), b(i))); };
      loops.push_back(te::loop("i", kCount, store, kind));
    }
    function.body = te::make_block(loops);
    auto got = test::run_loops(function, inputs), expected = interpret(function, inputs);
    for (size_t k = 0; k < cases.size(); ++k)
      expect_same(got[k], expected[k], cases[k].tolerance, cases[k].what);
  }
}

bool has_unary(UnaryOp op, DType dtype) {
  if (op == UnaryOp::kNot) return dtype == DType::kBool;
  if (op == UnaryOp::kBitwiseNot) return is_int(dtype);
  return op <= UnaryOp::kAbs ? dtype != DType::kBool : is_float(dtype);
}

bool has_binary(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kFloorDivide:
    case BinaryOp::kFloorModulo:
      return is_int(dtype);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
      return false;  // their second operand has another range, see below
    case BinaryOp::kPower:
      return dtype == DType::kF32 || dtype == DType::kF64;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      return !is_float(dtype);
    default:
      return op >= BinaryOp::kEqual || dtype != DType::kBool;
  }
}

class OpsOfType : public ::testing::TestWithParam<DType> {};

TEST_P(OpsOfType, UnaryOnes) {
  DType dtype = GetParam();
  std::vector<Case> cases;
  bool is_rounded_twice = dtype == DType::kF16 || dtype == DType::kBF16;
  for (int k = 0; k <= static_cast<int>(UnaryOp::kIsInf); ++k) {
    auto op = static_cast<UnaryOp>(k);
    bool is_inexact = op >= UnaryOp::kExp && op <= UnaryOp::kAtanh;
    if (!has_unary(op, dtype) || (is_inexact && is_rounded_twice)) continue;
    bool gives_bool = op == UnaryOp::kIsNan || op == UnaryOp::kIsInf;
    cases.push_back({cat("unary ", k), gives_bool ? DType::kBool : dtype, is_inexact ? 4e-7 : 0,
                     [op](te::Expr a, te::Expr) { return te::unary(op, a); }});
  }
  check(dtype, cases);
}

TEST_P(OpsOfType, BinaryOnes) {
  DType dtype = GetParam();
  std::vector<Case> cases;
  for (int k = 0; k <= static_cast<int>(BinaryOp::kLessEqual); ++k) {
    auto op = static_cast<BinaryOp>(k);
    if (!has_binary(op, dtype)) continue;
    cases.push_back({cat("binary ", k), op >= BinaryOp::kEqual ? DType::kBool : dtype,
                     op == BinaryOp::kPower ? 4e-7 : 0,
                     [op](te::Expr a, te::Expr b) { return te::binary(op, a, b); }});
  }
  check(dtype, cases);
}

TEST_P(OpsOfType, CastsToEveryType) {
  std::vector<Case> cases;
  for (DType to : kTypes) {
    bool may_be_negative = is_float(GetParam()) || is_signed_int(GetParam());
    bool is_unsigned = is_int(to) && !is_signed_int(to) && is_float(GetParam());
    cases.push_back({cat("cast to ", to), to, 0, [=](te::Expr a, te::Expr) {
                       if (is_unsigned && may_be_negative) a = te::unary(UnaryOp::kAbs, a);
                       return te::cast(to, a);
                     }});
  }
  check(GetParam(), cases);
}

INSTANTIATE_TEST_SUITE_P(OfTypes, OpsOfType, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST(Shifts, OfEveryIntegerType) {
  for (DType dtype : kTypes) {
    if (!is_int(dtype)) continue;
    auto shift = [dtype](BinaryOp op) {
      return [=](te::Expr a, te::Expr b) {
        return te::binary(op, a, te::binary(BinaryOp::kAnd, b, te::int_constant(dtype, 7)));
      };
    };
    check(dtype, {{cat(dtype, " left"), dtype, 0, shift(BinaryOp::kShiftLeft)},
                  {cat(dtype, " right"), dtype, 0, shift(BinaryOp::kShiftRight)}});
  }
}

// y = i32(round(x)), in vectors of eight.
te::LoopFunction rounding_of(int64_t n) {
  te::Tensor x("x", DType::kF32, {n}), y("y", DType::kI32, {n});
  auto body = te::loop(
      "i", n,
      [&](te::Expr i) {
        return te::make_store(y, {i}, te::cast(DType::kI32, te::unary(UnaryOp::kRound, x(i))));
      },
      LoopKind::kVectorized);
  return {"rounding", {x}, {y}, body};
}

// The place of the load depends on data, and may be outside of x. LLVM 19 takes a compare of a
// magnitude with 0, or NaN, for one of the number.
TEST(Ops, FindTheGreatestMagnitudeOrNan) {
  const te::Tensor x("x", DType::kF32, {4}), at("at", DType::kI64, {4}), y("y", DType::kF32, {4});
  for (LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
    const te::Stmt body = te::loop(
        "i", 4,
        [&](te::Expr i) {
          const te::Expr a = te::unary(UnaryOp::kAbs, x(at(i)));
          const te::Expr greater = te::max(a, te::constant(DType::kF32, 0));
          return te::make_store(y, {i}, te::select(te::unary(UnaryOp::kIsNan, a), a, greater));
        },
        kind);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> got =
        test::run_loops({"greatest", {x, at}, {y}, body},
                        {test::f32({-2, 3, nan, -0.5f}),
                         test::Data::of(DType::kI64, std::vector<int64_t>{3, 0, 2, 1})})[0]
            .as<float>();
    EXPECT_EQ(got[0], 0.5f);
    EXPECT_EQ(got[1], 2.0f);
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_EQ(got[3], 3.0f);
  }
}

TEST(Ops, RoundFloatsToIntegersHalvesToEven) {
  const std::vector<float> x = {
      0.5f,       1.5f,       2.5f, -0.5f, -1.5f,  -2.5f,  0.49999997f, -0.0f,        3.2f, -3.7f,
      8388607.5f, 8388606.5f, 1e9f, -1e9f, 255.5f, 254.5f, -128.5f,     2147483520.f, 7.f};
  const std::vector<int32_t> y = {0,   2,   2,    0,          -2,      -2,         0,
                                  0,   3,   -4,   8388608,    8388606, 1000000000, -1000000000,
                                  256, 254, -128, 2147483520, 7};
  const auto n = static_cast<int64_t>(x.size());
  EXPECT_EQ(test::run_loops(rounding_of(n), {test::f32(x)})[0].as<int32_t>(), y);
}

TEST(Ops, RoundFloatsToIntegersInOneInstruction) {
  te::Target target = llvm_plugin::host_target();
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  auto listed = llvm_plugin::list_kernel(rounding_of(8), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_NE(listed->assembly.find("vcvtps2dq"), std::string::npos) << listed->assembly;
  EXPECT_EQ(listed->assembly.find("vround"), std::string::npos) << listed->assembly;
}

TEST(HalfFloats, OfEveryPatternWithAndWithoutInstructionsForThem) {
  std::vector<uint16_t> patterns(65536);
  for (size_t k = 0; k < patterns.size(); ++k) patterns[k] = static_cast<uint16_t>(k);
  for (DType half : {DType::kF16, DType::kBF16}) {
    te::Tensor x("x", half, {65536}), y("y", DType::kF32, {65536}), z("z", half, {65536});
    auto body = te::loop(
        "i", 65536,
        [&](te::Expr i) {
          return te::make_block(
              {te::make_store(y, {i}, te::cast(DType::kF32, x(i))),
               te::make_store(z, {i}, te::cast(half, te::cast(DType::kF32, x(i))))});
        },
        LoopKind::kVectorized);
    te::LoopFunction function{"half", {x}, {y, z}, body};
    std::vector<test::Data> in = {test::Data::of(half, patterns)};
    auto with = test::run_loops(function, in),
         without = test::run_loops(function, in, {.without = {"f16c"}});
    auto floats = with[0].as<float>(), other_floats = without[0].as<float>();
    auto back = with[1].as<uint16_t>(), other_back = without[1].as<uint16_t>();
    for (size_t k = 0; k < patterns.size(); ++k) {
      ASSERT_EQ(std::isnan(floats[k]), std::isnan(other_floats[k])) << k;
      if (std::isnan(floats[k])) continue;
      ASSERT_EQ(floats[k], other_floats[k]) << k;
      ASSERT_EQ(back[k], patterns[k]);
      ASSERT_EQ(other_back[k], patterns[k]);
    }
  }
}

TEST(HalfFloats, RoundToNearestEvenWithAndWithoutInstructionsForThem) {
  std::minstd_rand random(3);
  std::vector<float> values;
  for (int k = 0; k < 20000; ++k)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random() * 2u)));
  for (float x : {65519.f, 65520.f, 65504.f, 5.96e-8f, 2.98e-8f, 2.99e-8f, 6.1e-5f, 0.f, -0.f})
    values.push_back(x);
  auto n = static_cast<int64_t>(values.size());
  te::Tensor x("x", DType::kF32, {n}), y("y", DType::kF16, {n});
  auto body = te::loop(
      "i", n, [&](te::Expr i) { return te::make_store(y, {i}, te::cast(DType::kF16, x(i))); },
      LoopKind::kVectorized);
  te::LoopFunction function{"half", {x}, {y}, body};
  auto with = test::run_loops(function, {test::f32(values)})[0].as<uint16_t>();
  auto without =
      test::run_loops(function, {test::f32(values)}, {.without = {"f16c"}})[0].as<uint16_t>();
  for (size_t k = 0; k < values.size(); ++k) {  // the processor's rounding is the reference
    bool is_nan = (with[k] & 0x7fff) > 0x7c00;
    ASSERT_TRUE(is_nan ? (without[k] & 0x7fff) > 0x7c00 : with[k] == without[k]) << values[k];
  }
}

// z = max(x + y, 0) * y in a type of 16 bits, each result rounded, in vectors of eight.
te::LoopFunction chain_of(DType dtype, int64_t n) {
  te::Tensor x("x", dtype, {n}), y("y", dtype, {n}), z("z", dtype, {n});
  auto body = te::loop("o", n / 8, [&](te::Expr o) {
    return te::loop(
        "i", 8,
        [&](te::Expr i) {
          const te::Expr at = o * 8 + i;
          te::Expr sum = te::binary(te::BinaryOp::kMax, x(at) + y(at), te::constant(dtype, 0));
          return te::make_store(z, {at}, sum * y(at));
        },
        LoopKind::kVectorized);
  });
  return {"chain", {x, y}, {z}, body};
}

// Two of three operations round: a maximum of halves is one. The last result is stored as rounded.
TEST(HalfFloats, AreConvertedOncePerRounding) {
  te::Target target;
  target.cpu = "x86-64-v3";
  target.features = {"avx", "avx2", "fma", "f16c"};
  auto machine = llvm_plugin::machine_of(target);
  ASSERT_TRUE(machine.ok());
  auto listed = llvm_plugin::list_kernel(chain_of(DType::kF16, 512), *machine, {});
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  auto count = [&](const std::string& word) {
    size_t found = 0;
    for (size_t at = listed->assembly.find(word); at != std::string::npos;
         at = listed->assembly.find(word, at + 1))
      ++found;
    return found;
  };
  const size_t products = count("vmulps");
  ASSERT_GE(products, 1U) << listed->assembly;
  EXPECT_EQ(count("vcvtph2ps"), 3 * products) << listed->assembly;
  EXPECT_EQ(count("vcvtps2ph"), 2 * products) << listed->assembly;
  EXPECT_EQ(count("ucomiss") + count("vcmp"), 0U) << "compared one by one:\n" << listed->assembly;
}

TEST(HalfFloats, InAChainAreThoseOfTheInterpreter) {
  constexpr int64_t n = 65536;
  std::vector<uint16_t> x(n), y(n);
  std::minstd_rand random(7);
  for (uint16_t& bits : x) bits = static_cast<uint16_t>(random() >> 8);
  for (uint16_t& bits : y) bits = static_cast<uint16_t>(random() >> 8);
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    const te::LoopFunction chain = chain_of(dtype, n);
    std::vector<test::Data> in = {test::Data::of(dtype, x), test::Data::of(dtype, y)};
    std::vector<uint16_t> right(n);
    const void* const operands[] = {in[0].bytes.data(), in[1].bytes.data()};
    void* const results[] = {right.data()};
    ASSERT_TRUE(te::evaluate(chain, operands, results).ok());
    auto with = test::run_loops(chain, in)[0].as<uint16_t>();
    auto without = test::run_loops(chain, in, {.without = {"f16c"}})[0].as<uint16_t>();
    const uint16_t infinity = dtype == DType::kF16 ? 0x7c00 : 0x7f80;
    auto is_nan = [&](uint16_t bits) { return (bits & 0x7fff) > infinity; };
    auto are_equal = [&](uint16_t a, uint16_t b) { return a == b || (is_nan(a) && is_nan(b)); };
    for (size_t k = 0; k < n; ++k) {
      ASSERT_TRUE(are_equal(with[k], right[k])) << k << ", " << with[k] << ", " << right[k];
      ASSERT_TRUE(are_equal(without[k], right[k])) << k << ", " << without[k] << ", " << right[k];
    }
  }
}

TEST(Integers, DivisionsDoNotTrap) {
  te::Tensor a("a", DType::kI32, {8}), b("b", DType::kI32, {8}), y("y", DType::kI32, {8});
  auto body = te::loop("i", 8, [&](te::Expr i) { return te::make_store(y, {i}, a(i) / b(i)); });
  const int32_t least = std::numeric_limits<int32_t>::min();
  std::vector<int32_t> x = {least, 7, 7, -7, 0, 1, least, 5}, d = {-1, 0, -2, 2, 3, -1, 1, 5};
  auto out = test::run_loops({"divide", {a, b}, {y}, body},
                             {test::Data::of(DType::kI32, x), test::Data::of(DType::kI32, d)})[0]
                 .as<int32_t>();
  EXPECT_EQ(out[0], least);  // wraps around
  EXPECT_THAT(std::vector<int32_t>(out.begin() + 2, out.end()),
              ::testing::ElementsAre(-3, -3, 0, -1, least, 1));
}

}  // namespace
}  // namespace byoc
