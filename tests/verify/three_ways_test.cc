// SPDX-License-Identifier: Apache-2.0
// The three ways to partition give equal modules; the order of annotation, and clean-up passes
// between the steps, change nothing.
#include <gtest/gtest.h>

#include "support/flow.h"

namespace byoc::test {
namespace {

struct Model {
  const char* name;
  const char* path;  // a path in tests/models; empty: the text below
};

constexpr std::string_view kResidual = R"(
fn main(%x: f32[1,4,6,6]) {
  %w = const([0.5,0.0,0.1,0.0, 0.0,0.5,0.0,0.2, 0.1,0.0,0.5,0.0, 0.0,0.3,0.0,0.5]) : f32[4,4,1,1]
  %b = const([0.1,-0.2,0.3,-0.4]) : f32[4,1,1]
  %0 = conv2d(%x, %w) loc("c1")
  %1 = add(%0, %b) loc("b1")
  %2 = relu(%1) loc("r1")
  %3 = tanh(%2) loc("t")
  %4 = conv2d(%2, %w) loc("c2")
  %5 = add(%4, %x) loc("s")
  %6 = relu(%5) loc("r2")
  %7 = add(%6, %3) loc("s2")
  return %7, %2
})";

class ThreeWays : public testing::TestWithParam<Model> {
 protected:
  IRModule model() const {
    return *GetParam().path ? import(GetParam().path, {{"N", {1}}}) : parse(kResidual);
  }
  static constexpr std::string_view kClean =
      "infer_types,inline_functions,bind_constant_arguments,fold_constants,merge_pads,"
      "eliminate_dead_code,merge_equal_nodes,fold_batch_norm,eliminate_dead_code,merge_equal_nodes";
};

TEST_P(ThreeWays, GiveEqualModules) {
  auto plugins = built_plugins();
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"onednn", "json"};
  Result<IRModule> one_call = partition_for(model(), options);
  ASSERT_TRUE(one_call.ok()) << one_call.status().to_string();
  PassContext context = context_of(model(), plugins, {"onednn", "json"});
  IRModule passes = run(
      model(),
      cat(kClean,
          ",merge_composites=onednn,annotate_target=onednn,merge_compiler_regions,partition_graph"),
      context);
  expect_equal(*one_call, passes);
  IRModule attribute = model();
  attribute.function(attribute.entry).attrs.set("compiler", "onednn");
  attribute =
      run(std::move(attribute),
          cat(kClean, ",merge_composites,annotate_target,merge_compiler_regions,partition_graph"),
          context);
  expect_equal(*one_call, attribute);
  EXPECT_GT(one_call->functions.size(), 1u) << "nothing was taken by onednn";
}

TEST_P(ThreeWays, AnnotatingAThenBIsAnnotatingBoth) {
  auto plugins = selective_plugins(
      {{"a", {{"ops", "conv2d,add,batch_norm"}}}, {"b", {{"ops", "relu,add,max_pool"}}}});
  PassContext context = context_of(model(), plugins, {"a", "b"});
  IRModule clean = run(model(), kClean, context);
  IRModule both = run(clean, "annotate_target=a+b,merge_compiler_regions,partition_graph", context);
  IRModule in_turn = run(
      clean, "annotate_target=a,annotate_target=b,merge_compiler_regions,partition_graph", context);
  expect_equal(both, in_turn);
}

TEST_P(ThreeWays, CleanUpPassesBetweenTheStepsChangeNothing) {
  PassContext context = context_of(model(), built_plugins(), {"onednn", "json"});
  IRModule clean = run(model(), cat(kClean, ",merge_composites=onednn"), context);
  std::string steps[] = {"annotate_target=onednn", "merge_compiler_regions", "partition_graph"};
  IRModule expected = run(clean, cat(steps[0], ",", steps[1], ",", steps[2]), context);
  for (const std::string& pass : clean_up_passes()) {
    IRModule between =
        run(clean, cat(steps[0], ",", pass, ",", steps[1], ",", pass, ",", steps[2], ",", pass),
            context);
    SCOPED_TRACE(pass);
    expect_equal(expected, between);
  }
}

TEST_P(ThreeWays, EveryPassTwiceHasTheEffectOfOnceAndPrintsBackEqual) {
  PassContext context = context_of(model(), built_plugins(), {"onednn", "json"});
  IRModule module = model();
  std::vector<Pass> passes = Pipeline::whole(context);
  for (const Pass& pass : passes) {
    SCOPED_TRACE(pass.name);
    Result<IRModule> once = run_passes(module, std::span(&pass, 1), context);
    ASSERT_TRUE(once.ok()) << once.status().to_string();
    Result<IRModule> twice = run_passes(*once, std::span(&pass, 1), context);
    ASSERT_TRUE(twice.ok()) << twice.status().to_string();
    expect_equal(*once, *twice);
    ASSERT_TRUE(verify(*once).ok()) << verify(*once).to_string();
    std::map<ContentKey, std::shared_ptr<const Buffer>> pool = once->constants;
    for (const ExternalModule& compiled : once->external_mods)
      pool[compiled.blob->key()] = compiled.blob;
    Result<IRModule> back = parse_module(print(*once), all_ops(), [&](const ContentKey& key) {
      return pool.contains(key) ? pool.at(key) : nullptr;
    });
    ASSERT_TRUE(back.ok()) << back.status().to_string() << "\n" << print(*once);
    expect_equal(*once, *back);
    module = *std::move(once);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ThreeWays,
                         testing::Values(Model{"digits", "digits/model.onnx"},
                                         Model{"residual", ""}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Level, ThatDoesNotExistIsRefused) {
  for (int level : {-1, 3}) {
    BuildOptions options;
    options.plugins = built_plugins();
    options.level = level;
    IRModule module = parse("fn main(%x: f32[2]) { %0 = relu(%x) return %0 }");
    const std::string message = cat("there is no optimisation level ", level, ", only 0 to 2");
    for (const Status& status :
         {build(module, options).status(), partition_for(module, options).status()}) {
      EXPECT_EQ(status.slug(), "unknown-level");
      EXPECT_EQ(status.message(), message);
    }
  }
}

}  // namespace
}  // namespace byoc::test
