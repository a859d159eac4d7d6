// SPDX-License-Identifier: Apache-2.0
// Graphs far larger than usual, on the default stack of a process: code that recurses over the
// graph overflows it. bench/ measures the times.
#include <gtest/gtest.h>

#include <random>

#include "bench/support/graphs.h"
#include "bench/support/onnx_graphs.h"
#include "byoc/import.h"
#include "byoc/op/registry.h"
#include "byoc/pass/passes.h"
#include "byoc/text/builder.h"
#include "core/region/judge.h"
#include "support/flow.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

using bench::Family;

uint64_t count_ops(const IRModule& module) {
  uint64_t ops = 0;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) ops += std::holds_alternative<Call>(node.kind);
  }
  return ops;
}

TEST(AMillionOps, InAChainArePrintedParsedPartitionedAndFreed) {
  constexpr uint32_t kOps = 1000000;
  IRModule module = bench::make_graph(Family::kChain, kOps);
  {
    Result<IRModule> parsed = parse_module(print(module), all_ops());
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    ASSERT_EQ(print(*parsed), print(module));
  }
  BuildOptions options;
  options.plugins = selective_plugins({{"a", {{"ops", "relu"}}}, {"b", {{"ops", "exp"}}}});
  options.compilers = {"a", "b", "json"};
  Result<IRModule> cut = partition_for(std::move(module), options);
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  EXPECT_EQ(count_ops(*cut), kOps);
  // The ops are relu, tanh, exp, relu, ...: tanh, which json takes later, keeps all
  // the others apart.
  EXPECT_EQ(cut->functions.size() - 1, (kOps + 2) / 3 + kOps / 3);
}

TEST(AHundredThousandNodes, OfOnnxFilesGiveWhatArithmeticGives) {
  for (bench::Shape shape : {bench::Shape::kChain, bench::Shape::kLadder}) {
    TempFolder folder;
    std::string path = folder.file("model.onnx");
    float expected = static_cast<float>(bench::write_onnx_graph(path, shape, 100000, 0.25));
    Result<IRModule> module = import_onnx(path, all_ops());
    ASSERT_TRUE(module.ok()) << module.status().to_string();
    BuildOptions options;
    options.plugins = built_plugins();
    options.compilers = {"json"};
    Result<Executable> executable = build(*std::move(module), options);
    ASSERT_TRUE(executable.ok()) << executable.status().to_string();
    EXPECT_GE(executable->program.steps.size(), 24u) << "regions are cut at max_ops";
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({1, 64}, std::vector<float>(64, 0.25f)));
    for (float y : floats(execute(*executable, options.plugins, inputs)[0]))
      ASSERT_NEAR(y, expected, 1e-5);  // both shapes contract: errors do not add up
  }
}

// Makes chains of additions and products between convolutions, which patterns of residuals and of
// functions in pieces could match in many ways.
IRModule dense_module(uint32_t ops) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  TensorType type{DType::kF32, {1, 2, 4, 4}};
  std::vector<ValueId> values = {f.param("x", type), f.param("y", type)};
  ValueId weight = f.constant_f32({2, 2, 1, 1}, {1, 2, 3, 4});
  std::mt19937 random(5);
  auto recent = [&] {
    return values[values.size() - 1 - random() % std::min<size_t>(values.size(), 4)];
  };
  while (values.size() < ops + 2) {
    uint32_t kind = random() % 8;
    if (kind == 0) values.push_back(f.call("conv2d", {recent(), weight}));
    else if (kind == 1) values.push_back(f.call("sigmoid", {recent()}));
    else values.push_back(f.call(kind < 5 ? "add" : "multiply", {recent(), recent()}));
  }
  Status status = f.finish("main", {values.back()});
  EXPECT_TRUE(status.ok()) << status.to_string();
  return module;
}

// The test counts parts of patterns tried for each op, because times on a shared machine
// are not reliable.
TEST(MergeComposites, OfOnednnTriesFewPartsOfPatternsForEachOp) {
  for (uint32_t ops : {1000u, 10000u}) {
    PassContext context;
    context.plugins = built_plugins();
    context.compilers = {"onednn", "json"};
    context.judge_cache = std::make_shared<JudgeCache>();
    Result<IRModule> merged = merge_composites(dense_module(ops), context.compilers, context);
    ASSERT_TRUE(merged.ok()) << merged.status().to_string();
    EXPECT_GT(merged->functions.size(), ops / 200) << "no composites, nothing was tried";
    EXPECT_LT(context.judge_cache->pattern_steps, 8u * ops);
  }
}

}  // namespace
}  // namespace byoc::test
