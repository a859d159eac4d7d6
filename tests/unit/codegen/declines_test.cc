// SPDX-License-Identifier: Apache-2.0
// Many functions that a plugin takes and then declines in compile: none is lost, and each is
// compiled a few times at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/flow.h"

namespace byoc::test {
namespace {

IRModule built(IRModule module, const PassContext& context) {
  Result<IRModule> out = run_passes(std::move(module), partition_pipeline(context), context);
  if (out.ok()) out = run_passes(*std::move(out), codegen_pipeline(context), context);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

// Compiles more functions than one batch holds, all different, every 128th declined.
TEST(Declines, OfSomeOfThousandsOfFunctionsLosesNone) {
  constexpr int kRounds = 4200, kDeclined = kRounds / 128;
  std::string text = "fn main(%x: f32[2]) {\n", from = "%x";
  double expected[] = {0.25, -0.5};
  for (int k = 0; k < kRounds; ++k) {
    const double alpha = 0.875 + k / 65536.0;
    const bool is_declined = k % 128 == 127;
    text += cat("%", 2 * k, " = ", is_declined ? "elu" : "leaky_relu", "(", from,
                ") {alpha=", alpha, "} %", 2 * k + 1, " = tanh(%", 2 * k, ")\n");
    from = cat("%", 2 * k + 1);
    for (double& v : expected) {
      double negative = is_declined ? std::expm1(v) : v;
      v = std::tanh(v < 0 ? alpha * negative : v);
    }
  }
  IRModule module = parse(cat(text, "return ", from, " }"));
  auto plugins = selective_plugins(
      {{"a", {{"ops", "leaky_relu,elu"}, {"decline", "elu"}}}, {"b", {{"ops", "tanh"}}}});
  Report report;
  PassContext context = context_of(module, plugins, {"a", "b"}, &report);
  context.level = 0;  // every op a function of its own
  const IRModule compiled = built(std::move(module), context);
  std::map<std::string, uint64_t> ops;
  Result<Executable> executable = make_executable(compiled);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  const Executable& made = *executable;
  for (const Step& step : made.program.steps) {
    const ExternalModule& part = made.modules[step.module];
    ops[part.plugin] += part.functions[step.function].ops;
  }
  EXPECT_THAT(ops,
              testing::ElementsAre(testing::Pair("a", kRounds - kDeclined),
                                   testing::Pair("b", kRounds), testing::Pair("json", kDeclined)));
  EXPECT_EQ(std::count_if(report.remarks.begin(), report.remarks.end(),
                          [](const auto& r) { return r.kind == Report::Remark::kDeclined; }),
            kDeclined);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({2}, {0.25f, -0.5f}));
  std::vector<float> got = floats(execute(made, plugins, inputs)[0]);
  for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(got[k], expected[k], 1e-5);
}

// Returns the number of functions that the plugin's compile was called with while it compiled `n`
// different functions of one op and declined every second one.
size_t compiled_with_declines(int n) {
  std::string text = "fn main(%x: f32[2]) {\n", from = "%x";
  for (int k = 0; k < n; ++k) {
    text += cat("%", k, " = ", k % 2 ? "elu" : "leaky_relu", "(", from,
                ") {alpha=", 0.875 + k / 65536.0, "}\n");
    from = cat("%", k);
  }
  IRModule module = parse(cat(text, "return ", from, " }"));
  auto plugins =
      selective_plugins({{"a", {{"ops", "leaky_relu,elu"}, {"decline", "elu"}, {"count", "1"}}}});
  Report report;
  PassContext context = context_of(module, plugins, {"a"}, &report);
  context.level = 0;  // every op a function of its own
  const IRModule compiled = built(std::move(module), context);
  size_t most = 0, taken = 0;
  auto note = [&](const std::string& text) {
    constexpr std::string_view kWord = "function ";
    const size_t at = text.find(kWord);
    ASSERT_NE(at, std::string::npos) << text;
    most = std::max<size_t>(most, std::stoul(text.substr(at + kWord.size())));
  };
  for (const ExternalModule& part : compiled.external_mods) {
    if (part.plugin != "a") continue;
    taken += part.functions.size();
    for (const ExternalFunction& function : part.functions) note(function.implementation);
  }
  EXPECT_EQ(taken, static_cast<size_t>(n / 2));
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind == Report::Remark::kDeclined) note(remark.reason);
  }
  return most;
}

// The batch is split in halves after some declines. One call per decline with all functions that
// are left would be n * n / 8: 32,768 for 512 functions.
TEST(Declines, OfEverySecondFunctionCompilesEachOneALogarithmicNumberOfTimes) {
  const size_t small = compiled_with_declines(256), large = compiled_with_declines(512);
  EXPECT_LE(large, 512u * (9 + 9));  // log2(512) halvings, and the first tries
  EXPECT_LE(large, small * 5 / 2);
}

}  // namespace
}  // namespace byoc::test
