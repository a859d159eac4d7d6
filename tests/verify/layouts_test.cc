// SPDX-License-Identifier: Apache-2.0
// Default codegens that list blocks, or refuse them, on whole networks: the executable runs on that
// plugin alone, and gives the outputs of the reference plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Options = std::map<std::string, std::string>;

struct Built {
  std::string layouts;  // the module after assign_layouts
  std::vector<Tensor> outputs;
};

Built built_with_layouts(const std::string& id, std::shared_ptr<const PluginSet> plugins,
                         const IRModule& model) {
  Built out;
  BuildOptions options;
  options.plugins = plugins;
  options.default_codegen = id;
  options.strict = true;  // an op that the default codegen refuses is an error
  options.instruments.push_back(
      {nullptr, [&](const Pass& pass, const IRModule&, const IRModule& after, uint64_t) {
         if (pass.name == "assign_layouts") out.layouts = print(after);
         return Status();
       }});
  Result<Executable> executable = build(model, options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  if (executable.ok()) out.outputs = execute(*executable, plugins);
  return out;
}

// Builds for the test plugin with these options, and for json, and compares.
std::string expect_right_values(const IRModule& model, const Options& options) {
  auto plugins = selective_plugins({{"kernels", options}});
  Built built = built_with_layouts("kernels", plugins, model);
  expect_close(built.outputs, built_with_layouts("json", plugins, model).outputs);
  return built.layouts;
}

const std::pair<const char*, GivenShapes> kNetworks[] = {
    {"digits/model.onnx", {{"N", {1}}}},
    {"blocks/fire/model.onnx", {}},
    {"blocks/resnet_basic/model.onnx", {}},
    {"blocks/squeeze_excite/model.onnx", {}},
    {"blocks/inverted_residual/model.onnx", {}}};

TEST(ADefaultCodegen, ThatTakesNoBlocksCompilesNetworks) {
  for (const auto& [name, shapes] : kNetworks) {
    SCOPED_TRACE(name);
    const std::string refuse = "conv2d_nchwc,matmul_packed,layout_transform";
    for (const char* layouts : {"", "conv2d:8,conv2d:4,matmul:2"}) {
      std::string text =
          expect_right_values(import(name, shapes), {{"refuse", refuse}, {"layouts", layouts}});
      EXPECT_THAT(text, HasSubstr("conv2d("));
      EXPECT_THAT(text, Not(HasSubstr("layout_transform")));
    }
  }
}

TEST(ADefaultCodegen, ThatListsItsOpsAndNoneInBlocksCompilesANetwork) {
  const std::string ops =
      "conv2d,add,multiply,relu,max_pool,global_average_pool,flatten,gemm,softmax";
  std::string text = expect_right_values(import("digits/model.onnx", {{"N", {1}}}),
                                         {{"ops", ops}, {"layouts", "conv2d:4"}});
  EXPECT_THAT(text, Not(HasSubstr("conv2d_nchwc")));
}

TEST(ADefaultCodegen, GetsTheBlocksItLists) {
  for (const auto& [name, shapes] : kNetworks) {
    SCOPED_TRACE(name);
    for (const char* block : {"2", "4"}) {
      std::string text =
          expect_right_values(import(name, shapes), {{"layouts", cat("conv2d:", block)}});
      EXPECT_THAT(text, HasSubstr("conv2d_nchwc("));
      EXPECT_THAT(text, HasSubstr(cat("J", block, "o")));
      EXPECT_THAT(text, Not(HasSubstr("NCHW8c")));
    }
  }
}

TEST(ADefaultCodegen, MayRefuseAnyOpInBlocks) {
  for (const auto& [name, shapes] : kNetworks) {
    const IRModule model = import(name, shapes);
    for (const char* refuse :
         {"layout_transform", "layout_transform/4", "layout_transform/5", "conv2d_nchwc/4",
          "conv2d_nchwc/5", "add/5", "multiply/5", "relu/5", "clip/5", "sigmoid/5", "max_pool/5",
          "mean/5", "concat/5", "reshape/5", "matmul_packed"}) {
      SCOPED_TRACE(cat(name, " without ", refuse));
      expect_right_values(model, {{"layouts", "conv2d:4,conv2d:2,matmul:2"}, {"refuse", refuse}});
    }
  }
}

// Returns the cost of one run of assign_layouts on a chain of `n` convolutions whose
// relus are refused.
Report cost_of_chain(int n) {
  auto plugins = selective_plugins({{"kernels", {{"layouts", "conv2d:4"}, {"refuse", "relu/5"}}}});
  std::string text = "fn main(%x: f32[1,4,2,2], %w: f32[4,4,1,1]) {\n", last = "%x";
  for (int k = 0; k < n; ++k) {
    text += cat("%", 2 * k, " = conv2d(", last, ", %w) %", 2 * k + 1, " = relu(%", 2 * k, ")\n");
    last = cat("%", 2 * k + 1);
  }
  const IRModule model = parse(cat(text, "return ", last, " }"));
  Report report;
  IRModule out = run(model, "assign_layouts", context_of(model, plugins, {"kernels"}, &report));
  EXPECT_THAT(print(out), HasSubstr("conv2d_nchwc"));
  EXPECT_EQ(out.function("main").nodes.size(), static_cast<size_t>(2 + 6 * n));
  return report;
}

TEST(AssignLayouts, JudgesOpsInProportionAndEachKindOnce) {
  const Report few = cost_of_chain(50), many = cost_of_chain(400);
  EXPECT_EQ(many.judge_distinct, few.judge_distinct);
  EXPECT_EQ(many.judge_calls, 8 * few.judge_calls);
}

// Returns rows of the form "op:block".
std::vector<std::string> rows_of(const Plugin& plugin, const std::string& target) {
  Result<std::vector<WantedLayout>> rows = plugin.layouts(target);
  EXPECT_TRUE(rows.ok()) << rows.status().to_string();
  std::vector<std::string> out;
  for (const WantedLayout& row : rows.ok() ? *rows : std::vector<WantedLayout>())
    out.push_back(cat(row.op, ":", row.block));
  return out;
}

TEST(TheLlvmPlugin, ListsBlocksOfAVectorOrTwo) {
  using testing::ElementsAre;
  auto plugins = built_plugins();
  const Plugin* llvm = plugins->find("llvm");
  if (llvm == nullptr) GTEST_SKIP() << "the llvm plugin is not built";
  for (const char* cpu : {"x86-64-v2", "x86-64-v3", "aarch64"}) {
    EXPECT_THAT(
        rows_of(*llvm, cat(R"({"cpu":")", cpu, R"("})")),
        ElementsAre("conv2d:8", "matmul:16", "matmul:8", "conv2d_integers:1", "matmul_integers:1",
                    "add_integers:1", "matmul_blocks:1", "matmul_widened:1"))
        << cpu;
  }
  const auto wide =
      ElementsAre("conv2d:16", "conv2d:8", "matmul:32", "matmul:16", "conv2d_integers:1",
                  "matmul_integers:1", "add_integers:1", "matmul_blocks:1", "matmul_widened:1");
  EXPECT_THAT(rows_of(*llvm, R"({"cpu":"x86-64-v4"})"), wide);
  EXPECT_FALSE(llvm->layouts(R"({"cpu":"no such cpu"})").ok());
}

TEST(TheLlvmPlugin, GetsBlocksOf16ForAvx512) {
  auto plugins = built_plugins();
  if (plugins->find("llvm") == nullptr) GTEST_SKIP() << "the llvm plugin is not built";
  const IRModule model = parse(R"(
fn main(%x: f32[1,32,4,4], %w: f32[24,32,1,1], %v: f32[16,24,1,1]) {
  %0 = conv2d(%x, %w)
  %1 = relu(%0)
  %2 = conv2d(%1, %v)
  return %2
})");
  PassContext context = context_of(model, plugins, {"llvm"});
  context.target_json = R"({"cpu":"x86-64-v4"})";
  std::string text = print(run(model, "assign_layouts", context));
  for (const char* layout : {"NCHW16c", "OIHW16i", "OIHWJ8o", "OIHW8i", "OIHWJ16o"})
    EXPECT_THAT(text, HasSubstr(layout));
  context.target_json = R"({"cpu":"x86-64-v3"})";
  text = print(run(model, "assign_layouts", context));
  EXPECT_THAT(text, HasSubstr("NCHW8c"));
  for (const char* layout : {"16c", "16i", "16o"}) EXPECT_THAT(text, Not(HasSubstr(layout)));
}

}  // namespace
}  // namespace byoc::test
