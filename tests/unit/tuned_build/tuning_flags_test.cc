// SPDX-License-Identifier: Apache-2.0
// --tuning-log and --require-tuned of the commands that compile.
#include <filesystem>

#include "byoc/tune/shipped.h"
#include "tuned.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kModel = R"(fn main(%x: f32[4], %y: f32[8]) {
  %0 = relu(%x) loc("small")
  %1 = relu(%y) loc("wide")
  %2 = tanh(%0)
  %3 = tanh(%1)
  return %2, %3
})";

class TuningFlags : public testing::Test {
 protected:
  TuningFlags() {
    model_ = byoc_.write("m.ir", std::string(kModel));
    flags_ = cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so",
                 " --plugin-option a.ops=relu --plugin-option a.loops=1,2,4 --compiler a "
                 "--default json ");
    small_ = log("small.jsonl", 4, "4");
    wide_ = log("wide.jsonl", 8, "2");
  }
  /// Writes a log with a record of the task with so many flops.
  std::string log(const std::string& name, double flops, const std::string& loop) {
    const auto tasks = tasks_of(parse(kModel), tuned_options(tuned_plugins()));
    auto writer = tune::LogWriter::open(byoc_.file(name));
    EXPECT_TRUE(writer.ok() &&
                writer->append(record_for(task_with_flops(tasks, flops), loop, 100)).ok());
    return byoc_.file(name);
  }
  Ran run(const std::string& command, const std::string& more) {
    return byoc_(command + " " + model_ + flags_ + more);
  }
  Byoc byoc_;
  std::string model_, flags_, small_, wide_;
};

const std::map<std::string, std::string> kCommands = {
    {"run", ""}, {"verify", ""}, {"bench", " --warmup 0 --min-time 0.001 --rounds 1 "}};

TEST_F(TuningFlags, PrintTheSummary) {
  for (auto [command, more] : kCommands) {
    const Ran ran = run(command, cat(more, " --tuning-log ", small_, " --tuning-log ", wide_));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tuning: 2 hits (100.0 % of the weight)\n")) << command;
    EXPECT_THAT(run(command, more).out, Not(HasSubstr("tuning:"))) << command;
  }
}

TEST_F(TuningFlags, AreInTheJson) {
  for (auto [command, more] : kCommands) {
    const Json json = byoc_.json(cat(command, " ", model_, flags_, more, " --tuning-log ", small_));
    ASSERT_TRUE(json.contains("tuning")) << command << json.dump();
    const Json& functions = json["tuning"]["functions"];
    ASSERT_EQ(functions.size(), 2u);
    for (const Json& function : functions) {
      const bool is_hit = function["origin"] != "miss";
      EXPECT_EQ(function["plugin"], "a");
      EXPECT_EQ(function["log"], is_hit ? small_ : "");
      EXPECT_EQ(function["point"].dump(), is_hit ? R"({"loop":"4"})" : "{}");
    }
    EXPECT_THAT(json["tuning"]["summary"].get<std::string>(), HasSubstr("1 miss"));
    EXPECT_FALSE(byoc_.json(cat(command, " ", model_, flags_, more)).contains("tuning"));
  }
}

TEST_F(TuningFlags, CompileAnArtifactWithThePoints) {
  const std::string artifact = byoc_.file("m.byoc");
  const Ran ran = run("compile", cat("--tuning-log ", small_, " --tuning-log ", wide_,
                                     " --require-tuned -o ", artifact));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tuning: 2 hits"));
  Result<Executable> loaded = load_artifact(artifact);
  ASSERT_TRUE(loaded.ok());
  std::set<std::string> implementations;
  for (const ExternalModule& module : loaded->modules) {
    for (const ExternalFunction& function : module.functions)
      implementations.insert(function.implementation);
  }
  EXPECT_TRUE(implementations.contains("loop 4") && implementations.contains("loop 2"));
  const Ran again = byoc_(cat("run ", artifact, " --tuning-log ", small_));
  EXPECT_NE(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("compiled already"));
}

TEST_F(TuningFlags, NameAFunctionThatIsNotTuned) {
  put(byoc_.file("empty.jsonl"), "");
  const Ran ran = run("run", cat("--require-tuned --tuning-log ", byoc_.file("empty.jsonl")));
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("error[not-tuned]"));
  EXPECT_THAT(ran.err, HasSubstr("@a_main_0"));
  EXPECT_THAT(ran.err, HasSubstr("help: byoc tune"));
}

TEST_F(TuningFlags, NeedALogThatCanBeRead) {
  EXPECT_THAT(run("run", "--require-tuned").err, HasSubstr("--tuning-log FILE"));
  EXPECT_THAT(run("run", "--tuning-log none.jsonl").err, HasSubstr("none.jsonl"));
  put(byoc_.file("bad.jsonl"), "{}\n");
  const Ran ran = run("run", cat("--tuning-log ", byoc_.file("bad.jsonl")));
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("line 1 is no record"));
}

TEST_F(TuningFlags, PrintThePointsThatWereRefused) {
  const Ran ran = run("run", cat("--plugin-option a.bad_loop=4 --tuning-log ", small_));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("the point {\"loop\":\"4\"} of " + small_ + " was refused: "));
}

TEST_F(TuningFlags, NoteLinesThatWereSkipped) {
  put(small_, get(small_) + "{\"v\":1,\"pl");
  const Ran ran = run("run", cat("--tuning-log ", small_));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("small.jsonl: skipped an incomplete last line"));
}

TEST_F(TuningFlags, ShowThePointsOfExplainAndPrint) {
  const std::string logs = cat(" --tuning-log ", small_, " --tuning-log ", wide_);
  const Ran explained = run("explain", logs);
  EXPECT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("tuning: 2 hits (100.0 % of the weight)\n"));
  EXPECT_EQ(byoc_.json(cat("explain ", model_, flags_, logs))["tuning"]["functions"].size(), 2u);
  const Ran printed = run("print", cat(logs, " --after run_codegen"));
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("\n// tuning: 2 hits (100.0 % of the weight)\n"));
}

TEST_F(TuningFlags, StoreThePointInAReplayFolder) {
  const std::string folder = byoc_.file("regions");
  Ran ran = run("dump", cat("--tuning-log ", small_, " -o ", folder));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json manifest = *parse_json(get(folder + "/a_main_0/manifest.json"));
  EXPECT_EQ(manifest["point"], "{\"loop\":\"4\"}");
  const std::string plugin = flags_.substr(0, flags_.find(" --compiler"));
  ran = byoc_(cat("replay ", folder, "/a_main_0", plugin));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("at the point {\"loop\":\"4\"}"));
  const Json json = byoc_.json(cat("replay ", folder, "/a_main_0", plugin));
  EXPECT_EQ(json["replays"][0]["point"]["loop"], "4");
  // The plugin gets the point: it refuses this one.
  ran = byoc_(cat("replay ", folder, "/a_main_0", plugin, " --plugin-option a.bad_loop=4"));
  EXPECT_NE(ran.code, 0) << ran.out;
  ASSERT_EQ(run("dump", cat("-o ", byoc_.file("plain"))).code, 0);
  const Json plain = *parse_json(get(byoc_.file("plain/a_main_0/manifest.json")));
  EXPECT_FALSE(plain.contains("point"));
}

// ---- the log that comes with byoc

class ShippedLog : public TuningFlags {
 protected:
  ShippedLog() {
    folder_ = byoc_.file("tuning");
    std::filesystem::create_directory(folder_);
    path_ = cat(folder_, "/", tune::processor_kind(), ".jsonl");
    put(path_, get(small_));
  }
  /// Runs a command that finds the log.
  Ran with_log(const std::string& command, const std::string& more = "") {
    const Byoc byoc(cat("BYOC_TUNING_PATH=", folder_, " ", BYOC_BUILD_DIR, "/bin/byoc"));
    return byoc(cat(command, " ", model_, flags_, more));
  }
  std::string folder_, path_;
};

TEST_F(ShippedLog, IsTheDefaultAndIsNamed) {
  for (const auto& [command, more] : kCommands) {
    const Ran ran = with_log(command, more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(cat("tuning: ", path_, ", shipped with byoc: 1 hit (")))
        << command;
    EXPECT_THAT(ran.out, HasSubstr("1 miss (")) << "the other task is no transfer";
  }
  EXPECT_THAT(with_log("explain").out, HasSubstr(path_));
  const Json json = *parse_json(with_log("run", " --json").out);
  EXPECT_EQ(json["tuning"]["shipped_log"], path_);
}

TEST_F(ShippedLog, GivesTheSameArtifactEachTime) {
  const std::string a = byoc_.file("a.byoc"), b = byoc_.file("b.byoc"), c = byoc_.file("c.byoc");
  EXPECT_EQ(with_log("compile", "-o " + a).code, 0);
  EXPECT_EQ(with_log("compile", "-o " + b).code, 0);
  EXPECT_EQ(with_log("compile", cat("-o ", c, " --tuning-log none")).code, 0);
  EXPECT_EQ(get(a), get(b));
  EXPECT_NE(get(a), get(c));
  const std::string plain = byoc_.file("plain.byoc");
  EXPECT_EQ(run("compile", "-o " + plain).code, 0);
  EXPECT_EQ(get(c), get(plain)) << "none is as if there were no log";
}

TEST_F(ShippedLog, IsNotUsedWhenItIsNotAskedFor) {
  EXPECT_THAT(with_log("run", " --tuning-log none").out, Not(HasSubstr("tuning:")));
  const Ran other = with_log("run", cat(" --tuning-log ", wide_));
  EXPECT_THAT(other.out, Not(HasSubstr(path_))) << "a log that is given replaces it";
  EXPECT_THAT(with_log("run", " --target x86-64-v2").out, Not(HasSubstr("tuning:")))
      << "code for another machine does not depend on this one";
  put(path_, "");
  EXPECT_THAT(with_log("run").out, Not(HasSubstr("tuning:"))) << "it has nothing for the model";
}

TEST_F(ShippedLog, ThatIsDamagedIsANote) {
  put(path_, "{}\n");
  const Ran ran = with_log("run");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(path_ + " is not used: line 1 is no record"));
}

TEST_F(ShippedLog, SufficesForRequireTuned) {
  EXPECT_THAT(with_log("run", " --require-tuned").err, HasSubstr("error[not-tuned]"));
  EXPECT_THAT(with_log("run", " --require-tuned --tuning-log none").err,
              HasSubstr("--tuning-log FILE"));
  EXPECT_THAT(with_log("run", cat(" --tuning-log none --tuning-log ", small_)).err,
              HasSubstr("excludes other logs"));
}

}  // namespace
}  // namespace byoc::test
