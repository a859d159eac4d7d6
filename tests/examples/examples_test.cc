// SPDX-License-Identifier: Apache-2.0
// The example plugins as they come out of a build outside of this tree.
#include <gmock/gmock.h>

#include <array>
#include <cstdio>

#include "byoc/host/plugins.h"
#include "runtime/host/host.h"
#include "runtime/host/threads.h"

namespace byoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const PluginSet> examples() {
  PluginSearch search;
  search.folders = {BYOC_EXAMPLE_DIR};
  return PluginSet::load(search);
}

std::string graph(const std::string& symbol, const std::string& rest) {
  return R"({"format":"byoc.graph","version":1,"requires":[],"symbol":")" + symbol +
         R"(","types":[{"dtype":"f32","shape":[2,2]},{"dtype":"f32","shape":[2]},{"dtype":"f32","shape":[0,2]}],)" +
         rest + "}";
}

/// Returns relu(add(x, y)) as a composite.
std::string add_relu_graph() {
  return graph(
      "example_main_0",
      R"("inputs":[{"name":"x","type":0},{"name":"y","type":0}],"constants":[],)"
      R"("nodes":[{"call":0,"args":[["i",0],["i",1]],"types":[0]}],"outputs":[["n",0,0]],)"
      R"("functions":[{"name":"add_relu_0","pattern":"example.add_relu",)"
      R"("captures":{"a":[["i",0]],"b":[["i",1]]},)"
      R"("inputs":[{"name":"a","type":0},{"name":"b","type":0}],)"
      R"("nodes":[{"op":"add","version":1,"args":[["i",0],["i",1]],"types":[0]},)"
      R"({"op":"relu","version":1,"args":[["n",0,0]],"types":[0]}],"outputs":[["n",1,0]]}])");
}

/// Returns (add(x, w), relu of that): a constant, and an inner value that is an output too.
std::string two_output_graph(const ContentKey& key) {
  return graph("example_main_1",
               R"("inputs":[{"name":"x","type":0}],"constants":[{"name":"w","type":0,"key":")" +
                   key.hex() +
                   R"("}],"nodes":[)"
                   R"({"op":"add","version":1,"args":[["i",0],["c",0]],"types":[0]},)"
                   R"({"op":"relu","version":1,"args":[["n",0,0]],"types":[0]}],)"
                   R"("outputs":[["n",0,0],["n",1,0]])");
}

std::string relu_graph(const std::string& symbol, int type = 0) {
  std::string t = std::to_string(type);
  return graph(
      symbol,
      R"("inputs":[{"name":"x","type":)" + t +
          R"(}],"constants":[],"nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[)" + t +
          R"(],"loc":"Relu \"op\":\"relu\" 7"}],"outputs":[["n",0,0]])");
}

/// Runs a kernel on tensors of `dims`; tensors holds inputs, then outputs.
Status run(const Plugin& plugin, const LoadedModule& module, size_t function,
           std::vector<int64_t> dims, std::vector<std::vector<float>*> tensors) {
  std::vector<DLTensor> views;
  for (auto* t : tensors) {
    views.push_back({t->data(),
                     {kDLCPU, 0},
                     static_cast<int32_t>(dims.size()),
                     {kDLFloat, 32, 1},
                     dims.data(),
                     nullptr,
                     0});
  }
  std::vector<const DLTensor*> args;
  for (const DLTensor& view : views) args.push_back(&view);
  std::vector<std::byte> workspace(module.kernels()[function].workspace_bytes + 64);
  byoc_call call = with_header<byoc_call>(BYOC_TAG_CALL);
  call.args = args.data();
  call.n_args = static_cast<uint32_t>(args.size());
  call.workspace =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  call.workspace_bytes = module.kernels()[function].workspace_bytes;
  return call_plugin(plugin.id(), "run",
                     [&] { return module.table()->run(module.kernel(function), &call); });
}

TEST(Examples, AreFoundInTheirFolder) {
  auto set = examples();
  EXPECT_TRUE(set->refused().empty()) << set->refused()[0].reason;
  ASSERT_NE(set->find("example"), nullptr);
  ASSERT_NE(set->find("example_c"), nullptr);
  EXPECT_EQ(set->find("example")->patterns()[2].name, "example.add_relu");
  EXPECT_EQ(
      set->find("example")->patterns()[2].dag_json,
      R"({"op":"relu","args":[{"op":"add","args":[{"any":true,"as":"a"},{"any":true,"as":"b"}],)"
      R"("dtype":["f32"]}]})");
  EXPECT_EQ(set->find("example_c")->max_ops(), 1u);
}

TEST(CppExample, CompilesSavesLoadsAndRuns) {
  auto set = examples();
  const Plugin& plugin = *set->find("example");
  std::vector<float> w{1, 2, 3, 4};
  auto weights = Buffer::copy(std::as_bytes(std::span(w)));
  CompileFunction composite{"example_main_0", add_relu_graph(), {}, {}, 2, 1};
  CompileFunction region{"example_main_1",
                         two_output_graph(weights->key()),
                         {{"w", weights->key(), {DType::kF32, {2, 2}}}},
                         {weights},
                         1,
                         2};
  CompileResult result = plugin.compile(std::vector{composite, region}, "{}", 2, 0);
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(*plugin.compat(result.module.compat), 3u);
  auto loaded = plugin.load(result.module, {weights}, 2);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();

  ThreadScope scope(2);
  std::vector<float> x{-3, -2, 1, 5}, y{1, 3, 1, -9}, sum(4), out(4);
  ASSERT_TRUE(run(plugin, *loaded, 0, {2, 2}, {&x, &y, &out}).ok());
  EXPECT_THAT(out, ElementsAre(0, 1, 2, 0));
  ASSERT_TRUE(run(plugin, *loaded, 1, {2, 2}, {&x, &sum, &out}).ok());
  EXPECT_THAT(sum, ElementsAre(-2, 0, 4, 9));
  EXPECT_THAT(out, ElementsAre(0, 0, 4, 9));
  EXPECT_EQ(weights.use_count(), 3) << "here, in the request, and held by the kernel";
}

TEST(CppExample, TellsWhyItRefuses) {
  auto set = examples();
  std::string json =
      graph("c", R"("inputs":[{"name":"x","type":0},{"name":"y","type":1}],"constants":[],)"
                 R"("nodes":[{"op":"add","version":1,"args":[["i",0],["i",1]],"types":[0]}],)"
                 R"("outputs":[["n",0,0]])");
  auto verdict = set->find("example")->judge(1, json);
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->accept, Verdict::kNo);
  EXPECT_EQ(verdict->reason, "no broadcasting, has f32[2] for f32[2,2]");
}

TEST(CppExample, DeclinesAnOpItDoesNotKnow) {
  auto set = examples();
  std::string json = relu_graph("f");
  json.replace(json.find("\"op\":\"relu\""), 11, "\"op\":\"tanh\"");
  CompileResult result = set->find("example")->compile(
      std::vector{CompileFunction{"f", json, {}, {}, 1, 1}}, "{}", 1, 0);
  EXPECT_EQ(result.status.code(), Code::kDeclined);
  EXPECT_EQ(result.status.message(), "example: no loop for \"tanh\"");
  EXPECT_EQ(result.function, 0);
  EXPECT_EQ(result.node, 0);
}

TEST(CppExample, RefusesADamagedArtifact) {
  auto set = examples();
  const Plugin& plugin = *set->find("example");
  CompileResult result =
      plugin.compile(std::vector{CompileFunction{"f", relu_graph("f"), {}, {}, 1, 1}}, "{}", 1, 0);
  ASSERT_TRUE(result.status.ok());
  const auto whole = result.module.blob;  // a copy, because the module releases it
  for (size_t size = 1; size < whole->bytes().size(); size += 13) {
    result.module.blob = Buffer::copy(whole->bytes().first(size));
    EXPECT_FALSE(plugin.load(result.module, {}, 1).ok()) << size;
  }
}

class BothExamples : public testing::TestWithParam<const char*> {};

TEST_P(BothExamples, RunRelu) {
  auto set = examples();
  const Plugin& plugin = *set->find(GetParam());
  std::vector<CompileFunction> functions{{"a", relu_graph("a"), {}, {}, 1, 1},
                                         {"b", relu_graph("b"), {}, {}, 1, 1}};
  CompileResult result = plugin.compile(functions, "{}", 1, 0);
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  auto loaded = plugin.load(result.module, {}, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  std::vector<float> x{-1, 2, -0.5f, 0}, y(4);
  ASSERT_TRUE(run(plugin, *loaded, 1, {2, 2}, {&x, &y}).ok());
  EXPECT_THAT(y, ElementsAre(0, 2, 0, 0));
}

TEST_P(BothExamples, RunOnTensorsWithoutElements) {
  auto set = examples();
  const Plugin& plugin = *set->find(GetParam());
  CompileResult result = plugin.compile(
      std::vector{CompileFunction{"a", relu_graph("a", 2), {}, {}, 1, 1}}, "{}", 1, 0);
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  auto loaded = plugin.load(result.module, {}, 1);
  ASSERT_TRUE(loaded.ok());
  std::vector<float> none;
  EXPECT_TRUE(run(plugin, *loaded, 0, {0, 2}, {&none, &none}).ok());
}

INSTANTIATE_TEST_SUITE_P(Examples, BothExamples, testing::Values("example", "example_c"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CExample, DeclinesARegionOfSeveralOps) {
  auto set = examples();
  auto weights = Buffer::make(16, [](std::byte* bytes) { std::fill_n(bytes, 16, std::byte{0}); });
  std::vector<CompileFunction> functions{{"a", relu_graph("a"), {}, {}, 1, 1},
                                         {"b",
                                          two_output_graph(weights->key()),
                                          {{"w", weights->key(), {DType::kF32, {2, 2}}}},
                                          {weights},
                                          1,
                                          2}};
  CompileResult result = set->find("example_c")->compile(functions, "{}", 1, 0);
  EXPECT_EQ(result.status.code(), Code::kDeclined);
  EXPECT_EQ(result.status.message(), "example_c: takes regions of a single relu");
  EXPECT_EQ(result.function, 1);
}

std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part;
  while (size_t n = std::fread(part.data(), 1, part.size(), pipe.get()))
    text.append(part.data(), n);
  return text;
}

TEST_P(BothExamples, AreIsolatedSharedObjects) {
  std::string file = cat(BYOC_EXAMPLE_DIR, "/libbyoc_", GetParam(), ".so");
  std::string symbols = output_of("nm -D --defined-only --format=posix " + file);
  EXPECT_THAT(symbols, testing::StartsWith("byoc_plugin_entry_v1 T "));
  EXPECT_EQ(std::count(symbols.begin(), symbols.end(), '\n'), 1) << symbols;
  std::string dynamic = output_of("readelf -dW " + file);
  EXPECT_THAT(dynamic, HasSubstr("runpath: [$ORIGIN]"));
  EXPECT_THAT(dynamic, HasSubstr("NODELETE"));
  EXPECT_THAT(dynamic, HasSubstr("SYMBOLIC"));
  EXPECT_THAT(dynamic, Not(HasSubstr("TEXTREL")));
  EXPECT_THAT(output_of("nm -D --undefined-only " + file), Not(HasSubstr("__cxa_atexit")))
      << "a static with a destructor";
  EXPECT_THAT(output_of("readelf -lW " + file), Not(HasSubstr("RWE")));
}

}  // namespace
}  // namespace byoc
