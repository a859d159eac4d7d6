// SPDX-License-Identifier: Apache-2.0
// Artifacts of the onednn plugin: graphs and keys of weights, which the loaded oneDNN makes
// runnable; and the packed weights, which sessions share.
#include <gmock/gmock.h>

#include "byoc/pass/passes.h"
#include "runtime/host/host.h"
#include "support/flow.h"
#include "support/paths.h"
#include "support/temp_folder.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

Executable built(const IRModule& module) {
  BuildOptions options{.plugins = built_plugins(), .compilers = {"onednn"}};
  auto executable = build(module, options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  return executable.ok() ? *std::move(executable) : Executable();
}

ExternalModule& onednn_module(Executable& executable) {
  for (ExternalModule& module : executable.modules) {
    if (module.plugin == "onednn") return module;
  }
  ADD_FAILURE() << "onednn took nothing";
  static ExternalModule none;
  return none;
}

/// Returns x * w, w of n x n random numbers.
IRModule product(int64_t n) {
  IRModule module = parse(cat("fn main(%x: f32[3,", n, "], %w: f32[", n, ",", n,
                              "]) { %0 = matmul(%x, %w)  %1 = relu(%0)  return %1 }"));
  Tensor weights = *Tensor::make({DType::kF32, {n, n}});
  fill_random(weights, 7);
  const Node& w = module.function("main").nodes[1];
  auto bound = bind_params(
      module, {{"w", {*w.types[0], Buffer::copy({weights.data(), weights.size_bytes()})}}},
      PassContext());
  EXPECT_TRUE(bound.ok()) << bound.status().to_string();
  return *std::move(bound);
}

IRModule digits() { return import("digits/model.onnx", {{"N", {1}}}); }

std::vector<Tensor> stored_and_run(const Executable& executable) {
  TempFolder folder;
  EXPECT_TRUE(save_artifact(executable, folder.file("m.byoc")).ok());
  auto loaded = load_artifact(folder.file("m.byoc"));
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  return loaded.ok() ? execute(*loaded, built_plugins()) : std::vector<Tensor>();
}

TEST(OnednnArtifact, HoldsNoWeights) {
  Executable small = built(product(16)), large = built(product(1024));
  uint64_t small_blob = onednn_module(small).blob->size(),
           large_blob = onednn_module(large).blob->size();
  EXPECT_LT(large_blob, small_blob + 64) << "the digits of larger dims, and no more";
  EXPECT_LT(large_blob, 4096u);
}

TEST(OnednnArtifact, IsLoadedByTheRuntimeAloneAndRunsToTheBit) {
  Executable executable = built(digits());
  auto direct = execute(executable, built_plugins()), stored = stored_and_run(executable);
  ASSERT_EQ(direct.size(), stored.size());
  for (size_t k = 0; k < direct.size(); ++k) EXPECT_EQ(floats(direct[k]), floats(stored[k]));
}

TEST(OnednnArtifact, NamesTheVersionOfOnednnAndTheInstructionSet) {
  Executable executable = built(product(16));
  EXPECT_THAT(onednn_module(executable).compat,
              MatchesRegex("byoc-graphs/1 oneDNN [23]\\.[0-9]+\\.[0-9]+ [a-z0-9_]+"));
}

std::vector<std::string> warnings_of(const Executable& executable) {
  auto session = Session::load(executable, built_plugins());
  EXPECT_TRUE(session.ok()) << session.status().to_string();
  return session.ok() ? (*session)->warnings() : std::vector<std::string>();
}

TEST(OnednnArtifact, OfAnotherOnednnIsRunCorrectlyWithTheAdviceToCompileAgain) {
  Executable executable = built(digits());
  EXPECT_THAT(warnings_of(executable), IsEmpty());
  auto direct = execute(executable, built_plugins());
  onednn_module(executable).compat = "byoc-graphs/1 oneDNN 2.0.0 sse41";
  EXPECT_THAT(warnings_of(executable),
              testing::ElementsAre(HasSubstr("compiling the model again would be better")));
  expect_close(stored_and_run(executable), direct);
}

TEST(OnednnArtifact, OfAnotherFormatIsRefused) {
  Executable executable = built(product(16));
  onednn_module(executable).compat = "byoc-graphs/2 oneDNN 2.0.0 sse41";
  EXPECT_THAT(Session::load(executable, built_plugins()).status().to_string(),
              HasSubstr("stale-artifact"));
}

// On any machine, oneDNN generates code for SSE4.1 alone when the variable requires it.
TEST(OnednnArtifact, RunsOnAnOlderProcessorThanItWasCompiledFor) {
  Byoc byoc;
  std::string model = std::string(BYOC_TEST_DATA) + "/models/digits/model.onnx";
  ASSERT_EQ(
      byoc("compile " + model + " --shape N=1 --compiler onednn,json -o " + byoc.file("m.byoc"))
          .code,
      0);
  auto run = [&](const std::string& environment) {
    Byoc older("env " + environment + " " + BYOC_BUILD_DIR + "/bin/byoc-run");
    Ran ran = older(byoc.file("m.byoc") + " --seed 5 --output-dir " + byoc.file(environment));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran;
  };
  Ran same = run("ONEDNN_VERBOSE=0"), older = run("ONEDNN_MAX_CPU_ISA=SSE41");
  EXPECT_THAT(same.err, Not(HasSubstr("again would be better")));
  EXPECT_THAT(older.err, HasSubstr("again would be better"));
  for (const auto& entry : std::filesystem::directory_iterator(byoc.file("ONEDNN_VERBOSE=0"))) {
    if (entry.path().extension() != ".npy") continue;
    auto a = read_npy(entry.path());
    auto b =
        read_npy(byoc.file("ONEDNN_MAX_CPU_ISA=SSE41") + "/" + entry.path().filename().string());
    ASSERT_TRUE(a.ok() && b.ok());
    std::vector<Tensor> left, right;
    left.push_back(*std::move(a));
    right.push_back(*std::move(b));
    expect_close(left, right);
  }
}

TEST(OnednnPackedWeights, AreSharedWithSessionsAndFreedWithTheLast) {
  const int64_t before = host_counts().packed;
  std::optional<Executable> executable = built(digits());
  const int64_t made = host_counts().packed - before;
  EXPECT_GT(made, 0) << "nothing is packed, so the test has no effect";
  auto plugins = built_plugins();
  auto first = *Session::load(*executable, plugins), second = *Session::load(*executable, plugins);
  EXPECT_EQ(host_counts().packed - before, made) << "a session made copies of its own";
  executable.reset();
  first.reset();
  EXPECT_EQ(host_counts().packed - before, made) << "the second session still reads them";
  second.reset();
  EXPECT_EQ(host_counts().packed, before);
}

}  // namespace
}  // namespace byoc::test
