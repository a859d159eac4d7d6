// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/verification.h"

#include <algorithm>
#include <filesystem>

#include "byoc/base/check.h"
#include "byoc/import.h"
#include "core/tools/model/bindings.h"
#include "core/tools/model/data_set.h"
#include "core/tools/model/execute.h"
#include "core/tools/model/region_probe.h"
#include "core/tools/replay/dump_region.h"
#include "core/tools/verify/new_process.h"

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

// Returns the tolerance of values between regions, -1 for that of their dtypes. In a model that
// rounds to 16 bits, f32 ones are made of such values: products read them as f32.
double border_tolerance(const IRModule& module, double tolerance) {
  if (tolerance >= 0) return tolerance;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      for (size_t k = 0; k < node.types.size(); ++k) {
        const DType dtype = node.types[k]->dtype;
        if (dtype == DType::kF16 || dtype == DType::kBF16)
          tolerance = std::max(tolerance, default_tolerance(dtype));
      }
    }
  }
  return tolerance;
}

class Verifier {
 public:
  Verifier(IRModule module, const VerifyRequest& request)
      : request_(request),
        build_(request.build),
        module_(with_names(std::move(module))),
        steps_(allowed_steps(module_)),
        border_tolerance_(border_tolerance(module_, request.tolerance)) {}

  Result<Verification> run() {
    if (is_data_set(request_.against)) {
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
    if (request_.outputs_compared) request_.outputs_compared(out_.outputs);
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
    BYOC_TRY(auto made, cli::make_inputs(executable.program.inputs, request_.inputs, request_.seed,
                                         tensor_readers()));
    for (auto& input : made) inputs_.push_back(std::move(input.tensor));
    std::vector<NamedTensor> names = executable.program.outputs;
    doing("running the model");
    BYOC_TRY(auto got, execute_here(std::move(executable)));
    doing(cat("running it by ", id));
    BYOC_TRY(Executable reference, build(module_, all_by(id, build_)));
    BYOC_TRY(auto expected, execute_here(std::move(reference)));
    compare_outputs(names, got, expected);
    return {};
  }

  Status compare_with_stored() {
    BYOC_TRY(auto stored_inputs, read_stored_inputs(request_.against));
    BYOC_TRY(auto stored_outputs, read_stored_outputs(request_.against));
    BYOC_TRY(Executable executable, build(module_, build_));
    std::vector<NamedTensor> names = executable.program.outputs;
    BYOC_TRY(inputs_, match_inputs(std::move(stored_inputs), executable.program.inputs));
    BYOC_TRY(auto expected, match_outputs(std::move(stored_outputs), names));
    BYOC_TRY(auto got, execute_here(std::move(executable)));
    compare_outputs(names, got, expected);
    return {};
  }

  Result<std::vector<Tensor>> execute_here(Executable executable) const {
    return execute(std::move(executable), build_.plugins, build_.threads, inputs_);
  }

  ComparedValue compare(std::string name, const Tensor& got, const Tensor& expected) const {
    return compare_value(std::move(name), got, expected, request_.tolerance, steps_);
  }

  void compare_outputs(const std::vector<NamedTensor>& names, const std::vector<Tensor>& got,
                       const std::vector<Tensor>& expected) {
    BYOC_CHECK(names.size() == got.size() && expected.size() == got.size(), got.size(),
               " outputs, ", expected.size(), " are right");
    for (size_t k = 0; k < got.size(); ++k)
      out_.outputs.push_back(compare(names[k].name, got[k], expected[k]));
  }

  /// Compares every value between regions with that of the reference. The regions do not change, so
  /// that a mismatch of the outputs is found in one of them.
  Status compare_regions() {
    doing(cat("running each region by ", out_.reference));
    BYOC_TRY(auto inputs, copies_of(inputs_));
    BYOC_TRY(RegionValues values,
             RegionValues::compute(module_, build_, out_.reference, std::move(inputs)));
    const ProbedModule& probed = values.probed();
    doing("running all regions");
    BYOC_TRY(Executable ours, compile_regions(probed.module, values.ours()));
    BYOC_TRY(auto got, execute_here(std::move(ours)));
    out_.regions = probed.regions.size();
    for (const RegionCall& region : probed.regions) {
      out_.borders += region.num_outputs;
      out_.plugins.insert(region.plugin);
    }
    for (size_t r = 0; r < probed.regions.size() && !out_.bad; ++r)
      compare_region(probed.regions[r], r, got, values.right());
    return out_.bad ? reduce(values, probed.regions[out_.bad->index]) : Status();
  }

  void compare_region(const RegionCall& region, size_t index, const std::vector<Tensor>& got,
                      const std::vector<Tensor>& expected) {
    for (size_t k = 0; k < region.num_outputs && !out_.bad; ++k) {
      size_t value = region.first_output + k;
      BYOC_CHECK(value < got.size() && value < expected.size(), "output ", value, " of ",
                 got.size());
      ComparedValue compared =
          compare_value(cat("output ", k), got[value], expected[value], border_tolerance_, steps_);
      if (compared.difference.is_equal) continue;
      out_.bad = BadRegion{.function = region.function.str(),
                           .plugin = region.plugin,
                           .index = index,
                           .output = std::move(compared)};
    }
  }

  Status reduce(const RegionValues& values, const RegionCall& region) {
    doing(cat("finding the smallest part of ", region.function, " that is wrong"));
    RegionTest test{
        values.ours(),
        values.reference(),
        out_.reference,
        build_.plugins,
        build_.threads,
        [&](const Tensor& got, const Tensor& right) {
          return compare_value("", got, right, border_tolerance_, steps_).difference.is_equal;
        }};
    if (!request_.program.empty()) {
      test.is_wrong_anew = [&](const ReducedRegion& reduced) -> Result<bool> {
        BYOC_TRY(ReplayCase replay, replay_of(values, reduced));
        return fails_in_new_process(replay, {request_.program, build_.plugins->search().files});
      };
    }
    BYOC_TRY(auto inputs, values.inputs_of(region));
    BYOC_TRY(ReducedRegion reduced,
             reduce_region(values.fused(), region.function, std::move(inputs), test));
    BadRegion& bad = *out_.bad;
    bad.from_ops = reduced.from_ops;
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
    BYOC_TRY(auto inputs, copies_of(reduced.inputs));
    BYOC_TRY(auto outputs, copies_of(reduced.outputs));
    set_tensors(out, reduced.module.function(reduced.region), std::move(inputs),
                std::move(outputs));
    return out;
  }

  const VerifyRequest& request_;
  BuildOptions build_;
  IRModule module_;
  const int64_t steps_;            // the allowed difference of integers of 8 and 16 bits
  const double border_tolerance_;  // of values between regions
  std::vector<Tensor> inputs_;
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
