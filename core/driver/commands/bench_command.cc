// SPDX-License-Identifier: Apache-2.0
// byoc bench: times a model or one of its regions, after comparing its outputs with a reference's.
#include <charconv>
#include <chrono>

#include "byoc/base/json.h"
#include "core/driver/commands/commands.h"
#include "core/tools/measure/one_step.h"
#include "core/tools/measure/report.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/interrupt.h"
#include "core/tools/model/progress.h"
#include "core/tools/model/runnable.h"
#include "core/tools/replay/region_values.h"
#include "core/tools/verify/verification.h"

namespace byoc::driver {
namespace {

struct Options {
  ModelOptions model;
  std::string threads = "1", region;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  TimingPlan plan;
  double tolerance = -1;
  bool no_check = false, no_native = false;
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

Status check_plan(const TimingPlan& plan) {
  if (!(plan.warmup_s >= 0) || !(plan.min_time_s >= 0))
    return cli::usage_error("--warmup and --min-time expect seconds, 0 or more");
  return plan.rounds > 0 ? Status() : cli::usage_error("--rounds expects 1 or more");
}

double seconds_to_ns(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

/// The program of one configuration, and the time that compiling it took.
struct Compiled {
  Executable executable;
  std::optional<double> compile_ns;
};
using Compile = std::function<Result<Compiled>(uint32_t threads)>;

template <class F>
Result<Compiled> timed_compile(F&& compile) {
  auto begin = std::chrono::steady_clock::now();
  BYOC_TRY(Executable executable, compile());
  return Compiled{std::move(executable), seconds_to_ns(std::chrono::steady_clock::now() - begin)};
}

/// The work to measure, for any kind of MODEL: a function that compiles it for a number of threads,
/// the inputs, and the right outputs, which are empty when there is no reference.
struct Work {
  Compile compile;
  std::shared_ptr<const PluginSet> plugins;
  std::vector<Tensor> inputs, right;
};

class Bench {
 public:
  Bench(const Options& options, const cli::CommonOptions& common)
      : options_(options), common_(common), progress_(common) {}

  Result<int> run() {
    BYOC_TRY_STATUS(check_plan(options_.plan));
    BYOC_TRY(std::vector<uint32_t> threads, parse_threads(options_.threads));
    BYOC_TRY(report_.model, model_path(options_.model.model));
    report_.plan = options_.plan;
    BYOC_TRY(Work work, is_artifact(report_.model) ? artifact_work() : model_work());
    for (uint32_t count : threads) BYOC_TRY_STATUS(add(work, count));
    if (!passed()) return print_mismatch();
    Status measured = measure_all();
    progress_.clear();
    if (!measured.ok() && measured.slug() != "interrupted") return measured;
    bool has_samples = !report_.all.back().timed->samples.ns.empty();
    if (measured.ok() || has_samples)
      cli::print_text(bench_text(report_, common_.verbose), common_);
    BYOC_TRY_STATUS(std::move(measured));
    BYOC_TRY_STATUS(cli::print_json(common_, "bench", bench_json(report_)));
    return cli::kDone;
  }

 private:
  Result<std::vector<Tensor>> make_inputs(const std::vector<NamedTensor>& types) {
    report_.input_types = types;
    BYOC_TRY(report_.inputs,
             cli::make_inputs(types, options_.inputs, options_.seed, tensor_readers()));
    return copies(report_.inputs);
  }

  static Result<std::vector<Tensor>> copies(const std::vector<cli::NamedInput>& inputs) {
    std::vector<Tensor> out;
    for (const cli::NamedInput& input : inputs) {
      BYOC_TRY(Tensor copy, input.tensor.copy());
      out.push_back(std::move(copy));
    }
    return out;
  }

  // ---- .onnx and .ir
  Result<Work> model_work() {
    BYOC_TRY(IRModule module, load_model(options_.model));
    BYOC_TRY(BuildOptions build_with, build_options(options_.model));
    BYOC_TRY(std::vector<NamedTensor> types, entry_inputs(module));
    Work work{.plugins = build_with.plugins};
    BYOC_TRY(work.inputs, make_inputs(types));
    std::string reference;
    if (options_.no_check) {
      report_.why_no_check = "--no-check";
    } else {
      BYOC_TRY(reference, reference_plugin(*build_with.plugins));
      report_.reference = reference;
    }
    if (!options_.region.empty())
      return region_work(std::move(module), build_with, std::move(work));
    if (!reference.empty()) {
      progress_.show(cat("running ", reference, " for the right outputs"), 0, 0);
      BYOC_TRY(Executable right, build(module, all_by(reference, build_with)));
      BYOC_TRY(work.right,
               execute(std::move(right), work.plugins, build_with.threads, work.inputs));
    }
    work.compile = [module = std::move(module), build_with](uint32_t threads) {
      BuildOptions here = build_with;
      here.threads = threads;
      return timed_compile([&] { return build(module, here); });
    };
    return work;
  }

  /// Makes the work of one region, on the values that it gets in the model. The reference computes
  /// them, with --no-check as well.
  Result<Work> region_work(IRModule module, const BuildOptions& build_with, Work work) {
    BYOC_TRY(std::string reference, reference_plugin(*build_with.plugins));
    progress_.show(cat("running ", reference, " for the region's inputs"), 0, 0);
    BYOC_TRY(RegionValues values, RegionValues::compute(std::move(module), build_with, reference,
                                                        std::move(work.inputs)));
    BYOC_TRY(const RegionCall* region, values.find(options_.region));
    report_.region = region->function.str();
    BYOC_TRY(work.inputs, values.inputs_of(*region));
    if (!options_.no_check) {
      BYOC_TRY(work.right, values.outputs_of(*region));
    }
    IRModule alone =
        module_calling(values.fused(), region->function, values.fused().function(region->function));
    work.compile = [alone = std::move(alone), build_with](uint32_t threads) -> Result<Compiled> {
      BuildOptions here = build_with;
      here.threads = threads;
      BYOC_TRY(PassContext context, make_context(alone, here));
      return timed_compile([&] { return compile_regions(alone, context); });
    };
    return work;
  }

  // ---- .byoc
  Result<Work> artifact_work() {
    BYOC_TRY(Runnable runnable, make_runnable(options_.model, report_.model, common_));
    report_.why_no_check = options_.no_check
                               ? "--no-check"
                               : "a compiled model holds no graph that a reference could run";
    Work work{.plugins = runnable.plugins};
    BYOC_TRY(work.inputs, make_inputs(runnable.executable.program.inputs));
    Executable executable = std::move(runnable.executable);
    if (!options_.region.empty()) {
      BYOC_TRY(executable, step_work(executable, work));
    }
    work.compile = [executable = std::move(executable)](uint32_t) -> Result<Compiled> {
      return Compiled{executable, std::nullopt};
    };
    return work;
  }

  /// Returns a program of one step, and fills its inputs from a run of the whole program.
  Result<Executable> step_work(const Executable& executable, Work& work) {
    std::vector<std::string> names;
    for (const Step& step : executable.program.steps) names.push_back(step.symbol);
    BYOC_TRY(size_t index, find_region(options_.region, names));
    report_.region = names[index];
    BYOC_TRY(auto sources, sources_of_steps(executable.program));
    BYOC_TRY(Executable probe, with_all_results(executable));
    BYOC_TRY(auto results, execute(std::move(probe), work.plugins, 1, work.inputs));
    std::vector<Tensor> inputs;
    for (const Source& source : sources[index]) {
      if (source.kind == Source::kConstant) continue;
      const Tensor& from =
          source.kind == Source::kInput ? work.inputs[source.index] : results[source.index];
      BYOC_TRY(Tensor copy, from.copy());
      inputs.push_back(std::move(copy));
    }
    work.inputs = std::move(inputs);
    return one_step(executable, index);
  }

  // ---- both kinds of model
  Status add(const Work& work, uint32_t threads) {
    progress_.show(cat("compiling for --threads ", threads), 0, 0);
    BYOC_TRY(Compiled compiled, work.compile(threads));
    Benched benched{.threads = threads, .compile_ns = compiled.compile_ns};
    auto begin = std::chrono::steady_clock::now();
    SessionOptions session_options{.threads = threads, .allow_native = !options_.no_native};
    BYOC_TRY(auto session,
             Session::load(std::move(compiled.executable), work.plugins, session_options));
    benched.load_ns = seconds_to_ns(std::chrono::steady_clock::now() - begin);
    for (const std::string& warning : session->warnings()) cli::print_warning(warning, common_);
    BYOC_TRY_STATUS(session->check_externs());
    benched.threads = session->threads();
    BYOC_TRY(benched.timed, TimedSession::make(std::move(session), work.inputs));
    const TimedSession& timed = *benched.timed;
    for (size_t k = 0; k < work.right.size(); ++k) {
      benched.outputs.push_back(compare_value(timed.session().outputs()[k].name, timed.outputs()[k],
                                              work.right[k], options_.tolerance));
    }
    report_.all.push_back(std::move(benched));
    return {};
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
    std::vector<TimedSession*> sessions;
    for (const Benched& benched : report_.all) sessions.push_back(benched.timed.get());
    return measure(sessions, options_.plan,
                   [&](std::string_view what, uint64_t done, uint64_t total) {
                     progress_.show(what, done, total);
                     return !interrupt_.requested();
                   });
  }

  const Options& options_;
  const cli::CommonOptions& common_;
  Progress progress_;
  Interrupt interrupt_;
  BenchReport report_;
};

void add_bench_options(cli::Command& command, Options& options) {
  for (cli::Option& option : command.options) {
    if (option.names != "--threads") continue;
    option = {"--threads", "N,M", "thread counts of runs, measured in turns (default 1)",
              &options.threads};
  }
  auto& all = command.options;
  all.push_back({"--region", "R", "one region alone, by its symbol or number", &options.region});
  all.push_back(
      {"--input", "NAME=VALUE", "as in byoc run; those not given are random", &options.inputs});
  all.push_back({"--seed", "N", "of the random inputs (default 0)", &options.seed});
  all.push_back(
      {"--warmup", "S", "seconds of runs before measuring (default 0.2)", &options.plan.warmup_s});
  all.push_back({"--min-time", "S", "seconds of measured runs of each configuration (default 1)",
                 &options.plan.min_time_s});
  all.push_back(
      {"--rounds", "N", "turns the configurations take (default 5)", &options.plan.rounds});
  all.push_back({"--no-check", "", "do not compare the outputs with the reference's first",
                 &options.no_check});
  all.push_back({"--tolerance", "X",
                 "allowed error, relative to the largest value without masks; f32: 1e-4",
                 &options.tolerance});
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
      {"byoc bench net.byoc --input x=a.npy --json=bench.json", "raw samples as well"}};
  add_model_options(command, options->model, "an .onnx, .ir or .byoc file");
  add_bench_options(command, *options);
  command.notes =
      "Configurations take turns, so that a slow minute of the machine falls on all of them. A\n"
      "sample is one run, or the mean of several when a run is short. Times of regions come from\n"
      "runs of their own, with a clock around every region. Ctrl-C prints what was measured.";
  command.run = [options, &common] { return Bench(*options, common).run(); };
  return command;
}

}  // namespace byoc::driver
