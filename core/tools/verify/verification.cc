// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/verification.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/extend/loops.h"
#include "byoc/import.h"
#include "byoc/ir/states.h"
#include "byoc/pass/partition.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/data_set.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/model/runnable.h"
#include "core/tools/replay/dump_region.h"
#include "core/tools/verify/check_pieces.h"
#include "core/tools/verify/checked_sizes.h"
#include "core/tools/verify/new_process.h"
#include "core/tools/verify/output_limits.h"
#include "core/tools/verify/state_steps.h"
#include "core/tools/verify/sub_region.h"

namespace byoc::driver {
namespace {

Result<std::vector<Tensor>> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) {
    BYOC_TRY(Tensor copy, tensor.copy());
    out.push_back(std::move(copy));
  }
  return out;
}

size_t work_in(const Function& function) {
  return static_cast<size_t>(std::ranges::count_if(function.nodes, is_work));
}

class Verifier {
 public:
  Verifier(IRModule module, const VerifyRequest& request)
      : request_(request),
        build_(request.build),
        stateful_(with_names(std::move(module))),
        module_(without_states(stateful_)),
        border_tolerance_(border_tolerance(module_, request.tolerance)) {}

  Result<Verification> run() {
    if (request_.has_data_set()) {
      BYOC_TRY(out_.reference, reference_plugin(*build_.plugins));
      BYOC_TRY_STATUS(compare_with_stored());
    } else {
      BYOC_TRY(const Plugin* plugin, build_.plugins->get(request_.against));
      BYOC_TRY_STATUS(compare_with_plugin(plugin->id()));
      // A plugin that does not take every op cannot compile every region.
      out_.reference = plugin->id();
      if (!plugin->is_default_codegen()) {
        BYOC_TRY(out_.reference, reference_plugin(*build_.plugins));
      }
    }
    BYOC_TRY_STATUS(compare_states());
    if (request_.outputs_compared) request_.outputs_compared(out_);
    BYOC_TRY_STATUS(compare_regions());
    return std::move(out_);
  }

 private:
  void doing(const std::string& what) const {
    if (request_.doing) request_.doing(what);
  }

  Status compare_with_plugin(const std::string& id) {
    doing("compiling the model");
    BYOC_TRY(Executable executable, build(module_, build_));
    names_ = executable.program.outputs;
    BYOC_TRY(std::vector<std::vector<Tensor>> runs, inputs_of_runs(executable.program));
    doing("running the model");
    BYOC_TRY(auto got, execute_each_here(std::move(executable), runs));
    doing(cat("running it by ", id));
    BYOC_TRY(Executable reference, build(module_, all_by(id, build_)));
    BYOC_TRY(auto right, execute_each_here(std::move(reference), runs));
    size_t chosen = runs.size();  // the first that is wrong
    std::vector<std::vector<Limit>> limits(runs.size());
    for (size_t k = 0; k < runs.size(); ++k) {
      BYOC_TRY(limits[k], limits_by(id, runs[k], right[k]));
      const bool is_right = compare_outputs(got[k], right[k], limits[k], k);
      if (!is_right) chosen = std::min(chosen, k);
    }
    chosen = std::min(chosen, runs.size() - 1);
    inputs_ = std::move(runs[chosen]);
    expected_ = std::move(right[chosen]);
    limits_ = std::move(limits[chosen]);
    if (!out_.sizes.empty()) out_.regions_at = out_.sizes[chosen];
    return {};
  }

  /// Returns the inputs of each run: several where sizes are open that no input gives.
  Result<std::vector<std::vector<Tensor>>> inputs_of_runs(const Program& program) {
    const auto readers = tensor_readers();
    BYOC_TRY(const auto states, state_inputs(stateful_));
    const auto bindings = with_counters_at_zero(states, request_.inputs);
    auto bound = [&](const cli::RunSizes& run) {
      return cli::inputs_of_run(program.inputs, program.sizes, bindings, run, readers);
    };
    BYOC_TRY(const cli::RunInputs given, bound({}));
    std::vector<std::string> open;
    for (const cli::AssumedSize& size : given.assumed) open.push_back(size.name);
    CheckedSizes checked = checked_sizes(module_, open, request_.seed);
    out_.limited = std::move(checked.limited);
    std::vector<std::vector<Tensor>> out;
    for (const cli::RunSizes& run : checked.runs) {
      if (!run.empty()) out_.sizes.push_back(run_label(run));
      BYOC_TRY(const cli::RunInputs inputs, bound(run));
      BYOC_TRY(auto made,
               cli::make_inputs(program.inputs, inputs.bindings, request_.seed, readers));
      auto& values = out.emplace_back();
      for (auto& input : made) values.push_back(std::move(input.tensor));
    }
    return out;
  }

  Status compare_with_stored() {
    BYOC_TRY(auto stored_inputs, read_stored_inputs(request_.against));
    BYOC_TRY(auto stored_outputs, read_stored_outputs(request_.against));
    BYOC_TRY(Executable executable, build(module_, build_));
    names_ = executable.program.outputs;
    BYOC_TRY(inputs_, match_inputs(std::move(stored_inputs), executable.program.inputs));
    BYOC_TRY(expected_, match_outputs(std::move(stored_outputs), names_));
    BYOC_TRY(auto got, execute_here(std::move(executable)));
    limits_.assign(names_.size(), {.tolerance = request_.tolerance});
    if (rounds(module_)) {
      BYOC_TRY(auto right, run_by(out_.reference));
      BYOC_TRY(limits_, limits_by(out_.reference, inputs_, right));
    }
    compare_outputs(got, expected_, limits_, 0);
    return {};
  }

  /// Compares several runs of a model with states, with the states handed on.
  Status compare_states() {
    const Function* entry = stateful_.find(stateful_.entry);
    if (entry == nullptr || !entry->attrs.has(kStateInputsAttr)) return {};
    doing(cat("running ", request_.steps, " times with states"));
    BYOC_TRY(ComparedSteps compared, compare_steps({stateful_, module_, build_, out_.reference,
                                                    inputs_, request_.steps, request_.tolerance}));
    for (ComparedValue& value : compared.values) out_.outputs.push_back(std::move(value));
    out_.state_runs = request_.steps;
    out_.began_again = std::move(compared.began_again);
    return {};
  }

  Result<std::vector<Tensor>> run_by(const std::string& id) const {
    doing(cat("running it by ", id));
    BYOC_TRY(Executable executable, build(module_, all_by(id, build_)));
    return execute_here(std::move(executable));
  }

  Result<std::vector<Limit>> limits_by(const std::string& id, std::span<const Tensor> inputs,
                                       std::span<const Tensor> right) const {
    doing(cat("running it by ", id, " with rounded values a step off"));
    return output_limits(module_, build_, {id, inputs}, right, request_.tolerance);
  }

  Result<std::vector<Tensor>> execute_here(Executable executable) const {
    return execute(std::move(executable), build_.plugins, build_.threads, inputs_);
  }

  Result<std::vector<std::vector<Tensor>>> execute_each_here(
      Executable executable, std::span<const std::vector<Tensor>> runs) const {
    return execute_each(std::move(executable), build_.plugins, build_.threads, runs);
  }

  /// Adds the outputs of the run of the given number. Returns true when all are right.
  bool compare_outputs(const std::vector<Tensor>& got, const std::vector<Tensor>& right,
                       const std::vector<Limit>& limits, size_t run) {
    BYOC_CHECK(names_.size() == got.size() && right.size() == got.size(), got.size(), " outputs, ",
               right.size(), " are right");
    const std::string at = out_.sizes.empty() ? "" : cat(", ", out_.sizes[run]);
    bool is_right = true;
    for (size_t k = 0; k < got.size(); ++k) {
      out_.outputs.push_back(compare_value(cat(names_[k].name, at), got[k], right[k], limits[k]));
      is_right = is_right && out_.outputs.back().difference.is_equal;
    }
    return is_right;
  }

  /// Compares every value between regions with that of the reference. The regions do not change, so
  /// that a mismatch of the outputs is found in one of them.
  Status compare_regions() {
    doing(cat("running each region by ", out_.reference));
    BYOC_TRY(auto inputs, copies_of(inputs_));
    BYOC_TRY(RegionValues values,
             RegionValues::compute(module_, build_, out_.reference, std::move(inputs)));
    BYOC_TRY(RegionLimits limits, region_limits(values, border_tolerance_));
    const ProbedModule& probed = values.probed();
    doing("running all regions");
    out_.on_equal_inputs = values.rounds();
    BYOC_TRY(auto got, out_.on_equal_inputs ? run_cut(values) : run_whole(values));
    count(probed, limits);
    for (size_t r = 0; r < probed.regions.size(); ++r)
      compare_region(probed.regions[r], r, got, values.right(), limits);
    compare_reference(values);
    return find_smallest(values, limits);
  }

  /// Runs the program with all its values as outputs.
  Result<std::vector<Tensor>> run_whole(const RegionValues& values) const {
    BYOC_TRY(Executable ours, compile_regions(values.probed().module, values.ours()));
    return execute_here(std::move(ours));
  }

  /// Runs each region on right inputs, so that steps of rounding do not add up.
  Result<std::vector<Tensor>> run_cut(const RegionValues& values) const {
    CutModule cut = cut_at_borders(values.probed());
    BYOC_TRY(Executable ours, compile_regions(std::move(cut.module), values.ours()));
    BYOC_TRY(auto inputs, values.inputs_of(cut));
    return execute(std::move(ours), build_.plugins, build_.threads, inputs);
  }

  void count(const ProbedModule& probed, const RegionLimits& limits) {
    out_.regions = probed.regions.size();
    for (const RegionCall& region : probed.regions) {
      out_.borders += region.num_outputs;
      out_.plugins.insert(region.plugin);
      if (rounds_several_times(limits, region))
        several_.push_back(static_cast<size_t>(&region - probed.regions.data()));
      const auto own = std::span(limits.limits).subspan(region.first_output, region.num_outputs);
      for (const Limit& limit : own) {
        out_.rounded_once += limit.steps == 1;
        out_.most_steps = std::max(out_.most_steps, limit.steps);
      }
    }
    out_.several = several_.size();
  }

  void compare_region(const RegionCall& region, size_t index, const std::vector<Tensor>& got,
                      const std::vector<Tensor>& expected, const RegionLimits& limits) {
    for (size_t k = 0; k < region.num_outputs; ++k) {
      size_t value = region.first_output + k;
      BYOC_CHECK(value < got.size() && value < expected.size(), "output ", value, " of ",
                 got.size());
      ComparedValue compared =
          compare_value(cat("output ", k), got[value], expected[value], limits.limits[value]);
      if (compared.difference.is_equal) continue;
      ++out_.wrong_regions;
      if (!out_.bad) set_bad(region, index, std::move(compared));
      return;
    }
  }

  void set_bad(const RegionCall& region, size_t index, ComparedValue output) {
    out_.bad = BadRegion{.function = region.function.str(),
                         .plugin = region.plugin,
                         .index = index,
                         .output = std::move(output)};
  }

  void compare_reference(const RegionValues& values) {
    const size_t first = values.probed().values.size();
    for (size_t k = 0; k < expected_.size(); ++k)
      out_.of_reference.push_back(
          compare_value(names_[k].name, values.right()[first + k], expected_[k], limits_[k]));
  }

  /// Finds the smallest part that is wrong. Regions that round several times are compared in
  /// pieces first: errors in them may be less than what adds up in the whole.
  Status find_smallest(const RegionValues& values, const RegionLimits& limits) {
    const auto& regions = values.probed().regions;
    if (out_.bad && !rounds_several_times(limits, regions[out_.bad->index])) {
      BYOC_TRY(auto inputs, values.inputs_of(regions[out_.bad->index]));
      return reduce(values, values.fused(), std::move(inputs));
    }
    doing("running pieces of regions");
    BYOC_TRY(CheckedPieces checked, check_pieces(values, several_, border_tolerance_));
    out_.pieces = checked.pieces;
    if (!checked.first_wrong) return out_.bad ? keep_whole(values, limits) : Status();
    WrongPiece& wrong = *checked.first_wrong;
    if (out_.bad && out_.bad->index < wrong.region) return keep_whole(values, limits);
    if (!out_.bad || out_.bad->index != wrong.region) {
      set_bad(regions[wrong.region], wrong.region, std::move(wrong.output));
      out_.bad->in_piece = true;
    }
    return reduce(values, wrong.module, std::move(wrong.inputs));
  }

  /// Reports the region as it is: no piece of it is wrong by itself.
  Status keep_whole(const RegionValues& values, const RegionLimits& limits) {
    const RegionCall& region = values.probed().regions[out_.bad->index];
    BYOC_TRY(out_.bad->replay, replay_case(values, region, limits));
    const IRModule alone =
        module_calling(values.fused(), region.function, values.fused().function(region.function));
    out_.bad->smallest = placement_of(alone).ops;
    out_.bad->from_ops = out_.bad->to_ops = out_.bad->smallest.size();
    return {};
  }

  Result<std::vector<Limit>> limits_of_part(const IRModule& part, Symbol region,
                                            const PassContext& context) const {
    if (!out_.on_equal_inputs) {
      return std::vector<Limit>(part.function(region).results.size(),
                                {.tolerance = border_tolerance_});
    }
    BYOC_TRY(IRModule plain, inline_composites(part, {}, context));
    return part_limits(plain, region, border_tolerance_);
  }

  /// Reduces the bad region, whose body in `module` may be a piece of it.
  Status reduce(const RegionValues& values, const IRModule& module, std::vector<Tensor> inputs) {
    BadRegion& bad = *out_.bad;
    doing(cat("finding the smallest part of ", bad.function, " that is wrong"));
    RegionTest test{values.ours(),
                    values.reference(),
                    out_.reference,
                    build_.plugins,
                    build_.threads,
                    values.sizes(),
                    [&](const IRModule& part, Symbol region) {
                      return limits_of_part(part, region, values.reference());
                    }};
    if (!request_.program.empty()) {
      test.is_wrong_anew = [&](const ReducedRegion& reduced) -> Result<bool> {
        BYOC_TRY(ReplayCase replay, replay_of(values, reduced));
        return fails_in_new_process(replay, {request_.program, build_.plugins->search().files});
      };
    }
    BYOC_TRY(ReducedRegion reduced, reduce_region(module, bad.function, std::move(inputs), test));
    bad.library_op = values.fused().function(bad.function).attrs.s(kLibraryOpAttr);
    bad.from_ops = work_in(values.fused().function(bad.function));
    bad.to_ops = reduced.to_ops;
    bad.runs = reduced.runs;
    bad.smallest = placement_of(reduced.module).ops;
    bad.confirmation = reduced.confirmation;
    bad.why_no_verdict = reduced.why_no_verdict;
    BYOC_TRY(bad.replay, replay_of(values, reduced));
    return {};
  }

  Result<ReplayCase> replay_of(const RegionValues& values, const ReducedRegion& reduced) const {
    BYOC_TRY(ReplayCase out,
             replay_case(reduced.module, reduced.region, values.ours(), out_.reference));
    out.tolerance = border_tolerance_;
    BYOC_TRY(out.limits, limits_of_part(reduced.module, reduced.region, values.reference()));
    BYOC_TRY(auto inputs, copies_of(reduced.inputs));
    BYOC_TRY(auto outputs, copies_of(reduced.outputs));
    set_tensors(out, reduced.module.function(reduced.region), std::move(inputs),
                std::move(outputs));
    set_sizes(out, reduced.module.function(reduced.region), values.sizes());
    return out;
  }

  const VerifyRequest& request_;
  BuildOptions build_;
  IRModule stateful_;                      // as it was given
  IRModule module_;                        // whose states are inputs and outputs
  const double border_tolerance_;          // of values between regions
  std::vector<NamedTensor> names_;         // the outputs
  std::vector<Tensor> inputs_, expected_;  // of the run at which the regions are compared
  std::vector<Limit> limits_;              // of its outputs
  std::vector<size_t> several_;            // numbers of the regions that round several times
  Verification out_;
};

}  // namespace

bool Verification::passed() const {
  return !bad && std::all_of(outputs.begin(), outputs.end(),
                             [](const ComparedValue& value) { return value.difference.is_equal; });
}

Result<std::string> reference_plugin(const PluginSet& plugins) {
  std::string id;
  for (const auto& plugin : plugins.all()) {
    if (plugin->is_default_codegen()) id = plugin->id();
    if (id == kReferencePlugin) break;
  }
  if (!id.empty()) return id;
  return not_found("no plugin takes every op, so there is nothing to compare with")
      .with_slug("no-default-codegen")
      .with_help("name one: --against PLUGIN");
}

bool is_data_set(const std::string& against) {
  std::error_code error;
  return std::filesystem::is_directory(against, error);
}

bool VerifyRequest::has_data_set() const { return !is_default && is_data_set(against); }

Result<std::vector<std::string>> stored_shapes(const std::string& model,
                                               const std::string& folder) {
  std::vector<std::string> shapes;
  BYOC_TRY(auto inputs, onnx_inputs(model));
  BYOC_TRY(auto stored, read_stored_inputs(folder));
  for (const ModelInput& input : inputs) {
    if (!input.has_rank || std::count(input.dims.begin(), input.dims.end(), -1) == 0) continue;
    for (const PbTensor& tensor : stored) {
      if (tensor.name != input.name) continue;
      std::string extents;
      for (int64_t extent : tensor.tensor.spec().dims)
        extents += cat(extents.empty() ? "" : "x", extent);
      shapes.push_back(cat(input.name, "=", extents));
    }
  }
  return shapes;
}

Result<Verification> verify_model(IRModule module, const VerifyRequest& request) {
  return Verifier(std::move(module), request).run();
}

}  // namespace byoc::driver
