// SPDX-License-Identifier: Apache-2.0
// Workers as processes on this machine, which a scheduler made of functions starts and the tests
// end, stop and replace.
#include "core/tuner/slurm/cluster_bench.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <set>
#include <thread>

#include "byoc/base/file.h"
#include "core/measure/store/this_machine.h"
#include "unit/tuner_measure/knobby.h"

namespace byoc::tune {
namespace {

using test::Knobby;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// Starts workers as processes of byoc.
class Processes {
 public:
  explicit Processes(const Knobby& knobby, std::string folder)
      : flags_(knobby.options().plugin_flags), folder_(std::move(folder)) {}
  ~Processes() {
    for (auto& [number, pid] : pids_) end(number, SIGKILL);
  }

  Scheduler scheduler() {
    return {[this](size_t first, size_t count, const std::vector<std::string>& excluded) {
              excluded_ = excluded;
              if (!refusal.empty()) return failed(refusal);
              for (size_t k = first; k < first + count; ++k) start(k);
              return Status();
            },
            [this] { return states(); },
            [this](size_t number) {
              cancelled.insert(number);
              end(number, SIGKILL);
            }};
  }
  /// Sends a signal to a worker that runs. SIGKILL also waits for its end.
  void end(size_t number, int signal) {
    auto at = pids_.find(number);
    if (at == pids_.end() || at->second <= 0) return;
    ::kill(at->second, signal);
    if (signal != SIGKILL) return;
    ::waitpid(at->second, nullptr, 0);
    at->second = 0;
  }
  size_t started() const { return pids_.size(); }
  const std::vector<std::string>& excluded() const { return excluded_; }

  std::string program = std::string(BYOC_BUILD_DIR) + "/bin/byoc";
  std::string refusal;
  std::set<size_t> cancelled;

 private:
  void start(size_t number) {
    std::vector<std::string> words = {program,    "tune-worker", "--role",   "node",
                                      "--folder", folder_,       "--number", cat(number)};
    words.insert(words.end(), flags_.begin(), flags_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string printed = cat(folder_, "/worker-", number, ".txt");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, printed.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    EXPECT_EQ(posix_spawn(&pids_[number], argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  Result<std::map<size_t, std::string>> states() {
    std::map<size_t, std::string> out;
    for (auto& [number, pid] : pids_) {
      if (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) != 0) pid = 0;
      if (pid > 0) out[number] = "RUNNING";
    }
    return out;
  }
  std::vector<std::string> flags_, excluded_;
  std::string folder_;
  std::map<size_t, pid_t> pids_;
};

class ClusterBench : public testing::Test {
 protected:
  explicit ClusterBench(const std::string& how = "right,wrong",
                        const std::string& work = "3000,100,200,300,400,500,600,700,800,900")
      : knobby_(how, work), path_(files_.file("exchange")), processes_(knobby_, path_) {
    mkdir(path_.c_str(), 0700);
    options_.state_interval = 100ms;
    for (const std::string& how_value : split(how)) {
      for (const std::string& work_value : split(work))
        trials_.push_back({0, test::point(how_value, work_value)});
    }
  }
  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> out(1);
    for (char c : text) {
      if (c == ',') out.emplace_back();
      else out.back() += c;
    }
    return out;
  }
  Result<Bench> make() {
    auto facts = RecordFacts::of(knobby_.tasks(), knobby_.build());
    EXPECT_TRUE(facts.ok());
    if (change_facts_) change_facts_(*facts);
    return cluster_bench(knobby_.tasks(), knobby_.build(), knobby_.options(), options_, path_,
                         *facts, processes_.scheduler());
  }
  /// Measures all trials. `after(n)` is called after n records.
  Status measure(
      Bench& bench, const std::function<void(size_t)>& after = [](size_t) {}) {
    auto going = [this] { return std::chrono::steady_clock::now() < deadline_; };
    return bench.measure(trials_, going, [&](const Outcome& one) {
      if (!one.defect.empty()) defects_.insert(one.defect);
      results_ += one.is_trial;
      for (const Record& record : one.records) {
        records_.push_back(record);
        after(records_.size());
      }
    });
  }
  std::set<Point> points() const {
    std::set<Point> out;
    for (const Record& record : records_) out.insert(record.point);
    return out;
  }
  void expect_nothing_is_lost() {
    EXPECT_EQ(results_, trials_.size()) << "one result per trial";
    EXPECT_EQ(points().size(), trials_.size());
    for (const Record& record : records_) {
      const bool is_right = record.point.at("how") == "right";
      EXPECT_EQ(record.error.empty(), is_right) << record.error;
    }
  }

  test::TempFolder files_;
  Knobby knobby_;
  std::string path_;
  Processes processes_;
  SlurmOptions options_;
  std::function<void(RecordFacts&)> change_facts_;
  std::vector<Trial> trials_;
  std::vector<Record> records_;
  std::set<std::string> defects_;
  size_t results_ = 0;
  const std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + 300s;
};

TEST_F(ClusterBench, MeasuresOnTwoWorkers) {
  {
    auto bench = make();
    ASSERT_TRUE(bench.ok()) << bench.status().to_string();
    const Status measured = measure(*bench);
    ASSERT_TRUE(measured.ok()) << measured.to_string();
    expect_nothing_is_lost();
    EXPECT_EQ(bench->champion(0).at("how"), "right");
    EXPECT_NE(bench->champion(0).at("work"), "3000") << "30 times the work of the best one";
    EXPECT_TRUE(bench->remarks().empty());
    EXPECT_EQ(bench->state(), "2 machines");
    std::set<std::string> workers;
    for (const Record& record : records_) {
      workers.insert(record.worker);
      EXPECT_EQ(record.machine, measure::machine_fingerprint());
      EXPECT_GT(record.ref_ns, 0);
    }
    EXPECT_EQ(workers.size(), 2U);
  }
  EXPECT_FALSE(std::filesystem::exists(path_)) << "the folder is deleted with the bench";
}

TEST_F(ClusterBench, CompilesPointsHereForTheWorkers) {
  options_.builds_here = true;
  auto bench = make();
  ASSERT_TRUE(bench.ok()) << bench.status().to_string();
  ASSERT_TRUE(measure(*bench).ok());
  expect_nothing_is_lost();
  for (const Record& record : records_) EXPECT_EQ(record.build_ns, 0) << "on the worker";
}

TEST_F(ClusterBench, LosesNothingWhenAWorkerIsKilled) {
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  const Status measured = measure(*bench, [&](size_t n) {
    if (n == 3) processes_.end(1, SIGKILL);
  });
  ASSERT_TRUE(measured.ok()) << measured.to_string();
  expect_nothing_is_lost();
  EXPECT_GE(processes_.started(), 3U) << "another one was submitted";
  ASSERT_FALSE(bench->remarks().empty());
  EXPECT_THAT(bench->remarks()[0], HasSubstr("it has ended"));
}

/// Has so many points that none of the workers is done with them when it is stopped.
class ClusterBenchOfManyPoints : public ClusterBench {
 protected:
  ClusterBenchOfManyPoints() : ClusterBench("right,wrong", numbers()) {}
  static std::string numbers() {
    std::string out = "3000";
    for (int k = 1; k < 80; ++k) out += cat(",", 10 * k);
    return out;
  }
};

TEST_F(ClusterBenchOfManyPoints, ReplacesWorkersThatAreSilent) {
  options_.lost_after = 1s;
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  const Status measured = measure(*bench, [&](size_t n) {
    if (n != 1) return;
    for (size_t number : {0, 1}) processes_.end(number, SIGSTOP);
  });
  ASSERT_TRUE(measured.ok()) << measured.to_string();
  expect_nothing_is_lost();
  EXPECT_TRUE(processes_.cancelled.contains(0));
  ASSERT_FALSE(bench->remarks().empty());
  EXPECT_THAT(bench->remarks()[0], HasSubstr("no sign of life"));
}

TEST_F(ClusterBench, EndsWhenWorkersCannotStart) {
  processes_.program = "/bin/false";
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  const Status measured = measure(*bench);
  EXPECT_EQ(measured.slug(), "slurm");
  EXPECT_THAT(measured.message(), HasSubstr("no machine of the cluster measures"));
}

TEST_F(ClusterBench, ReportsTheLastWordsOfAWorker) {
  test::put(files_.file("program"), "#!/bin/sh\necho one\necho 'no library'\n");
  chmod(files_.file("program").c_str(), 0700);
  processes_.program = files_.file("program");
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  EXPECT_THAT(measure(*bench).message(), HasSubstr("it has ended: no library"));
}

TEST_F(ClusterBench, ReturnsTheErrorOfTheScheduler) {
  processes_.refusal = "sbatch failed: invalid partition";
  EXPECT_THAT(make().status().message(), HasSubstr("invalid partition"));
}

TEST_F(ClusterBench, LeavesOutAMachineWithAnotherProcessor) {
  change_facts_ = [](RecordFacts& facts) { facts.target = "{\"cpu\":\"other\"}"; };
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  EXPECT_THAT(measure(*bench).message(), HasSubstr("its processor differs"));
  EXPECT_FALSE(processes_.excluded().empty()) << "others are not to be on that machine";
  EXPECT_TRUE(records_.empty());
}

TEST_F(ClusterBench, LeavesOutAMachineWithAnotherPlugin) {
  change_facts_ = [](RecordFacts& facts) { facts.versions["knobby"] = "2.0.0"; };
  auto bench = make();
  ASSERT_TRUE(bench.ok());
  EXPECT_THAT(measure(*bench).message(), HasSubstr("other versions"));
}

TEST_F(ClusterBench, EndsItsWorkersWhenItIsInterrupted) {
  {
    auto bench = make();
    ASSERT_TRUE(bench.ok());
    size_t calls = 0;
    const Status stopped = bench->measure(
        trials_, [&] { return ++calls < 10; }, [](const Outcome&) {});
    EXPECT_EQ(stopped.code(), Code::kCancelled);
  }
  auto states = processes_.scheduler().states;
  for (int k = 0; k < 600 && !states()->empty(); ++k) std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(states()->empty()) << "the folder has gone, so they end";
}

class TaskThatCannotBeMeasured : public ClusterBench {};

TEST_F(TaskThatCannotBeMeasured, HasADefect) {
  auto facts = RecordFacts::of(knobby_.tasks(), knobby_.build());
  MeasureOptions measure_with = knobby_.options();
  measure_with.reference = "none";
  auto bench = cluster_bench(knobby_.tasks(), knobby_.build(), measure_with, options_, path_,
                             *facts, processes_.scheduler());
  ASSERT_TRUE(bench.ok());
  ASSERT_TRUE(measure(*bench).ok());
  EXPECT_TRUE(records_.empty());
  ASSERT_EQ(defects_.size(), 1U);
  EXPECT_THAT(*defects_.begin(), HasSubstr("none"));
}

// ---- workers that are threads of the test

}  // namespace
}  // namespace byoc::tune
