// SPDX-License-Identifier: Apache-2.0
// Compilations with a history: the points that plugins get, what is reported, and that nothing
// changes without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/te/target.h"
#include "support/temp_folder.h"
#include "tuned.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using tune::ApplyHistoryBest;
using tune::History;
using tune::HistoryReport;
using tune::Origin;

Executable built(const IRModule& module, const BuildOptions& options) {
  Result<Executable> out = build(module, options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

/// The implementations of plugin a's functions, by the number of elements of their result.
std::map<int64_t, std::string> loops_of(const Executable& executable) {
  std::map<int64_t, std::string> out;
  for (const Step& step : executable.program.steps) {
    const ExternalModule& module = executable.modules[step.module];
    if (module.plugin == "a")
      out[step.types.back().dims[0]] = module.functions[step.function].implementation;
  }
  return out;
}

std::map<int64_t, std::string> loops(const std::string& of_4, const std::string& of_8) {
  return {{4, "loop " + of_4}, {8, "loop " + of_8}};
}

class TunedBuild : public testing::Test {
 protected:
  TunedBuild() { use(tuned_plugins()); }
  void use(std::shared_ptr<const PluginSet> plugins) {
    options_ = tuned_options(std::move(plugins));
    options_.history_report = &report_;
  }
  /// A history with these values of the knob; "": no record.
  std::shared_ptr<const History> history(const std::string& of_4, const std::string& of_8,
                                         std::string name = "memory") {
    const auto tasks = tasks_of(model_, tuned_options(tuned_plugins()));
    std::vector<tune::Record> records;
    if (!of_4.empty()) records.push_back(record_for(task_with_flops(tasks, 4), of_4, 100));
    if (!of_8.empty()) records.push_back(record_for(task_with_flops(tasks, 8), of_8, 50));
    return History::of(records, std::move(name));
  }
  std::vector<std::string> origins() const {
    std::vector<std::string> out;
    for (const HistoryReport::Entry& entry : report_.entries())
      out.push_back(cat(entry.symbol, " ", name_of(entry.choice.origin), " ", entry.weight));
    return out;
  }
  IRModule model_ = tuned_model();
  HistoryReport report_;
  BuildOptions options_;
};

TEST_F(TunedBuild, GivesEachFunctionThePointOfItsTask) {
  options_.history = history("4", "2");
  const Executable executable = built(model_, options_);
  EXPECT_EQ(loops_of(executable), loops("4", "2"));
  EXPECT_THAT(origins(),
              UnorderedElementsAre(testing::EndsWith("exact 200"), testing::EndsWith("exact 50")))
      << "the function of 4 elements is called twice";
  EXPECT_EQ(report_.summary(), "2 hits (100.0 % of the weight)");
}

TEST_F(TunedBuild, GivesTheSameResults) {
  const std::vector<Tensor> plain = execute(built(model_, options_), options_.plugins);
  options_.history = history("4", "2");
  expect_close(execute(built(model_, options_), options_.plugins), plain);
}

TEST_F(TunedBuild, KeepsThePointsInTheArtifact) {
  options_.history = history("4", "2");
  TempFolder folder;
  const Executable executable = built(model_, options_);
  ASSERT_TRUE(save_artifact(executable, folder.file("m.byoc")).ok());
  // Plugin a refuses all points but those of the history when it loads the artifact.
  Result<Executable> loaded = load_artifact(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loops_of(*loaded), loops("4", "2"));
  expect_close(execute(*loaded, options_.plugins), execute(executable, options_.plugins));
  auto refusing = tuned_plugins({{"bad_loop", "4"}});
  EXPECT_FALSE(Session::load(*std::move(loaded), refusing).ok()) << "the point was not loaded";
}

TEST_F(TunedBuild, WithoutAHistoryCallsNothingAndChangesNoByte) {
  TempFolder folder;
  use(tuned_plugins({{"knobs", "fail"}}));
  ASSERT_TRUE(save_artifact(built(model_, options_), folder.file("fail")).ok());
  EXPECT_THAT(report_.entries(), IsEmpty());
  use(tuned_plugins());
  const Executable plain = built(model_, options_);
  for (const ExternalModule& module : plain.modules)
    EXPECT_THAT(module.compat, testing::StartsWith("byoc-graphs/1"));
  ASSERT_TRUE(save_artifact(plain, folder.file("plain")).ok());
  options_.history = History::of({});
  ASSERT_TRUE(save_artifact(built(model_, options_), folder.file("missed")).ok());
  EXPECT_EQ(get(folder.file("plain")), get(folder.file("missed")));
  EXPECT_EQ(loops_of(plain), loops("1", "1"));
}

TEST_F(TunedBuild, LeavesAMissToThePlugin) {
  auto only_8 = history("", "4");
  options_.history = only_8;
  EXPECT_EQ(loops_of(built(model_, options_)), loops("1", "4")) << "no transfer from 8 to 4";
  EXPECT_EQ(report_.summary().substr(0, 5), "1 hit");
  EXPECT_THAT(report_.summary(), HasSubstr("1 miss"));
  use(tuned_plugins());
  options_.history = History::of({});
  EXPECT_EQ(loops_of(built(model_, options_)), loops("1", "1"));
  EXPECT_THAT(report_.summary(), HasSubstr("2 misses"));
}

TEST_F(TunedBuild, TransfersAPointThatBeatTheFirstGuessOfASimilarTask) {
  model_ = parse(R"(fn main(%x: f32[6], %y: f32[8]) {
    %0 = relu(%x)
    %1 = tanh(%0)
    %2 = relu(%y)
    %3 = tanh(%2)
    return %1, %3
  })");
  const auto tasks = tasks_of(model_, options_);
  const tune::Task& wide = task_with_flops(tasks, 8);
  options_.threads = 1;
  options_.history = History::of({record_for(wide, "1", 100), record_for(wide, "4", 50)});
  const std::map<int64_t, std::string> expected = {{6, "loop 4"}, {8, "loop 4"}};
  EXPECT_EQ(loops_of(built(model_, options_)), expected);
  EXPECT_THAT(report_.summary(), HasSubstr("1 hit"));
  EXPECT_THAT(report_.summary(), HasSubstr("1 transfer"));
}

TEST_F(TunedBuild, UsesRecordsOfOtherNumbersOfThreads) {
  options_.threads = 2;
  options_.history = history("4", "2");
  EXPECT_EQ(loops_of(built(model_, options_)), loops("4", "2"));
  EXPECT_EQ(report_.entries()[0].choice.origin, Origin::kCompatible);
}

TEST_F(TunedBuild, ComparesTheTargetThatWasRequested) {
  options_.target_json = te::print(*te::parse_target("aarch64"));
  options_.history = history("4", "2");
  EXPECT_EQ(loops_of(built(model_, options_)), loops("1", "1"))
      << "records of this machine do not hold for another architecture";
}

TEST_F(TunedBuild, DropsAPointThatThePluginRefuses) {
  use(tuned_plugins({{"bad_loop", "4"}}));
  options_.history = history("4", "2", "t.jsonl");
  Report remarks;
  options_.report = &remarks;
  EXPECT_EQ(loops_of(built(model_, options_)), loops("1", "2"));
  std::erase_if(remarks.remarks,
                [](const Report::Remark& r) { return r.kind != Report::Remark::kNote; });
  ASSERT_EQ(remarks.remarks.size(), 1u);
  EXPECT_EQ(remarks.remarks[0].plugin, "a");
  EXPECT_THAT(remarks.remarks[0].reason, HasSubstr(R"({"loop":"4"} of t.jsonl)"));
  EXPECT_THAT(remarks.remarks[0].reason, HasSubstr("not in the space"));
  EXPECT_THAT(report_.summary(), HasSubstr("1 miss"));
  EXPECT_EQ(
      std::ranges::count(report_.entries(), remarks.remarks[0].reason, &HistoryReport::Entry::note),
      1);
}

TEST_F(TunedBuild, DropsManyRefusedPoints) {
  std::string text = "fn main(%x0: f32[1]) {\n";
  std::string results;
  constexpr int kFunctions = 40;
  for (int k = 1; k <= kFunctions; ++k) {
    text += cat("  %p", k, " = pad(%x0) {pads=[0,", k, "]}\n  %r", k, " = relu(%p", k, ")\n");
    results += cat(k > 1 ? ", " : "", "%r", k);
  }
  model_ = parse(cat(text, "  return ", results, "\n}"));
  use(tuned_plugins({{"bad_loop", "4"}}));
  std::vector<tune::Record> records;
  for (const tune::Task& task : tasks_of(model_, options_))
    records.push_back(record_for(task, "4", 10));
  ASSERT_EQ(records.size(), size_t{kFunctions});
  options_.history = History::of(records);
  for (const auto& [elements, loop] : loops_of(built(model_, options_))) EXPECT_EQ(loop, "loop 1");
  EXPECT_THAT(report_.summary(), HasSubstr(cat(kFunctions, " misses")));
}

TEST_F(TunedBuild, ReportsAnErrorOfKnobsWithTheFunction) {
  use(tuned_plugins({{"knobs", "fail"}}));
  options_.history = History::of({});
  const Status status = build(model_, options_).status();
  EXPECT_THAT(status.to_string(), HasSubstr("knobs fails by its options"));
  EXPECT_THAT(status.where(), HasSubstr("@a_main_"));
}

TEST_F(TunedBuild, RefusesASpaceThatContradictsItself) {
  use(tuned_plugins({{"knobs", "bad"}}));
  options_.history = History::of({});
  const Status status = build(model_, options_).status();
  EXPECT_EQ(status.slug(), "knob-space");
  EXPECT_THAT(status.where(), HasSubstr("the knobs of plugin \"a\""));
}

TEST_F(TunedBuild, RequiresTunedFunctionsOnRequest) {
  options_.require_tuned = true;
  const Status status = build(model_, options_).status();
  EXPECT_EQ(status.slug(), "not-tuned") << "without a history every function is a miss";
  EXPECT_THAT(status.message(), HasSubstr("@a_main_"));
  EXPECT_THAT(status.help(), HasSubstr("byoc tune"));
  options_.history = history("4", "2");
  EXPECT_EQ(loops_of(built(model_, options_)), loops("4", "2"));
  options_.plugins = tuned_plugins({{"bad_loop", "4"}});
  EXPECT_EQ(build(model_, options_).status().slug(), "not-tuned");
}

TEST_F(TunedBuild, UsesTheHistoriesOfScopesBeforeItsOwn) {
  options_.history = history("4", "4");
  ApplyHistoryBest outer(history("2", "2"));
  EXPECT_EQ(loops_of(built(model_, options_)), loops("2", "2"));
  {
    ApplyHistoryBest inner(history("1", ""));
    EXPECT_EQ(loops_of(built(model_, options_)), loops("1", "2"))
        << "a task that the inner one lacks goes to the outer one";
  }
  options_.history = nullptr;
  EXPECT_EQ(loops_of(built(model_, options_)), loops("2", "2"));
}

TEST_F(TunedBuild, CompilesEqualFunctionsOnce) {
  options_.history = history("4", "2");
  const Executable executable = built(model_, options_);
  size_t functions = 0;
  for (const ExternalModule& module : executable.modules)
    functions += module.plugin == "a" ? module.functions.size() : 0;
  EXPECT_EQ(functions, 2u);
}

}  // namespace
}  // namespace byoc::test
