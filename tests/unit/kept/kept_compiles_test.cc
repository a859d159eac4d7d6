// SPDX-License-Identifier: Apache-2.0
// Functions of a plugin with `kept_compiles` are compiled once, in whatever model they are.
#include <filesystem>
#include <thread>

#include "byoc/runtime/artifact.h"
#include "unit/kept/keeping.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class KeptCompiles : public Keeping {
 protected:
  Executable built(const std::string& model, const PluginOptions& plugins, int level = 0,
                   Report* report = nullptr, uint32_t threads = 1, bool compile_only = false) {
    const std::string id = plugins.begin()->first;
    BuildOptions options;
    options.plugins = selective_plugins(plugins);
    options.compilers = {id};
    options.level = level;  // 0: every op is a function of its own
    options.report = report;
    options.threads = threads;
    options.compile_only = compile_only;
    Result<Executable> out = build(parse(model), options);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : Executable();
  }
  std::string artifact(const Executable& executable) {
    const std::string path = folder_.file("model.byoc");
    EXPECT_TRUE(save_artifact(executable, path).ok());
    return get(path);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& file : fs::directory_iterator(folder_.file("cache") + "/byoc/compiled")) {
      if (file.path().filename() != "growth") out.push_back(file.path());
    }
    return out;
  }
};

TEST_F(KeptCompiles, ASecondBuildCompilesNothingAndGivesTheSameArtifact) {
  const std::string first = artifact(built(chain(3), options("kept")));
  EXPECT_EQ(compiled(), 3);
  EXPECT_EQ(artifact(built(chain(3), options("kept"))), first);
  EXPECT_EQ(compiled(), 3);
}

TEST_F(KeptCompiles, RunAsTheyDidBefore) {
  const std::string model = R"(fn main(%x: f32[2]) {
    %w = const([1.5, -2.0]) : f32[2]
    %0 = multiply(%x, %w) loc("scale")
    return %0 })";
  for (int k = 0; k < 2; ++k) {
    const Executable made = built(model, options("kept"));
    std::vector<Tensor> inputs;
    inputs.push_back(tensor_f32({2}, {3, 0.25F}));
    EXPECT_THAT(floats(execute(made, selective_plugins(options("kept")), inputs)[0]),
                ElementsAre(4.5F, -0.5F));
  }
  EXPECT_EQ(compiled(), 1);
}

TEST_F(KeptCompiles, AnotherModelWithOtherNamesCompilesNothing) {
  built(chain(3), options("kept"));
  const Executable other = built(chain(2, "another"), options("kept"));
  EXPECT_EQ(compiled(), 3);
  ASSERT_EQ(other.program.steps.size(), 2u);
  EXPECT_EQ(other.program.steps[0].symbol, "kept_main_0");
  EXPECT_THAT(other.program.steps[0].locs, ElementsAre("another0"));
}

TEST_F(KeptCompiles, AChangedConstantIsOneMore) {
  const auto model = [](const char* value) {
    return cat("fn main(%x: f32[2]) { %w = const([1.5, ", value,
               "]) : f32[2] %0 = multiply(%x, %w) %1 = tanh(%0) return %1 }");
  };
  built(model("2.0"), options("kept"));
  EXPECT_EQ(compiled(), 2);
  built(model("2.5"), options("kept"));
  EXPECT_EQ(compiled(), 3);
}

// Such a constant is no part of the graph's text: its key is.
TEST_F(KeptCompiles, AChangedLargeConstantIsOneMore) {
  const auto model = [](const char* value) {
    std::string list;
    for (int k = 0; k < 99; ++k) list += "0.5, ";
    return cat("fn main(%x: f32[100]) { %w = const([", list, value,
               "]) : f32[100] %0 = multiply(%x, %w) return %0 }");
  };
  built(model("2.0"), options("kept"));
  built(model("2.5"), options("kept"));
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KeptCompiles, OtherOptionsOfThePluginCompileAgain) {
  built(chain(1), options("kept"));
  built(chain(1), options("kept", {{"layouts", "matmul:16"}}));
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KeptCompiles, AnotherNumberOfThreadsCompilesAgainAndCompileOnlyDoesNot) {
  built(chain(1), options("kept"));
  built(chain(1), options("kept"), 0, nullptr, 1, true);
  EXPECT_EQ(compiled(), 1);
  built(chain(1), options("kept"), 0, nullptr, 2);
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KeptCompiles, EqualFunctionsOfOneModelShareAKernel) {
  const Executable made =
      built("fn main(%x: f32[2]) { %0 = tanh(%x) %1 = tanh(%0) return %1 }", options("kept"));
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(made.modules.size(), 1u);
  EXPECT_EQ(made.program.steps.size(), 2u);
}

TEST_F(KeptCompiles, DeclinesAreKeptWithTheirReasons) {
  for (int k = 0; k < 2; ++k) {
    Report report;
    const Executable made =
        built(chain(1), options("kept", {{"decline", "leaky_relu"}}), 0, &report);
    ASSERT_EQ(report.remarks.size(), 1u);
    EXPECT_EQ(report.remarks[0].kind, Report::Remark::kDeclined);
    EXPECT_EQ(report.remarks[0].reason, "kept: declined by its options");
    EXPECT_EQ(made.modules.at(0).plugin, "json");
    EXPECT_EQ(compiled(), 1);
  }
}

TEST_F(KeptCompiles, ADamagedFileIsCompiledAgain) {
  const std::string first = artifact(built(chain(1), options("kept")));
  const std::vector<fs::path> kept = files();
  ASSERT_EQ(kept.size(), 1u);
  std::string bytes = get(kept[0].string());
  bytes[bytes.size() / 2] ^= 1;
  put(kept[0].string(), bytes);
  EXPECT_EQ(artifact(built(chain(1), options("kept"))), first);
  EXPECT_EQ(compiled(), 2);
  built(chain(1), options("kept"));
  EXPECT_EQ(compiled(), 2) << "it was kept anew";
}

TEST_F(KeptCompiles, AVariableTurnsThemOff) {
  setenv("BYOC_KEEP_COMPILES", "0", 1);
  built(chain(1), options("kept"));
  unsetenv("BYOC_KEEP_COMPILES");
  built(chain(1), options("kept"));
  EXPECT_EQ(compiled(), 2);
}

TEST_F(KeptCompiles, OtherPluginsCompileEachTime) {
  built(chain(2), options("a"));
  built(chain(2), options("a"));
  EXPECT_EQ(compiled(), 4);
}

TEST_F(KeptCompiles, ACompositeIsKeptWithItsCaptures) {
  const char* pattern =
      R"([{"name":"kept.pair","dag":{"op":"tanh","as":"post","args":[{"op":"relu","as":"first"}]}}])";
  for (int k = 0; k < 2; ++k) {
    const Executable made = built("fn main(%x: f32[2]) { %0 = relu(%x) %1 = tanh(%0) return %1 }",
                                  options("kept", {{"patterns", pattern}, {"ops", "pair"}}), 2);
    EXPECT_EQ(compiled(), 1);
    EXPECT_EQ(made.modules.at(0).functions.at(0).ops, 2u);
  }
}

TEST_F(KeptCompiles, ThirtyFunctionsCompileSideBySideWhereThePluginAllowsIt) {
  const auto slow = options("side", {{"compile_ms", "20"}});
  const std::string text = artifact(built(chain(30), slow));
  EXPECT_EQ(compiled(), 30);
  const bool has_cores = std::thread::hardware_concurrency() > 1;
  EXPECT_GE(overlap(), has_cores ? 2 : 1);
  EXPECT_EQ(artifact(built(chain(30), slow)), text) << "the order does not depend on the time";
}

TEST_F(KeptCompiles, OneAtATimeWithoutThatPromise) {
  built(chain(6), options("kept", {{"compile_ms", "5"}}));
  EXPECT_EQ(compiled(), 6);
  EXPECT_EQ(overlap(), 1);
}

TEST_F(KeptCompiles, ShowTheirProgressPerFunction) {
  BuildOptions options;
  Cancellation cancellation;
  std::vector<std::string> words;
  cancellation.set_progress([&](uint32_t permille, std::string_view what) {
    if (what.find(" of ") != what.npos)
      words.push_back(cat(permille, " ", what));  // the host's own
  });
  options.plugins = selective_plugins(this->options("kept"));
  options.compilers = {"kept"};
  options.level = 0;
  options.cancel = &cancellation;
  ASSERT_TRUE(build(parse(chain(2)), options).ok());
  EXPECT_THAT(words,
              ElementsAre("500 compiling with kept, 1 of 2", "1000 compiling with kept, 2 of 2"));
}

}  // namespace
}  // namespace byoc::test
