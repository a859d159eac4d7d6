// SPDX-License-Identifier: Apache-2.0
// The list of kernel families: what they find in a function, and which of them compute a call.
#include <gmock/gmock.h>

#include <set>

#include "byoc/text/builder.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/families/calls.h"
#include "plugins/llvm/machine/machine.h"
#include "unit/llvm/run_loops.h"

namespace byoc {
namespace {

using llvm_plugin::groups_of;

/// A layer of attention: projections, heads moved, a factor of the queries, and a last product.
struct Layer {
  int64_t tokens = 32, width = 24;
  bool keeps_keys = false;  // the keys with their heads moved are a result as well
};

IRModule module_of(const Layer& layer) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const int64_t heads = 2, d = layer.width / heads;
  const ValueId x = f.param("x", {DType::kF32, {1, layer.tokens, layer.width}});
  const ValueId scale = f.param("scale", {DType::kF32, {}});
  std::map<char, ValueId> matrices;
  for (char name : {'q', 'k', 'v'})
    matrices[name] = f.param(std::string(1, name), {DType::kF32, {layer.width, layer.width}});
  auto projected = [&](char name, Ints perm) {
    const ValueId w = matrices.at(name);
    const ValueId y =
        f.call("reshape", {f.call("matmul", {x, w})}, {{"shape", Ints{1, layer.tokens, heads, d}}});
    return f.call("transpose", {y}, {{"perm", std::move(perm)}});
  };
  const ValueId q = f.call("multiply", {projected('q', {0, 2, 1, 3}), scale});
  const ValueId k = projected('k', {0, 2, 3, 1}), v = projected('v', {0, 2, 1, 3});
  const ValueId weights = f.call("softmax", {f.call("matmul", {q, k})});
  ValueId y = f.call("transpose", {f.call("matmul", {weights, v})}, {{"perm", Ints{0, 2, 1, 3}}});
  std::vector<ValueId> results = {y};
  if (layer.keeps_keys) results.push_back(k);
  const Status status = f.finish("main", results);
  EXPECT_TRUE(status.ok()) << status.message();
  return module;
}

// The ops of a group, in order.
std::vector<std::string> ops_of(const Function& function, const llvm_plugin::KernelGroup& group) {
  std::vector<std::string> out;
  for (uint32_t node : group.nodes)
    out.push_back(std::string(std::get<Call>(function.nodes[node].kind).op->name));
  return out;
}

// The group has the moves of heads and the factor, which the products copy, and no projection.
TEST(Families, GroupAttentionWithWhatItCopies) {
  const IRModule module = module_of({});
  const auto groups = groups_of(module.function("main"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].family, "attention");
  EXPECT_THAT(
      ops_of(module.function("main"), groups[0]),
      testing::UnorderedElementsAre("reshape", "transpose", "multiply", "reshape", "transpose",
                                    "matmul", "softmax", "reshape", "transpose", "matmul"));
}

// Nodes that something else reads stay outside.
TEST(Families, LeaveWhatOthersRead) {
  const IRModule module = module_of({.keeps_keys = true});
  const auto groups = groups_of(module.function("main"));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].nodes.size(), 8u);  // without the reshape and the transpose of the keys
}

TEST(Families, GroupWhereItPaysOrWhereTheyArePreferred) {
  IRModule module = module_of({.tokens = 8});
  EXPECT_TRUE(groups_of(module.function("main")).empty());
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "+attention");
  EXPECT_EQ(groups_of(module.function("main")).size(), 1u);
  module = module_of({});
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "-attention,+chain");
  EXPECT_TRUE(groups_of(module.function("main")).empty());
}

/// Two convolutions of 3x3 one after the other, or one.
IRModule convolutions(int count) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const int64_t b = llvm_plugin::host_target().lanes(sizeof(float));
  ValueId y = f.param("x", {DType::kF32, {1, 8, 28, 28, b}});
  std::vector<ValueId> weights;
  for (int k = 0; k < count; ++k)
    weights.push_back(f.param(cat("w", k), {DType::kF32, {8, 8, 3, 3, b, b}}));
  for (ValueId weight : weights) y = f.call("conv2d_nchwc", {y, weight}, {{"pads", Ints(4, 1)}});
  EXPECT_TRUE(f.finish("main", {y}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  return module;
}

// The computes of the sums of a function's Dag.
std::set<std::string> computes_of(const IRModule& module) {
  auto dag = te::translate_to_te(module, module.function("main"), llvm_plugin::host_target(),
                                 te::by_level(), llvm_plugin::strategies());
  EXPECT_TRUE(dag.ok()) << dag.status().message();
  std::set<std::string> out;
  for (const te::Stage& stage : dag->stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    if (compute != nullptr && !compute->reduce.empty()) out.insert(stage.compute);
  }
  return out;
}

TEST(Families, AreLeftOutAndPreferred) {
  IRModule module = convolutions(1);
  EXPECT_THAT(computes_of(module), testing::ElementsAre(testing::StartsWith("winograd_")));
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "-winograd");
  EXPECT_THAT(computes_of(module), testing::ElementsAre("direct"));
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{2});  // no constant filters
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "");
  EXPECT_THAT(computes_of(module), testing::ElementsAre("direct"));
  module.function("main").attrs.set(llvm_plugin::kFamiliesAttr, "+winograd");
  EXPECT_THAT(computes_of(module), testing::ElementsAre(testing::StartsWith("winograd_")));
}

// Schedules of a family are those of one anchor.
TEST(Families, ComputeSeveralAnchorsInGenericWays) {
  EXPECT_THAT(computes_of(convolutions(2)), testing::ElementsAre("direct"));
}

// A Dag with sums that a family owns and has no schedule for is an error, not another kernel.
TEST(Families, ReportTheirOwnRefusals) {
  const IRModule module = convolutions(1);
  const te::Target target = llvm_plugin::host_target();
  auto dag = te::translate_to_te(module, module.function("main"), target, te::by_level(),
                                 te::direct_strategies());
  ASSERT_TRUE(dag.ok());
  ASSERT_TRUE(
      llvm_plugin::template_of(*dag, target).at(llvm_plugin::template_of(*dag, target).first).ok());
  for (te::Stage& stage : dag->stages) stage.compute = "winograd_4x4";
  const auto schedules = llvm_plugin::template_of(*dag, target);
  const auto schedule = schedules.at(schedules.first);
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.status().slug(), "family-refused");
  EXPECT_THAT(schedule.status().message(), testing::HasSubstr("winograd"));
  EXPECT_THAT(schedule.status().help(), testing::HasSubstr("llvm.families=-winograd"));
}

// Nothing is left of a product of which another op reads the shape.
TEST(Families, LeaveOutWhatNothingReads) {
  IRModule module;
  FunctionBuilder f(module, all_ops());
  const ValueId x = f.param("x", {DType::kF32, {16, 32}});
  const ValueId w = f.param("w", {DType::kF32, {32, 64}});
  ASSERT_TRUE(f.finish("main", {f.call("eye_like", {f.call("matmul", {x, w})})}).ok());
  module.function("main").attrs.set(llvm_plugin::kInputsAttr, int64_t{1});
  const te::Target target = llvm_plugin::host_target();
  const auto dag = llvm_plugin::translate(module, target);
  ASSERT_TRUE(dag.ok()) << dag.status().message();
  const auto kernel = llvm_plugin::lower_with_constants(*dag, 1, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const std::vector<test::Data> inputs = {test::f32(std::vector<float>(16 * 32)),
                                          test::f32(std::vector<float>(32 * 64))};
  const std::vector<float> y = test::run_loops(kernel->loops, inputs)[0].as<float>();
  for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(y[k], k / 64 == k % 64 ? 1.0F : 0.0F) << k;
}

TEST(Families, AreNamedByTheOption) {
  EXPECT_TRUE(llvm_plugin::check_families("").ok());
  EXPECT_TRUE(llvm_plugin::check_families("-winograd,+chain").ok());
  for (const char* text : {"winograd", "-", "-winograd,", "+cosine", "-winograd +chain"}) {
    const Status status = llvm_plugin::check_families(text);
    EXPECT_EQ(status.slug(), "bad-option") << text;
    EXPECT_THAT(status.message(), testing::HasSubstr("strassen")) << text;
  }
  EXPECT_EQ(llvm_plugin::check_families("-chain,+chain").slug(), "bad-option");
}

}  // namespace
}  // namespace byoc
