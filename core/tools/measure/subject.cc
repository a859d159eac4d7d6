// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/subject.h"

#include "byoc/base/clock.h"
#include "byoc/base/memory.h"
#include "core/tools/measure/one_step.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/compare.h"
#include "core/tools/model/execute.h"
#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/region_limits.h"
#include "core/tools/replay/run_replay.h"
#include "core/tools/sizes/open_ranges.h"
#include "core/tools/verify/output_limits.h"
#include "core/tools/verify/verification.h"

namespace byoc::driver {
namespace {

template <class F>
Result<Compiled> timed_compile(F&& compile) {
  const uint64_t begin_ns = now_ns();
  BYOC_TRY(Executable executable, compile());
  return Compiled{std::move(executable), ns_since(begin_ns), {}};
}

/// Returns the numbers that inputs have for the open sizes of a program.
SizeNumbers numbers_of(const Program& program, std::span<const Tensor> inputs) {
  SizeNumbers out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<std::string>& open = program.inputs[k].type.open;
    for (size_t d = 0; d < open.size(); ++d) out.emplace(open[d], inputs[k].spec().dims[d]);
  }
  return out;
}

/// Adds inputs for the sizes of a case to a program that was compiled for their numbers.
Executable with_all_sizes(Executable executable, const ReplayCase& replay) {
  Program& program = executable.program;
  if (!program.sizes.empty()) return executable;
  for (const auto& [size, number] : replay.sizes)
    program.inputs.push_back({cat("size ", size), {DType::kU8, {number}}});
  return executable;
}

/// Makes one Subject.
class Maker {
 public:
  Maker(const SubjectRequest& request, const Warn& warn,
        const std::function<void(const std::string&)>& doing)
      : request_(request), warn_(warn), doing_(doing) {}

  Result<Subject> make() {
    if (!request_.op.op.empty()) {
      subject_.model = cat("op ", request_.op.op);
      BYOC_TRY(IRModule module, single_op_module(request_.op));
      BYOC_TRY_STATUS(model_work(std::move(module)));
    } else if (is_replay_folder(request_.model.model)) {
      subject_.model = request_.model.model;
      BYOC_TRY_STATUS(replay_work());
    } else {
      BYOC_TRY(subject_.model, model_path(request_.model.model));
      BYOC_TRY_STATUS(is_artifact(subject_.model) ? artifact_work() : file_work());
    }
    return std::move(subject_);
  }

 private:
  Status make_inputs(const std::vector<NamedTensor>& types, cli::RunInputs inputs) {
    subject_.input_types = types;
    auto& assumed = subject_.assumed_sizes;
    assumed.insert(assumed.end(), inputs.assumed.begin(), inputs.assumed.end());
    BYOC_TRY(subject_.sources,
             cli::make_inputs(types, inputs.bindings, request_.seed, tensor_readers()));
    for (const cli::NamedInput& input : subject_.sources) {
      BYOC_TRY(Tensor copy, input.tensor.copy());
      subject_.inputs.push_back(std::move(copy));
    }
    return {};
  }

  // ---- .onnx, .ir and --op
  Status file_work() {
    ModelOptions model = request_.model;
    if (!request_.sizes.empty()) {
      BYOC_TRY(RangedModel ranged, load_ranged(model));
      return model_work(std::move(ranged.module));
    }
    BYOC_TRY(subject_.assumed_sizes, set_open_sizes(model, request_.inputs));
    BYOC_TRY(IRModule module, load_model(model));
    return model_work(std::move(module));
  }

  Status model_work(IRModule module) {
    BYOC_TRY(BuildOptions build_with, build_options(request_.model));
    const bool is_whole = request_.region.empty();  // a region has states as plain inputs
    BYOC_TRY(auto types, is_whole ? given_inputs(module) : entry_inputs(module));
    BYOC_TRY(const auto states, state_inputs(module));
    const auto bindings =
        is_whole ? request_.inputs : with_counters_at_zero(states, request_.inputs);
    subject_.plugins = build_with.plugins;
    BYOC_TRY(cli::RunInputs inputs, cli::inputs_of_run(types, entry_sizes(module), bindings,
                                                       request_.sizes, tensor_readers()));
    BYOC_TRY_STATUS(make_inputs(types, std::move(inputs)));
    if (request_.no_check) {
      subject_.why_no_check = "--no-check";
    } else {
      BYOC_TRY(subject_.reference, reference_plugin(*build_with.plugins));
    }
    if (!is_whole) return region_work(std::move(module), build_with);
    if (!subject_.reference.empty()) {
      doing_(cat("running ", subject_.reference, " for the right outputs"));
      BYOC_TRY(RightOutputs right,
               right_outputs(module, build_with, {subject_.reference, subject_.inputs}));
      subject_.right = std::move(right.values);
      subject_.limits = std::move(right.limits);
      release_spilled();  // that the reference has read
    }
    subject_.compile = [module = std::move(module), build_with](uint32_t threads) {
      BuildOptions here = build_with;
      here.threads = threads;
      Report report;
      here.report = &report;
      tune::HistoryReport choices;
      if (here.history_report == nullptr) here.history_report = &choices;
      Result<Compiled> compiled = timed_compile([&] { return build(module, here); });
      if (!compiled.ok()) return compiled;
      compiled->report = std::move(report);
      compiled->functions = here.history_report->entries();
      return compiled;
    };
    return {};
  }

  /// Makes the work of one region, on the values that it gets in the model. The reference computes
  /// them, with --no-check as well.
  Status region_work(IRModule module, const BuildOptions& build_with) {
    BYOC_TRY(std::string reference, reference_plugin(*build_with.plugins));
    doing_(cat("running ", reference, " for the region's inputs"));
    const double tolerance = border_tolerance(module, -1);
    BYOC_TRY(RegionValues values, RegionValues::compute(std::move(module), build_with, reference,
                                                        std::move(subject_.inputs)));
    BYOC_TRY(const RegionCall* region, values.find(request_.region));
    subject_.region = region->function.str();
    BYOC_TRY(subject_.inputs, values.inputs_of(*region));
    if (!request_.no_check) {
      BYOC_TRY(subject_.right, values.outputs_of(*region));
      BYOC_TRY(RegionLimits limits, region_limits(values, tolerance));
      const auto first = limits.limits.begin() + static_cast<ptrdiff_t>(region->first_output);
      subject_.limits.assign(first, first + static_cast<ptrdiff_t>(region->num_outputs));
    }
    IRModule alone =
        module_calling(values.fused(), region->function, values.fused().function(region->function));
    BYOC_TRY_STATUS(give_sizes(alone, values.sizes(), subject_.inputs));
    subject_.compile = [alone = std::move(alone),
                        build_with](uint32_t threads) -> Result<Compiled> {
      BuildOptions here = build_with;
      here.threads = threads;
      tune::HistoryReport choices;
      if (here.history_report == nullptr) here.history_report = &choices;
      BYOC_TRY(PassContext context, make_context(alone, here));
      Result<Compiled> compiled = timed_compile([&] { return compile_regions(alone, context); });
      if (compiled.ok()) compiled->functions = here.history_report->entries();
      return compiled;
    };
    return {};
  }

  // ---- .byoc
  Status artifact_work() {
    ModelOptions model = request_.model;
    for (const auto& [name, numbers] : request_.sizes)
      model[option::kShape].push_back(cat(name, "=", numbers.at(0)));
    BYOC_TRY(Runnable runnable,
             make_runnable(model, subject_.model, request_.inputs, {warn_, nullptr}));
    subject_.size = std::move(runnable.size);
    subject_.why_no_check = request_.no_check
                                ? "--no-check"
                                : "a compiled model holds no graph that a reference could run";
    subject_.plugins = runnable.plugins;
    const Program& program = runnable.executable.program;  // a region has states as plain inputs
    if (!request_.region.empty()) {
      const std::span states = std::span(program.inputs).subspan(program.run_inputs());
      runnable.inputs.bindings = with_counters_at_zero(states, runnable.inputs.bindings);
    }
    BYOC_TRY_STATUS(make_inputs(request_.region.empty() ? program.given() : program.inputs,
                                std::move(runnable.inputs)));
    Executable executable = std::move(runnable.executable);
    if (!request_.region.empty()) {
      BYOC_TRY(executable, step_work(executable));
    }
    subject_.compile = [executable = std::move(executable)](uint32_t) -> Result<Compiled> {
      return Compiled{executable, std::nullopt, {}};
    };
    return {};
  }

  /// Returns a program of one step, and fills its inputs from a run of the whole program.
  Result<Executable> step_work(const Executable& executable) {
    std::vector<std::string> names;
    for (const Step& step : executable.program.steps) names.push_back(step.symbol);
    BYOC_TRY(size_t index, find_region(request_.region, names));
    subject_.region = names[index];
    BYOC_TRY(Executable probe, inputs_of_step(executable, index));
    BYOC_TRY(auto inputs, execute(std::move(probe), subject_.plugins, 1, subject_.inputs));
    const SizeNumbers numbers = numbers_of(executable.program, subject_.inputs);
    subject_.inputs = std::move(inputs);
    Executable step = one_step(executable, index);
    for (size_t k = subject_.inputs.size(); k < step.program.inputs.size(); ++k) {
      const std::string& size = step.program.inputs[k].type.open.at(0);
      BYOC_TRY(Tensor rows, Tensor::make({DType::kU8, {numbers.at(size)}}));
      subject_.inputs.push_back(std::move(rows));
    }
    return step;
  }

  // ---- a folder of byoc dump
  Status replay_work() {
    if (!request_.region.empty() || !request_.inputs.empty() ||
        !request_.model[option::kShape].empty())
      return cli::usage_error(
          "a stored region has its inputs and shapes: leave out --region, "
          "--input and --shape");
    BYOC_TRY(ReplayCase replay, read_replay(request_.model.model));
    BYOC_TRY(BuildOptions build_with, build_options(request_.model));
    subject_.plugins = build_with.plugins;
    std::string id = build_with.compilers.empty() ? replay.plugin : build_with.compilers.front();
    BYOC_TRY(const Plugin* plugin, subject_.plugins->get(id));
    subject_.region = replay.symbol;
    subject_.reference = request_.no_check ? "" : replay.reference;
    subject_.why_no_check = request_.no_check ? "--no-check" : "";
    for (const ReplayTensor& input : replay.inputs) {
      BYOC_TRY(Tensor copy, input.tensor.copy());
      subject_.inputs.push_back(std::move(copy));
      BYOC_TRY(Tensor shown, input.tensor.copy());
      subject_.input_types.push_back({input.name, input.tensor.spec()});
      subject_.sources.push_back({std::move(shown), "stored"});
    }
    for (const auto& [size, number] : replay.sizes) {  // program_of adds an input for each
      BYOC_TRY(Tensor rows, Tensor::make({DType::kU8, {number}}));
      subject_.inputs.push_back(std::move(rows));
    }
    for (const ReplayTensor& output : replay.outputs) {
      if (request_.no_check) break;
      BYOC_TRY(Tensor copy, output.tensor.copy());
      subject_.limits.push_back(limit_of(replay, subject_.right.size()));
      subject_.right.push_back(std::move(copy));
    }
    auto stored = std::make_shared<ReplayCase>(std::move(replay));
    subject_.compile = [stored, plugin, plugins = subject_.plugins](uint32_t threads) {
      stored->threads = threads;
      return timed_compile([&]() -> Result<Executable> {
        BYOC_TRY(ReplayProgram program, compile_replay(*stored, *plugin, plugins));
        if (program.executable) return with_all_sizes(*std::move(program.executable), *stored);
        return failed(cat(plugin->id(), " takes nothing of it: ", program.facts.declined))
            .with_slug("replay-declined");
      });
    };
    return {};
  }

  const SubjectRequest& request_;
  const Warn& warn_;
  const std::function<void(const std::string&)>& doing_;
  Subject subject_;
};

}  // namespace

Result<std::vector<ComparedValue>> compare_outputs(const Subject& subject,
                                                   const measure::TimedSession& timed,
                                                   double tolerance) {
  std::vector<ComparedValue> out;
  if (!subject.right.empty() && subject.right.size() != timed.outputs().size())
    return cli::usage_error("--vs: the models have different outputs");
  for (size_t k = 0; k < subject.right.size(); ++k) {
    Limit limit = k < subject.limits.size() ? subject.limits[k] : Limit();
    if (tolerance >= 0) limit.tolerance = tolerance;
    const Tensor* got = &timed.outputs()[k];
    Tensor counted;
    if (got->spec().counted != 0) {
      BYOC_TRY(counted, got->copy());
      counted.shrink(timed.session().output_dims(timed.context(), k));
      got = &counted;
    }
    out.push_back(
        compare_value(timed.session().outputs()[k].name, *got, subject.right[k], std::move(limit)));
  }
  return out;
}

Result<Subject> make_subject(const SubjectRequest& request, const Warn& warn,
                             const std::function<void(const std::string&)>& doing) {
  return Maker(request, warn, doing).make();
}

}  // namespace byoc::driver
