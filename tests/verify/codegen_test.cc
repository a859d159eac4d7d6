// SPDX-License-Identifier: Apache-2.0
// run_codegen and the passes after it: functions with the attribute, several plugins in turn,
// plugins that decline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "byoc/pass/codegen.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> external_symbols(const IRModule& module) {
  std::vector<std::string> out;
  for (const ExternalModule& compiled : module.external_mods) {
    for (const ExternalFunction& function : compiled.functions)
      out.push_back(cat(compiled.plugin, ":", function.symbol));
  }
  return out;
}

IRModule built(IRModule module, const PassContext& context) {
  Result<IRModule> out = run_passes(std::move(module), partition_pipeline(context), context);
  if (out.ok()) out = run_passes(*std::move(out), codegen_pipeline(context), context);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : IRModule();
}

Executable executable(const IRModule& module) {
  Result<Executable> out = make_executable(module);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

// A 3x3 kernel with 2 in its middle doubles; one with -1 negates. The expected values relu(2x),
// then relu(-(that)) and so on, are computed by hand.
constexpr std::string_view kConvRelu = R"(
fn conv_relu(%x: f32[1,1,2,2], %w: f32[1,1,3,3]) {compiler="onednn"} {
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}
  %1 = relu(%0)
  return %1
}
)";

TEST(TheAttribute, AConstantWeightIsBoundAndARunTimeWeightStays) {
  IRModule module = parse(cat(kConvRelu, R"(
fn main(%x: f32[1,1,2,2], %v: f32[1,1,3,3]) {
  %w = const([0.0,0.0,0.0,0.0,2.0,0.0,0.0,0.0,0.0]) : f32[1,1,3,3]
  %0 = @conv_relu(%x, %w)
  %1 = @conv_relu(%0, %v)
  return %0, %1
})"));
  auto plugins = built_plugins();
  IRModule compiled = built(module, context_of(module, plugins));
  EXPECT_THAT(external_symbols(compiled), ElementsAre("onednn:conv_relu", "onednn:conv_relu_1"));
  EXPECT_THAT(print(compiled.function("main"), "main"), HasSubstr("call_dps_packed(@conv_relu, "));
  EXPECT_THAT(print(compiled.function("main"), "main"),
              HasSubstr("call_dps_packed(@conv_relu_1, "));
  EXPECT_EQ(compiled.find_external("conv_relu")->constants.size(), 0u);
  EXPECT_EQ(compiled.find_external("conv_relu_1")->constants.size(), 1u)
      << "the plugin sees a constant";
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({1, 1, 2, 2}, {1, -2, 3, 4}));
  inputs.push_back(
      tensor_f32({1, 1, 3, 3}, {0, 0, 0, 1, 10, 0, 0, 0, 0}));  // 10 * self + left neighbour
  std::vector<Tensor> outputs = execute(executable(compiled), plugins, inputs);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{2, 0, 6, 8}));
  EXPECT_EQ(floats(outputs[1]), (std::vector<float>{20, 2, 60, 86}));
}

TEST(TheAttribute, TheOnlyCopyKeepsTheName) {
  IRModule module = parse(cat(kConvRelu, R"(
fn main(%x: f32[1,1,2,2]) {
  %w = const([0.0,0.0,0.0,0.0,2.0,0.0,0.0,0.0,0.0]) : f32[1,1,3,3]
  %0 = @conv_relu(%x, %w)
  return %0
})"));
  auto plugins = built_plugins();
  IRModule compiled = built(module, context_of(module, plugins));
  EXPECT_THAT(external_symbols(compiled), ElementsAre("onednn:conv_relu"));
  EXPECT_EQ(compiled.find_external("conv_relu")->constants.size(), 1u);
}

TEST(TheAttribute, AFunctionTakenInPartIsAnnotatedInside) {
  IRModule module = parse(R"(
fn part(%x: f32[4]) {compiler="a"} { %0 = relu(%x) loc("r")  %1 = exp(%0) loc("e")  return %1 }
fn main(%x: f32[4]) { %0 = @part(%x)  return %0 })");
  auto plugins = selective_plugins({{"a", {{"ops", "relu"}}}});
  Report report;
  IRModule compiled = built(module, context_of(module, plugins, {}, &report));
  EXPECT_THAT(external_symbols(compiled), ElementsAre("a:a_part_0", "json:json_main_0"));
  ASSERT_EQ(report.remarks.size(), 1u);
  EXPECT_EQ(report.remarks[0].reason, "it has no pattern for exp");
  EXPECT_THAT(report.remarks[0].locs, ElementsAre(Symbol("e")));
}

constexpr std::string_view kMixed = R"(
fn main(%x: f32[4]) {
  %c = const([1.0,2.0,3.0,4.0]) : f32[4]
  %0 = relu(%x) loc("r")
  %1 = add(%0, %c) loc("s")
  %2 = tanh(%1) loc("t")
  %3 = multiply(%2, %c) loc("m")
  %4 = exp(%3) loc("e")
  return %4, %1
})";

TEST(RunCodegen, OnePluginThenCleanUpThenAnother) {
  auto plugins =
      selective_plugins({{"a", {{"ops", "relu,add"}}}, {"b", {{"ops", "multiply,exp"}}}});
  PassContext context = context_of(parse(kMixed), plugins, {"a", "b"});
  IRModule module =
      run(parse(kMixed), "annotate_target=a,merge_compiler_regions,partition_graph,run_codegen=a",
          context);
  EXPECT_THAT(external_symbols(module), ElementsAre("a:a_main_0"));
  for (const std::string& pass : clean_up_passes()) module = run(std::move(module), pass, context);
  module = run(std::move(module),
               "annotate_target=b,merge_compiler_regions,partition_graph,run_codegen=b", context);
  EXPECT_EQ(module.external_mods.size(), 2u);
  EXPECT_THAT(external_symbols(module), ElementsAre("a:a_main_0", "b:b_main_0"));
  module = run(std::move(module), "fuse_ops,run_codegen,plan_memory", context);
  EXPECT_EQ(module.external_mods.size(), 3u);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({4}, {-1, 0, 1, 2}));
  std::vector<Tensor> outputs = execute(executable(module), plugins, inputs);
  EXPECT_EQ(floats(outputs[1]), (std::vector<float>{1, 2, 4, 6}));
  for (size_t k = 0; k < 4; ++k) {
    float sum = std::vector<float>{1, 2, 4, 6}[k], factor = static_cast<float>(k + 1);
    EXPECT_NEAR(floats(outputs[0])[k], std::exp(std::tanh(sum) * factor), 1e-4 * 54);
  }
}

// One call in text holds several nodes of the user; constants have names too, which are not work.
TEST(RunCodegen, AnExternalFunctionNamesTheUsersNodesOnce) {
  auto plugins = selective_plugins({{"a", {{"ops", "relu,add,tanh"}}}});
  IRModule module = parse(R"(
fn main(%x: f32[4]) {
  %c = const([1.0,2.0,3.0,4.0]) : f32[4] loc("weights")
  %0 = relu(%x) loc("/act/Relu")
  %1 = add(%0, %c) loc("/fc/Gemm")
  %2 = tanh(%1) loc("/fc/Gemm")
  %3 = tanh(%2)
  return %3
})");
  PassContext context = context_of(module, plugins, {"a"});
  IRModule compiled = built(std::move(module), context);
  ASSERT_EQ(compiled.external_mods.size(), 1u);
  EXPECT_THAT(compiled.external_mods[0].functions[0].locs, ElementsAre("/act/Relu", "/fc/Gemm"));
  EXPECT_THAT(print(compiled), HasSubstr(R"(locs=["/act/Relu", "/fc/Gemm"])"));
  EXPECT_EQ(executable(compiled).locs(executable(compiled).program.steps[0]).size(), 2u);
}

// Plugin "a" accepts the composite and then declines it in compile.
constexpr const char* kReluAdd =
    R"([{"name":"relu_add","dag":{"op":"add","args":[{"op":"relu"},{"any":true}]}}])";

TEST(ADecline, InsideACompositeSendsTheOpsToTheDefaultCodegen) {
  auto plugins = selective_plugins(
      {{"a", {{"ops", "tanh"}, {"patterns", kReluAdd}, {"decline", "a.relu_add"}}}});
  Report report;
  IRModule compiled = built(parse(kMixed), context_of(parse(kMixed), plugins, {"a"}, &report));
  for (const auto& [name, function] : compiled.functions)
    EXPECT_FALSE(function.attrs.has("composite")) << name.str();
  EXPECT_THAT(external_symbols(compiled), Contains(testing::StartsWith("json:json_a_main_0")));
  bool is_told = false;
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind != Report::Remark::kDeclined) continue;
    is_told = true;
    EXPECT_EQ(remark.plugin, "a");
    EXPECT_THAT(remark.reason, HasSubstr("declined by its options"));
    EXPECT_THAT(remark.locs, testing::IsSupersetOf({Symbol("r"), Symbol("s")}));
  }
  EXPECT_TRUE(is_told);
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({4}, {-1, 0, 1, 2}));
  EXPECT_EQ(floats(execute(executable(compiled), plugins, inputs)[1]),
            (std::vector<float>{1, 2, 4, 6}));
}

std::vector<std::string> declined_by(const Report& report) {
  std::vector<std::string> out;
  for (const Report::Remark& remark : report.remarks) {
    if (remark.kind == Report::Remark::kDeclined) out.push_back(remark.plugin);
  }
  return out;
}

TEST(ADecline, GoesToTheNextListedPluginThatTakesIt) {
  auto plugins = selective_plugins({{"a", {{"ops", "tanh,exp"}, {"decline", "tanh"}}},
                                    {"b", {{"ops", "relu"}}},
                                    {"c", {{"ops", "tanh"}}}});
  constexpr std::string_view text = R"(fn main(%x: f32[2]) {
  %0 = relu(%x)
  %1 = tanh(%0)
  %2 = exp(%1)
  return %2 })";
  Report report;
  IRModule compiled =
      built(parse(text), context_of(parse(text), plugins, {"a", "b", "c"}, &report));
  EXPECT_THAT(external_symbols(compiled),
              ElementsAre("b:b_main_0", "c:c_a_main_1_0", "json:json_a_main_1_0"));
  EXPECT_THAT(declined_by(report), ElementsAre("a"));
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({2}, {0.5f, -1}));
  std::vector<float> got = floats(execute(executable(compiled), plugins, inputs)[0]);
  EXPECT_NEAR(got[0], std::exp(std::tanh(0.5)), 1e-6);
  EXPECT_NEAR(got[1], 1, 1e-6);
}

// The next plugin sees its own patterns in what was declined, not those of the first.
TEST(ADecline, IsMatchedAgainForTheNextPlugin) {
  auto plugins = selective_plugins({{"a", {{"ops", "relu,add"}, {"decline", "add"}}},
                                    {"b", {{"ops", "tanh"}, {"patterns", kReluAdd}}}});
  Report report;
  IRModule compiled = built(parse(kMixed), context_of(parse(kMixed), plugins, {"a", "b"}, &report));
  EXPECT_THAT(declined_by(report), ElementsAre("a"));
  const std::vector<std::string> symbols = external_symbols(compiled);
  EXPECT_THAT(symbols, Contains("b:b_a_main_0_0"));
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({4}, {-1, 0, 1, 2}));
  EXPECT_EQ(floats(execute(executable(compiled), plugins, inputs)[1]),
            (std::vector<float>{1, 2, 4, 6}));
}

TEST(ADecline, OfEachPluginInTurnEndsAtTheDefaultCodegen) {
  PluginOptions options;
  for (const char* id : {"a", "b", "c"}) options[id] = {{"ops", "relu"}, {"decline", "relu"}};
  auto plugins = selective_plugins(options);
  constexpr std::string_view text = "fn main(%x: f32[2]) { %0 = relu(%x)  return %0 }";
  Report report;
  IRModule compiled =
      built(parse(text), context_of(parse(text), plugins, {"c", "a", "b"}, &report));
  EXPECT_THAT(declined_by(report), ElementsAre("c", "a", "b"));
  EXPECT_EQ(compiled.external_mods.size(), 1u);
  EXPECT_EQ(compiled.external_mods[0].plugin, "json");
}

// A function of the host may have the name that a region would get.
TEST(ExternOfTheHost, IsNotReplacedByARegionOfItsName) {
  auto plugins = selective_plugins({{"a", {{"ops", "tanh"}, {"decline", "tanh"}}}});
  IRModule module = parse(R"(fn main(%x: f32[2]) {
  %0 = call_dps_packed(@json_main_0, %x) : f32[2]
  %1 = relu(%0)
  %2 = call_dps_packed(@a_main_0, %1) : f32[2]
  %3 = tanh(%2)
  %4 = call_dps_packed(@json_a_main_0_1_0, %3) : f32[2]
  return %4 })");
  Executable compiled = executable(built(module, context_of(module, plugins, {"a"})));
  std::vector<std::string> host;
  for (const Step& step : compiled.program.steps) {
    if (step.module == Step::kHostExtern) host.push_back(step.symbol);
  }
  EXPECT_THAT(host, ElementsAre("json_main_0", "a_main_0", "json_a_main_0_1_0"));
  auto session = Session::load(compiled, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  for (const std::string& symbol : host) {  // y = x + 1
    auto add_one = [](std::span<const DLTensor> in, std::span<DLTensor> out) {
      for (size_t k = 0; k < 2; ++k)
        static_cast<float*>(out[0].data)[k] = static_cast<const float*>(in[0].data)[k] + 1;
      return Status();
    };
    ASSERT_TRUE((*session)->register_extern(symbol, add_one).ok());
  }
  Tensor x = tensor_f32({2}, {0.5f, -3}), y = tensor_f32({2}, {0, 0});
  DLTensor in = x.view(), out = y.view();
  ASSERT_TRUE((*session)->run(**(*session)->make_context(), {&in, 1}, {&out, 1}).ok());
  EXPECT_NEAR(floats(y)[0], std::tanh(0.5 + 1 + 1) + 1, 1e-6);
  EXPECT_NEAR(floats(y)[1], std::tanh(1.0) + 1, 1e-6);
}

TEST(ExternOfTheHost, CannotHaveTheNameOfAFunctionToCompile) {
  auto plugins = selective_plugins({{"a", {{"ops", "tanh"}}}});
  IRModule module = parse(R"(
fn mine(%x: f32[2]) {compiler="a"} { %0 = tanh(%x)  return %0 }
fn main(%x: f32[2]) {
  %0 = @mine(%x)
  %1 = call_dps_packed(@mine, %0) : f32[2]
  return %1 })");
  BuildOptions options;
  options.plugins = plugins;
  Status status = build(module, options).status();
  EXPECT_EQ(status.slug(), "symbol-clash");
  EXPECT_THAT(status.message(), HasSubstr("\"a\" has to compile @mine, and the module calls an "
                                          "external function of that name"));
}

TEST(RunCodegen, RefusesAFunctionWithoutResults) {
  IRModule module = parse(R"(
fn mine(%x: f32[2]) {compiler="a", global_symbol="mine", primitive=true} { %0 = tanh(%x)  return %0 }
fn main(%x: f32[2]) { return %x })");
  module.function("mine").results.clear();
  PassContext context;
  context.plugins = selective_plugins({{"a", {{"ops", "tanh"}}}});
  Status status = run_codegen(module, {"a"}, context).status();
  EXPECT_EQ(status.slug(), "no-results");
  EXPECT_EQ(status.message(), "\"a\" has to compile @mine, which returns nothing");
}

TEST(ADecline, IsAnErrorWhenStrict) {
  auto plugins = selective_plugins({{"a", {{"ops", "tanh"}, {"decline", "tanh"}}}});
  BuildOptions options;
  options.plugins = plugins;
  options.compilers = {"a"};
  options.strict = true;
  Result<Executable> out = build(parse(kMixed), options);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().slug(), "strict");
  EXPECT_THAT(out.status().message(), HasSubstr("declined by its options"));
}

TEST(ARefusedCheck, GivesWayToTheNextCandidate) {
  constexpr const char* patterns = R"([
    {"name":"add_tanh","priority":5,"dag":{"op":"tanh","args":[{"op":"add"}]}},
    {"name":"relu_add","priority":1,"dag":{"op":"add","args":[{"op":"relu"},{"any":true}]}}])";
  auto of = [&](const char* refuse) {
    auto plugins = selective_plugins(
        {{"a", {{"ops", "relu,add,tanh"}, {"patterns", patterns}, {"refuse", refuse}}}});
    IRModule module = parse(
        R"(fn main(%x: f32[4], %y: f32[4]) { %0 = relu(%x)  %1 = add(%0, %y)  %2 = tanh(%1)  return %2 })");
    PassContext context = context_of(module, plugins, {"a"});
    module = run(std::move(module), "merge_composites=a", context);
    std::vector<std::string> composites;
    for (const auto& [name, function] : module.functions) {
      if (function.attrs.has("composite")) composites.push_back(function.attr("composite"));
    }
    return composites;
  };
  EXPECT_THAT(of(""), ElementsAre("a.add_tanh"));
  EXPECT_THAT(of("a.add_tanh"), ElementsAre("a.relu_add"));
  EXPECT_THAT(of("a.add_tanh,a.relu_add"), ElementsAre());
}

TEST(HandWrittenAnnotations, AroundSeveralOpsAreHonoured) {
  IRModule module = parse(R"(
fn main(%x: f32[4]) {
  %0 = compiler_begin(%x) {compiler="a", region=0}
  %1 = relu(%0)
  %2 = tanh(%1)
  %3 = compiler_end(%2) {compiler="a", region=0}
  %4 = exp(%3)
  return %4
})");
  auto plugins = selective_plugins({{"a", {{"ops", "exp"}}}});
  IRModule compiled = built(module, context_of(module, plugins, {"a"}));
  EXPECT_THAT(external_symbols(compiled), ElementsAre("a:a_main_0", "a:a_main_1"))
      << "a region by hand stays as it is";
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({4}, {-1, 0, 1, 2}));
  std::vector<float> got = floats(execute(executable(compiled), plugins, inputs)[0]);
  for (size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(got[k], std::exp(std::tanh(std::max(0.0, static_cast<double>(k) - 1))), 1e-5);
}

TEST(NoCodegen, NamesTheOpsAndEveryReason) {
  BuildOptions options;
  PluginSearch search;
  options.plugins = PluginSet::load(search);
  Result<Executable> out = build(parse(kMixed), options);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().slug(), "no-codegen");
  EXPECT_THAT(out.status().message(),
              HasSubstr("5 ops have no code generator in @main: relu \"r\""));
}

TEST(SymbolicSizes, AreAskedForByName) {
  BuildOptions options;
  options.plugins = built_plugins();
  Result<Executable> out = build(import("digits/model.onnx"), options);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.status().slug(), "symbolic-shape");
  EXPECT_EQ(out.status().message(), "inputs have open sizes: image f32[N,1,8,8]");
  EXPECT_EQ(out.status().help(),
            "give them with --shape N=1, or as ranges for one program of all sizes, as in --shape "
            "N=1..64");
}

TEST(Artifacts, TwoCompilesGiveTheSameBytes) {
  auto bytes = [] {
    auto plugins = built_plugins();
    BuildOptions options;
    options.plugins = plugins;
    options.compilers = {"onednn", "json"};
    Result<Executable> out = build(import("digits/model.onnx", {{"N", {1}}}), options);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    std::string path = testing::TempDir() + "/two_compiles.byoc", text;
    EXPECT_TRUE(save_artifact(*out, path).ok());
    FILE* file = std::fopen(path.c_str(), "rb");
    for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
    std::fclose(file);
    std::remove(path.c_str());
    return text;
  };
  std::string first = bytes();
  EXPECT_GT(first.size(), 1000u);
  EXPECT_EQ(first, bytes());
}

}  // namespace
}  // namespace byoc::test
