#include "core/driver/commands/verification.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "byoc/import.h"
#include "core/driver/commands/bindings.h"
#include "core/driver/commands/borders.h"
#include "core/driver/commands/data_set.h"
#include "core/driver/commands/execute.h"
#include "core/driver/commands/narrow.h"
#include "core/driver/commands/pipeline_parts.h"

namespace byoc::driver {
namespace {

/// Sixteen-bit floats round to 2^-11 (f16) and 2^-8 (bf16) at every step.
double tolerance_for(DType dtype, double wanted) {
  if (wanted >= 0) return wanted;
  if (dtype == DType::kF16) return 5e-3;
  if (dtype == DType::kBF16) return 4e-2;
  return 1e-4;
}

class Verifier {
 public:
  Verifier(IRModule module, const VerifyRequest& request)
      : request_(request), build_(request.build), module_(with_names(std::move(module))) {}

  Result<Verification> run() {
    if (is_data_set(request_.against)) {
      BYOC_TRY(out_.reference, reference_plugin(*build_.plugins));
      BYOC_TRY_STATUS(compare_with_stored());
    } else {
      BYOC_TRY(const Plugin* plugin, build_.plugins->get(request_.against));
      BYOC_TRY_STATUS(compare_with_plugin(plugin->id()));
      // One that does not take every op cannot be given every region.
      out_.reference = plugin->id();
      if (!plugin->is_default_codegen()) {
        BYOC_TRY(out_.reference, reference_plugin(*build_.plugins));
      }
    }
    BYOC_TRY_STATUS(compare_borders());
    return std::move(out_);
  }

 private:
  /// Everything by `plugin`; default codegens still take what it refuses.
  BuildOptions options_for(const std::string& plugin) const {
    BuildOptions options = build_;
    options.compilers = {plugin};
    options.default_codegen = "";
    options.strict = false;
    return options;
  }

  Status compare_with_plugin(const std::string& id) {
    BYOC_TRY(Executable executable, build(module_, build_));
    BYOC_TRY(auto made, cli::make_inputs(executable.program.inputs, request_.inputs, request_.seed,
                                         tensor_readers()));
    for (auto& input : made) inputs_.push_back(std::move(input.tensor));
    std::vector<NamedTensor> names = executable.program.outputs;
    BYOC_TRY(auto got, execute_here(std::move(executable)));
    BYOC_TRY(Executable reference, build(module_, options_for(id)));
    BYOC_TRY(auto wanted, execute_here(std::move(reference)));
    compare_outputs(names, got, wanted);
    return {};
  }

  Status compare_with_stored() {
    BYOC_TRY(auto stored_inputs, read_stored_inputs(request_.against));
    BYOC_TRY(auto stored_outputs, read_stored_outputs(request_.against));
    BYOC_TRY(Executable executable, build(module_, build_));
    std::vector<NamedTensor> names = executable.program.outputs;
    BYOC_TRY(inputs_, match_inputs(std::move(stored_inputs), executable.program.inputs));
    BYOC_TRY(auto wanted, match_outputs(std::move(stored_outputs), names));
    BYOC_TRY(auto got, execute_here(std::move(executable)));
    compare_outputs(names, got, wanted);
    return {};
  }

  Result<std::vector<Tensor>> execute_here(Executable executable) const {
    return execute(std::move(executable), build_.plugins, build_.threads, inputs_);
  }

  ComparedValue compare(std::string name, const Tensor& got, const Tensor& wanted) const {
    double allowed = tolerance_for(wanted.spec().dtype, request_.tolerance);
    return {std::move(name), got.spec(), allowed, compare_to_largest(got, wanted, allowed)};
  }

  void compare_outputs(const std::vector<NamedTensor>& names, const std::vector<Tensor>& got,
                       const std::vector<Tensor>& wanted) {
    for (size_t k = 0; k < got.size(); ++k)
      out_.outputs.push_back(compare(names[k].name, got[k], wanted[k]));
  }

  /// Every value between regions, by the plugins and by the reference; functions stay as they are,
  /// so the mismatch does not move.
  Status compare_borders() {
    BYOC_TRY(trial_.ours, make_context(module_, build_));
    BYOC_TRY(auto passes, passes_until("fuse_ops", trial_.ours));
    BYOC_TRY(IRModule fused, run_passes(module_, passes, trial_.ours));
    BYOC_TRY(Probe probe, probe_borders(fused));
    BYOC_TRY(trial_.reference, make_context(probe.module, options_for(out_.reference)));
    IRModule other = with_all_regions_for(probe.module, out_.reference);
    BYOC_TRY(other, inline_composites(std::move(other), {}, trial_.reference));
    BYOC_TRY(Executable ours, compile_regions(probe.module, trial_.ours));
    BYOC_TRY(Executable theirs, compile_regions(std::move(other), trial_.reference));
    BYOC_TRY(auto got, execute_here(std::move(ours)));
    BYOC_TRY(auto wanted, execute_here(std::move(theirs)));
    out_.regions = probe.regions.size();
    for (const RegionBorder& region : probe.regions) out_.borders += region.num_outputs;
    for (size_t r = 0; r < probe.regions.size() && !out_.bad; ++r)
      compare_region(probe.regions[r], r, got, wanted);
    return out_.bad ? narrow(fused, probe.regions[out_.bad->index], wanted) : Status();
  }

  void compare_region(const RegionBorder& region, size_t index, const std::vector<Tensor>& got,
                      const std::vector<Tensor>& wanted) {
    for (size_t k = 0; k < region.num_outputs && !out_.bad; ++k) {
      size_t value = region.first_output + k;
      ComparedValue compared = compare(cat("output ", k), got[value], wanted[value]);
      if (compared.difference.is_equal) continue;
      out_.bad = BadRegion{region.function.str(), region.plugin, index, std::move(compared)};
    }
  }

  Status narrow(const IRModule& fused, const RegionBorder& region,
                const std::vector<Tensor>& wanted) {
    trial_.reference_plugin = out_.reference;
    trial_.plugins = build_.plugins;
    trial_.threads = build_.threads;
    trial_.agree = [&](const Tensor& got, const Tensor& right) {
      return compare("", got, right).difference.is_equal;
    };
    BYOC_TRY(auto inputs, right_inputs(fused, region, wanted));
    BYOC_TRY(Narrowed narrowed, narrow_region(fused, region.function, std::move(inputs), trial_));
    BadRegion& bad = *out_.bad;
    bad.from_ops = narrowed.from_ops;
    bad.to_ops = narrowed.to_ops;
    bad.runs = narrowed.runs;
    bad.smallest = placement_of(narrowed.module).ops;
    return {};
  }

  /// What the region's parameters are when everything before it is right.
  Result<std::vector<Tensor>> right_inputs(const IRModule& fused, const RegionBorder& region,
                                           const std::vector<Tensor>& wanted) const {
    const Function& entry = fused.function(fused.entry);
    std::vector<Tensor> inputs;
    for (size_t k = 0; k < region.args.size(); ++k) {
      const BorderArg& arg = region.args[k];
      const Node& node = entry.nodes[arg.value.node];
      if (auto* constant = std::get_if<Constant>(&node.kind)) {
        BYOC_TRY(Tensor tensor,
                 Tensor::make({node.types[0]->dtype, static_extents(node.types[0]->shape)}));
        std::memcpy(tensor.data(), constant->data->data(), constant->data->size());
        inputs.push_back(std::move(tensor));
        continue;
      }
      bool is_param = std::holds_alternative<Param>(node.kind);
      BYOC_TRY(Tensor copy, (is_param ? inputs_[arg.value.node] : wanted[arg.border]).copy());
      inputs.push_back(std::move(copy));
    }
    return inputs;
  }

  const VerifyRequest& request_;
  BuildOptions build_;
  IRModule module_;
  Trial trial_;
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
