// SPDX-License-Identifier: Apache-2.0
// byoc tune as a process: usage, logs, Ctrl-C, and being killed at any moment.
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "byoc/tune/record.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

/// A command with a cache of its own: measurements of other tests are not known.
class OwnCache : public Byoc {
 public:
  OwnCache() { setenv("XDG_CACHE_HOME", file("cache").c_str(), 1); }
  ~OwnCache() { unsetenv("XDG_CACHE_HOME"); }
};

constexpr const char* kRelu = "fn main(%x: f32[4096]) {\n  %0 = relu(%x)\n  return %0\n}\n";

/// The flags for the plugin knobby; `how` and `work` are the values of its knobs.
std::string flags(const std::string& how, const std::string& work) {
  return std::string(" --compiler knobby --default json --plugin ") + BYOC_BUILD_DIR +
         "/tests/unit/tuner_measure/libbyoc_knobby.so --plugin-option knobby.how=" + how +
         " --plugin-option knobby.work=" + work + " --run-limit 20 ";
}

std::vector<tune::Record> records_of(const std::string& log) {
  std::vector<tune::Record> out;
  auto read = tune::read_log(log, [&](tune::Record record) { out.push_back(std::move(record)); });
  EXPECT_TRUE(read.ok()) << read.status().to_string();
  return out;
}

/// Starts a command in a shell that becomes it, with its output in a file. When it is killed, its
/// temporary files stay in the test's folder.
class Started {
 public:
  Started(const Byoc& byoc, const std::string& arguments) : out_(byoc.file("started.out")) {
    std::string line = "exec env TMPDIR=" + byoc.file("") + " " + BYOC_BUILD_DIR + "/bin/byoc " +
                       arguments + " >" + out_ + " 2>&1";
    std::string shell = "/bin/sh", flag = "-c";
    char* argv[] = {shell.data(), flag.data(), line.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, shell.c_str(), nullptr, nullptr, argv, environ), 0);
  }
  pid_t pid() const { return pid_; }
  /// Returns the children's numbers.
  std::vector<pid_t> children() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                       "/children");
    return {std::istream_iterator<pid_t>(file), {}};
  }
  /// Sends the signal and waits for the end. Returns the exit code, or 128 and the signal.
  int end(int signal) {
    if (signal != 0) ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string output() const { return get(out_); }

 private:
  std::string out_;
  pid_t pid_ = -1;
};

bool becomes_true(const std::function<bool()>& condition, std::chrono::seconds limit = 60s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

TEST(TuneCommand, TunesAModelAndPrintsATable) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  Ran ran = byoc("tune " + model + " --log " + log + flags("right,segv", "1000000,10000"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("4 trials"));
  EXPECT_THAT(ran.out, HasSubstr("--tuning-log " + log));
  std::map<std::string, double> best;
  size_t errors = 0;
  for (const tune::Record& record : records_of(log)) {
    if (record.is_ok()) best[record.point.at("work")] = record.best_ns();
    else errors += record.error == "crash: signal 11";
  }
  EXPECT_EQ(errors, 2U);
  EXPECT_GT(best["1000000"], 3 * best["10000"]);
}

TEST(TuneCommand, PrintsJson) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  const Json json = byoc.json("tune " + model + " --log " + log + flags("right", "1000000,10000"));
  EXPECT_EQ(json["schema"], "byoc.tune/1");
  EXPECT_EQ(json["end"], "done");
  ASSERT_EQ(json["tasks"].size(), 1U);
  EXPECT_EQ(json["tasks"][0]["best"]["work"], "10000");
  EXPECT_EQ(json["tasks"][0]["count"], 1);
  EXPECT_GT(json["untuned_ns"].get<double>(), json["best_ns"].get<double>());
  const Json list = byoc.json("tune --list " + log);
  EXPECT_EQ(list["tasks"][0]["best"]["work"], "10000");
}

TEST(TuneCommand, MeasuresRunsOfSeveralThreads) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  Ran ran = byoc("tune " + model + " --threads 2 --log " + log + flags("right", "1000000,10000"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const tune::Record& record : records_of(log)) {
    EXPECT_EQ(record.threads, 2U);
    EXPECT_EQ(record.error, "");
  }
}

// One point serves a range: it is measured with the function of the range, whose inputs have the
// sizes as expressions only, and found for another range of the class.
TEST(TuneCommand, MeasuresOpenSizesOncePerClass) {
  OwnCache byoc;
  const std::string log = byoc.file("t.jsonl");
  const std::string model = byoc.write("m.ir",
                                       "fn main(%x: f32[B,T,40]) {\n"
                                       "  %w = const(0.5) : f32[40,70]\n"
                                       "  %0 = reshape(%x) {shape=[-1,40]}\n"
                                       "  %1 = matmul(%0, %w)\n"
                                       "  return %1\n}\n");
  const std::string open = " --shape B=1..4 --shape T=1..64 --compiler llvm --run-limit 20";
  const Ran ran = byoc("tune " + model + open + " --trials 4 --log " + log);
  EXPECT_EQ(ran.code, 0) << ran.err;
  size_t good = 0;
  for (const tune::Record& record : records_of(log)) {
    good += record.is_ok();
    EXPECT_THAT(record.kind, HasSubstr("open_"));
  }
  EXPECT_GE(good, 2U) << ran.out;
  const std::string other = " --shape B=1..4 --shape T=2..79 --compiler llvm --tuning-log " + log;
  const Ran compiled = byoc("compile " + model + other + " -o " + byoc.file("m.byoc"));
  EXPECT_EQ(compiled.code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("1 hit")) << compiled.err;
  const Ran checked = byoc("verify " + model + other);
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

TEST(TuneCommand, ListsAndCompactsALog) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  ASSERT_EQ(byoc("tune " + model + " --log " + log + flags("right", "9000")).code, 0);
  // Times of a clock would depend on other work of the machine: the records get given ones.
  ASSERT_FALSE(records_of(log).empty());  // two when the only point is measured again
  tune::Record record = records_of(log)[0];
  std::string lines;
  for (const int work : {9000, 3000, 4000, 5000, 6000, 7000, 8000}) {
    record.point["work"] = std::to_string(work);
    record.samples_ns.assign(2, work);
    lines += print(record) + "\n";
  }
  byoc.write("t.jsonl", lines);
  const std::string before = byoc("tune --list " + log).out;
  EXPECT_THAT(before, HasSubstr("\"work\":\"3000\""));
  EXPECT_THAT(before, HasSubstr("7 records of 1 tasks"));
  EXPECT_EQ(byoc("tune --compact " + log).code, 0);
  const std::string after = byoc("tune --list " + log).out;
  EXPECT_THAT(after, HasSubstr("\"work\":\"3000\""));
  EXPECT_THAT(after, HasSubstr("6 records of 1 tasks"));  // the 5 best, 1 of the others
}

constexpr const char* kConv =
    "fn main(%x: f32[1,64,56,56], %w: f32[64,64,3,3]) {\n"
    "  %0 = conv2d(%x, %w) {pads=[1,1,1,1]}\n  return %0\n}\n";

/// Returns a line of AutoTVM's log for a convolution of an image by a 3x3 window, version 0.2 of
/// the format: input (target, template, arguments, no names), config, result (seconds, error, time
/// of the trial, time).
std::string autotvm_line(const std::string& shape, const std::string& cells) {
  return R"({"input": ["llvm -mcpu=skylake-avx512", "conv2d_NCHWc.x86", [["TENSOR", )" + shape +
         R"(, "float32"], ["TENSOR", [64, 64, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], )"
         R"("NCHW", "NCHW", "float32"], {}], "config": {"index": 9, "code_hash": null, "entity": )"
         R"([["tile_ic", "sp", [-1, 64]], ["tile_oc", "sp", [-1, 16]], ["tile_ow", "sp", [-1, )" +
         cells +
         R"(]], ["unroll_kw", "ot", true]]}, "result": [[0.001], 0, 1.7, 1580000000.5], )"
         R"("version": 0.2, "tvm_version": "0.8.0"})" +
         "\n";
}

TEST(TuneCommand, BeginsWithThePointsOfAutotvm) {
  if (!std::filesystem::exists(BYOC_PLUGIN_DIR "/libbyoc_llvm.so"))
    GTEST_SKIP() << "the llvm plugin is not built";
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kConv), log = byoc.file("t.jsonl");
  // Tiles of seven by two blocks of eight columns do not fit the sixteen registers of AVX2.
  const std::string cells = __builtin_cpu_supports("avx512f") ? "7" : "4";
  const std::string autotvm = byoc.write(
      "a.log", autotvm_line("[1, 64, 56, 56]", cells) + autotvm_line("[1, 64, 9, 9]", "3") + "x\n");
  const Json json =
      byoc.json("tune " + model + " --compiler llvm --task conv --run-limit 20 --log " + log +
                " --trials 10 --autotvm " + autotvm);
  ASSERT_EQ(json["autotvm"].size(), 1U) << json.dump();
  const Json& use = json["autotvm"][0];
  EXPECT_EQ(json["starts"], json["autotvm"]);
  EXPECT_EQ(use["format"], "AutoTVM");
  EXPECT_EQ(use["log"], autotvm);
  EXPECT_EQ(use["lines"], 3);
  EXPECT_EQ(use["used"], 1);
  EXPECT_EQ(use["starts"], 1);
  EXPECT_EQ(use["skipped"],
            (Json{{"no record of a known format", 1}, {"no task of this shape", 1}}));
  EXPECT_TRUE(use["choices_used"].contains("tile_ow"));
  EXPECT_TRUE(use["choices_unfit"].contains("tile_ic"));
  size_t of_log = 0;
  for (const tune::Record& record : records_of(log))
    of_log += record.point.at("tile").starts_with(cells + "x");
  EXPECT_GT(of_log, 0U) << "the tile of the log was measured within ten trials";
  const Ran ran = byoc("tune " + model + " --compiler llvm --task conv --log " + log +
                       " --trials 1 --autotvm " + autotvm);
  EXPECT_THAT(ran.out,
              HasSubstr(autotvm + ": AutoTVM: 1 of 3 lines used, 1 starting points; skipped: "));
  EXPECT_THAT(byoc("tune " + model + " --compiler llvm --log " + log + " --autotvm none.log").err,
              HasSubstr("none.log"));
}

TEST(TuneCommand, RemovesTheFolderOfATunerThatWasKilled) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  auto folders = [&](const std::string& of) {
    size_t out = 0;
    for (const auto& entry : std::filesystem::directory_iterator(byoc.file("")))
      out += entry.path().filename().string().starts_with("byoc-tune-" + of);
    return out;
  };
  auto has_folder = [&](const Started& started) {
    return folders(std::to_string(started.pid()) + "-") > 0;
  };
  const std::string tune = "tune " + model + " --log " + log;
  Started first(byoc, tune + flags("hang", "10,20"));
  ASSERT_TRUE(becomes_true([&] { return has_folder(first); })) << first.output();
  Started second(byoc, tune + flags("hang", "10,20"));
  ASSERT_TRUE(becomes_true([&] { return has_folder(second); })) << second.output();
  EXPECT_TRUE(has_folder(first)) << "that of a tuner at work stays";
  EXPECT_EQ(first.end(SIGKILL), 128 + SIGKILL);
  EXPECT_EQ(second.end(SIGKILL), 128 + SIGKILL);
  EXPECT_TRUE(has_folder(first) && has_folder(second));
  Started next(byoc, tune + flags("right", "10"));
  EXPECT_EQ(next.end(0), 0) << next.output();
  EXPECT_EQ(folders(""), 0U);
}

TEST(TuneCommand, RefusesWrongUsage) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu);
  auto error = [&](const std::string& arguments, int code) {
    Ran ran = byoc("tune " + arguments);
    EXPECT_EQ(ran.code, code) << arguments << ": " << ran.err;
    return ran.err;
  };
  const std::string log = " --log " + byoc.file("t.jsonl");
  EXPECT_THAT(error("", 2), HasSubstr("MODEL"));
  EXPECT_THAT(error(model, 2), HasSubstr("--log"));
  EXPECT_THAT(error(model + log + " --quick --deep", 2), HasSubstr("exclude"));
  EXPECT_THAT(error(model + log + " --run-limit 0", 2), HasSubstr("--run-limit"));
  EXPECT_THAT(error(model + log + " --budget=-1", 2), HasSubstr("--budget"));
  EXPECT_THAT(error(model + log + " --task '['" + flags("right", "1"), 2), HasSubstr("--task"));
  EXPECT_THAT(error(model + log + " --task conv" + flags("right", "1"), 1), HasSubstr("conv"));
  EXPECT_THAT(error(model + log + " --compiler json", 1), HasSubstr("nothing to tune"));
  EXPECT_THAT(error(model + log + " --slurm-build here", 2), HasSubstr("need --slurm"));
  EXPECT_THAT(error(model + log + " --slurm --slurm-build there,here", 2), HasSubstr("there,here"));
  EXPECT_THAT(error(model + log + " --slurm --slurm-workers 0", 2), HasSubstr("--slurm-workers"));
  EXPECT_THAT(error(model + log + " --slurm --slurm-drift 0", 2), HasSubstr("--slurm-drift"));
  EXPECT_THAT(error("--list " + byoc.file("none.jsonl"), 1), HasSubstr("none.jsonl"));
}

TEST(TuneCommand, RefusesALogThatIsNone) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu);
  const std::string log = byoc.write("t.jsonl", "hello\n{}\n");
  Ran ran = byoc("tune " + model + " --log " + log + flags("right", "1"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("t.jsonl"));
  EXPECT_EQ(get(log), "hello\n{}\n") << "it is not changed";
}

TEST(TuneCommand, HidesItsWorkers) {
  OwnCache byoc;
  EXPECT_THAT(byoc("--help").out, HasSubstr("tune "));
  EXPECT_THAT(byoc("--help").out, Not(HasSubstr("tune-worker")));
  EXPECT_EQ(byoc("tune-worker --role none").code, 2);
  Ran ran = byoc("tune-worker --role builder </dev/null");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "ready\n");
}

TEST(TuneCommand, KeepsItsMeasurementsOnCtrlC) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  put(log, "");
  Started started(byoc, "tune " + model + " --log " + log + flags("right,hang", "10,20,30,40,50"));
  ASSERT_TRUE(becomes_true([&] { return !records_of(log).empty(); })) << started.output();
  EXPECT_EQ(started.end(SIGINT), 130) << started.output();
  EXPECT_THAT(started.output(), HasSubstr("interrupted"));
  EXPECT_THAT(started.output(), HasSubstr("trials in"));
  EXPECT_FALSE(records_of(log).empty());
}

TEST(TuneCommand, ItsWorkersEndWithIt) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  Started started(byoc, "tune " + model + " --log " + log + flags("hang", "10,20"));
  std::vector<pid_t> workers;
  ASSERT_TRUE(becomes_true([&] { return (workers = started.children()).size() >= 2; }));
  std::this_thread::sleep_for(500ms);  // the runner hangs in a kernel by now
  EXPECT_EQ(started.end(SIGKILL), 128 + SIGKILL);
  EXPECT_TRUE(becomes_true([&] {
    return std::ranges::all_of(workers, [](pid_t worker) {
      const std::string state = get("/proc/" + std::to_string(worker) + "/stat");
      return state.empty() || state.find(") Z ") != state.npos;
    });
  }));
}

TEST(TuneCommand, LosesNoMeasurementWhenItIsKilled) {
  OwnCache byoc;
  const std::string model = byoc.write("m.ir", kRelu), log = byoc.file("t.jsonl");
  std::string work;
  for (int k = 1; k <= 400; ++k) work += (k == 1 ? "" : ",") + std::to_string(k * 10);
  const std::string arguments = "tune " + model + " --log " + log + flags("right,segv", work);
  put(log, "");
  std::mt19937 random(7);
  size_t before = 0;
  for (int round = 0; round < 20; ++round) {
    Started started(byoc, arguments + " --trials 800");
    // At least one more measurement, then any moment.
    ASSERT_TRUE(becomes_true([&] { return records_of(log).size() > before; })) << started.output();
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 200));
    const size_t seen = records_of(log).size();
    EXPECT_EQ(started.end(SIGKILL), 128 + SIGKILL);
    before = records_of(log).size();  // the log is readable
    EXPECT_GE(before, seen);
  }
  // Points are measured once; champions of duels, and points after a drift, have more records.
  std::map<tune::Point, size_t> failed;
  for (const tune::Record& record : records_of(log)) failed[record.point] += !record.is_ok();
  for (const auto& [point, count] : failed) EXPECT_LE(count, 1U) << tune::print(point);
}

}  // namespace
}  // namespace byoc::test
