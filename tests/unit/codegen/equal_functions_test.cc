// SPDX-License-Identifier: Apache-2.0
// Equal functions of a module are compiled once, by any plugin, and every caller uses that kernel.
// Functions are equal when plugin, graph, attributes, types and constants are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/session/profile.h"
#include "support/flow.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// The plugins a and b, which number the functions that they compile, and json.
std::shared_ptr<const PluginSet> counting_plugins(PluginOptions options) {
  for (auto& [id, values] : options) values["count"] = "1";
  return selective_plugins(options);
}

IRModule compiled(const IRModule& module, const std::shared_ptr<const PluginSet>& plugins,
                  std::vector<std::string> compilers, Report* report = nullptr, int level = 2) {
  PassContext context = context_of(module, plugins, std::move(compilers), report);
  context.level = level;
  std::vector<Pass> passes = Pipeline::whole(context);
  Result<IRModule> out = run_passes(module, passes, context);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

/// The number of functions that each plugin compiled.
std::map<std::string, size_t> kernels(const IRModule& module) {
  std::map<std::string, size_t> out;
  for (const ExternalModule& made : module.external_mods) out[made.plugin] += made.functions.size();
  return out;
}

size_t kernels_of_a(std::string_view text, const std::string& ops) {
  auto plugins = counting_plugins({{"a", {{"ops", ops}}}});
  return kernels(compiled(parse(text), plugins, {"a"}))["a"];
}

/// relu of plugin a and tanh of json in turn.
IRModule alternating(int rounds) {
  std::string text = "fn main(%x: f32[4]) {\n";
  for (int k = 0; k < rounds; ++k) {
    std::string from = k == 0 ? "%x" : cat("%t", k - 1);
    text += cat("  %r", k, " = relu(", from, ") loc(\"relu ", k, "\")\n  %t", k, " = tanh(%r", k,
                ") loc(\"tanh ", k, "\")\n");
  }
  return parse(cat(text, "  return %t", rounds - 1, "\n}"));
}

Executable executable_of(const IRModule& module) {
  Result<Executable> out = make_executable(module);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

std::vector<Tensor> inputs_of(const std::vector<float>& values) {
  std::vector<Tensor> out;
  out.push_back(tensor_f32({static_cast<int64_t>(values.size())}, values));
  return out;
}

TEST(EqualFunctions, FiftyRegionsAreOneKernel) {
  auto plugins = counting_plugins({{"a", {{"ops", "relu"}}}});
  IRModule module = compiled(alternating(50), plugins, {"a"});
  EXPECT_THAT(kernels(module), ElementsAre(Pair("a", 1), Pair("json", 1)));
  const ExternalFunction* kernel = module.find_external("a_main_0");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->implementation, "function 1") << "a was given more than one";
  EXPECT_EQ(kernel->aliases.size(), 49u);
  EXPECT_EQ(module.find_external("a_main_7"), kernel);
  double expected[] = {0.5, -1, 2, 0};
  for (int k = 0; k < 50; ++k) {
    for (double& v : expected) v = std::tanh(std::max(v, 0.0));
  }
  std::vector<float> got =
      floats(execute(executable_of(module), plugins, inputs_of({0.5f, -1, 2, 0}))[0]);
  for (size_t k = 0; k < 4; ++k) EXPECT_NEAR(got[k], expected[k], 1e-6);
}

TEST(EqualFunctions, KeepNamesAndLocsOfTheirOwn) {
  auto plugins = counting_plugins({{"a", {{"ops", "relu"}}}});
  IRModule module = compiled(alternating(5), plugins, {"a"});
  TempFolder folder;
  ASSERT_TRUE(save_artifact(executable_of(module), folder.file("m.byoc")).ok());
  Result<Executable> loaded = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  auto session = Session::load(*std::move(loaded), plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<ProfileRow> rows = step_rows(**session);
  ASSERT_EQ(rows.size(), 10u);
  std::set<std::string> symbols;
  for (size_t k = 0; k < rows.size(); ++k) {
    symbols.insert(rows[k].symbol);
    EXPECT_THAT(rows[k].locs, ElementsAre(cat(k % 2 ? "tanh " : "relu ", k / 2)));
    EXPECT_EQ(rows[k].flops, 4);
  }
  EXPECT_EQ(symbols.size(), 10u);
}

TEST(EqualFunctions, ArePrintedAndParsed) {
  auto plugins = counting_plugins({{"a", {{"ops", "relu"}}}});
  IRModule module = compiled(alternating(3), plugins, {"a"});
  EXPECT_TRUE(verify(module).ok()) << verify(module).to_string();
  TempFolder folder;
  ASSERT_TRUE(write_module(module, folder.file("m.ir")).ok());
  Result<IRModule> again = read_module(folder.file("m.ir"), all_ops());
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  expect_equal(module, *again);
}

TEST(EqualFunctions, DifferByOneAttribute) {
  auto text = [](const char* alpha) {
    return cat("fn main(%x: f32[4]) { %0 = leaky_relu(%x) {alpha=0.1}  %1 = tanh(%0)\n",
               "  %2 = leaky_relu(%1) {alpha=", alpha, "}  return %2 }");
  };
  EXPECT_EQ(kernels_of_a(text("0.1"), "leaky_relu"), 1u);
  EXPECT_EQ(kernels_of_a(text("0.2"), "leaky_relu"), 2u);
}

// The 100 elements are more than the graph JSON has inline.
TEST(EqualFunctions, DifferByTheBytesOfOneConstant) {
  auto list = [](float last) {
    std::string out;
    for (int k = 0; k < 99; ++k) out += cat(k, ".0,");
    return cat("const([", out, last, ".0]) : f32[100]");
  };
  auto text = [&](float last) {
    return cat("fn main(%x: f32[100]) { %c = ", list(99), "  %d = ", list(last),
               "  %0 = add(%x, %c)  %1 = tanh(%0)  %2 = add(%1, %d)  return %2 }");
  };
  EXPECT_EQ(kernels_of_a(text(99), "add"), 1u);
  EXPECT_EQ(kernels_of_a(text(98), "add"), 2u);
}

TEST(EqualFunctions, DifferByOneType) {
  auto text = [](const char* y) {
    return cat("fn main(%x: f32[4], %y: ", y,
               ") { %0 = relu(%x)  %1 = tanh(%0)  %2 = relu(%y)  return %1, %2 }");
  };
  EXPECT_EQ(kernels_of_a(text("f32[4]"), "relu"), 1u);
  EXPECT_EQ(kernels_of_a(text("f32[2,2]"), "relu"), 2u);
  EXPECT_EQ(kernels_of_a(text("i32[4]"), "relu"), 2u);
}

TEST(EqualFunctions, DifferByTheirPlugin) {
  constexpr std::string_view text = R"(
fn f(%x: f32[4]) {compiler="a"} { %0 = relu(%x)  return %0 }
fn g(%x: f32[4]) {compiler="b"} { %0 = relu(%x)  return %0 }
fn main(%x: f32[4]) { %0 = @f(%x)  %1 = tanh(%0)  %2 = @g(%1)  return %2 })";
  auto plugins = counting_plugins({{"a", {{"ops", "relu"}}}, {"b", {{"ops", "relu"}}}});
  EXPECT_THAT(kernels(compiled(parse(text), plugins, {})),
              ElementsAre(Pair("a", 1), Pair("b", 1), Pair("json", 1)));
}

TEST(EqualFunctions, DifferByAnOperandThatIsReadTwice) {
  constexpr std::string_view text = R"(fn main(%x: f32[4], %y: f32[4]) {
  %0 = multiply(%x, %y)  %1 = tanh(%0)  %2 = multiply(%1, %1)  return %2 })";
  EXPECT_EQ(kernels_of_a(text, "multiply"), 2u);
}

// Both regions are sub(%i0, %i1), and their calls pass the operands in turn.
TEST(EqualFunctions, ReceiveTheOperandsOfTheirOwnCalls) {
  constexpr std::string_view text = R"(fn main(%x: f32[2], %y: f32[2]) {
  %0 = subtract(%x, %y)  %1 = subtract(%y, %x)  %2 = tanh(%0)  return %0, %1, %2 })";
  auto plugins = counting_plugins({{"a", {{"ops", "subtract"}}}});
  IRModule module = compiled(parse(text), plugins, {"a"});
  EXPECT_THAT(kernels(module), ElementsAre(Pair("a", 1), Pair("json", 1)));
  std::vector<Tensor> inputs = inputs_of({5, 1});
  inputs.push_back(tensor_f32({2}, {2, 4}));
  std::vector<Tensor> outputs = execute(executable_of(module), plugins, inputs);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{3, -3}));
  EXPECT_EQ(floats(outputs[1]), (std::vector<float>{-3, 3}));
}

// Equal matches have composites of their own, because locs differ. The third match has the operands
// of its add in the other order.
TEST(EqualFunctions, MayInvokeComposites) {
  constexpr const char* kReluAdd =
      R"([{"name":"relu_add","dag":{"op":"add","args":[{"op":"relu"},{"any":true}]}}])";
  constexpr std::string_view text = R"(fn main(%x: f32[2], %y: f32[2]) {
  %0 = relu(%x) loc("r0")  %1 = add(%0, %y) loc("a0")  %2 = tanh(%1)
  %3 = relu(%2) loc("r1")  %4 = add(%3, %y) loc("a1")  %5 = tanh(%4)
  %6 = relu(%5) loc("r2")  %7 = add(%y, %6) loc("a2")  return %7 })";
  auto plugins = counting_plugins({{"a", {{"ops", "exp"}, {"patterns", kReluAdd}}}});
  IRModule module = compiled(parse(text), plugins, {"a"});
  EXPECT_THAT(kernels(module), ElementsAre(Pair("a", 2), Pair("json", 1)));
  std::vector<Tensor> inputs = inputs_of({1, -1});
  inputs.push_back(tensor_f32({2}, {0.5f, -0.25f}));
  std::vector<float> got = floats(execute(executable_of(module), plugins, inputs)[0]);
  const double y[] = {0.5, -0.25};
  for (size_t k = 0; k < 2; ++k) {
    double v = k == 0 ? 1 : -1;
    for (int round = 0; round < 3; ++round) {
      v = std::max(v, 0.0) + y[k];
      if (round < 2) v = std::tanh(v);
    }
    EXPECT_NEAR(got[k], v, 1e-6);
  }
}

TEST(EqualFunctions, AreDeclinedTogether) {
  auto plugins =
      counting_plugins({{"a", {{"ops", "relu"}, {"decline", "relu"}}}, {"b", {{"ops", "relu"}}}});
  Report report;
  IRModule module = compiled(alternating(50), plugins, {"a", "b"}, &report);
  EXPECT_THAT(kernels(module), ElementsAre(Pair("b", 1), Pair("json", 1)));
  std::set<Symbol> locs;
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind != Report::Remark::kDeclined) continue;
    EXPECT_THAT(remark.reason, HasSubstr("(function 1)")) << "a was given more than one";
    locs.insert(remark.locs.begin(), remark.locs.end());
  }
  EXPECT_EQ(locs.size(), 50u);
}

// b declines exp, and a, which is compiled before b, takes it: what a compiled at first is shared.
TEST(EqualFunctions, AreFoundAmongThoseCompiledBefore) {
  constexpr std::string_view text = R"(
fn f(%x: f32[4]) {compiler="a"} { %0 = exp(%x)  return %0 }
fn g(%x: f32[4]) {compiler="b"} { %0 = exp(%x)  return %0 }
fn main(%x: f32[4]) { %0 = @f(%x)  %1 = tanh(%0)  %2 = @g(%1)  return %2 })";
  auto plugins =
      counting_plugins({{"a", {{"ops", "exp"}}}, {"b", {{"ops", "exp"}, {"decline", "exp"}}}});
  PassContext context = context_of(parse(text), plugins, {"b", "a"});
  IRModule module = run(parse(text),
                        "annotate_target,merge_compiler_regions,partition_graph,"
                        "fuse_ops,run_codegen=a+b+json,inline_functions,plan_memory",
                        context);
  EXPECT_THAT(kernels(module), ElementsAre(Pair("a", 1), Pair("json", 1)));
  std::vector<float> got =
      floats(execute(executable_of(module), plugins, inputs_of({0, 0, 0, 0}))[0]);
  for (float v : got) EXPECT_NEAR(v, std::exp(std::tanh(1.0)), 1e-6);
}

TEST(EqualFunctions, RunAtTheSameTime) {
  auto plugins = counting_plugins({{"a", {{"ops", "relu"}}}});
  auto session = Session::load(executable_of(compiled(alternating(20), plugins, {"a"})), plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      auto context = *(*session)->make_context();
      Tensor x = tensor_f32({4}, {0.5f, -1, 2, 0}), y = tensor_f32({4}, {0, 0, 0, 0});
      DLTensor in = x.view(), out = y.view();
      for (int k = 0; k < 20; ++k) {
        if (!(*session)->run(*context, {&in, 1}, {&out, 1}).ok()) return;
      }
      result = floats(y);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(results[0].size(), 4u);
  for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
}

}  // namespace
}  // namespace byoc::test
