// SPDX-License-Identifier: Apache-2.0
// byoc bench: times a model, a region, an op, or two configurations in turns, after comparing the
// outputs with a reference's.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/measure/session/reload.h"
#include "core/measure/store/this_machine.h"
#include "core/process/machine_load.h"
#include "core/tools/measure/observed.h"
#include "core/tools/measure/report.h"
#include "core/tools/measure/subject.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/runnable.h"
#include "core/tools/model/tuning.h"

namespace byoc::driver {
namespace {

constexpr int kNotGiven = -1, kRounds = 5, kBlocks = 20;
constexpr uint32_t kLoadsVersus = 5;
constexpr double kMinTime = 1, kMinTimeVersus = 5, kMostStepsVersus = 1;  // seconds
// With --vs there are more loads until the interval of the ratio is as narrow as this, but at most
// so many times as many, and none after so many seconds of measuring.
constexpr double kInterval = 0.01;  // from the ratio to either end, relative to it
constexpr uint32_t kMostTimes = 4;
constexpr double kLastLoad = 90;

struct Options {
  SubjectRequest subject;
  std::string threads = "1", versus, observations;
  measure::TimingPlan plan;
  int rounds = kNotGiven;
  double min_time_s = std::numeric_limits<double>::quiet_NaN();  // not given
  double tolerance = -1;
  bool no_native = false, no_peaks = false;
};

/// Parses "1,2" as 1, 2.
Result<std::vector<uint32_t>> parse_threads(const std::string& text) {
  std::vector<uint32_t> out;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    uint32_t threads = 0;
    auto parsed = std::from_chars(text.data() + begin, text.data() + end, threads);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + end || begin == end)
      return cli::usage_error(cat("--threads expects numbers, as in 1,2, not \"", text, "\""));
    out.push_back(threads);
    begin = end + 1;
  }
  return out;
}

/// Returns the plan with the seconds and the number of turns: two of each block with --vs.
Result<measure::TimingPlan> plan_of(const Options& options) {
  measure::TimingPlan plan = options.plan;
  const bool has_time = !std::isnan(options.min_time_s), is_versus = !options.versus.empty();
  plan.min_time_s = has_time ? options.min_time_s : is_versus ? kMinTimeVersus : kMinTime;
  if (is_versus) plan.most_steps_s = kMostStepsVersus, plan.loads = kLoadsVersus;
  if (!(plan.warmup_s >= 0) || !(plan.min_time_s >= 0))
    return cli::usage_error("--warmup and --min-time expect seconds, 0 or more");
  const bool is_given = options.rounds != kNotGiven;
  if (is_given && options.rounds < 1) return cli::usage_error("--rounds expects 1 or more");
  if (!is_versus) plan.rounds = static_cast<uint32_t>(is_given ? options.rounds : kRounds);
  else plan.rounds = 2 * static_cast<uint32_t>(is_given ? std::max(options.rounds, 2) : kBlocks);
  if (is_versus && !is_given && !has_time) plan.most_rounds = kMostTimes * plan.rounds;
  return plan;
}

uint64_t peak_rss_bytes() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

/// Checks that there is one thing to measure, and that --vs is not combined with what it cannot be.
Status check_request(const Options& options, size_t thread_counts) {
  const SubjectRequest& subject = options.subject;
  bool has_op = !subject.op.op.empty();
  if (has_op != subject.model.model.empty())
    return cli::usage_error(has_op ? "--op is the model: leave out MODEL"
                                   : "no MODEL given, and no --op");
  if (!has_op && !(subject.op.attrs.empty() && subject.op.weights.empty()))
    return cli::usage_error("--attr and --weight are for --op");
  if (has_op && !(subject.region.empty() && subject.model[option::kBind].empty()))
    return cli::usage_error("--op takes no --region and no --bind; see --weight");
  if (options.versus.empty()) return {};
  if (!subject.region.empty())
    return cli::usage_error("--vs takes no --region: configurations have different regions");
  return thread_counts == 1 ? Status() : cli::usage_error("--vs takes one number of threads");
}

class Bench {
 public:
  Bench(const Options& options, const cli::CommonOptions& common)
      : options_(options), common_(common), progress_(common) {}

  Result<int> run() {
    BYOC_TRY(report_.plan, plan_of(options_));
    BYOC_TRY(std::vector<uint32_t> threads, parse_threads(options_.threads));
    BYOC_TRY_STATUS(check_request(options_, threads.size()));
    SubjectRequest request = options_.subject;
    if (!request.op.op.empty())
      request.op.shapes = std::exchange(request.model[option::kShape], {});
    request.op.seed = request.seed;
    BYOC_TRY(Subject subject, make(request));
    BYOC_TRY_STATUS(options_.versus.empty() ? add_all(subject, threads)
                                            : add_both(subject, request, threads[0]));
    take_facts(subject);
    if (!passed()) return print_mismatch();
    Status measured = measure_all();
    progress_.clear();
    return print(std::move(measured));
  }

 private:
  Result<Subject> make(const SubjectRequest& request) {
    return make_subject(request, common_,
                        [this](const std::string& what) { progress_.show(what, 0, 0); });
  }

  Status add_all(const Subject& subject, const std::vector<uint32_t>& threads) {
    for (uint32_t count : threads) BYOC_TRY_STATUS(add(subject, count, ""));
    return {};
  }

  /// Adds A, B, and A again, which is the control. Two turns of each are a block.
  Status add_both(Subject& a, const SubjectRequest& request, uint32_t threads) {
    uint32_t threads_of_b = threads;
    BYOC_TRY(SubjectRequest other, other_request(request, options_.versus, threads_of_b));
    other.no_check = true;  // the right outputs are those of A
    BYOC_TRY(Subject b, make(other));
    report_.plan.renews = true;
    report_.plan.counts_thread_time = threads == 1 && threads_of_b == 1;
    BYOC_TRY_STATUS(add(a, threads, "A"));
    if (a.right.empty() && !options_.subject.no_check) {
      for (const Tensor& output : report_.all[0].timed->outputs()) {
        BYOC_TRY(Tensor copy, output.copy());
        b.right.push_back(std::move(copy));
      }
    } else {
      b.right = std::move(a.right);
      b.limits = a.limits;
      a.right.clear();
    }
    BYOC_TRY_STATUS(check_same_inputs(a, b));
    BYOC_TRY_STATUS(add(b, threads_of_b, "B"));
    return add(a, threads, std::string(kControl));
  }

  /// Both get the same values, so that their outputs can be compared.
  static Status check_same_inputs(const Subject& a, const Subject& b) {
    bool same = a.inputs.size() == b.inputs.size();
    for (size_t k = 0; same && k < a.inputs.size(); ++k)
      same = a.inputs[k].spec() == b.inputs[k].spec();
    return same ? Status() : cli::usage_error("--vs: the models have different inputs");
  }

  Status add(const Subject& subject, uint32_t threads, std::string name) {
    progress_.show(cat("compiling for --threads ", threads), 0, 0);
    BYOC_TRY(Compiled compiled, subject.compile(threads));
    plugins_ = subject.plugins;
    if (name != kControl) warn_unused_plans(compiled.report, common_);  // A printed them
    Benched benched{.threads = threads, .name = std::move(name), .compile_ns = compiled.compile_ns};
    const uint64_t begin_ns = now_ns();
    SessionOptions session_options{.threads = threads, .allow_native = !options_.no_native};
    // The memory of an executable that is loaded again lasts as long as the report.
    const bool is_versus = !options_.versus.empty();
    Executable executable = is_versus ? compiled.executable : std::move(compiled.executable);
    BYOC_TRY(auto session, Session::load(std::move(executable), subject.plugins, session_options));
    measure::Reload reload;
    if (is_versus)
      reload = measure::reload_of(std::move(compiled.executable), *session, subject.plugins,
                                  session_options);
    benched.load_ns = ns_since(begin_ns);
    for (const std::string& warning : session->warnings()) cli::print_warning(warning, common_);
    BYOC_TRY_STATUS(session->check_externs());
    benched.threads = session->threads();
    BYOC_TRY(benched.timed, measure::TimedSession::make(std::move(session), subject.inputs));
    benched.timed->reload = std::move(reload);
    programs_.push_back({benched.timed.get(), std::move(compiled.functions)});
    const measure::TimedSession& timed = *benched.timed;
    benched.memory = cli::memory_use(timed.session());
    BYOC_TRY(benched.outputs, compare_outputs(subject, timed, options_.tolerance));
    report_.all.push_back(std::move(benched));
    return {};
  }

  void take_facts(Subject& subject) {
    report_.model = subject.model;
    report_.options_json = given_json(options_.subject.model.values).dump();
    report_.region = subject.region;
    report_.reference = subject.reference;
    report_.why_no_check = subject.why_no_check;
    if (report_.reference.empty() && report_.all.size() > 1 && !report_.all[1].outputs.empty())
      report_.reference = "A";
    report_.input_types = std::move(subject.input_types);
    report_.inputs = std::move(subject.sources);
    report_.assumed_sizes = std::move(subject.assumed_sizes);
    report_.size = std::move(subject.size);
  }

  bool passed() const {
    for (const Benched& benched : report_.all) {
      for (const ComparedValue& value : benched.outputs) {
        if (!value.difference.is_equal) return false;
      }
    }
    return true;
  }

  Result<int> print_mismatch() {
    progress_.clear();
    std::string text;
    for (const Benched& benched : report_.all) {
      for (const ComparedValue& value : benched.outputs) {
        text += cat(value.difference.is_equal ? "ok   " : "FAIL ", "\"", value.name, "\" ",
                    value_text(value), ", --threads ", benched.threads, "\n");
      }
    }
    cli::print_text(text, common_);
    return failed(cat("the outputs differ from ", report_.reference, "'s, so nothing was timed"))
        .with_slug("bench-mismatch")
        .with_help(cat("byoc verify ", report_.model, " finds where; --no-check times it anyway"));
  }

  Status measure_all() {
    interrupt_.set_watched(true);
    std::vector<measure::TimedSession*> sessions;
    for (const Benched& benched : report_.all) sessions.push_back(benched.timed.get());
    add_cores();
    report_.plan.is_enough = [this, begin_ns = now_ns()] {
      if (ns_since(begin_ns) > kLastLoad * 1e9) return true;
      const measure::Ratio ratio = measure::ratio_of_fastest(samples(0), samples(1));
      return ratio.high <= ratio.low * (1 + kInterval) * (1 + kInterval);
    };
    const process::ProcessorTimes before = process::processor_times();
    Status measured = measure::time_in_turns(
        sessions, report_.plan, [&](std::string_view what, uint64_t done, uint64_t total) {
          progress_.show(what, done, total);
          return !interrupt_.requested();
        });
    report_.peak_rss_bytes = peak_rss_bytes();
    if (measured.ok()) add_cores();
    if (!options_.versus.empty()) add_versus();
    if (measured.ok() && !options_.no_peaks) add_peaks();
    report_.load = process::load_between(before, process::processor_times());
    return measured;
  }

  const measure::Samples& samples(size_t k) const { return report_.all[k].timed->samples; }

  /// Compares the blocks that are whole: after Ctrl-C there are fewer of them, or none.
  void add_versus() {
    size_t turns = SIZE_MAX;
    for (size_t k = 0; k < report_.all.size(); ++k)
      turns = std::min(turns, samples(k).turns.size());
    report_.versus = Versus{options_.versus, turns / 2, {}, {}, std::move(cores_)};
    if (turns < 2) return;
    report_.versus->ratio = measure::ratio_so_far(samples(0), samples(1));
    report_.versus->control = measure::ratio_so_far(samples(0), samples(2));
  }

  /// Measures with --vs whether several threads have a core each.
  void add_cores() {
    uint32_t threads = 1;
    for (const Benched& benched : report_.all) threads = std::max(threads, benched.threads);
    if (!options_.versus.empty() && threads > 1) cores_.push_back(measure_cores(threads));
  }

  /// Measures the peaks once per number of threads.
  void add_peaks() {
    std::map<uint32_t, Peaks> known;
    for (Benched& benched : report_.all) {
      progress_.show("measuring the peaks of the machine", 0, 0);
      auto found = known.find(benched.threads);
      if (found == known.end())
        found = known.emplace(benched.threads, measure_peaks(benched.threads)).first;
      benched.peaks = found->second;
    }
  }

  /// Looks up the regions and keeps those that ran alone. Keys have no target and no exact sums.
  Result<Observed> observe_all(bool is_complete) const {
    const ModelOptions& model = options_.subject.model;
    // Keys of observations have the target and the options of functions only where they are usual.
    const bool is_usual = model[option::kTarget] == "native" &&
                          std::ranges::none_of(option_table(), [&](const OptionInfo& row) {
                            return row.is_of_functions && model.values.is_given(row);
                          });
    const bool is_used =
        is_complete && options_.versus.empty() && is_usual && options_.observations != "none";
    if (!is_used) return Observed();
    const std::string& folder = options_.observations;
    return observe(programs_, *plugins_, folder.empty() ? measure::default_folder() : folder);
  }

  Result<int> print(Status measured) {
    if (!measured.ok() && measured.slug() != "interrupted") return measured;
    const bool has_samples = !samples(0).ns.empty();
    BYOC_TRY(Observed observed, observe_all(measured.ok()));
    if (measured.ok() || has_samples)
      cli::print_text(cat(tuning_text(options_.subject.model), bench_text(report_, common_.verbose),
                          text_of(observed)),
                      common_);
    BYOC_TRY_STATUS(std::move(measured));
    Json json = bench_json(report_);
    json["observations"] = measure::json_of(observed.use);
    add_tuning_json(options_.subject.model, json);
    BYOC_TRY_STATUS(cli::print_json(common_, "bench", json));
    return cli::kDone;
  }

  const Options& options_;
  const cli::CommonOptions& common_;
  Progress progress_;
  Interrupt interrupt_;
  BenchReport report_;
  std::vector<CoreRates> cores_;  // before and after
  std::vector<ObservedProgram> programs_;
  std::shared_ptr<const PluginSet> plugins_;
};

void add_bench_options(cli::Command& command, Options& options) {
  for (cli::Option& option : command.options) {
    if (option.names == "MODEL") option.required = false;
    if (option.names != "--threads") continue;
    option = {"--threads", "N,M", "thread counts of runs, measured in turns (default 1)",
              &options.threads};
  }
  auto& all = command.options;
  SubjectRequest& subject = options.subject;
  all.push_back({"--op", "OP",
                 "a single op as the model; --shape gives its operands, f32 if not "
                 "as x=i64[8]",
                 &subject.op.op});
  all.push_back(
      {"--attr", "NAME=VALUE", "an attribute of --op, pads=[1,1,1,1]", &subject.op.attrs});
  all.push_back({"--weight", "NAME", "this operand of --op is a constant, of random values",
                 &subject.op.weights});
  all.push_back({"--vs", "CONFIG",
                 "a second configuration, \"compiler=llvm level=1\", in turns with "
                 "the first, and the first again as a control",
                 &options.versus});
  all.push_back({"--region", "R", "one region alone, by its symbol or number", &subject.region});
  all.push_back(
      {"--input", "NAME=VALUE", "as in byoc run; those not given are random", &subject.inputs});
  all.push_back({"--seed", "N", "of the random inputs (default 0)", &subject.seed});
  all.push_back(
      {"--warmup", "S", "seconds of runs before measuring (default 0.2)", &options.plan.warmup_s});
  all.push_back({"--min-time", "S",
                 "seconds of measured runs of each configuration (default 1, with --vs 5 to 20: "
                 "until the interval is within 1 %)",
                 &options.min_time_s});
  all.push_back({"--rounds", "N",
                 "turns of each configuration (default 5); with --vs blocks of two (default 20 to "
                 "80)",
                 &options.rounds});
  all.push_back({"--observations", "FOLDER",
                 "what all commands have measured here, or none (default: in the cache folder)",
                 &options.observations});
  all.push_back({"--no-check", "", "do not compare the outputs with the reference's first",
                 &subject.no_check});
  all.push_back(
      {"--no-peaks", "", "do not measure the machine's peaks afterwards", &options.no_peaks});
  all.push_back({"--tolerance", "X", kToleranceHelp, &options.tolerance});
  all.push_back({"--no-native", "", "refuse native code in an artifact", &options.no_native});
}

}  // namespace

cli::Command bench_command(const cli::CommonOptions& common) {
  auto options = std::make_shared<Options>();
  cli::Command command;
  command.name = "bench";
  command.about = "time a model or one region, after comparing its outputs with the reference's";
  command.examples = {
      {"byoc bench net.onnx --compiler onednn --threads 1,2", "latency, spread, GFLOP/s, regions"},
      {"byoc bench net.onnx --region onednn_main_0", "one region on the values it gets in net"},
      {"byoc bench net.byoc --input x=a.npy --json=bench.json",
       "raw samples as well, in a file that Google Benchmark's compare.py reads"},
      {"byoc bench net.onnx --compiler onednn --vs compiler=llvm", "a ratio with its interval"},
      {"byoc bench --op conv2d --shape x=1x64x56x56 --shape weight=64x64x3x3", "one op"},
      {"byoc bench regions/onednn_main_0 --compiler llvm", "a region that byoc dump wrote"}};
  add_model_options(command, options->subject.model,
                    "an .onnx, .ir or .byoc file, or a folder of byoc dump");
  add_tuning_options(command, options->subject.model);
  add_bench_options(command, *options);
  command.notes =
      "Configurations take turns, so that a slow minute of the machine falls on all of them. A\n"
      "sample is one run, or the mean of several when a run is short. Times of regions come from\n"
      "runs of their own, with a clock around every region. Ctrl-C prints what was measured.\n"
      "Bytes are the least that a region moves: its inputs, outputs and constants once. Peaks are\n"
      "measured after the runs, with as many threads.";
  command.run = [options, &common] { return Bench(*options, common).run(); };
  return command;
}

}  // namespace byoc::driver
