// SPDX-License-Identifier: Apache-2.0
#include "support/evaluate.h"
#include "unit/simplify/modules.h"

namespace byoc {
namespace {

using testing::f32;

BoundTensor tensor(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return {{DType::kF32, make_shape(dims)}, Buffer::copy(std::as_bytes(std::span(values)))};
}

Status status_of(std::string_view text, const std::map<std::string, BoundTensor>& values) {
  return bind_params(module_of(text), values, {}).status();
}

constexpr std::string_view kScale =
    "fn main(%x: f32[2], %w: f32[2]) { %0 = multiply(%x, %w)  return %0 }";

TEST(BindParams, TurnsAnInputIntoAConstant) {
  auto bound = bind_params(module_of(kScale), {{"w", tensor({2}, {3, 4})}}, {});
  ASSERT_TRUE(bound.ok());
  auto results = testing::evaluate(*bound, {f32({2}, {10, 20})});
  ASSERT_TRUE(results.ok());
  testing::expect_close((*results)[0], f32({2}, {30, 80}));
}

TEST(BindParams, KeepsTheOrderAndNamesOfTheOthers) {
  auto bound = after(
      "fn main(%a: f32[1], %b: f32[1], %c: f32[1]) {input_names=[\"in a\",\"in b\",\"in c\"]} {\n"
      "  %0 = add(%a, %b)  %1 = multiply(%0, %c)  return %1 }",
      "bind_params=in b=2");
  ASSERT_FALSE(bound.ok());  // f32[1] requires a list
  bound = after(
      "fn main(%a: f32[1], %b: f32[1], %c: f32[1]) {input_names=[\"in a\",\"in b\",\"in c\"]} {\n"
      "  %0 = add(%a, %b)  %1 = multiply(%0, %c)  return %1 }",
      "bind_params=in b=[2]");
  expect_equal(bound,
               "fn main(%a: f32[1], %c: f32[1]) {input_names=[\"in a\",\"in c\"]} {\n"
               "  %b = const([2.0]) : f32[1]\n"
               "  %0 = add(%a, %b)  %1 = multiply(%0, %c)  return %1 }");
}

TEST(BindParams, UnwrapsWhatWasAnnotated) {
  expect_equal(after("fn main(%x: f32[2], %w: f32[2]) {\n"
                     "  %0 = compiler_begin(%x) {compiler=\"a\", region=0}\n"
                     "  %1 = compiler_begin(%w) {compiler=\"a\", region=0}\n"
                     "  %2 = add(%0, %1)\n"
                     "  %3 = compiler_end(%2) {compiler=\"a\", region=0}\n"
                     "  return %3 }",
                     "bind_params=w=[1,2]"),
               "fn main(%x: f32[2]) {\n"
               "  %w = const([1.0,2.0]) : f32[2]\n"
               "  %0 = compiler_begin(%x) {compiler=\"a\", region=0}\n"
               "  %2 = add(%0, %w)\n"
               "  %3 = compiler_end(%2) {compiler=\"a\", region=0}\n"
               "  return %3 }");
}

TEST(BindParams, GivesNamedSizesTheTensorsExtents) {
  auto bound =
      bind_params(module_of("fn main(%x: f32[N], %w: f32[N]) { %0 = multiply(%x, %w)  return %0 }"),
                  {{"w", tensor({2}, {3, 4})}}, {});
  expect_equal(bound,
               "fn main(%x: f32[2]) { %w = const([3.0,4.0]) : f32[2]\n"
               "  %0 = multiply(%x, %w)  return %0 }");
}

TEST(BindParams, TakesNamesOfParametersWhenInputNamesIsNoList) {
  IRModule module = module_of(kScale);
  module.function("main").attrs.set("input_names", std::string("w"));
  auto bound = bind_params(module, {{"w", tensor({2}, {3, 4})}}, {});
  ASSERT_TRUE(bound.ok()) << bound.status().to_string();
  EXPECT_EQ(bound->function("main").num_params(), 1u);
}

TEST(BindParams, RefusesAnUnknownName) {
  Status status = status_of(kScale, {{"ww", tensor({2}, {3, 4})}});
  EXPECT_EQ(status.message(), "the model has no input \"ww\"; did you mean \"w\"?");
  EXPECT_EQ(status.help(), "the model has: x, w");
  EXPECT_EQ(status.slug(), "unknown-input");
}

TEST(BindParams, RefusesAnotherTypeOrSize) {
  EXPECT_EQ(status_of(kScale, {{"w", tensor({3}, {1, 2, 3})}}).message(),
            "\"w\" is f32[2], the tensor to bind is f32[3]");
  EXPECT_EQ(status_of(kScale, {{"w", {{DType::kF32, {Dim(2)}}, nullptr}}}).message(),
            "the tensor to bind to \"w\" has no data");
  BoundTensor small = tensor({1}, {1});
  small.type.shape = {Dim(2)};
  Status status = status_of(kScale, {{"w", small}});
  EXPECT_EQ(status.message(), "the tensor to bind to \"w\" is f32[2] and needs 8 bytes, it has 4");
  EXPECT_EQ(status.slug(), "bind-type");
}

TEST(BindParams, RefusesAnEntryThatIsCalled) {
  Status status =
      status_of("fn main(%x: f32[1]) { return %x } fn f(%x: f32[1]) { %0 = @main(%x)  return %0 }",
                {{"x", tensor({1}, {1})}});
  EXPECT_EQ(status.message(), "@f calls @main, whose parameters are to be bound");
  EXPECT_EQ(status.slug(), "entry-called");
}

TEST(BindParams, RefusesAModuleWithoutItsEntry) {
  IRModule module;
  EXPECT_EQ(bind_params(module, {{"x", tensor({1}, {1})}}, {}).status().message(),
            "the module has no function @main");
}

std::string binding(std::string_view text) {
  IRModule module =
      module_of("fn main(%s: f32[], %axes: i64[K], %m: f32[2,2], %b: bool[2]) { return %s }");
  auto parsed = parse_binding(module, text);
  if (!parsed.ok()) return parsed.status().message();
  testing::Values values = testing::from_bytes(parsed->second.type, parsed->second.data->data());
  std::string out = cat(parsed->first, " ", values.type);
  for (double value : values.values) out += cat(" ", value);
  return out;
}

TEST(ParseBinding, ReadsNumbersAndLists) {
  EXPECT_EQ(binding("s=0.5"), "s f32[] 0.5");
  EXPECT_EQ(binding("axes=[0, -1]"), "axes i64[2] 0 -1");
  EXPECT_EQ(binding("axes=[]"), "axes i64[0]");
  EXPECT_EQ(binding("m=[1,2,3,4]"), "m f32[2,2] 1 2 3 4");
  EXPECT_EQ(binding("b=[true,false]"), "b bool[2] 1 0");
}

TEST(ParseBinding, RefusesWhatDoesNotFit) {
  EXPECT_EQ(binding("s"), "\"s\" is not of the form NAME=[0,1]");
  EXPECT_EQ(binding("s=[1,2]"), "\"s\" is f32[], it cannot be a list of 2");
  EXPECT_EQ(binding("m=[1,2]"), "\"m\" is f32[2,2], it cannot be a list of 2");
  EXPECT_EQ(binding("m=1"), "\"m\" is f32[2,2], it cannot be one number");
  EXPECT_EQ(binding("axes=[1.5]"), "\"1.5\" in \"axes=[1.5]\" is not a value of i64");
  EXPECT_EQ(binding("axis=[1]"), "the model has no input \"axis\"; did you mean \"axes\"?");
}

TEST(ParseBinding, SaysHowTheValueIsWritten) {
  auto help = [](std::string_view text) {
    IRModule module = module_of(
        "fn main(%s: f32[], %c: f32[1], %two: f32[2], %m: f32[2,2], %axes: i64[K], "
        "%open: f32[N,2]) { return %s }");
    return parse_binding(module, text).status().help();
  };
  EXPECT_EQ(help("s=[1,2]"), "give one number: s=1");
  EXPECT_EQ(help("c=1"), "give all its elements (1) in brackets: c=[1], or a file: c=a.npy");
  EXPECT_EQ(help("two=1"),
            "give all its elements (2) in brackets: two=[1,2], or a file: two=a.npy");
  EXPECT_EQ(help("m=[1]"),
            "give all its elements (4) in brackets: m=[1,2,...], or a file: m=a.npy");
  EXPECT_EQ(help("axes=1"), "give its elements in brackets: axes=[1,2,...], or a file: axes=a.npy");
  EXPECT_EQ(help("open=1"), "give a file: open=a.npy");
}

}  // namespace
}  // namespace byoc
