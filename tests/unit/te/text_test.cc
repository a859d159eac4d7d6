// SPDX-License-Identifier: Apache-2.0
// Loop functions are printed, parsed and printed again. That nothing is lost is checked with the
// canonical text of te/key.h, which numbers nodes and does not use the printer.
#include "byoc/te/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "byoc/te/key.h"
#include "intrins.h"
#include "run.h"

namespace byoc::te {
namespace {

std::string canonical(const LoopFunction& function) {
  Dag dag{function.name, {}, function.inputs, function.outputs};
  for (const Tensor& input : function.inputs)
    dag.stages.push_back({input.name(), {input}, Placeholder{}, {}, {}, 0});
  dag.stages.push_back(
      {"body", function.outputs, Procedure{function.inputs, function.body}, {}, {}, 0});
  return canonical_text(dag);
}

/// Checks that the text of `function` has the whole of it, and returns the function parsed.
LoopFunction expect_round_trip(const LoopFunction& function) {
  const std::string text = print(function);
  Result<LoopFunction> parsed = parse_loops(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string() << "\n" << text;
  if (!parsed.ok()) return function;
  EXPECT_EQ(print(*parsed), text);
  EXPECT_EQ(canonical(*parsed), canonical(function)) << text;
  return *parsed;
}

LoopFunction lowered(const Schedule& schedule) {
  Result<LoopFunction> loops = lower(schedule);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  return loops.ok() ? *std::move(loops) : LoopFunction{};
}

LoopFunction storing(const Expr& value, std::vector<Tensor> inputs = {}) {
  Tensor y("y", value.dtype(), {});
  return {"f", std::move(inputs), {y}, make_store(y, {}, value)};
}

TEST(Text, HasAllOfLoweredDags) {
  for (const Dag& dag : {matmul_bias_relu(5, 4, 3), chain(7), diamond(3, 4), conv_relu(2, 5, 6, 3),
                         softmax_like(3, 5), argmax(3, 4), two_matmuls(2, 3, 4, 5), reshapes(3, 4)})
    expect_round_trip(lowered(Schedule(dag)));
}

TEST(Text, HasAllOfASchedule) {
  auto trace = parse_trace(
      "split(relu, i0, 4); split(relu, i1, 8); reorder(relu, i0.o, i1.o, i0.i, i1.i); "
      "parallel(relu, i0.o); unroll(relu, i0.i); vectorize(relu, i1.i); "
      "compute_inline(add); compute_at(matmul, relu, i1.o); reorder(matmul, i0, r0, i1); "
      "vectorize(matmul, i1)");
  ASSERT_TRUE(trace.ok());
  auto schedule = replay(matmul_bias_relu(10, 4, 19), *trace);
  ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
  const LoopFunction loops = lowered(*schedule);
  for (const char* word : {"parallel ", "unrolled ", "vectorized ", "stack "})
    EXPECT_NE(print(loops).find(word), std::string::npos) << word << "\n" << print(loops);
  expect_round_trip(loops);
}

TEST(Text, HasConstantsOfAllTypes) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const auto dtype = static_cast<DType>(k);
    for (double value : {0.0, 1.0, -1.0, 0.1, 1e-7, 1e20, -65504.0}) {
      if (is_float(dtype)) expect_round_trip(storing(constant(dtype, value)));
    }
    for (int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      if (!is_float(dtype)) expect_round_trip(storing(int_constant(dtype, value)));
    }
    if (!is_float(dtype)) continue;
    for (double value : {double{INFINITY}, -double{INFINITY}, -0.0, double{NAN}})
      expect_round_trip(storing(constant(dtype, value)));
  }
}

TEST(Text, HasEveryOperation) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const auto dtype = static_cast<DType>(k);
    Tensor x("x", dtype, {2});
    int operations = 0;
    for (int op = 0; op <= static_cast<int>(UnaryOp::kIsInf); ++op) {
      const auto unary_op = static_cast<UnaryOp>(op);
      if (unary_op == UnaryOp::kNot ? dtype != DType::kBool : !is_float(dtype)) continue;
      if (unary_op == UnaryOp::kBitwiseNot) continue;
      expect_round_trip(storing(unary(unary_op, x(0)), {x}));
      ++operations;
    }
    for (int op = 0; op <= static_cast<int>(BinaryOp::kLessEqual); ++op) {
      const auto binary_op = static_cast<BinaryOp>(op);
      const bool is_of_ints =
          (binary_op >= BinaryOp::kFloorDivide && binary_op <= BinaryOp::kFloorModulo) ||
          (binary_op >= BinaryOp::kAnd && binary_op <= BinaryOp::kShiftRight);
      if (dtype == DType::kBool ? binary_op < BinaryOp::kEqual
                                : is_of_ints != is_int(dtype) && binary_op != BinaryOp::kPower)
        continue;
      if (binary_op == BinaryOp::kPower && !is_float(dtype)) continue;
      expect_round_trip(storing(binary(binary_op, x(0), x(1)), {x}));
      ++operations;
    }
    expect_round_trip(storing(cast(DType::kF64, x(1)), {x}));
    expect_round_trip(storing(cast(DType::kBool, x(1)), {x}));
    EXPECT_GT(operations, 4) << dtype_name(dtype);
  }
  Tensor x("x", DType::kI32, {2});
  expect_round_trip(storing(unary(UnaryOp::kBitwiseNot, x(0)), {x}));
  expect_round_trip(storing(bitcast(DType::kF32, x(0)), {x}));
  expect_round_trip(storing(select(x(0) < x(1), x(0), -x(1)), {x}));
}

TEST(Text, EndsBodiesOfValuesAndMemoryWhereTheyEnd) {
  Tensor y("y", DType::kI64, {4}), t("t", DType::kI64, {2});
  Var v("v"), other("v");
  Stmt first = make_let(v, 7, make_store(y, {0}, v));
  Stmt second = make_alloc(t, Scope::kStack,
                           make_block({make_store(t, {0}, 3), make_store(y, {1}, t(0) + 1)}));
  Stmt all = make_block(
      {first, second, make_store(y, {2}, 9), make_let(other, 5, make_store(y, {3}, other))});
  const LoopFunction function{"f", {}, {y}, all};
  EXPECT_EQ(print(function), R"(loops f() -> (y: i64[4]) {
  {
    let v = 7
    y[0] = v
  }
  {
    stack t: i64[2]
    t[0] = 3
    y[1] = (t[0] + 1)
  }
  y[2] = 9
  let v'1 = 5
  y[3] = v'1
}
)");
  expect_round_trip(function);
}

TEST(Text, HasBeginsConditionsAndErrors) {
  Tensor x("x", DType::kI64, {4}), y("y", DType::kI64, {4});
  Var i("i");
  Stmt body =
      make_block({make_for(i, 1, 3, LoopKind::kSerial,
                           make_if(Expr(i) < 2, make_store(y, {i}, x(i)), make_store(y, {i}, 0))),
                  make_if(x(0) < 0, make_index_error("gather", x(0), 0, 4))});
  expect_round_trip({"f", {x}, {y}, make_for(i, 0, -3, LoopKind::kSerial, make_store(y, {i}, 1))});
  const LoopFunction function{"f", {x}, {y}, body};
  EXPECT_NE(print(function).find("for i in 1..+3 {"), std::string::npos) << print(function);
  LoopFunction parsed = expect_round_trip(function);
  int64_t in[] = {5, 6, 7, 8}, out[] = {1, 1, 1, 1};
  const void* inputs[] = {in};
  void* outputs[] = {out};
  ASSERT_TRUE(evaluate(parsed, inputs, outputs).ok());
  EXPECT_EQ(std::vector<int64_t>(out, out + 4), (std::vector<int64_t>{1, 6, 0, 0}));
  in[0] = -2;
  EXPECT_NE(evaluate(parsed, inputs, outputs).to_string().find("gather"), std::string::npos);
}

TEST(Text, HasMicroKernelsWithTheirDeclarations) {
  for (const TensorIntrin& intrin : {tile_4x8(), tile_of_any()}) {
    Schedule s(matmul_bias_relu(8, 6, 16));
    ASSERT_TRUE(s.tile("matmul", "i0", "i1", 4, 8).ok());
    ASSERT_TRUE(s.tensorize("matmul", "i0.i", intrin).ok());
    const LoopFunction loops = lowered(s), parsed = expect_round_trip(loops);
    EXPECT_NE(print(loops).find(cat("kernel ", intrin.name)), std::string::npos) << print(loops);
    std::vector<float> x(48, 0.5f), w(96, 0.25f), bias(16, 1), out(128), again(128);
    for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k);
    const void* inputs[] = {x.data(), w.data(), bias.data()};
    void *a[] = {out.data()}, *b[] = {again.data()};
    ASSERT_TRUE(evaluate(loops, inputs, a).ok());
    Status status = evaluate(parsed, inputs, b);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(out, again);
    EXPECT_EQ(out[0], 0.25f * (0 + 1 + 2 + 3 + 4 + 5) + 1);
  }
}

TEST(Text, IsLinearInSharedExpressions) {
  Tensor x("x", DType::kF32, {});
  Expr value = x(Exprs{});
  for (int k = 0; k < 60; ++k) value = value + value;
  const LoopFunction loops = storing(value, {x}), parsed = expect_round_trip(loops);
  EXPECT_LT(print(loops).size(), 4000u) << print(loops);
  float in = 1, out = 0;
  const void* inputs[] = {&in};
  void* outputs[] = {&out};
  ASSERT_TRUE(evaluate(parsed, inputs, outputs).ok());
  EXPECT_EQ(out, std::ldexp(1.0f, 60));
}

TEST(Text, QuotesNamesThatAreNoWords) {
  for (const char* name : {"for", "a b", "3", "x..y", "nan", "\"", "\\", "line\nbreak", "\x7f",
                           "e.", "i0.o", "t#1", "é"}) {
    Tensor x(name, DType::kF32, {2}), y(name, DType::kF32, {2});
    Var i(name);
    LoopFunction loops{
        name, {x}, {y}, make_for(i, 0, 2, LoopKind::kSerial, make_store(y, {i}, x(i)))};
    expect_round_trip(loops);
  }
}

TEST(Text, HasLongListsWithoutDeepRecursion) {
  std::vector<Stmt> stmts;
  Tensor y("y", DType::kI64, {100000});
  for (int64_t k = 0; k < 100000; ++k) stmts.push_back(make_store(y, {k}, k));
  const LoopFunction loops{"f", {}, {y}, make_block(stmts)};
  auto parsed = parse_loops(print(loops));
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(print(*parsed), print(loops));
}

TEST(Text, IsReadAsPeopleWriteIt) {
  auto loops = parse_loops(R"(
    loops f(x: f32[n, 4], n2: i64[1]) -> (y: f32[n, 4]) {  // n: from outside
      for i in 0..n {
        for j in 1..4 {
          y[i, j] = x[i, j - 1] * 2.0 + 1.0 - x[i, j] / 4.0
        }
        if i > 2 & !(i == 5) { y[i, 0] = -x[i, 0] } else { y[i, 0] = 0.0 }
      }
    })");
  ASSERT_TRUE(loops.ok()) << loops.status().to_string();
  EXPECT_EQ(print(*loops), R"(loops f(x: f32[n, 4], n2: i64[1]) -> (y: f32[n, 4]) {
  for i in 0..n {
    for j in 1..+3 {
      y[i, j] = (((x[i, (j - 1)] * 2.0) + 1.0) - (x[i, j] / 4.0))
    }
    if ((2 < i) & !((i == 5))) {
      y[i, 0] = -(x[i, 0])
    } else {
      y[i, 0] = 0.0
    }
  }
}
)");
}

TEST(Text, HasTensorExpressionsWithASchedule) {
  auto loops = parse_loops(R"te(
    te f(x: f32[3, 4], w: f32[4]) -> (y, best) {
      t = sum for i < 3 over k < 4: x[i, k] * w[k]
      y = for i < 3: max(t[i], 0.0)
      best = for over k < 4: w[k] combine (a, b) to max(a, b) from -inf
    } schedule "split(y, i, 2); compute_at(t, y, i.o); unroll(t, k)"
  )te");
  ASSERT_TRUE(loops.ok()) << loops.status().to_string();
  EXPECT_NE(print(*loops).find("unrolled k in 0..4"), std::string::npos) << print(*loops);
  expect_round_trip(*loops);
  const float x[] = {1, 2, 3, 4, -1, -2, -3, -4, 0, 1, 0, 1}, w[] = {1, 10, 100, 1000};
  float y[3], best = 0;
  const void* inputs[] = {x, w};
  void* outputs[] = {y, &best};
  ASSERT_TRUE(evaluate(*loops, inputs, outputs).ok());
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{4321, 0, 1010}));
  EXPECT_EQ(best, 1000);
}

TEST(Text, HasAllOfDagsAndTraces) {
  auto trace = parse_trace("split(relu, i0, 4); vectorize(relu, i1)");
  for (const Dag& dag :
       {matmul_bias_relu(5, 4, 3), chain(7), diamond(3, 4), conv_relu(2, 5, 6, 3),
        softmax_like(3, 5), argmax(3, 4), two_matmuls(2, 3, 4, 5), reshapes(3, 4)}) {
    const std::string text = print_te(dag, *trace);
    auto parsed = parse_te(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string() << "\n" << text;
    EXPECT_EQ(canonical_text(parsed->dag), canonical_text(dag)) << text;
    EXPECT_EQ(print_te(parsed->dag, parsed->trace), text);
    EXPECT_EQ(parsed->trace, *trace);
    if (dag.name != "matmul_bias_relu") continue;
    auto schedule = replay(parsed->dag, parsed->trace), own = replay(dag, *trace);
    ASSERT_TRUE(schedule.ok()) << schedule.status().to_string();
    EXPECT_EQ(print(*lower(*schedule)), print(*lower(*own)));
  }
}

TEST(TextErrors, OfTensorExpressions) {
  auto fault = [](const std::string& rest) {
    auto loops = parse_loops("te f(x: f32[4], b: bool[4]) -> (y) {\n" + rest);
    EXPECT_FALSE(loops.ok()) << rest;
    return loops.ok() ? "" : cat(loops.status().where(), " ", loops.status().message());
  };
  EXPECT_EQ(fault("}"), "1:33 there is no tensor y here");
  EXPECT_EQ(fault("x = for i < 4: 1.0 }"), "2:1 two tensors are called x");
  EXPECT_EQ(fault("y = for i < -1: 1.0 }"), "2:1 the extent of axis i is no number");
  EXPECT_EQ(fault("y = sum for i < 4: 1.0 }"),
            "2:1 sum is over numbers: for i < 4 over k < 8: x[i, k]");
  EXPECT_EQ(fault("y = sum for over k < 4: b[k] }"),
            "2:1 sum is over numbers: for i < 4 over k < 8: x[i, k]");
  EXPECT_EQ(fault("y = for i < 4: x[i] } schedule \"vectorize(y)\""),
            "2:23 vectorize of 0 names and 0 numbers after the stage, step 1 of the trace");
  EXPECT_EQ(fault("y = for i < 4: x[i] } schedule \"vectorize(\""),
            "2:32 trace: expected a name at letter 10, before \"\"");
  EXPECT_EQ(fault("y = for i < 4: x[k] }"), "2:18 there is no variable k here");
  EXPECT_EQ(fault("y = for over k < 4: x[k] combine (a, b) to a from 1 }"),
            "2:26 the combiner is not of f32");
  auto input = parse_loops("te f(x: f32[4]) -> (x) { }");
  EXPECT_EQ(input.status().message(), "x is an input and no result");
}

struct Wrong {
  std::string body, message, place;
};

std::string nested(std::string_view open, int times) {
  std::string out;
  for (int k = 0; k < times; ++k) out += open;
  return out;
}

TEST(TextErrors, HaveLineAndColumnAndTheFault) {
  const std::string head = "loops f(x: f32[4]) -> (y: f32[4]) {\n";
  const Wrong cases[] = {
      {"y[0] = x[i] }", "there is no variable i here", "2:10"},
      {"y[0] = z[0] }", "there is no tensor z here", "2:8"},
      {"z[0] = 1.0 }", "there is no tensor z here", "2:1"},
      {"x[0] = 1.0 }", "x is an input and cannot be written", "2:1"},
      {"copy(&x[0], &x[1], 2) }", "x is an input and cannot be written", "2:14"},
      {"copy(&x[0], 2) }", "copy takes two places of one type, and the number of elements", "2:1"},
      {"y[0] = 1 }", "y holds f32, the value is i64", "2:1"},
      {"y[0] = x[0] + 1 }", "+ of f32 and i64", "2:13"},
      {"y[0] = exp(1) }", "exp takes no i64", "2:8"},
      {"y[0] = x[0, 1] }", "expected ']' after 1 value", "2:13"},
      {"y[0] = x[] }", "expected 1 value, found 0", "2:10"},
      {"y[0] = x[0.5] }", "an index of x is f32", "2:8"},
      {"y[0] = foo(x[0]) }", "there is no function foo", "2:8"},
      {"y[0] = min(x[0]) }", "expected 2 values, found 1", "2:16"},
      {"y[0] = select(1, x[0], x[0]) }", "select by a value of type i64", "2:8"},
      {"y[0] = 1e999 }", "1e999 is no number of 64 bits", "2:8"},
      {"y[0] = f32(300:u8) }", "300 is no u8", "2:12"},
      {"y[0] = f32(1:bool) }", "expected the type of a number", "2:14"},
      {"y[0] = $0 }", "$0 is not defined", "2:8"},
      {"$0 = 1.0 }", "expected a statement after $0", "2:10"},
      {"$1 = 1.0 y[0] = $1 }", "expected $0", "2:1"},
      {"y[0] = f32(bits_as_f64(x[0])) }", "which has another size", "2:12"},
      {"for i in 0..x[0] { } }", "both ends of a loop are i64", "2:11"},
      {"for i in 0..4 { y[i] = 1.0 } y[i] = 1.0 }", "there is no variable i here", "2:32"},
      {"for i in 0..4 { vectorized j in 0..i { y[j] = 1.0 } } }", "needs a number of iterations",
       "2:34"},
      {"parallel i in 0..2 { parallel j in 0..2 { y[j] = 1.0 } } }", "inside of another", "2:37"},
      {"parallel i in 0..2 { index_error.g(1, 2, 3) } }", "inside of a parallel loop", "2:22"},
      {"index_error.g(1, 2) }", "takes an index, the lowest one and the extent", "2:1"},
      {"if 1 { y[0] = 1.0 } }", "a condition is a bool", "2:3"},
      {"stack t: f32[99999999999, 99999999999] t[0, 0] = 1.0 }", "no size that memory can have",
       "2:10"},
      {"stack t: f32[-1] t[0] = 1.0 }", "no size that memory can have", "2:10"},
      {"stack t: what[1] }", "expected a type such as f32[2, 3]", "2:10"},
      {"y[0] = 1.0", "expected a statement or '}', found the end of the text", "2:11"},
      {"y[0] = 1.0 } y", "expected the end of the text", "2:14"},
      {"\"abc", "a name without closing quote", "2:1"},
      {"\"a\\q\"[0] = 1.0 }", "an escape in a name", "2:3"},
      {"kernel k: (a: f32[2]) -> (c: f32[2]) { for i < 2: a[0] } k() }", "is declared wrongly",
       "2:8"},
      {"kernel k: (a: f32[2]) -> (c: f32[2]) { for i < 2: a[i] } k(&x[0], 1) }",
       "k takes 2 places and 3 values, not 1 and 1", "2:58"},
      {"y[0] = " + nested("(", 100000), "an expression is nested more than 500 deep", ""},
      {"y[0] = " + nested("-", 100000), "nested more than 500 deep", ""},
      {"y[0] = x[0]" + nested("+ x[0]", 100000), "nested more than 500 deep", ""},
      {nested("if true {", 100000), "statements are nested more than 1000 deep", ""},
      {nested("let a = 1 ", 100000), "statements are nested more than 1000 deep", ""},
  };
  for (const Wrong& wrong : cases) {
    Result<LoopFunction> loops = parse_loops(head + wrong.body);
    ASSERT_FALSE(loops.ok()) << wrong.body;
    EXPECT_NE(loops.status().message().find(wrong.message), std::string::npos)
        << loops.status().to_string() << "\n"
        << wrong.body.substr(0, 100);
    EXPECT_EQ(loops.status().slug(), "loops-syntax");
    if (!wrong.place.empty()) {
      EXPECT_EQ(loops.status().where(), wrong.place) << wrong.body;
    }
  }
}

// Every text that begins like a function gives a function or an error, and the latter has a place.
TEST(TextErrors, AreForEveryPrefixAndEveryLostCharacter) {
  const std::string texts[] = {print(lowered(Schedule(softmax_like(3, 5)))), print_te(argmax(3, 4)),
                               print_te(conv_relu(2, 5, 6, 3))};
  for (const std::string& text : texts)
    for (size_t k = 0; k + 2 < text.size(); ++k) {
      Result<LoopFunction> cut = parse_loops(text.substr(0, k));
      ASSERT_FALSE(cut.ok()) << k;
      EXPECT_FALSE(cut.status().where().empty());
      Result<LoopFunction> without = parse_loops(text.substr(0, k) + text.substr(k + 1));
      if (without.ok()) expect_round_trip(*without);
    }
}

}  // namespace
}  // namespace byoc::te
