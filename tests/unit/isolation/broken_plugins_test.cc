// SPDX-License-Identifier: Apache-2.0
// Plugins that break in each of their slots, in processes of their own and in the command's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A way to break, and the words about it.
struct Kind {
  const char* name;
  const char* isolated;  // in the reason of explain
};
const Kind kKinds[] = {{"SEGV", "crashed (SIGSEGV)"},
                       {"ABRT", "crashed (SIGABRT)"},
                       {"EXIT", "ended the process (exit code 7)"},
                       {"THROW", "thrown by the plugin"},
                       {"HANG", "did not return within 1 s"},
                       {"MEMORY", "memory"},
                       {"WRONG", "no such code"},
                       {"overflow", "crashed (SIGSEGV)"}};

class Broken : public ::testing::Test {
 protected:
  Broken() { model = byoc.write("m.ir", kTwoOps); }
  std::string breaking(const std::string& in, const std::string& kind) const {
    return cat(" --plugin ", fault_path("crasher"), " --plugin-option crasher.in=", in,
               " --plugin-option crasher.signal=", kind, " --compiler crasher,json ");
  }
  /// Only a hang takes as long as the limit, which others must not reach on a busy machine.
  static std::string isolated(const std::string& kind = "") {
    return cat("--isolate --isolate-memory 256M --isolate-time ", kind == "HANG" ? 1 : 60, " ");
  }
  /// Returns the values of the output of a run on x = -1.5, computed here: tanh(relu(x)).
  void expect_right(const Ran& ran, const std::string& what) const {
    EXPECT_EQ(ran.code, 0) << what << ran.err;
    const std::string bytes = get(byoc.file("out/" + output_name()));
    ASSERT_GE(bytes.size(), 6 * sizeof(float)) << what;
    float y[6];
    std::memcpy(y, bytes.data() + bytes.size() - sizeof y, sizeof y);
    const float x[] = {-1.5f, 0.25f, 1, -0.5f, 2, 0};
    for (int k = 0; k < 6; ++k)
      EXPECT_NEAR(y[k], std::tanh(std::max(x[k], 0.0f)), 1e-6) << what << k;
  }
  std::string output_name() const {
    return parse_json(get(byoc.file("out/outputs.json")))
        ->at("outputs")[0]["file"]
        .get<std::string>();
  }
  std::string run_words() const {
    return cat("run ", model, " --input x=-1.5,0.25,1,-0.5,2,0 --output-dir ", byoc.file("out"),
               " ");
  }
  Byoc byoc;
  std::string model;
};

TEST_F(Broken, EachKindInJudgeGoesToTheNextPluginWithTheReason) {
  for (const Kind& kind : kKinds) {
    expect_right(byoc(run_words() + breaking("judge", kind.name) + isolated(kind.name)), kind.name);
    const Ran explained =
        byoc("explain " + model + breaking("judge", kind.name) + isolated(kind.name));
    EXPECT_EQ(explained.code, 0) << kind.name << explained.err;
    EXPECT_THAT(explained.out, HasSubstr(kind.isolated)) << kind.name;
  }
}

TEST_F(Broken, EachKindInCompileGoesToTheNextPluginWithTheReason) {
  for (const Kind& kind : kKinds) {
    const Ran ran = byoc(run_words() + breaking("compile", kind.name) + isolated(kind.name));
    expect_right(ran, kind.name);
    const Ran compiled = byoc(cat("compile ", model, breaking("compile", kind.name),
                                  isolated(kind.name), "-o ", byoc.file("m.byoc")));
    EXPECT_EQ(compiled.code, 0) << kind.name << compiled.err;
    EXPECT_THAT(compiled.err, HasSubstr("declined it in compile")) << kind.name;
    EXPECT_THAT(compiled.err, HasSubstr(kind.isolated)) << kind.name;
  }
}

TEST_F(Broken, EachKindInLoadGoesToTheNextPluginBeforeAProgramIsLoaded) {
  for (const Kind& kind : kKinds)
    expect_right(byoc(run_words() + breaking("load", kind.name) + isolated(kind.name)), kind.name);
}

TEST_F(Broken, EachKindInLoadOfAnArtifactIsAnErrorOfByocRun) {
  const std::string compiled = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + model + breaking("nowhere", "SEGV") + "-o " + compiled).code, 0);
  for (std::string in : {"load", "run"}) {
    for (const Kind& kind : kKinds) {
      Byoc byoc_run(cat("BYOC_TEST_CRASH=", in, " BYOC_TEST_SIGNAL=", kind.name, " ",
                        BYOC_BUILD_DIR, "/bin/byoc-run"));
      const Ran ran =
          byoc_run(compiled + " --plugin " + fault_path("crasher") + " " + isolated(kind.name));
      EXPECT_EQ(ran.code, 1) << in << kind.name << ran.err;
      EXPECT_THAT(ran.err, HasSubstr("error[")) << in << kind.name;
      EXPECT_THAT(ran.err, HasSubstr(kind.isolated)) << in << kind.name;
    }
  }
}

TEST_F(Broken, EachKindInRunIsAnErrorAndTheCommandLives) {
  for (const Kind& kind : kKinds) {
    const Ran ran = byoc(run_words() + breaking("run", kind.name) + isolated(kind.name));
    EXPECT_EQ(ran.code, 1) << kind.name << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[")) << kind.name;
    EXPECT_THAT(ran.err, HasSubstr(kind.isolated)) << kind.name;
  }
}

TEST_F(Broken, WithoutIsolationEachKindEndsTheCommandWithANameOrIsAnError) {
  for (std::string in : {"judge", "compile", "load", "run"}) {
    for (const Kind& kind : kKinds) {
      const std::string name = kind.name;
      if (name == "HANG") continue;  // OneSignalEndsACommandWhosePluginDoesNotReturn
      // 2 GiB of address space end the runaway
      Byoc limited(cat("ulimit -v ", 2 << 20, "; ", BYOC_BUILD_DIR, "/bin/byoc"));
      const Ran ran = limited("run " + model + breaking(in, kind.name));
      if (in == "judge" && (name == "THROW" || name == "WRONG")) {
        EXPECT_EQ(ran.code, 0) << in << name << ran.err;  // a verdict: judge failed
      } else {
        EXPECT_NE(ran.code, 0) << in << name;
        EXPECT_THAT(ran.err, HasSubstr("error[")) << in << name;
        EXPECT_THAT(ran.err, HasSubstr("crasher")) << in << name;
      }
    }
  }
}

TEST_F(Broken, OnePluginIsIsolatedByItsId) {
  expect_right(byoc(run_words() + breaking("compile", "SEGV") + "--isolate-plugin crasher"), "id");
  const Ran other = byoc(run_words() + breaking("compile", "SEGV") + "--isolate-plugin json");
  EXPECT_EQ(other.code, 128 + SIGSEGV);
}

TEST_F(Broken, TheEnvironmentIsolatesAsTheFlagDoes) {
  Byoc with(cat("BYOC_ISOLATE=crasher ", BYOC_BUILD_DIR, "/bin/byoc"));
  expect_right(with(run_words() + breaking("compile", "SEGV")), "environment");
}

TEST_F(Broken, AFunctionThatBreaksItsPluginDoesNotTakeTheOthersAlong) {
  // 40 functions of one op each, between ops that json has: all are declined, none is lost
  std::string text = "fn main(%x: f32[2,3]) {\n  %0 = tanh(%x)\n";
  for (int k = 0; k < 40; ++k)
    text += cat("  %", 2 * k + 1, " = relu(%", 2 * k, ")\n  %", 2 * k + 2, " = tanh(%", 2 * k + 1,
                ")\n");
  const std::string deep = byoc.write("deep.ir", text + "  return %80\n}\n");
  const Ran ran = byoc(cat("run ", deep, breaking("compile", "SEGV"), isolated()));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("crashed (SIGSEGV) in compile"));
}

TEST_F(Broken, AnIsolatedPluginGivesTheSameBytes) {
  for (std::string plugins : {"llvm", "crasher,json"}) {
    const std::string words = cat("compile ", model, " --plugin ", fault_path("crasher"),
                                  " --plugin-option crasher.in=nowhere --compiler ", plugins);
    ASSERT_EQ(byoc(cat(words, " -o ", byoc.file("a.byoc"))).code, 0);
    const Ran ran = byoc(cat(words, " --isolate -o ", byoc.file("b.byoc")));
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(get(byoc.file("a.byoc")) == get(byoc.file("b.byoc"))) << plugins;
  }
}

TEST_F(Broken, ASignalEndsACommandInASlotThatDoesNotReturnWithinASecond) {
  for (std::string in : {"judge", "compile", "load", "run"}) {
    for (std::string isolation : {"", "--isolate "}) {
      for (std::string signal : {"INT", "TERM"}) {
        Byoc signalled(
            cat("timeout --preserve-status -k 30 -s ", signal, " 2 ", BYOC_BUILD_DIR, "/bin/byoc"));
        const auto begin = std::chrono::steady_clock::now();
        const Ran ran = signalled("run " + model + breaking(in, "HANG") + isolation);
        const auto took = std::chrono::steady_clock::now() - begin;
        EXPECT_EQ(ran.code, 130) << in << isolation << signal << ran.err;
        EXPECT_LT(took, std::chrono::milliseconds(3500)) << in << isolation << signal;
      }
    }
  }
}

TEST_F(Broken, ThePluginsProcessEndsWithItsOwner) {
  const std::string mark = byoc.file("libbyoc_crasher.so");  // a path that no other process has
  ASSERT_EQ(std::system(cat("cp ", fault_path("crasher"), " ", mark).c_str()), 0);
  const std::string line =
      cat("timeout -s KILL 2 ", BYOC_BUILD_DIR, "/bin/byoc run ", model, " --plugin ", mark,
          " --plugin-option crasher.in=compile --plugin-option crasher.signal=HANG --isolate "
          "--compiler crasher,json >/dev/null 2>&1");
  (void)std::system(line.c_str());
  // its map of memory has the library; pgrep does not read that
  const std::string find = cat("sleep 0.5; ! grep -ls ", mark, " /proc/[0-9]*/maps | grep -q .");
  EXPECT_EQ(std::system(find.c_str()), 0);
}

TEST_F(Broken, WordsOfTheFlagsAreChecked) {
  for (std::string words : {"--isolate-memory 0", "--isolate-memory 8X", "--isolate-memory x"}) {
    const Ran ran = byoc(cat("run ", model, " ", words));
    EXPECT_EQ(ran.code, 2) << words;
    EXPECT_THAT(ran.err, HasSubstr("--isolate-memory expects")) << words;
  }
}

}  // namespace
}  // namespace byoc::test
