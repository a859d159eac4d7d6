// SPDX-License-Identifier: Apache-2.0
// Loop functions reach the plugin that compiles them, and give what C++ gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/flow.h"

namespace byoc::test {
namespace {

std::vector<Tensor> list(Tensor tensor) {
  std::vector<Tensor> out;
  out.push_back(std::move(tensor));
  return out;
}

using ::testing::Contains;
using ::testing::HasSubstr;

// Sums of rows, each divided by the greatest element, as no op computes them.
constexpr std::string_view kRows = R"(
  loops rows(x: f32[3,4]) -> (y: f32[3]) {
    for i in 0..3 {
      stack top: f32[1]
      stack sum: f32[1]
      top[0] = -inf
      sum[0] = 0.0
      for j in 0..4 {
        let v = x[i, j]
        top[0] = max(top[0], v)
        sum[0] = sum[0] + v
      }
      y[i] = sum[0] / top[0]
    }
  }
  fn main(%x: f32[3,4]) {
    %0 = relu(%x)
    %1 = @rows(%0)
    %2 = exp(%1)
    return %2
  })";

Result<Executable> built(std::string_view text, std::vector<std::string> compilers,
                         Report* report = nullptr) {
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = std::move(compilers);
  options.report = report;
  return build(parse(text), options);
}

std::string plugin_of(const Executable& executable, const std::string& symbol) {
  for (const ExternalModule& module : executable.modules) {
    for (const ExternalFunction& function : module.functions)
      if (function.symbol == symbol) return module.plugin;
  }
  return "";
}

std::vector<std::vector<std::string>> choices() {
  std::vector<std::vector<std::string>> out = {{"json"}, {"onednn", "json"}};
  if (built_plugins()->find("llvm") != nullptr) {
    out.push_back({"llvm"});
    out.push_back({"onednn", "llvm"});
  }
  return out;
}

TEST(LoopCodegen, GivesWhatPlainCodeGives) {
  const std::vector<float> x = {1, 2, 3, 4, -1, 5, -2, 5, 0.5f, 0.25f, 0, 0.25f};
  std::vector<float> expected;
  for (size_t i = 0; i < 3; ++i) {
    float sum = 0, top = 0;
    for (size_t j = 0; j < 4; ++j) {
      const float v = std::max(x[4 * i + j], 0.0f);
      sum += v, top = std::max(top, v);
    }
    expected.push_back(std::exp(sum / top));
  }
  for (const auto& compilers : choices()) {
    auto executable = built(kRows, compilers);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    EXPECT_EQ(plugin_of(*executable, "rows"), compilers.back());
    auto out = execute(*executable, built_plugins(), list(tensor_f32({3, 4}, x)));
    expect_close(out, list(tensor_f32({3}, expected)));
  }
}

TEST(LoopCodegen, CompilesForTheNamedPlugin) {
  const std::string text = std::string(kRows.substr(0, kRows.find("fn main"))) +
                           "{compiler=\"json\"}\n" +
                           std::string(kRows.substr(kRows.find("fn main")));
  for (const auto& compilers : choices()) {
    auto executable = built(text, compilers);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    EXPECT_EQ(plugin_of(*executable, "rows"), "json");
  }
}

TEST(LoopCodegen, RefusesAPluginWithoutTheFlag) {
  const std::string text = std::string(kRows.substr(0, kRows.find("fn main"))) +
                           "{compiler=\"onednn\"}\n" +
                           std::string(kRows.substr(kRows.find("fn main")));
  auto executable = built(text, {"onednn", "json"});
  EXPECT_EQ(executable.status().slug(), "no-loops-codegen");
  EXPECT_THAT(executable.status().to_string(), HasSubstr("\"onednn\" compiles no loop functions"));
}

TEST(LoopCodegen, RefusesAnEntryOfLoops) {
  auto executable = built("loops main(x: f32[1]) -> (y: f32[1]) { y[0] = x[0] }", {"json"});
  EXPECT_EQ(executable.status().slug(), "loops-entry");
}

TEST(LoopCodegen, CompilesEqualLoopsOnce) {
  auto executable = built(R"(
    loops a(x: f32[2]) -> (y: f32[2]) { for i in 0..2 { y[i] = x[i] + 1.0 } }
    loops b(x: f32[2]) -> (y: f32[2]) { for i in 0..2 { y[i] = x[i] + 1.0 } }
    loops c(x: f32[2]) -> (y: f32[2]) { for i in 0..2 { y[i] = x[i] + 2.0 } }
    fn main(%x: f32[2]) {
      %0 = @a(%x)
      %1 = @b(%0)
      %2 = @c(%1)
      return %2
    })",
                          {"json"});
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  size_t functions = 0;
  for (const ExternalModule& module : executable->modules) functions += module.functions.size();
  EXPECT_EQ(functions, 2u);
  auto out = execute(*executable, built_plugins(), list(tensor_f32({2}, {1, 2})));
  expect_close(out, list(tensor_f32({2}, {5, 6})));
}

TEST(LoopCodegen, PassesLoopsOnThatWouldBeTooMuchCode) {
  if (built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  Report report;
  auto executable = built(R"(
    loops f(x: f32[1000,1000]) -> (y: f32[1000,1000]) {
      unrolled i in 0..1000 { unrolled j in 0..1000 { y[i, j] = x[i, j] } }
    }
    fn main(%x: f32[1000,1000]) { %0 = @f(%x)  return %0 })",
                          {"llvm"}, &report);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_EQ(plugin_of(*executable, "f"), "json");
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0].reason, HasSubstr("loops of more than 65536 statements"));
}

TEST(LoopCodegen, CountsNoCodeForLoopsThatNeverRun) {
  if (built_plugins()->find("llvm") == nullptr) GTEST_SKIP() << "llvm is not built";
  Report report;
  auto executable = built(R"(
    loops f(x: f32[1000,1000]) -> (y: f32[1000,1000]) {
      unrolled i in 0..1000 { unrolled j in 0..100 { y[i, j] = x[i, j] } }
      unrolled k in 0..+-2000000 { y[0, 0] = x[0, 0] }
    }
    fn main(%x: f32[1000,1000]) { %0 = @f(%x)  return %0 })",
                          {"llvm"}, &report);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_EQ(plugin_of(*executable, "f"), "json");
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_THAT(report.remarks[0].reason, HasSubstr("loops of more than 65536 statements"));
}

// The name is that of llvm's micro-kernel, which multiplies; the interpreter runs the declaration.
TEST(LoopCodegen, ComputesWhatAKernelIsDeclaredTo) {
  const std::string text = R"te(
    loops f(x: f32[2,8]) -> (y: f32[2,8]) {
      kernel fma_tile_2x8: (a: f32[2, 8]) -> (c: f32[2, 8]) { for i < 2, j < 8: a[i, j] + 1.0 }
      fma_tile_2x8(&x[0, 0], &y[0, 0], 2, 8, 8, 1, 8, 1)
    }
    fn main(%x: f32[2,8]) { %0 = @f(%x)  return %0 })te";
  const std::vector<float> x(16, 2), expected(16, 3);
  for (const auto& compilers : choices()) {
    auto executable = built(text, compilers);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    EXPECT_EQ(plugin_of(*executable, "f"), "json");
    auto out = execute(*executable, built_plugins(), list(tensor_f32({2, 8}, x)));
    expect_close(out, list(tensor_f32({2, 8}, expected)));
  }
}

TEST(LoopCodegen, GivesAnErrorForAnIndexOutsideWithJson) {
  auto executable = built(R"(
    loops f(x: i64[2]) -> (y: i64[2]) { for i in 0..2 { y[x[i]] = 1 } }
    fn main(%x: i64[2]) { %0 = @f(%x)  return %0 })",
                          {"json"});
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  auto session = Session::load(*std::move(executable), built_plugins());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  auto context = (*session)->make_context();
  Tensor x = *Tensor::make({DType::kI64, {2}}), y = *Tensor::make({DType::kI64, {2}});
  reinterpret_cast<int64_t*>(x.data())[1] = 7;
  DLTensor in = x.view(), out = y.view();
  Status status = (*session)->run(**context, {&in, 1}, {&out, 1});
  EXPECT_THAT(status.to_string(), HasSubstr("index 7 of dimension 0 of y, which has 2"));
}

}  // namespace
}  // namespace byoc::test
