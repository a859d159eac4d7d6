// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "byoc/text/text.h"

namespace byoc {
namespace {

// Parses a module, prints and parses it again, checks that both are equal, and returns it.
IRModule round_trip(std::string_view text, const ConstantSource& constants = nullptr) {
  auto first = parse_module(text, all_ops(), constants);
  EXPECT_TRUE(first.ok()) << first.status().to_string() << "\n" << text;
  if (!first.ok()) return {};
  std::string printed = print(*first);
  ConstantSource own = [&](const ContentKey& key) { return first->constants.at(key); };
  auto second = parse_module(printed, all_ops(), own);
  EXPECT_TRUE(second.ok()) << second.status().to_string() << "\n" << printed;
  std::string why;
  if (second.ok()) {
    EXPECT_TRUE(equal(*first, *second, &why)) << why << "\n" << printed;
    EXPECT_EQ(print(*second), printed);
  }
  return *std::move(first);
}

// Returns "slug place message" of the error for `text`.
std::string refusal(std::string_view text) {
  auto module = parse_module(text, all_ops());
  if (module.ok()) return "accepted";
  const Status& status = module.status();
  return cat(status.slug(), " ", status.where(), " ", status.message());
}

TEST(Parse, TakesStatementsOnOneLine) {
  IRModule m = round_trip("fn main(%x: f32[1,8]) { %0 = relu(%x)  %1 = tanh(%0)  return %0 }");
  EXPECT_EQ(print(m), R"(module {
  fn main(%x: f32[1,8]) {
    %0 = relu(%x)
    %1 = tanh(%0)
    return %0
  }
}
)");
}

TEST(Parse, TakesCommentsAndAnyWhiteSpace) {
  EXPECT_EQ(print(round_trip(
                "// a\nmodule{// b\nfn main(%x:f32[2])\t{\n\n%y=relu(%x)//c\n return\n%y}}// d")),
            print(round_trip("fn main(%x: f32[2]) { %0 = relu(%x) return %0 }")));
}

TEST(Parse, InfersTypesThroughCallsInAnyOrder) {
  IRModule m = round_trip(R"(
    fn main(%x: f32[4]) { %0 = @twice(%x)  return %0#1, %0 }
    fn twice(%a: f32[4]) { %0 = @once(%a)  %1 = @once(%0)  return %0, %1 }
    fn once(%a: f32[4]) { %0 = add(%a, %a)  return %0 })");
  const Function& f = m.function("main");
  EXPECT_EQ(f.nodes[1].types.size(), 2u);
  EXPECT_EQ(f.results, (std::vector<ValueId>{{1, 1}, {1, 0}}));
}

TEST(Parse, KeepsUserNamesApartFromNumbers) {
  IRModule m = round_trip(
      R"(fn main(%"0": f32[], %"input.1": f32[], %_a1: f32[]) { %0 = add(%"0", %"input.1")  %1 = add(%0, %_a1)  return %1, %"0" })");
  const Function& f = m.function("main");
  EXPECT_EQ(std::get<Param>(f.nodes[0].kind).name, Symbol("0"));
  EXPECT_EQ(std::get<Param>(f.nodes[1].kind).name, Symbol("input.1"));
  EXPECT_EQ(f.results[1], (ValueId{0, 0}));
}

TEST(Parse, KeepsNamesOfAnyBytes) {
  IRModule m = round_trip(
      R"(module {entry="my \"net\""} { fn "my \"net\""(%"a\\b\n\x00\xff": f32["batch size"<=8]) {"attr 1"="\x1b[31m"} { return %"a\\b\n\x00\xff" } })");
  const Function& f = m.function("my \"net\"");
  EXPECT_EQ(std::get<Param>(f.nodes[0].kind).name.text(), std::string_view("a\\b\n\0\xff", 6));
  EXPECT_EQ(f.nodes[0].types[0]->shape[0], Dim::symbol("batch size", 0, 8));
  EXPECT_EQ(f.attr("attr 1"), "\x1b[31m");
}

TEST(Parse, KeepsSymbolicDims) {
  IRModule m = round_trip(
      "fn main(%x: f32[2<=N<=64,M,3<=K], %y: f32[2<=N<=64,M,3<=K]) { %0 = add(%x, %y) return %0 }");
  const Shape& shape = m.function("main").nodes[2].types[0]->shape;
  EXPECT_EQ(cat(shape), "[2<=N<=64,M,3<=K]");
}

TEST(Parse, KeepsAttributesOfEveryKind) {
  IRModule m =
      round_trip(R"(module {opset=17} { fn main() {i=-9223372036854775808, f=-0.0, n=nan, inf=-inf,
      b=true, s="x", t=bf16, is=[1,-2], fs=[1,0.5,inf], ss=["a","b"], bs=[true,false], e=[], one=1.0} { return } })");
  const Attrs& a = m.function("main").attrs;
  EXPECT_EQ(a.i("i"), INT64_MIN);
  EXPECT_TRUE(std::signbit(a.f("f")));
  EXPECT_TRUE(std::isnan(a.f("n")));
  EXPECT_EQ(a.f("inf"), -INFINITY);
  EXPECT_EQ(a.dtype("t"), DType::kBF16);
  EXPECT_EQ(a.floats("fs"), (Floats{1, 0.5, INFINITY}));
  EXPECT_EQ(a.strings("ss"), (Strings{"a", "b"}));
  EXPECT_EQ(std::get<double>(*a.find("one")), 1.0);
  EXPECT_EQ(m.attrs.i("opset"), 17);
}

TEST(Parse, KeepsConstantsBitForBit) {
  IRModule m = round_trip(R"(fn main() {
      %a = const([0.1, -0.0, nan, inf, 0xffc00001]) : f32[5]  %b = const(true) : bool[]
      %c = const([65504.0, -inf]) : f16[2]  %d = const([]) : i64[0,3]  %e = const([9223372036854775807]) : i64[1]
      return %a, %b, %c, %d, %e })");
  auto data = [&](int node) {
    return std::get<Constant>(m.function("main").nodes[node].kind).data->bytes();
  };
  const uint32_t expected[] = {0x3dcccccd, 0x80000000, 0x7fc00000, 0x7f800000, 0xffc00001};
  ASSERT_EQ(data(0).size(), sizeof expected);
  EXPECT_EQ(std::memcmp(data(0).data(), expected, sizeof expected), 0);
  EXPECT_EQ(data(1)[0], std::byte{1});
  EXPECT_EQ(data(3).size(), 0u);
}

TEST(Parse, RepeatsOneValueOverALargeConstant) {
  IRModule m = round_trip("fn main() { %0 = const(0.5) : f32[10,10] return %0 }");
  auto data = std::get<Constant>(m.function("main").nodes[0].kind).data;
  ASSERT_EQ(data->size(), 400u);
  float last = 0;
  std::memcpy(&last, data->data() + 396, 4);
  EXPECT_EQ(last, 0.5f);
}

TEST(Parse, KeepsExternsAndExternalModules) {
  IRModule m = round_trip(
      R"(module {external_mods=[{plugin="json", symbols=["f_0"], version="0.1.0", compat="c",
        options="{\"a\":1}", flags=1, functions=[{n_in=1, n_out=2, inplace=[{input=0, output=1}], workspace_bytes=128,
        workspace_align=64, flags=3, implementation="loops", flops=1.5e9, ops=7}]}, {plugin="onednn"}]} {
      fn main(%x: f32[2]) { %0 = call_dps_packed(@f_0, %x) : f32[2], i64[] loc("a")  %1 = call_dps_packed(@host)
        return %0#1 } })");
  ASSERT_EQ(m.external_mods.size(), 2u);
  const ExternalFunction& f = m.external_mods[0].functions[0];
  EXPECT_EQ(f.symbol, "f_0");
  EXPECT_EQ(f.flops, 1.5e9);
  EXPECT_EQ(f.inplace, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}}));
  EXPECT_EQ(m.external_mods[0].options_json, "{\"a\":1}");
  EXPECT_EQ(m.function("main").nodes[2].types.size(), 0u);
}

TEST(Parse, FindsLargeConstantsByKey) {
  const std::vector<float> values(100, 2.0f);
  auto weights = Buffer::copy(std::as_bytes(std::span(values)));
  std::string text = cat("fn main() { %w = const<", weights->key(), "> : f32[100] return %w }");
  ConstantSource source = [&](const ContentKey& key) {
    return key == weights->key() ? weights : nullptr;
  };
  IRModule m = round_trip(text, source);
  EXPECT_EQ(std::get<Constant>(m.function("main").nodes[0].kind).data, weights.get());
  EXPECT_EQ(refusal(text), cat("ir-constant 1:24 const<", weights->key(), "> has no bytes here"));
}

TEST(Parse, TakesTheOnlyFunctionAsEntry) {
  EXPECT_EQ(round_trip("fn net() { return }").entry, Symbol("net"));
  EXPECT_EQ(refusal("fn a() { return } fn b() { return }"),
            "no-entry  the module has no entry function @main");
  EXPECT_EQ(refusal(""), "no-entry  the module is empty: it has no function");
  EXPECT_EQ(refusal(" \n// a comment\n"), "no-entry  the module is empty: it has no function");
}

TEST(ParseErrors, SayWhereAndWhatWasFound) {
  EXPECT_EQ(refusal("fn main(%x: f32[2]) {\n  %0 = relu(%x\n  return %0 }"),
            "ir-syntax 3:3 expected ',' or ')', found \"return\"");
  EXPECT_EQ(refusal("fn main(%x f32[2]) {}"), "ir-syntax 1:12 expected ':', found \"f32\"");
  EXPECT_EQ(refusal("fn main(%x: g32[2]) {}"),
            "ir-syntax 1:13 expected a type such as f32[1,3], found \"g32\"");
  EXPECT_EQ(refusal("fn main(%x: f32[2)"), "ir-syntax 1:18 expected ',' or ']', found \")\"");
  EXPECT_EQ(refusal("fn main() { return"),
            "ir-syntax 1:19 expected '}', found the end of the text");
  EXPECT_EQ(refusal("module { fn main() { return }"),
            "ir-syntax 1:30 expected 'fn', 'loops' or '}', found the end of the text");
  EXPECT_EQ(refusal("fn main() { return } x"),
            "ir-syntax 1:22 expected 'fn' or 'loops', found \"x\"");
  EXPECT_EQ(refusal("fn main() { return $ }"),
            "ir-syntax 1:20 expected '}', found \"$\", which is no token");
  EXPECT_EQ(
      refusal("fn main() {a=\"x} { return }"),
      "ir-syntax 1:14 expected an attribute value, found \"\\\"x} { return }\", which is no token");
  EXPECT_EQ(refusal("fn main() {a=1 b=2} { return }"),
            "ir-syntax 1:16 expected ',' or '}', found \"b\"");
  EXPECT_EQ(refusal("fn main() { 0 = relu() return }"),
            "ir-syntax 1:13 expected '%name = ...' or 'return', found \"0\"");
}

TEST(ParseErrors, NameUndefinedAndDoublyDefinedThings) {
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %0 = relu(%y) return }"),
            "ir-syntax 1:32 %y is not defined before this");
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %0 = relu(%0) return }"),
            "ir-syntax 1:32 %0 is not defined before this");
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %0 = relu(%x#1) return }"),
            "ir-syntax 1:32 %x#1 does not exist: %x has 1 output");
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %x = relu(%x) return }"),
            "ir-syntax 1:22 %x is defined twice");
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %3a = relu(%x) return }"),
            "ir-syntax 1:22 a value's name is a word or a number, found %3a");
  EXPECT_EQ(refusal("fn main(%x: f32[], %x: f32[]) { return }"),
            "ir-syntax 1:20 two parameters are called %x");
  EXPECT_EQ(refusal("fn main() { return } fn main() { return }"),
            "ir-syntax 1:25 @main is defined twice");
  EXPECT_EQ(refusal("fn main() {a=1, a=2} { return }"), "ir-syntax 1:17 attribute a occurs twice");
  EXPECT_EQ(refusal("fn main(%0: f32[]) { return }"),
            "ir-syntax 1:9 expected a parameter such as %x: f32[1,3] (quote a name that is a "
            "number: %\"0\"), found \"%0\"");
}

TEST(ParseErrors, NameCalleesAndWhatTheyTake) {
  EXPECT_EQ(refusal("fn main() { %0 = @f() return }"),
            "unknown-function 1:18 the module has no function @f");
  EXPECT_EQ(refusal("fn main() { %0 = @main() return }"),
            "recursion  functions call each other in a circle: @main -> @main");
  EXPECT_EQ(refusal("fn main() { %0 = @f() return } fn f(%x: f32[]) { return }"),
            "ir-syntax 1:18 @f takes 1 values, 0 are given");
  EXPECT_EQ(refusal("fn main(%x: f32[2]) { %0 = @f(%x) return } fn f(%x: f32[]) { return }"),
            "ir-syntax 1:28 operand 0 of @f is f32[], f32[2] is given");
}

TEST(ParseErrors, PassOnWhatOpsSay) {
  EXPECT_EQ(refusal("fn main(%x: f32[]) { %0 = rellu(%x) return }").substr(0, 15),
            "unknown-op 1:27");
  EXPECT_NE(refusal("fn main(%x: f32[]) {\n%0 = relu(%x, %x) return }").find(" 2:6 "),
            std::string::npos);
  EXPECT_NE(refusal("fn main(%x: f32[]) {\n%0 = relu(%x) {no=1} return }").find(" 2:6 "),
            std::string::npos);
}

TEST(ParseErrors, RefuseTypesThatCannotBe) {
  EXPECT_EQ(refusal("fn main(%x: f32[N,N<=4]) { return }"),
            "ir-syntax 1:19 dim N<=4 was N before in this function");
  EXPECT_EQ(refusal("fn main(%x: f32[4<=N<=2]) { return }"),
            "ir-syntax 1:23 expected a number of at least 4, found \"2\"");
  EXPECT_EQ(refusal("fn main(%x: f32[-1]) { return }"),
            "ir-syntax 1:17 expected a number, found \"-1\"");
  EXPECT_EQ(refusal("fn main(%x: f32[99999999999999999999]) { return }"),
            "ir-syntax 1:17 expected a number, found \"99999999999999999999\"");
  EXPECT_EQ(refusal("fn main(%x: f32[4294967296,4294967296]) { return }"),
            "tensor-size 1:13 the size of a tensor of shape [4294967296,4294967296] does not fit "
            "in 63 bits");
  EXPECT_EQ(
      refusal("fn main(%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) { return }"),
      "ir-syntax 1:13 f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] has 17 dims, at most 16 are possible");
}

TEST(ParseErrors, RefuseConstantsThatDoNotFit) {
  EXPECT_EQ(refusal("fn main() { %0 = const([1,2]) : f32[3] return }"),
            "ir-syntax 1:25 2 elements for f32[3], which has 3");
  EXPECT_EQ(refusal("fn main() { %0 = const([1,300]) : u8[2] return }"),
            "ir-syntax 1:27 300 is no u8");
  EXPECT_EQ(refusal("fn main() { %0 = const(0) : u8[9999999999] return }"),
            "ir-syntax 1:24 a value repeated to u8[9999999999] takes more than 1 GiB");
  EXPECT_EQ(refusal("fn main() { %0 = const(0) : u8[N] return }"),
            "ir-syntax 1:29 a constant of type u8[N]: its dims must be numbers");
  EXPECT_EQ(refusal("fn main() { %0 = const<12> : u8[2] return }"),
            "ir-syntax 1:24 expected a key of 32 digits 0-9a-f, found \"12\"");
  EXPECT_EQ(refusal("fn main() { %0 = const<\"a\\n\n> : u8[2] return }").substr(0, 9), "ir-syntax");
}

TEST(ParseErrors, RefuseListsOfTwoKinds) {
  EXPECT_EQ(refusal("fn main() {a=[1,\"x\"]} { return }"),
            "ir-syntax 1:15 a list holds integers, floats, strings or bools, all of one kind");
  EXPECT_EQ(refusal("fn main() {a=[[1]]} { return }"),
            "ir-syntax 1:15 expected an attribute value, found \"[\"");
}

TEST(ParseErrors, RefuseExternalModulesThatDoNotFit) {
  EXPECT_EQ(
      refusal("module {external_mods=[{plugin=\"a\", plugin=\"b\"}]} { fn main() { return } }"),
      "ir-syntax 1:37 expected a field that has not been given yet, found \"plugin\"");
  EXPECT_EQ(refusal("module {external_mods=[{symbols=[\"a\"]}]} { fn main() { return } }"),
            "ir-syntax 1:24 1 symbols and 0 functions in one external module");
  EXPECT_EQ(refusal("module {external_mods=[{symbols=[\"a\"], functions=[{n_in=1, n_out=1}]}]} { "
                    "fn main() { %0 = call_dps_packed(@a) return } }"),
            "ir-invalid @main: %0 (call_dps_packed @a) it has 0 operands and 0 outputs, @a takes 1 "
            "and gives 1");
}

// Parses every prefix and many one-byte changes of a text that uses the whole grammar. The result
// must be a module or an error, not a crash.
TEST(ParseErrors, SurviveTruncatedAndChangedText) {
  std::string text =
      R"(module {entry="m", external_mods=[{plugin="p", symbols=["s"], functions=[{n_in=0, n_out=1}]}]} {
    fn m(%x: f32[2<=N,3] loc("x"), %"0": i64[]) {compiler="p", l=[1,2.5]} { %0 = const([1,nan]) : f32[2]
    %1 = relu(%x) loc("a\x41")  %2 = call_dps_packed(@s) : f32[2]  %3 = @g(%0)  return %1, %3#0 } // c
    fn g(%x: f32[2]) { return %x } })";
  ASSERT_TRUE(parse_module(text, all_ops()).ok()) << refusal(text);
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(parse_module(text.substr(0, n), all_ops()).ok());
  uint64_t state = 7;
  for (int k = 0; k < 3000; ++k) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::string changed = text;
    changed[(state >> 33) % text.size()] = static_cast<char>(state >> 24);
    auto module = parse_module(changed, all_ops());
    if (!module.ok()) continue;
    EXPECT_TRUE(verify(*module).ok()) << changed;
  }
}

}  // namespace
}  // namespace byoc
