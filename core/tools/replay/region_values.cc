// SPDX-License-Identifier: Apache-2.0
#include "core/tools/replay/region_values.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "byoc/base/check.h"
#include "byoc/base/nearest.h"
#include "byoc/ir/dim.h"
#include "byoc/ir/states.h"
#include "byoc/pass/partition.h"
#include "byoc/text/text.h"
#include "core/tools/model/execute.h"
#include "core/tools/rounding/value_steps.h"

namespace byoc::driver {

BuildOptions all_by(const std::string& plugin, BuildOptions build) {
  build.compilers = {plugin};
  build.default_codegen = "";
  build.strict = false;
  build.policies = nullptr;
  build.options["added_ops"] = "reference";
  return build;
}

Result<std::vector<NamedTensor>> entry_inputs(const IRModule& module) {
  std::vector<NamedTensor> out;
  const Function* entry = module.find(module.entry);
  if (entry == nullptr)
    return invalid(cat("the module has no function @", module.entry)).with_slug("unknown-function");
  for (size_t k = 0; k < entry->num_params(); ++k) {
    Symbol name = std::get<Param>(entry->nodes[k].kind).name;
    const TensorType& type = *entry->nodes[k].types[0];
    Result<TensorSpec> spec = program_type(type);
    if (!spec.ok()) {
      return invalid(cat("input \"", name, "\" is ", type, "; its extents must be numbers"))
          .with_slug("symbolic-shape")
          .with_help("give them, as in --shape N=1");
    }
    out.push_back({name.str(), *std::move(spec)});
  }
  return out;
}

namespace {
/// Returns the inputs that are states, or the others.
Result<std::vector<NamedTensor>> inputs_that(bool are_states, const IRModule& module) {
  BYOC_TRY(std::vector<NamedTensor> all, entry_inputs(module));
  BYOC_TRY(const auto states, states_of(module.function(module.entry)));
  std::set<uint32_t> kept;
  for (const StatePair& pair : states) kept.insert(pair.param);
  std::vector<NamedTensor> out;
  for (uint32_t k = 0; k < all.size(); ++k) {
    if (kept.contains(k) == are_states) out.push_back(std::move(all[k]));
  }
  return out;
}
}  // namespace

Result<std::vector<NamedTensor>> given_inputs(const IRModule& module) {
  return inputs_that(false, module);
}

Result<std::vector<NamedTensor>> state_inputs(const IRModule& module) {
  return inputs_that(true, module);
}

std::vector<OpenSize> entry_sizes(const IRModule& module) {
  std::map<std::string, OpenSize> sizes;
  const Function* entry = module.find(module.entry);
  for (size_t k = 0; entry != nullptr && k < entry->num_params(); ++k) {
    for (Dim dim : entry->nodes[k].types[0]->shape) {
      if (!is_open(dim)) continue;
      for (Dim size : sizes_in(dim))
        sizes.insert({size.name().str(), {size.name().str(), size.min(), size.max()}});
    }
  }
  std::vector<OpenSize> out;
  for (const auto& [name, size] : sizes) out.push_back(size);
  return out;
}

Result<size_t> find_region(const std::string& region, const std::vector<std::string>& names) {
  auto found = std::find(names.begin(), names.end(), region);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  size_t number = 0;
  const char* end = region.data() + region.size();
  auto parsed = std::from_chars(region.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end && number < names.size()) return number;
  std::string known;
  constexpr size_t kShown = 8;
  for (size_t k = 0; k < std::min(names.size(), kShown); ++k) known += cat(k ? ", " : "", names[k]);
  if (names.size() > kShown) known += cat(" and ", names.size() - kShown, " more");
  return not_found(cat("no region \"", region, "\"", did_you_mean(region, names)))
      .with_slug("unknown-region")
      .with_help(cat("a symbol, or a number below ", names.size(), ": ", known));
}

namespace {
Result<IRModule> fuse(IRModule module, const PassContext& context) {
  BYOC_TRY(auto passes, Pipeline::until("choose_computes", context));
  return run_passes(std::move(module), passes, context);
}
}  // namespace

Result<std::vector<RegionCall>> regions_of(IRModule module, const BuildOptions& build) {
  BYOC_TRY(PassContext context, make_context(module, build));
  BYOC_TRY(module, fuse(std::move(module), context));
  BYOC_TRY(ProbedModule probed, expose_region_outputs(module));
  return std::move(probed.regions);
}

Result<RegionValues> RegionValues::compute(IRModule module, const BuildOptions& build,
                                           const std::string& reference,
                                           std::vector<Tensor> inputs) {
  RegionValues out;
  out.reference_plugin_ = reference;
  out.rounds_ = driver::rounds(module);
  BYOC_TRY(out.ours_, make_context(module, build));
  BYOC_TRY(out.fused_, fuse(std::move(module), out.ours_));
  BYOC_TRY(out.probed_, expose_region_outputs(out.fused_));
  BYOC_TRY(out.reference_, make_context(out.probed_.module, all_by(reference, build)));
  IRModule other = with_all_regions_for(out.probed_.module, reference);
  BYOC_TRY(other, inline_composites(std::move(other), {}, out.reference_));
  BYOC_TRY(Executable theirs, compile_regions(std::move(other), out.reference_));
  BYOC_TRY(out.right_, execute(std::move(theirs), build.plugins, build.threads, inputs));
  out.inputs_ = std::move(inputs);
  return out;
}

Result<std::vector<Tensor>> RegionValues::inputs_of(const RegionCall& region) const {
  const Function& entry = fused_.function(fused_.entry);
  std::vector<Tensor> out;
  for (const RegionArg& arg : region.args) {
    const Node& node = entry.nodes[arg.value.node];
    if (auto* constant = std::get_if<Constant>(&node.kind)) {
      BYOC_TRY(Tensor tensor,
               Tensor::make({node.types[0]->dtype, static_extents(node.types[0]->shape)}));
      if (constant->data->size() != 0)
        std::memcpy(tensor.data(), constant->data->data(), constant->data->size());
      out.push_back(std::move(tensor));
      continue;
    }
    bool is_param = std::holds_alternative<Param>(node.kind);
    if (!is_param && arg.output == SIZE_MAX) {
      return unimplemented(cat("@", region.function, " reads ", describe(entry, arg.value.node),
                               ", which is not the result of a region"))
          .with_slug("region-operand");
    }
    BYOC_CHECK(is_param ? arg.value.node < inputs_.size() : arg.output < right_.size(), "no value ",
               arg.value.node, "#", arg.value.output);
    BYOC_TRY(Tensor copy, (is_param ? inputs_[arg.value.node] : right_[arg.output]).copy());
    out.push_back(std::move(copy));
  }
  return out;
}

Result<std::vector<Tensor>> RegionValues::inputs_of(const CutModule& cut) const {
  std::vector<Tensor> out;
  for (const Tensor& input : inputs_) {
    BYOC_TRY(Tensor copy, input.copy());
    out.push_back(std::move(copy));
  }
  for (size_t value : cut.values) {
    BYOC_TRY(Tensor copy, right_[value].copy());
    out.push_back(std::move(copy));
  }
  return out;
}

Result<std::vector<Tensor>> RegionValues::outputs_of(const RegionCall& region) const {
  std::vector<Tensor> out;
  BYOC_CHECK(region.first_output + region.num_outputs <= right_.size(), "@", region.function,
             " has results up to ", region.first_output + region.num_outputs);
  for (size_t k = 0; k < region.num_outputs; ++k) {
    BYOC_TRY(Tensor copy, right_[region.first_output + k].copy());
    out.push_back(std::move(copy));
  }
  return out;
}

std::map<std::string, int64_t> RegionValues::sizes() const {
  std::map<std::string, int64_t> out;
  const Function& entry = fused_.function(fused_.entry);
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const Shape& shape = entry.nodes[k].types[0]->shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!is_open(shape[d])) continue;
      for (Dim size : sizes_in(shape[d])) {
        if (size == shape[d]) out[size.name().str()] = inputs_[k].spec().dims[d];
      }
    }
  }
  return out;
}

Result<const RegionCall*> RegionValues::find(const std::string& region) const {
  std::vector<std::string> names;
  for (const RegionCall& call : probed_.regions) names.push_back(call.function.str());
  BYOC_TRY(size_t index, find_region(region, names));
  return &probed_.regions[index];
}

}  // namespace byoc::driver
