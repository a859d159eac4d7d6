// SPDX-License-Identifier: Apache-2.0
#include "core/library/benched.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "byoc/base/clock.h"
#include "byoc/base/json.h"
#include "core/library/request.h"
#include "core/machine/this_machine.h"
#include "core/measure/session/reload.h"
#include "core/measure/store/this_machine.h"
#include "core/process/machine_load.h"
#include "core/tools/measure/rows.h"
#include "core/tools/model/tuning.h"
#include "runtime/cli/output.h"

namespace byoc {

namespace driver {
namespace {

constexpr const char* kMismatch = "bench-mismatch";
constexpr int kNotGiven = -1, kRounds = 5, kBlocks = 20;
constexpr uint32_t kLoadsVersus = 5;
constexpr double kMinTime = 1, kMinTimeVersus = 5, kMostStepsVersus = 1;  // seconds
// With --vs there are more loads until the interval of the ratio is as narrow as this, but at most
// so many times as many, and none after so many seconds of measuring.
constexpr double kInterval = 0.01;  // from the ratio to either end, relative to it
constexpr uint32_t kMostTimes = 4;
constexpr double kLastLoad = 90;

/// Returns the plan with the seconds and the number of turns: two of each block with --vs.
Result<measure::TimingPlan> plan_of(const BenchOptions& options) {
  measure::TimingPlan plan;
  plan.warmup_s = options.warmup_s;
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
Status check_request(const SubjectRequest& subject, const BenchOptions& options,
                     size_t thread_counts) {
  bool has_op = !subject.op.op.empty();
  if (has_op != subject.model.model.empty())
    return cli::usage_error(has_op ? "--op is the model: leave out MODEL"
                                   : "no MODEL given, and no --op");
  if (!options.sizes.empty() && (has_op || !options.versus.empty() || thread_counts != 1))
    return cli::usage_error("--sizes takes no --op, no --vs and one number of threads");
  if (!has_op && !(subject.op.attrs.empty() && subject.op.weights.empty()))
    return cli::usage_error("--attr and --weight are for --op");
  if (has_op && !(subject.region.empty() && subject.model[option::kBind].empty()))
    return cli::usage_error("--op takes no --region and no --bind; see --weight");
  if (options.versus.empty()) return {};
  if (!subject.region.empty())
    return cli::usage_error("--vs takes no --region: configurations have different regions");
  return thread_counts == 1 ? Status() : cli::usage_error("--vs takes one number of threads");
}

/// Returns the sizes of each run of "N=1,2,4"; one without sizes for "".
Result<std::vector<cli::RunSizes>> runs_of(const std::string& text) {
  const size_t equals = text.find('=');
  std::vector<cli::RunSizes> out;
  if (text.empty()) return std::vector<cli::RunSizes>(1);
  for (size_t begin = equals; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin + 1), text.size());
    const std::string one =
        cat(text.substr(0, equals), "=", text.substr(begin + 1, end - begin - 1));
    BYOC_TRY(auto run, cli::parse_run_sizes({one}, "--sizes"));
    out.push_back(std::move(run));
    begin = end;
  }
  if (out.empty())
    return cli::usage_error(
        cat("--sizes expects a size and its numbers, as in N=1,2,4, not \"", text, "\""));
  return out;
}

SubjectRequest subject_of(const ModelOptions& options, const std::vector<std::string>& inputs,
                          const BenchOptions& with) {
  SubjectRequest out;
  out.model = options;
  out.op = {.op = with.op, .attrs = with.attrs, .weights = with.weights, .seed = with.seed};
  out.region = with.region;
  out.inputs = inputs;
  out.seed = with.seed;
  out.no_check = with.no_check;
  return out;
}

class Bench {
 public:
  Bench(const ModelOptions& options, const std::vector<std::string>& inputs,
        const BenchOptions& with, const BenchHooks& hooks)
      : with_(with), hooks_(hooks), request_(subject_of(options, inputs, with)) {}

  Result<BenchedModel> run() {
    // The numbers of threads are no option of the configuration, in the report neither.
    const uint32_t common =
        std::exchange(request_.model[option::kThreads], OptionValues()[option::kThreads]);
    BYOC_TRY(report_.plan, plan_of(with_));
    BYOC_TRY(std::vector<uint32_t> threads,
             parse_threads(with_.threads.empty() ? cat(common) : with_.threads));
    BYOC_TRY_STATUS(check_request(request_, with_, threads.size()));
    SubjectRequest request = request_;
    if (!request.op.op.empty())
      request.op.shapes = std::exchange(request.model[option::kShape], {});
    BYOC_TRY(const std::vector<cli::RunSizes> runs, runs_of(with_.sizes));
    request.sizes = runs[0];
    BYOC_TRY(Subject subject, make(request));
    BYOC_TRY_STATUS(!with_.sizes.empty()   ? add_sizes(subject, request, runs, threads[0])
                    : with_.versus.empty() ? add_all(subject, threads)
                                           : add_both(subject, request, threads[0]));
    take_facts(subject);
    Status end = check_outputs();
    if (end.ok()) end = measure_all();
    if (!end.ok() && end.slug() != "interrupted" && end.slug() != kMismatch) return end;
    BYOC_TRY(Observed observed, observe_all(end.ok()));
    report_.plan.is_enough = nullptr;  // it reads this object
    return BenchedModel{std::move(report_), std::move(observed), std::move(end)};
  }

 private:
  Result<Subject> make(const SubjectRequest& request) {
    return make_subject(request, hooks_.warn,
                        [this](const std::string& what) { show(what, 0, 0); });
  }

  /// Returns false when the work is to end.
  bool show(std::string_view what, uint64_t done, uint64_t total) const {
    return !hooks_.watch || hooks_.watch(what, done, total);
  }

  Status add_all(const Subject& subject, const std::vector<uint32_t>& threads) {
    for (uint32_t count : threads) BYOC_TRY_STATUS(add(subject, count, ""));
    return {};
  }

  /// Adds a run of each of the sizes. A model is compiled once.
  Status add_sizes(Subject& first, SubjectRequest request, const std::vector<cli::RunSizes>& runs,
                   uint32_t threads) {
    const bool is_compiled = is_artifact(first.model);
    std::optional<Compiled> all;
    if (!is_compiled) {
      if (!show(cat("compiling for --threads ", threads), 0, 0)) return measure::interrupted();
      BYOC_TRY(all, first.compile(threads));
    }
    auto add_one = [&](Subject& subject, const cli::RunSizes& run) -> Status {
      if (all) subject.compile = [&](uint32_t) -> Result<Compiled> { return Compiled(*all); };
      const auto& [name, numbers] = *run.begin();
      report_.sizes = name;
      BYOC_TRY_STATUS(add(subject, threads, cat(name, "=", numbers.at(0))));
      report_.all.back().size = numbers.at(0);
      return {};
    };
    BYOC_TRY_STATUS(add_one(first, runs[0]));
    for (size_t k = 1; k < runs.size(); ++k) {
      request.sizes = runs[k];
      BYOC_TRY(Subject subject, make(request));
      BYOC_TRY_STATUS(add_one(subject, runs[k]));
      report_.all.back().compile_ns.reset();
    }
    return {};
  }

  /// Adds A, B, and A again, which is the control. Two turns of each are a block.
  Status add_both(Subject& a, const SubjectRequest& request, uint32_t threads) {
    uint32_t threads_of_b = threads;
    BYOC_TRY(SubjectRequest other, other_request(request, with_.versus, threads_of_b));
    other.no_check = true;  // the right outputs are those of A
    BYOC_TRY(Subject b, make(other));
    report_.plan.renews = true;
    report_.plan.counts_thread_time = threads == 1 && threads_of_b == 1;
    BYOC_TRY_STATUS(add(a, threads, "A"));
    if (a.right.empty() && !with_.no_check) {
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
    if (!show(cat("compiling for --threads ", threads), 0, 0)) return measure::interrupted();
    BYOC_TRY(Compiled compiled, subject.compile(threads));
    plugins_ = subject.plugins;
    if (name != kControl) warn_unused_plans(compiled.report, hooks_.warn);  // A printed them
    Benched benched{.threads = threads, .name = std::move(name), .compile_ns = compiled.compile_ns};
    const uint64_t begin_ns = now_ns();
    SessionOptions session_options{.threads = threads, .allow_native = !with_.no_native};
    // The memory of an executable that is loaded again lasts as long as the report.
    const bool is_versus = !with_.versus.empty();
    Executable executable = is_versus ? compiled.executable : std::move(compiled.executable);
    BYOC_TRY(auto session, Session::load(std::move(executable), subject.plugins, session_options));
    measure::Reload reload;
    if (is_versus)
      reload = measure::reload_of(std::move(compiled.executable), *session, subject.plugins,
                                  session_options);
    benched.load_ns = ns_since(begin_ns);
    if (hooks_.warn) std::ranges::for_each(session->warnings(), hooks_.warn);
    BYOC_TRY_STATUS(session->check_externs());
    benched.threads = session->threads();
    BYOC_TRY(benched.timed, measure::TimedSession::make(std::move(session), subject.inputs));
    benched.timed->reload = std::move(reload);
    programs_.push_back({benched.timed.get(), std::move(compiled.functions)});
    const measure::TimedSession& timed = *benched.timed;
    benched.memory = cli::memory_use(timed.session(), timed.context());
    BYOC_TRY(benched.outputs, compare_outputs(subject, timed, with_.tolerance));
    report_.all.push_back(std::move(benched));
    return {};
  }

  void take_facts(Subject& subject) {
    report_.model = subject.model;
    report_.options_json = given_json(request_.model.values).dump();
    report_.region = subject.region;
    report_.reference = subject.reference;
    report_.why_no_check = subject.why_no_check;
    if (report_.reference.empty() && report_.all.size() > 1 && !report_.all[1].outputs.empty())
      report_.reference = std::string("A");
    report_.input_types = std::move(subject.input_types);
    report_.inputs = std::move(subject.sources);
    report_.assumed_sizes = std::move(subject.assumed_sizes);
    report_.size = std::move(subject.size);
  }

  Status check_outputs() const {
    for (const Benched& benched : report_.all) {
      for (const ComparedValue& value : benched.outputs) {
        if (value.difference.is_equal) continue;
        return failed(
                   cat("the outputs differ from ", report_.reference, "'s, so nothing was timed"))
            .with_slug(kMismatch)
            .with_help(
                cat("byoc verify ", report_.model, " finds where; --no-check times it anyway"));
      }
    }
    return {};
  }

  Status measure_all() {
    if (hooks_.measuring) hooks_.measuring();
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
          return show(what, done, total);
        });
    report_.peak_rss_bytes = peak_rss_bytes();
    if (measured.ok()) add_cores();
    if (!with_.versus.empty()) add_versus();
    if (measured.ok() && !with_.no_peaks) BYOC_TRY_STATUS(add_peaks());
    report_.load = process::load_between(before, process::processor_times());
    return measured;
  }

  const measure::Samples& samples(size_t k) const { return report_.all[k].timed->samples; }

  /// Compares the blocks that are whole: after Ctrl-C there are fewer of them, or none.
  void add_versus() {
    size_t turns = SIZE_MAX;
    for (size_t k = 0; k < report_.all.size(); ++k)
      turns = std::min(turns, samples(k).turns.size());
    report_.versus = Versus{with_.versus, turns / 2, {}, {}, std::move(cores_)};
    if (turns < 2) return;
    report_.versus->ratio = measure::ratio_so_far(samples(0), samples(1));
    report_.versus->control = measure::ratio_so_far(samples(0), samples(2));
  }

  /// Measures with --vs whether several threads have a core each.
  void add_cores() {
    uint32_t threads = 1;
    for (const Benched& benched : report_.all) threads = std::max(threads, benched.threads);
    if (!with_.versus.empty() && threads > 1) cores_.push_back(machine::measure_cores(threads));
  }

  /// Adds the peaks of the machine, which are measured when it is not known yet.
  Status add_peaks() {
    show("looking up the peaks of the machine", 0, 0);
    BYOC_TRY(const auto machine, machine::this_machine());
    for (Benched& benched : report_.all)
      benched.peaks = machine::peaks_of(*machine, benched.threads);
    return {};
  }

  /// Looks up the regions and keeps those that ran alone.
  Result<Observed> observe_all(bool is_complete) const {
    const ModelOptions& model = request_.model;
    BuildOptions build;
    BYOC_TRY_STATUS(apply(model.values, build));
    // Keys have the target and exact sums, and no other options of functions.
    const bool exact_sums = std::exchange(build.exact_sums, false);
    const bool is_comparable = function_options_json(build) == function_options_json({});
    const bool is_used =
        is_complete && with_.versus.empty() && is_comparable && with_.observations != "none";
    if (!is_used) return Observed();
    BYOC_TRY(const std::string code, measure::code_options(build.target_json, exact_sums));
    const std::string& folder = with_.observations;
    return observe(programs_, *plugins_, code, folder.empty() ? measure::default_folder() : folder);
  }

  const BenchOptions& with_;
  const BenchHooks& hooks_;
  SubjectRequest request_;
  BenchReport report_;
  std::vector<CoreRates> cores_;  // before and after
  std::vector<ObservedProgram> programs_;
  std::shared_ptr<const PluginSet> plugins_;
};

}  // namespace

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

Result<BenchedModel> bench_file(const ModelOptions& options, const std::vector<std::string>& inputs,
                                const BenchOptions& with, const BenchHooks& hooks) {
  const SpillScope spill = spill_for_runs();
  return Bench(options, inputs, with, hooks).run();
}

Json json_of(const BenchedModel& benched, const ModelOptions& options) {
  Json json = bench_json(benched.report);
  json["observations"] = measure::json_of(benched.observed.use);
  add_tuning_json(options, json);
  return json;
}

}  // namespace driver

namespace {

TimedConfiguration configuration_of(const driver::Benched& benched) {
  const measure::Spread spread = measure::spread_of(benched.timed->samples.ns);
  TimedConfiguration out{benched.name, benched.threads, spread.median, spread.min, {}};
  for (const driver::Row& row : driver::rows_of(*benched.timed))
    out.regions.push_back({row.step.symbol, row.step.runner, row.spread.median});
  return out;
}

}  // namespace

Result<ModelBenchmark> bench_model(const ModelRequest& request, const BenchOptions& options) {
  const driver::ModelOptions model = driver::options_of(request);
  ModelBenchmark out;
  driver::BenchHooks hooks;
  hooks.warn = [&out](const std::string& text) { out.warnings.push_back(text); };
  hooks.watch = driver::watch_of(request);
  BYOC_TRY(const driver::BenchedModel benched,
           driver::bench_file(model, request.inputs, options, hooks));
  BYOC_TRY_STATUS(Status(benched.end));
  for (const driver::Benched& one : benched.report.all)
    out.configurations.push_back(configuration_of(one));
  out.reference = benched.report.reference;
  out.json = cli::json_text("bench", true, driver::json_of(benched, model));
  return out;
}

}  // namespace byoc
