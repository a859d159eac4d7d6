// SPDX-License-Identifier: Apache-2.0
// The slots judge, compile, load, run and compat, for plugins that keep the
// contract and for plugins that break it.
#include "byoc/host/plugins.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/host/host.h"
#include "support/faults.h"

namespace byoc {
namespace {

using test::fault_path;
using test::load_fault;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Buffer> floats(const std::vector<float>& values) {
  return Buffer::copy(std::as_bytes(std::span(values)));
}

/// Returns relu of x: f32[4] as a function `symbol` with the given constants.
CompileFunction relu_function(const std::string& symbol,
                              const std::vector<std::shared_ptr<const Buffer>>& constants = {}) {
  CompileFunction function;
  function.symbol = symbol;
  function.n_in = function.n_out = 1;
  function.buffers = constants;
  std::string listed;
  for (const auto& buffer : constants) {
    int64_t n = static_cast<int64_t>(buffer->size() / 4);
    function.constants.push_back(
        {cat("c", function.constants.size()), buffer->key(), {DType::kF32, {n}}});
    listed +=
        cat(listed.empty() ? "" : ",", R"({"name":"c","type":1,"key":")", buffer->key(), "\"}");
  }
  function.graph_json =
      cat(R"({"format":"byoc.graph","version":1,"requires":[],"symbol":")", symbol,
          R"(","types":[{"dtype":"f32","shape":[4]},{"dtype":"f32","shape":[1]}],)",
          R"("inputs":[{"name":"x","type":0}],"constants":[)", listed,
          R"(],"nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[0]}],)",
          R"("outputs":[["n",0,0]]})");
  return function;
}

CompileResult compile(const Plugin& plugin, const std::vector<CompileFunction>& functions) {
  return plugin.compile(functions, "{}", 1, 0);
}

/// Runs kernel `function` of `module` on f32[4].
Status run(const Plugin& plugin, const LoadedModule& module, size_t function, std::vector<float>& x,
           std::vector<float>& y) {
  int64_t dims[] = {4};
  DLTensor in{x.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, dims, nullptr, 0}, out = in;
  out.data = y.data();
  const DLTensor* args[] = {&in, &out};
  byoc_call call = with_header<byoc_call>(BYOC_TAG_CALL);
  call.args = args;
  call.n_args = 2;
  return call_plugin(plugin.id(), "run",
                     [&] { return module.table()->run(module.kernel(function), &call); });
}

TEST(PluginJudge, GivesTheVerdictAndTheReason) {
  auto yes = load_fault("faulty_none")->find("faulty")->judge(0, "{}");
  ASSERT_TRUE(yes.ok());
  EXPECT_EQ(yes->accept, Verdict::kYes);
  auto refuse = load_fault("faulty_none", "judge-refuse");
  auto no = refuse->find("faulty")->judge(BYOC_NO_PATTERN, "{}");
  ASSERT_TRUE(no.ok());
  EXPECT_EQ(no->accept, Verdict::kNo);
  EXPECT_EQ(no->reason, "only on Sundays");
}

TEST(PluginJudge, SaysSoWhenNoReasonWasGiven) {
  auto set = load_fault("faulty_none", "judge-mute");
  EXPECT_EQ(set->find("faulty")->judge(0, "{}")->reason, "no reason given");
}

TEST(PluginJudge, ReportsAFailureAndANonsenseAnswer) {
  auto fail = load_fault("faulty_none", "judge-fail");
  EXPECT_EQ(fail->find("faulty")->judge(0, "{}").status().message(), "faulty: the judge is ill");
  auto nonsense = load_fault("faulty_none", "judge-answer");
  EXPECT_EQ(nonsense->find("faulty")->judge(0, "{}").status().message(),
            "faulty: judge returned 9, expected 0, 1 or 2");
}

TEST(PluginJudge, MayBeAskedByManyThreadsAtOnce) {
  auto set = load_fault("decliner");
  std::string json = relu_function("f").graph_json;
  std::atomic<int> yes{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k)
        yes += set->find("decliner")->judge(1, json)->accept == Verdict::kYes;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(yes, 400);
}

TEST(PluginCompile, GivesBytesThatLoadAndRun) {
  auto set = load_fault("faulty_none");
  const Plugin& plugin = *set->find("faulty");
  auto ten = floats({10}), twenty = floats({20});
  CompileResult result =
      compile(plugin, {relu_function("f0", {ten}), relu_function("f1", {ten, twenty})});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(result.module.plugin, "faulty");
  EXPECT_EQ(result.module.plugin_version, "1.0.0");
  EXPECT_EQ(result.module.compat, "faulty/1");
  ASSERT_EQ(result.module.functions.size(), 2u);
  const ExternalFunction& f1 = result.module.functions[1];
  EXPECT_EQ(f1.workspace_bytes, 128u);
  EXPECT_EQ(f1.workspace_align, 64u);
  EXPECT_EQ(f1.implementation, "a loop");
  EXPECT_EQ(f1.inplace, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 0}}));
  EXPECT_EQ(f1.constants[0].use, BYOC_CONST_KEPT);
  EXPECT_EQ(f1.constants[1].use, BYOC_CONST_UNUSED);

  auto loaded = plugin.load(result.module, {ten, twenty}, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  std::vector<float> x{-1, 0, 1, 2}, y(4);
  ASSERT_TRUE(run(plugin, *loaded, 1, x, y).ok());
  EXPECT_THAT(y, ElementsAre(10, 10, 11, 12));
}

TEST(PluginCompile, LeavesNothingOfThePluginAlive) {
  auto set = load_fault("faulty_none");
  auto modules = host_counts().modules.load(), held = host_counts().held.load(),
       statuses = host_counts().statuses.load();
  auto weight = floats({1, 2, 3});
  {
    CompileResult result = compile(*set->find("faulty"), {relu_function("f", {weight})});
    EXPECT_EQ(host_counts().held, held) << "after compile";
    auto loaded = set->find("faulty")->load(result.module, {weight}, 1);
    EXPECT_EQ(host_counts().held, held + 1) << "expected the kernel to hold its constant";
    EXPECT_EQ(host_counts().modules, modules + 1);
  }
  EXPECT_EQ(host_counts().held, held);
  EXPECT_EQ(host_counts().modules, modules);
  EXPECT_EQ(host_counts().statuses, statuses);
  EXPECT_EQ(weight.use_count(), 1);
}

TEST(PluginCompile, KeepsConstantsWithoutACopy) {
  auto set = load_fault("faulty_none");
  auto weight = floats({1});
  CompileResult result = compile(*set->find("faulty"), {relu_function("f", {weight})});
  auto loaded = set->find("faulty")->load(result.module, {weight}, 1);
  std::vector<float> x(4), y(4);
  float* inside = reinterpret_cast<float*>(const_cast<std::byte*>(weight->data()));
  *inside = 7;  // the kernel reads the host's memory
  ASSERT_TRUE(run(*set->find("faulty"), *loaded, 0, x, y).ok());
  EXPECT_EQ(y[0], 7);
}

TEST(PluginCompile, ReturnsPackedConstants) {
  auto set = load_fault("faulty_none", "pack");
  CompileResult result = compile(*set->find("faulty"), {relu_function("f")});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  ASSERT_EQ(result.packed.size(), 1u);
  EXPECT_EQ(std::memcmp(result.packed[0]->data(), "layout", 6), 0);
  EXPECT_EQ(result.module.functions[0].packed[0],
            (std::pair<ContentKey, uint64_t>{result.packed[0]->key(), 32}));
}

TEST(PluginCompile, TellsWhichFunctionWasDeclined) {
  auto set = load_fault("faulty_none", "decline");
  CompileResult result = compile(*set->find("faulty"), {relu_function("f0"), relu_function("f1")});
  EXPECT_EQ(result.status.code(), Code::kDeclined);
  EXPECT_EQ(result.status.message(), "faulty: not today");
  EXPECT_EQ(result.function, 1);
}

TEST(PluginCompile, TellsWhichFunctionAnSdkPluginDeclined) {
  auto set = load_fault("decliner");
  CompileResult result =
      compile(*set->find("decliner"), {relu_function("f0"), relu_function("f1")});
  EXPECT_EQ(result.status.code(), Code::kDeclined);
  EXPECT_EQ(result.status.message(), "decliner: it looked easier from outside: 1 nodes");
  EXPECT_EQ(result.function, 0);
  EXPECT_EQ(result.node, 0);
}

struct Defect {
  std::string fault, message;
};
void PrintTo(const Defect& defect, std::ostream* out) { *out << defect.fault; }

class CompileRefuses : public testing::TestWithParam<Defect> {};

TEST_P(CompileRefuses, WithAClearError) {
  auto set = load_fault("faulty_none", GetParam().fault);
  auto statuses = host_counts().statuses.load(), held = host_counts().held.load();
  CompileResult result = compile(*set->find("faulty"), {relu_function("f", {floats({1})})});
  EXPECT_EQ(result.status.message(), GetParam().message);
  EXPECT_EQ(host_counts().statuses, statuses);
  EXPECT_EQ(host_counts().held, held) << "expected the module to be released";
}

const Defect kDefects[] = {
    {"compile", "faulty: the chip is on fire"},
    {"compile-null", "faulty: compile gave no module"},
    {"decline-nobody", "faulty: declined none of the 1 functions by its index"},
    {"unknown-code", "faulty: what is this"},
    {"save", "faulty: no paper"},
    {"packed", "faulty: packed: function 99 of 1"},
    {"packed-align", "faulty: packed: alignment 48 is no power of two up to 64"},
    {"kernel-null", "faulty: gave no kernel for \"f\""},
    {"counts", "faulty: kernel \"f\" takes 3 inputs and gives 1 outputs, its graph 1 and 1"},
    {"align", "faulty: kernel \"f\" aligns its workspace to 48, no power of two up to 4096"},
    {"workspace", "faulty: kernel \"f\" requires a workspace of 18446744073709551615 bytes"},
    {"inplace", "faulty: kernel \"f\" has the in-place pair (0, 5), out of range or used twice"},
    {"const-use", "faulty: kernel \"f\" reports use 7 of constant 0, expected 0 to 4"},
    {"const-count", "faulty: kernel \"f\" reports the use of 5 constants, its graph has 1"},
    {"out-shapes",
     "faulty: kernel \"f\" has the flag OUT_SHAPES, the dims of its graph's outputs are numbers"},
    {"device", "faulty: kernel \"f\" requires device type 2, its plugin has no slots for devices"},
};
INSTANTIATE_TEST_SUITE_P(PluginCompile, CompileRefuses, testing::ValuesIn(kDefects),
                         [](const auto& info) {
                           std::string name = info.param.fault;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PluginCompile, MakesUnknownCodesUnknown) {
  auto set = load_fault("faulty_none", "unknown-code");
  EXPECT_EQ(compile(*set->find("faulty"), {relu_function("f")}).status.code(), Code::kUnknown);
}

TEST(PluginCompile, RefusesAConstantWhoseBytesDoNotFitItsType) {
  auto set = load_fault("faulty_none");
  CompileFunction function = relu_function("f", {floats({1, 2})});
  function.constants[0].type.dims = {3};
  EXPECT_EQ(compile(*set->find("faulty"), {function}).status.message(),
            "constant \"c0\" is f32[3], 12 bytes, and 8 are there");
}

CompileResult compile_thrower(const std::string& what, const std::string& name = "thrower") {
  PluginSearch search;
  search.files = {fault_path(name)};
  search.options["thrower"]["throw"] = what;
  return compile(*PluginSet::load(search)->find("thrower"), {relu_function("f")});
}

TEST(SdkExceptions, BecomeErrorsOfCompile) {
  CompileResult thrown = compile_thrower("compile");
  EXPECT_EQ(thrown.status.code(), Code::kInternal);
  EXPECT_EQ(thrown.status.message(), "thrower: the compiler threw");
  EXPECT_EQ(compile_thrower("memory").status.code(), Code::kResourceExhausted);
  EXPECT_EQ(compile_thrower("memory").status.message(), "thrower: out of memory");
  EXPECT_EQ(compile_thrower("number").status.message(), "thrower: an exception of unknown type");
  EXPECT_EQ(compile_thrower("null").status.message(), "thrower: compile returned no kernel");
  CompileResult declined = compile_thrower("decline");
  EXPECT_EQ(declined.status.code(), Code::kDeclined);
  EXPECT_EQ(declined.function, 0);
}

TEST(SdkExceptions, OfJudgeAreARefusalWhenThePluginMeantThem) {
  auto load = [](const std::string& what) {
    PluginSearch search;
    search.files = {fault_path("thrower")};
    search.options["thrower"]["throw"] = what;
    return PluginSet::load(search);
  };
  std::string json = relu_function("f").graph_json;
  auto meant = load("judge-error");
  EXPECT_EQ(meant->find("thrower")->judge(0, json)->reason, "no such attribute");
  auto accident = load("judge");
  EXPECT_EQ(accident->find("thrower")->judge(0, json).status().message(),
            "thrower: the judge threw");
  auto bad_graph = load("run");
  EXPECT_THAT(bad_graph->find("thrower")->judge(0, "{")->reason, HasSubstr("graph JSON: "));
}

TEST(SdkExceptions, BecomeErrorsOfRun) {
  PluginSearch search;
  search.files = {fault_path("thrower")};
  search.options["thrower"]["throw"] = "run";
  auto set = PluginSet::load(search);
  const Plugin& plugin = *set->find("thrower");
  CompileResult result = compile(plugin, {relu_function("f")});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  auto loaded = plugin.load(result.module, {}, 1);
  ASSERT_TRUE(loaded.ok());
  std::vector<float> x(4), y(4);
  EXPECT_EQ(run(plugin, *loaded, 0, x, y).message(), "thrower: the kernel threw");
}

TEST(PluginCompile, SurvivesAnExceptionThroughTheCBoundary) {
  CompileResult result = compile_thrower("compile", "thrower_raw");
  EXPECT_EQ(result.status.code(), Code::kInternal);
  EXPECT_EQ(result.status.message(),
            "thrower: threw an exception out of compile: straight through the C boundary");
  EXPECT_EQ(result.status.help(), "a defect of the plugin: no exception may cross the ABI");
}

TEST(PluginLoad, ReportsThePluginsOwnWords) {
  auto good = load_fault("faulty_none");
  CompileResult result = compile(*good->find("faulty"), {relu_function("f")});
  auto set = load_fault("faulty_none", "load");
  auto loaded = set->find("faulty")->load(result.module, {}, 1);
  EXPECT_EQ(loaded.status().code(), Code::kDataLoss);
  EXPECT_EQ(loaded.status().message(), "faulty: the blob has a moth in it");
}

TEST(PluginLoad, RefusesAModuleWithoutItsSymbol) {
  auto set = load_fault("faulty_none");
  CompileResult result = compile(*set->find("faulty"), {relu_function("f")});
  result.module.functions[0].symbol = "g";
  EXPECT_EQ(set->find("faulty")->load(result.module, {}, 1).status().message(),
            "faulty: no such function");
}

TEST(PluginLoad, RefusesAKernelThatNoLongerWorksInPlace) {
  auto good = load_fault("faulty_none");
  CompileResult result = compile(*good->find("faulty"), {relu_function("f")});
  auto set = load_fault("faulty_none", "no-inplace");
  Status status = set->find("faulty")->load(result.module, {}, 1).status();
  EXPECT_EQ(status.code(), Code::kStaleArtifact);
  EXPECT_EQ(status.slug(), "stale-artifact");
  EXPECT_EQ(status.message(), "faulty: kernel \"f\" no longer works in place");
}

TEST(PluginLoad, RefusesAMissingConstant) {
  auto set = load_fault("faulty_none");
  CompileResult result = compile(*set->find("faulty"), {relu_function("f", {floats({1})})});
  EXPECT_EQ(set->find("faulty")->load(result.module, {}, 1).status().message(),
            "constant \"c0\" is f32[1], 4 bytes, and 0 are there");
}

TEST(PluginRun, GivesTheKernelsOwnWords) {
  auto set = load_fault("faulty_none", "run");
  CompileResult result = compile(*set->find("faulty"), {relu_function("f")});
  auto loaded = set->find("faulty")->load(result.module, {}, 1);
  std::vector<float> x(4), y(4);
  EXPECT_EQ(run(*set->find("faulty"), *loaded, 0, x, y).message(), "faulty: the kernel panicked");
}

TEST(PluginCompat, TellsTheLevel) {
  auto set = load_fault("faulty_none");
  EXPECT_EQ(*set->find("faulty")->compat("faulty/1"), 3u);
  EXPECT_EQ(*set->find("faulty")->compat("faulty/0"), 1u);
  auto nonsense = load_fault("faulty_none", "compat");
  EXPECT_EQ(nonsense->find("faulty")->compat("x").status().message(),
            "faulty: compat returned 9, expected 0 to 3");
}

}  // namespace
}  // namespace byoc
