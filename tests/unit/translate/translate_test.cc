// SPDX-License-Identifier: Apache-2.0
// Translation of functions to Dags: the calls of the selector, the data of stages, and refusals.
#include "module.h"

namespace byoc {
namespace {

using ::testing::ElementsAre;
using testing::expect_same_meaning;
using ::testing::HasSubstr;
using testing::parse;
using testing::translate;

constexpr std::string_view kTwoConvs = R"(
  fn main(%x: f32[1,3,7,6]) {
    %0 = const(0.25) : f32[4,3,3,3]
    %1 = conv2d(%x, %0) {pads=[1,1,1,1]}
    %2 = relu(%1)
    %3 = const(-0.5) : f32[2,4,1,1]
    %4 = conv2d(%2, %3) {strides=[2,2]}
    %5 = sigmoid(%4)
    return %5
  })";

// An attention of one head, scaled and masked by a constant. One input gives
// queries, keys and values.
constexpr std::string_view kAttention = R"(
  fn main(%x: f32[2,5,8], %wq: f32[8,8], %wk: f32[8,8], %wv: f32[8,8]) {
    %0 = matmul(%x, %wq)
    %1 = matmul(%x, %wk)
    %2 = matmul(%x, %wv)
    %3 = transpose(%1) {perm=[0,2,1]}
    %4 = matmul(%0, %3)
    %5 = const(0.35) : f32[]
    %6 = multiply(%4, %5)
    %7 = softmax(%6)
    %8 = matmul(%7, %2)
    %9 = add(%8, %x)
    %10 = layer_norm(%9)
    return %10
  })";

constexpr std::string_view kComposite = R"(
  fn add_relu(%a: f32[2,3]) {composite="p.add_relu"} {
    %0 = const(0.5) : f32[3]
    %1 = add(%a, %0)
    %2 = relu(%1)
    return %2
  }
  fn main(%x: f32[2,3]) {
    %0 = const(2.0) : f32[3]
    %1 = multiply(%x, %0)
    %2 = @add_relu(%1)
    %3 = @add_relu(%2)
    %4 = tanh(%3)
    return %4
  })";

size_t stages_of(const te::Dag& dag, std::string_view op) {
  return static_cast<size_t>(std::count_if(dag.stages.begin(), dag.stages.end(),
                                           [&](const te::Stage& s) { return s.op == op; }));
}

TEST(TranslateToTe, KeepsTheMeaningOfTwoConvolutions) { expect_same_meaning(parse(kTwoConvs)); }

TEST(TranslateToTe, KeepsTheMeaningOfAnAttentionBlock) { expect_same_meaning(parse(kAttention)); }

TEST(TranslateToTe, TakesManyReductionsInOneFunction) {
  auto dag = translate(parse(kAttention));
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  size_t reductions = 0;
  for (const te::Stage& stage : dag->stages) {
    auto* compute = std::get_if<te::Compute>(&stage.kind);
    reductions += compute != nullptr && !compute->reduce.empty();
  }
  EXPECT_EQ(reductions, 9u);  // 5 products, maximum and sum of softmax, 2 sums of layer_norm
}

TEST(TranslateToTe, AsksTheSelectorOncePerCallAndNotPerName) {
  for (auto [text, calls] : {std::pair{kTwoConvs, 4}, {kAttention, 10}, {kComposite, 6}}) {
    IRModule module = parse(text);
    std::vector<std::pair<const Function*, uint32_t>> sites;
    auto dag = translate(module, [&](const te::Site& site, std::span<const te::Strategy>) {
      sites.emplace_back(site.function, site.node);
      return Result<size_t>(0);
    });
    ASSERT_TRUE(dag.ok()) << dag.status().to_string();
    EXPECT_EQ(sites.size(), static_cast<size_t>(calls)) << text;
  }
}

TEST(TranslateToTe, TellsTheSelectorTypesConstantsAndTarget) {
  IRModule module = parse(kTwoConvs);
  std::string seen;
  te::Target target{.cpu = "some-cpu"};
  auto selector = [&](const te::Site& site, std::span<const te::Strategy> strategies) {
    if (site.op->name == "conv2d")
      seen += cat(te::site_key(site), " -> ", site.outputs[0], " for ", site.target->cpu, ", ",
                  strategies[0].name, "\n");
    return Result<size_t>(0);
  };
  ASSERT_TRUE(te::translate_to_te(module, module.function("main"), target, selector).ok());
  EXPECT_THAT(seen, HasSubstr("conv2d(f32[1,3,7,6], const f32[4,3,3,3]){"));
  EXPECT_THAT(seen, HasSubstr("} -> f32[1,4,7,6] for some-cpu, direct\n"));
}

TEST(TranslateToTe, RecordsOpChoiceAndNodeOnEachStage) {
  IRModule module = parse(kTwoConvs);
  te::StrategyTable table = [](const te::Site& site) {
    return std::vector<te::Strategy>{
        {.name = "plain", .level = 10, .compute = site.op->compute},
        {.name = "second", .level = 5, .compute = site.op->compute},
    };
  };
  // Selects one strategy for the first convolution, and the other one for the second.
  auto selector = [](const te::Site& site, std::span<const te::Strategy>) -> Result<size_t> {
    return site.node == 5 ? 1 : 0;
  };
  auto dag = translate(module, selector, table);
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  std::vector<std::string> seen;
  for (const te::Stage& stage : dag->stages) {
    if (!stage.op.empty()) seen.push_back(cat(stage.call, " ", stage.op, " ", stage.compute));
  }
  EXPECT_THAT(seen, ElementsAre("2 conv2d plain", "2 conv2d plain", "3 relu plain",
                                "5 conv2d second", "6 sigmoid plain"));
}

TEST(TranslateToTe, WalksThroughCompositesAsTheNodeThatCallsThem) {
  IRModule module = parse(kComposite);
  auto dag = translate(module);
  ASSERT_TRUE(dag.ok()) << dag.status().to_string();
  EXPECT_EQ(stages_of(*dag, "add"), 2u);
  EXPECT_EQ(stages_of(*dag, "relu"), 2u);
  std::vector<uint32_t> calls;
  for (const te::Stage& stage : dag->stages) {
    if (!stage.op.empty()) calls.push_back(stage.call);
  }
  EXPECT_THAT(calls, ElementsAre(2u, 3u, 3u, 4u, 4u, 5u));
  expect_same_meaning(module);
}

TEST(TranslateToTe, PutsConstantsBehindTheParametersInTheirOrder) {
  auto dag = translate(parse(kTwoConvs));
  ASSERT_TRUE(dag.ok());
  std::vector<std::string> inputs;
  for (const te::Tensor& tensor : dag->inputs) inputs.push_back(tensor.name());
  EXPECT_THAT(inputs, ElementsAre("x", "const0", "const1"));
  EXPECT_EQ(*te::as_int(dag->inputs[1].shape()[1]), 3);
  EXPECT_EQ(*te::as_int(dag->inputs[2].shape()[1]), 4);
}

TEST(TranslateToTe, TakesOpsOfSeveralResults) {
  expect_same_meaning(parse(R"(fn main(%x: f32[1,2,6,6]) {
    %0 = max_pool(%x) {kernel_shape=[2,2], strides=[2,2], with_indices=true}
    %1 = split(%0#0) {axis=1, split=[1,1]}
    %2 = add(%1#0, %1#1)
    return %2, %0#1, %1#0 })"));
}

TEST(TranslateToTe, CopiesResultsThatAreInputsOrStandTwice) {
  IRModule module = parse(R"(fn main(%x: f32[3]) {
    %0 = const([1,2,3]) : f32[3]
    %1 = relu(%x)
    return %x, %1, %1, %0 })");
  auto dag = translate(module);
  ASSERT_TRUE(dag.ok());
  for (size_t a = 0; a < dag->outputs.size(); ++a) {
    for (const te::Tensor& input : dag->inputs) EXPECT_FALSE(dag->outputs[a] == input);
    for (size_t b = 0; b < a; ++b) EXPECT_FALSE(dag->outputs[a] == dag->outputs[b]);
  }
  expect_same_meaning(module);
}

TEST(TranslateToTe, GivesTheSameTextTwice) {
  EXPECT_EQ(te::print(*translate(parse(kAttention))), te::print(*translate(parse(kAttention))));
}

TEST(TranslateToTe, RefusesAnOpenDimOfAnOpThatTakesNone) {
  auto open = translate(parse("fn main(%x: f32[N,3]) { %0 = relu(%x)  return %0 }"));
  EXPECT_TRUE(open.ok()) << open.status().to_string();
  auto dag =
      translate(parse("fn main(%x: f32[2,N,N]) {\n"
                      "  %0 = det(%x)\n"
                      "  return %0\n"
                      "}"));
  EXPECT_EQ(dag.status().code(), Code::kUnimplemented);
  EXPECT_EQ(dag.status().slug(), "symbolic-shape");
  EXPECT_THAT(dag.status().to_string(), HasSubstr("the dim N must be a number"));
}

TEST(TranslateToTe, RefusesAnOpWithoutComputeByName) {
  auto none = [](const te::Site&) { return std::vector<te::Strategy>(); };
  auto dag = translate(parse("fn main(%x: f32[3]) { %0 = relu(%x) loc(\"act\")  return %0 }"),
                       te::by_level(), none);
  EXPECT_EQ(dag.status().code(), Code::kUnimplemented);
  EXPECT_EQ(dag.status().slug(), "no-compute");
  EXPECT_THAT(dag.status().to_string(), HasSubstr("op relu has no tensor expression"));
  EXPECT_THAT(dag.status().to_string(), HasSubstr("(act)"));
}

TEST(TranslateToTe, RefusesAnnotations) {
  auto dag = translate(parse(
      "fn main(%x: f32[3]) { %0 = compiler_begin(%x) {compiler=\"a\", region=0}  return %0 }"));
  EXPECT_THAT(dag.status().to_string(), HasSubstr("op compiler_begin has no tensor expression"));
}

TEST(TranslateToTe, RefusesAnExternByName) {
  Function main;
  TypeId type = TensorType{DType::kF32, {3}};
  uint32_t x = main.add_param("x", type);
  ValueId args[] = {{x, 0}};
  main.results = {{main.add_extern("vendor_kernel", args, type), 0}};
  IRModule module;
  module.functions["main"] = main;
  auto dag = translate(module);
  EXPECT_EQ(dag.status().code(), Code::kUnimplemented);
  EXPECT_THAT(dag.status().to_string(), HasSubstr("external symbol vendor_kernel"));
}

TEST(TranslateToTe, RefusesAFunctionThatInvokesItself) {
  Function main;
  TypeId type = TensorType{DType::kF32, {3}};
  uint32_t x = main.add_param("x", type);
  ValueId args[] = {{x, 0}};
  main.results = {{main.add_invoke("main", args, type), 0}};
  IRModule module;
  module.functions["main"] = main;
  EXPECT_THAT(translate(module).status().to_string(), HasSubstr("main invokes itself"));
}

TEST(TranslateToTe, RefusesAChoiceThatIsNotThere) {
  auto beyond = [](const te::Site&, std::span<const te::Strategy> s) {
    return Result<size_t>(s.size());
  };
  auto dag = translate(parse("fn main(%x: f32[3]) { %0 = relu(%x)  return %0 }"), beyond);
  EXPECT_EQ(dag.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(dag.status().to_string(), HasSubstr("choice for relu is number 1 of 1"));
}

TEST(TranslateToTe, TakesADeepChainOfOpsWithoutRecursion) {
  Function main;
  TypeId type = TensorType{DType::kF32, {2}};
  ValueId at = {main.add_param("x", type), 0};
  const OpDef* relu = all_ops().find("relu");
  for (int k = 0; k < 100000; ++k) at = {main.add_call(relu, intern({}), {{at}}, type), 0};
  main.results = {at};
  IRModule module;
  module.functions["main"] = std::move(main);
  auto dag = translate(module);
  ASSERT_TRUE(dag.ok());
  EXPECT_EQ(dag->stages.size(), 100001u);
}

TEST(FindAnchor, PicksTheReductionWithMostFlops) {
  te::Anchor anchor = te::find_anchor(parse(kTwoConvs).function("main"));
  EXPECT_EQ(anchor.node, 2u);
  EXPECT_EQ(anchor.name, "conv2d_relu_conv2d_sigmoid");
}

TEST(FindAnchor, PicksTheLastOpWhenNothingIsReduced) {
  IRModule module = parse("fn main(%x: f32[3]) { %0 = relu(%x)  %1 = tanh(%0)  return %1 }");
  EXPECT_EQ(te::find_anchor(module.function("main")).node, 2u);
  EXPECT_EQ(te::find_anchor(module.function("main")).name, "relu_tanh");
}

TEST(FindAnchor, CallsAFunctionWithoutOpsACopy) {
  IRModule module = parse("fn main(%x: f32[3]) { return %x }");
  EXPECT_EQ(te::find_anchor(module.function("main")).name, "copy");
}

}  // namespace
}  // namespace byoc
