// SPDX-License-Identifier: Apache-2.0
// Functions of a request: those that the cache has are not lowered.
#include "plugins/llvm/functions.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "byoc/text/graph_json.h"
#include "byoc/text/text.h"
#include "plugins/llvm/knobs.h"
#include "support/temp_folder.h"

namespace byoc::llvm_plugin {
namespace {

constexpr std::string_view kDense = R"(fn main(%a: f32[9,40], %b: f32[40,70]) {
  %0 = matmul(%a, %b) loc("Gemm_0")
  %1 = relu(%0)
  return %1
})";

IRModule parsed(std::string_view text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return *std::move(module);
}

std::string graph_of(std::string_view text, const std::string& symbol = "f") {
  const IRModule module = parsed(text);
  std::string out;
  write_graph_json(module, module.function(module.entry), symbol, out);
  return out;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string out(text);
  for (size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
    out.replace(at, from.size(), to);
  return out;
}

class CompileFunctions : public ::testing::Test {
 protected:
  CompiledFunctions compile(const std::string& graph, const topi::Point& point = {},
                            bool contract = true, bool exact_sums = false) {
    CompileOptions options;
    options.cache = &cache_;
    const FunctionToLower function{graph, {0, exact_sums}, point};
    CompiledFunctions out =
        compile_functions({&function, 1}, target_, contract, options,
                          [](size_t n, const std::function<void(size_t)>& work) {
                            for (size_t k = 0; k < n; ++k) work(k);
                          });
    EXPECT_TRUE(out.errors[0].ok()) << out.errors[0].to_string();
    return out;
  }
  void remove_files(char prefix) {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file("kept"))) {
      if (entry.path().filename().string().starts_with(prefix))
        std::filesystem::remove(entry.path());
    }
  }

  test::TempFolder folder_;
  KernelCache cache_{folder_.file("kept"), "one"};
  te::Target target_ = host_target();
};

TEST_F(CompileFunctions, DoNotLowerWhatTheCacheHas) {
  const CompiledFunctions first = compile(graph_of(kDense)), second = compile(graph_of(kDense));
  EXPECT_EQ(first.lowered, 1u);
  EXPECT_EQ(second.lowered, 0u);
  const Kernel &a = *first.functions[0].kernels.at(0), &b = *second.functions[0].kernels.at(0);
  EXPECT_EQ(a.symbol, b.symbol);
  EXPECT_EQ(a.object, b.object);
  EXPECT_EQ(a.workspace.bytes, b.workspace.bytes);
}

TEST_F(CompileFunctions, AreFoundUnderOtherNames) {
  compile(graph_of(kDense));
  EXPECT_EQ(compile(graph_of(replaced(kDense, "Gemm_0", "Gemm_7"), "g")).lowered, 0u);
  EXPECT_EQ(compile(graph_of(replaced(kDense, "%a", "%x"))).lowered, 0u);
}

// Layers of an encoder and of a decoder differ in the names of their lengths.
TEST_F(CompileFunctions, OverSizesOfOtherNamesHaveOneKernel) {
  constexpr std::string_view kRows = R"(fn main(%a: f32[1<=S<=64,40], %b: f32[40,70]) {
  %0 = matmul(%a, %b)
  %1 = softmax(%0)
  return %1
})";
  auto kernel_of = [&](const std::string& size) {
    const CompiledFunctions out = compile(graph_of(replaced(kRows, "<=S<=", size)));
    return out.functions.at(0).kernels.at(0);
  };
  const auto first = kernel_of("<=S<="), second = kernel_of("<=T<=");
  EXPECT_EQ(first->symbol, second->symbol);
  EXPECT_EQ(first->workspace.by_sizes, second->workspace.by_sizes);
  EXPECT_NE(first->symbol, kernel_of("<=S<=6")->symbol) << "64 and 664";
}

TEST_F(CompileFunctions, AreLoweredWhereAnythingElseDiffers) {
  compile(graph_of(kDense));
  EXPECT_EQ(compile(graph_of(replaced(kDense, "70", "71"))).lowered, 1u);
  EXPECT_EQ(compile(graph_of(replaced(kDense, "relu", "sigmoid"))).lowered, 1u);
  EXPECT_EQ(compile(graph_of(kDense), {}, false).lowered, 1u);
  EXPECT_EQ(compile(graph_of(kDense), {}, true, true).lowered, 1u);
  target_.threads = 2;
  EXPECT_EQ(compile(graph_of(kDense)).lowered, 1u);
  target_.l2_bytes /= 2;
  EXPECT_EQ(compile(graph_of(kDense)).lowered, 1u);
}

TEST_F(CompileFunctions, AreKeptPerPoint) {
  const std::string graph = graph_of(kDense);
  const IRModule module = parsed(kDense);
  const auto space = space_of(module, target_);
  ASSERT_TRUE(space.ok() && *space);
  const topi::Choices& choices = (*space)->choices;
  const topi::Point first = choices.guesses.at(0);
  const auto tile = std::ranges::find(choices.knobs, "tile", &topi::Knob::name);
  ASSERT_NE(tile, choices.knobs.end());
  topi::Point other = first;
  for (const std::string& value : tile->values) {
    if (value != first.at("tile")) other["tile"] = value;
  }
  EXPECT_EQ(compile(graph, first).lowered, 1u);
  EXPECT_EQ(compile(graph, other).lowered, 1u);
  EXPECT_EQ(compile(graph, first).lowered, 0u);
  EXPECT_NE(compile(graph, first).functions[0].kernels[0]->symbol,
            compile(graph, other).functions[0].kernels[0]->symbol);
}

TEST_F(CompileFunctions, AreLoweredAgainWhenAKernelIsMissing) {
  const CompiledFunctions first = compile(graph_of(kDense));
  remove_files('k');
  const CompiledFunctions second = compile(graph_of(kDense));
  EXPECT_EQ(second.lowered, 1u);
  EXPECT_EQ(second.functions[0].kernels.at(0)->object, first.functions[0].kernels.at(0)->object);
}

// A chain this long is split into pieces, which a sequence calls.
TEST_F(CompileFunctions, KeepTheCallsOfSequences) {
  std::string text = "fn main(%x: f32[64]) {\n  %0 = tanh(%x)\n";
  constexpr int kOps = 600;
  for (int k = 1; k < kOps; ++k)
    text += cat("  %", k, " = ", k % 2 ? "exp" : "tanh", "(%", k - 1, ")\n");
  text += cat("  return %", kOps - 1, "\n}");
  const CompiledFunctions first = compile(graph_of(text)), second = compile(graph_of(text));
  EXPECT_EQ(first.lowered, 1u);
  EXPECT_EQ(second.lowered, 0u);
  ASSERT_TRUE(first.functions[0].sequence && second.functions[0].sequence);
  const Sequence &a = *first.functions[0].sequence, &b = *second.functions[0].sequence;
  EXPECT_EQ(a.arena_bytes, b.arena_bytes);
  ASSERT_EQ(a.calls.size(), b.calls.size());
  for (size_t k = 0; k < a.calls.size(); ++k) {
    EXPECT_EQ(a.calls[k].piece, b.calls[k].piece);
    EXPECT_EQ(a.calls[k].args, b.calls[k].args);
  }
  EXPECT_EQ(first.functions[0].kernels.size(), second.functions[0].kernels.size());
}

TEST(KernelCache, KeepsTheKernelsOfPackedConstants) {
  test::TempFolder folder;
  const KernelCache cache(folder.file("kept"), "one");
  const Kernel run{"k1", "run", 64}, maker{"k2", "maker", 128};
  cache.put(run);
  const CompiledFunction put{
      {std::make_shared<Kernel>(run)},
      {},
      ConstantKernel{std::make_shared<Kernel>(maker), {4096, 64}, {2, 0}, {false, true, false}}};
  cache.put_function("f1", put);
  EXPECT_FALSE(cache.find_function("f1")) << "one of its kernels is missing";
  cache.put(maker);
  const auto found = cache.find_function("f1");
  ASSERT_TRUE(found && found->constants);
  EXPECT_EQ(found->constants->kernel->object, "maker");
  EXPECT_EQ(found->constants->output_bytes, put.constants->output_bytes);
  EXPECT_EQ(found->constants->reads, put.constants->reads);
  EXPECT_EQ(found->constants->is_kept, put.constants->is_kept);
}

TEST(KernelCache, KeepsKnobSpaces) {
  test::TempFolder folder;
  const KernelCache cache(folder.file("kept"), "one");
  sdk::KnobSpace space{"matmul \"x\"\n", "matmul", 1.25e10, 0.1, {{"tile", {"4x16", "8x8"}}}, {}};
  space.guesses = {{{"tile", "8x8"}}, {{"tile", "4x16"}}};
  space.cost_ns = {{"compute", {{"direct", 1e5}, {"winograd4", 0.3}}}};
  space.constant_bytes = {{"compute", {{"direct", 4096}, {"winograd4", 16384}}}};
  EXPECT_FALSE(cache.find_space("s1"));
  cache.put_space("s1", space);
  const auto found = cache.find_space("s1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->task, space.task);
  EXPECT_EQ(found->kind, space.kind);
  EXPECT_EQ(found->flops, space.flops);
  EXPECT_EQ(found->bytes, space.bytes);
  EXPECT_EQ(found->knobs.at(0).name, "tile");
  EXPECT_EQ(found->knobs.at(0).values, space.knobs[0].values);
  EXPECT_EQ(found->guesses, space.guesses);
  EXPECT_EQ(found->cost_ns, space.cost_ns);
  EXPECT_EQ(found->constant_bytes, space.constant_bytes);
  cache.put_space("s2", {});  // a function without choices
  EXPECT_TRUE(cache.find_space("s2")->knobs.empty());
}

}  // namespace
}  // namespace byoc::llvm_plugin
