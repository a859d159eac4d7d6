// SPDX-License-Identifier: Apache-2.0
// Control flow from text to results, by the reference plugin and by llvm where it was built.
#include <gmock/gmock.h>

#include <cstring>

#include "support/flow.h"

namespace byoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor flag(bool value) {
  Tensor out = *Tensor::make({DType::kBool, {}});
  *reinterpret_cast<uint8_t*>(out.data()) = value;
  return out;
}

Tensor count(int64_t value) {
  Tensor out = *Tensor::make({DType::kI64, {}});
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

int64_t integer(const Tensor& tensor) {
  int64_t value;
  std::memcpy(&value, tensor.data(), sizeof value);
  return value;
}

template <class... Tensors>
std::vector<Tensor> list(Tensors... tensors) {
  std::vector<Tensor> out;
  (out.push_back(std::move(tensors)), ...);
  return out;
}

std::vector<std::string> default_codegens() {
  std::vector<std::string> out = {"json"};
  if (built_plugins()->find("llvm") != nullptr) out.push_back("llvm");
  return out;
}

Executable built(const std::string& text, const std::string& codegen) {
  BuildOptions options{.plugins = built_plugins(), .compilers = {codegen}};
  Result<Executable> out = build(parse(text), options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

std::vector<Tensor> results(const std::string& text, const std::string& codegen,
                            const std::vector<Tensor>& inputs) {
  return execute(built(text, codegen), built_plugins(), inputs);
}

const char* const kChoice = R"(
  fn main(%c: bool[], %x: f32[3]) {
    %0 = if(%c, @doubled, @negated, %x) : f32[3]
    %1 = exp(%0)
    return %1, %0 }
  fn doubled(%x: f32[3]) { %0 = add(%x, %x) return %0 }
  fn negated(%x: f32[3]) { %0 = negative(%x) return %0 })";

TEST(ControlFlow, RunsTheBranchOfTheCondition) {
  for (const std::string& codegen : default_codegens()) {
    auto yes = results(kChoice, codegen, list(flag(true), tensor_f32({3}, {1, 2, -3})));
    EXPECT_THAT(floats(yes[1]), ElementsAre(2, 4, -6)) << codegen;
    auto no = results(kChoice, codegen, list(flag(false), tensor_f32({3}, {1, 2, -3})));
    EXPECT_THAT(floats(no[1]), ElementsAre(-1, -2, 3)) << codegen;
  }
}

TEST(ControlFlow, ABranchMayReturnItsParameterAndOneValueTwice) {
  const char* text = R"(
    fn main(%c: bool[], %x: f32[2]) {
      %0 = if(%c, @same, @other, %x) : f32[2], f32[2]
      return %0, %0#1 }
    fn same(%x: f32[2]) { return %x, %x }
    fn other(%x: f32[2]) { %0 = negative(%x) return %0, %0 })";
  for (const std::string& codegen : default_codegens()) {
    auto yes = results(text, codegen, list(flag(true), tensor_f32({2}, {1, 2})));
    EXPECT_THAT(floats(yes[0]), ElementsAre(1, 2)) << codegen;
    EXPECT_THAT(floats(yes[1]), ElementsAre(1, 2)) << codegen;
    auto no = results(text, codegen, list(flag(false), tensor_f32({2}, {1, 2})));
    EXPECT_THAT(floats(no[0]), ElementsAre(-1, -2)) << codegen;
    EXPECT_THAT(floats(no[1]), ElementsAre(-1, -2)) << codegen;
  }
}

// a, b = b, a + b: Fibonacci's numbers; the first result swaps, so that copies must not overtake.
const char* const kFibonacci = R"(
  fn main(%n: i64[], %a: f32[1], %b: f32[1]) {
    %true = const(true) : bool[]
    %0 = loop(%n, %true, @step, %a, %b) {carried=2} : f32[1], f32[1]
    return %0, %0#1 }
  fn step(%i: i64[], %a: f32[1], %b: f32[1]) {
    %true = const(true) : bool[]
    %0 = add(%a, %b)
    return %true, %b, %0 })";

TEST(ControlFlow, ALoopPassesValuesOn) {
  for (const std::string& codegen : default_codegens()) {
    Executable program = built(kFibonacci, codegen);
    const std::vector<std::pair<int64_t, std::vector<float>>> cases = {
        {0, {0, 1}}, {1, {1, 1}}, {2, {1, 2}}, {10, {55, 89}}, {-3, {0, 1}}};
    for (const auto& [n, expected] : cases) {
      auto out = execute(program, built_plugins(),
                         list(count(n), tensor_f32({1}, {0}), tensor_f32({1}, {1})));
      EXPECT_THAT(floats(out[0]), ElementsAre(expected[0])) << codegen << n;
      EXPECT_THAT(floats(out[1]), ElementsAre(expected[1])) << codegen << n;
    }
  }
}

TEST(ControlFlow, ALoopEndsWhenItsConditionIsFalse) {
  const char* text = R"(
    fn main(%c: bool[], %x: i64[]) {
      %n = const(1000000000000) : i64[]
      %0 = loop(%n, %c, @step, %x) {carried=1} : i64[]
      return %0 }
    fn step(%i: i64[], %x: i64[]) {
      %two = const(2) : i64[]
      %limit = const(100) : i64[]
      %0 = multiply(%x, %two)
      %1 = less(%0, %limit)
      return %1, %0 })";
  for (const std::string& codegen : default_codegens()) {
    EXPECT_EQ(integer(results(text, codegen, list(flag(true), count(3)))[0]), 192) << codegen;
    EXPECT_EQ(integer(results(text, codegen, list(flag(false), count(3)))[0]), 3) << codegen;
  }
}

TEST(ControlFlow, ALoopStacksRowsAndReadsOuterValues) {
  const char* text = R"(
    fn main(%x: f32[2], %w: f32[2]) {
      %n = const(3) : i64[]
      %true = const(true) : bool[]
      %0 = loop(%n, %true, @step, %x, %w) {carried=1} : f32[2], f32[3,2], i64[3]
      %1 = negative(%0#1)
      return %0, %1, %0#2 }
    fn step(%i: i64[], %x: f32[2], %w: f32[2]) {
      %true = const(true) : bool[]
      %0 = add(%x, %w)
      return %true, %0, %x, %i })";
  for (const std::string& codegen : default_codegens()) {
    auto out = results(text, codegen, list(tensor_f32({2}, {1, 2}), tensor_f32({2}, {10, 20})));
    EXPECT_THAT(floats(out[0]), ElementsAre(31, 62)) << codegen;
    EXPECT_THAT(floats(out[1]), ElementsAre(-1, -2, -11, -22, -21, -42)) << codegen;
    EXPECT_THAT(out[2].spec().dims, ElementsAre(3));
  }
}

// Sums the odd numbers and multiplies by the even ones: an if inside a loop inside an if.
const char* const kNested = R"(
  fn main(%c: bool[], %x: f32[1], %n: i64[]) {
    %0 = if(%c, @repeat, @zero, %x, %n) : f32[1]
    return %0 }
  fn zero(%x: f32[1], %n: i64[]) { %0 = subtract(%x, %x) return %0 }
  fn repeat(%x: f32[1], %n: i64[]) {
    %true = const(true) : bool[]
    %0 = loop(%n, %true, @step, %x) {carried=1} : f32[1]
    return %0 }
  fn step(%i: i64[], %x: f32[1]) {
    %true = const(true) : bool[]
    %two = const(2) : i64[]
    %zero = const(0) : i64[]
    %0 = mod(%i, %two)
    %1 = equal(%0, %zero)
    %2 = cast(%i) {to=f32}
    %3 = if(%1, @even, @odd, %x, %2) : f32[1]
    return %true, %3 }
  fn even(%x: f32[1], %i: f32[]) { %0 = add(%x, %x) return %0 }
  fn odd(%x: f32[1], %i: f32[]) { %0 = add(%x, %i) return %0 })";

TEST(ControlFlow, Nests) {
  for (const std::string& codegen : default_codegens()) {
    // 1 -> 2 -> 3 -> 6 -> 9 -> 18
    auto out = results(kNested, codegen, list(flag(true), tensor_f32({1}, {1}), count(5)));
    EXPECT_THAT(floats(out[0]), ElementsAre(18)) << codegen;
    out = results(kNested, codegen, list(flag(false), tensor_f32({1}, {1}), count(5)));
    EXPECT_THAT(floats(out[0]), ElementsAre(0)) << codegen;
  }
}

TEST(ControlFlow, SurvivesTheArtifact) {
  Executable program = built(kNested, "json");
  const std::string path = ::testing::TempDir() + "/control.byoc";
  ASSERT_TRUE(save_artifact(program, path).ok());
  Result<Executable> loaded = load_artifact(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  auto out = execute(*loaded, built_plugins(), list(flag(true), tensor_f32({1}, {1}), count(5)));
  EXPECT_THAT(floats(out[0]), ElementsAre(18));
}

TEST(ControlFlow, ALoopWithTooFewRowsIsAnErrorOfTheRun) {
  const char* text = R"(
    fn main(%n: i64[]) {
      %true = const(true) : bool[]
      %0 = loop(%n, %true, @step) {carried=0} : i64[2]
      return %0 }
    fn step(%i: i64[]) { %true = const(true) : bool[] return %true, %i })";
  Result<std::unique_ptr<Session>> session = Session::load(built(text, "json"), built_plugins());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto context = (*session)->make_context();
  ASSERT_TRUE(context.ok());
  for (auto [n, ok] : {std::pair(2, true), {1, false}, {3, false}}) {
    Tensor input = count(n), output = *Tensor::make({DType::kI64, {2}});
    std::vector<DLTensor> in = {input.view()}, out = {output.view()};
    Status status = (*session)->run(**context, in, out);
    EXPECT_EQ(status.ok(), ok) << n;
    EXPECT_EQ(status.slug(), ok ? "" : "loop-extent") << status.to_string();
  }
}

TEST(ControlFlow, PrintsAndParsesToAnEqualModule) {
  for (const char* text : {kChoice, kFibonacci, kNested}) {
    IRModule module = parse(text);
    expect_equal(parse(print(module)), module);
  }
}

TEST(ControlFlow, TypesThatDoNotFitAreRefused) {
  struct Case {
    const char *call, *message;
  };
  const Case cases[] = {
      {"if(%x, @same, @same, %x) : f32[2]", "the condition is f32[2], expected bool[]"},
      {"if(%c, @same, @same) : f32[2]", "@same receives nothing, its parameters are f32[2]"},
      {"if(%c, @same, @flat, %x) : f32[2]", "@same returns f32[2], @flat returns f32[]"},
      {"if(%c, @same, @same, %x) : f32[3]", "its type is f32[3], its bodies give f32[2]"},
      {"loop(%c, %c, @step, %x) {carried=1} : f32[2]",
       "the number of iterations is bool[], expected i64[]"},
      {"loop(%n, %c, @same, %x) {carried=1} : f32[2]",
       "@same receives i64[], f32[2], its parameters are f32[2]"},
      {"loop(%n, %c, @grow, %x) {carried=1} : f32[2]", "which is not what the next iteration"},
      {"loop(%n, %c, @step, %x) {carried=2} : f32[2]", "operands, expected at least 4"},
      {"loop(%n, %c, @step, %x) {carried=0} : f32[]", "stacked result 0 has no first dim"},
      {"if(%c, @main, @same, %x) : f32[2]", "functions call each other in a circle"},
  };
  for (const Case& one : cases) {
    std::string text = cat(R"(fn main(%c: bool[], %n: i64[], %x: f32[2]) {
                                %0 = )",
                           one.call, R"( return %0 }
      fn same(%x: f32[2]) { return %x }
      fn flat(%x: f32[2]) { %0 = const(1) : f32[] return %0 }
      fn step(%i: i64[], %x: f32[2]) { %t = const(true) : bool[] return %t, %x }
      fn grow(%i: i64[], %x: f32[2]) {
        %t = const(true) : bool[]
        %0 = concat(%x, %x) {axis=0}
        return %t, %0 })");
    Result<IRModule> module = parse_module(text, all_ops());
    ASSERT_FALSE(module.ok()) << one.call;
    EXPECT_THAT(module.status().to_string(), HasSubstr(one.message)) << one.call;
  }
}

TEST(ControlFlow, NamedSizesAreBoundInBodies) {
  const char* text = R"(
    fn main(%c: bool[], %x: f32[N]) {
      %0 = if(%c, @doubled, @same, %x) : f32[N]
      return %0 }
    fn doubled(%x: f32[N]) { %0 = add(%x, %x) return %0 }
    fn same(%x: f32[N]) { return %x })";
  IRModule module = run(parse(text), "bind_shapes=N=2", PassContext());
  EXPECT_EQ(cat(module.function("main").result_types()[0]), "f32[2]");
  BuildOptions options{.plugins = built_plugins(), .compilers = {"json"}};
  Result<Executable> program = build(module, options);
  ASSERT_TRUE(program.ok()) << program.status().to_string();
  auto out = execute(*program, built_plugins(), list(flag(true), tensor_f32({2}, {1, 2})));
  EXPECT_THAT(floats(out[0]), ElementsAre(2, 4));
}

}  // namespace
}  // namespace byoc::test
