// SPDX-License-Identifier: Apache-2.0
// Turns a planned module into the flat program that the runtime executes.
#include <unordered_map>

#include "byoc/base/version.h"
#include "byoc/compile.h"
#include "byoc/ir/visit.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

// The kernel of a symbol; the locs of an alias, which its steps have to hold themselves.
struct Target {
  uint32_t module, function;
  const std::vector<std::string>* alias_locs = nullptr;
};

class ProgramWriter {
 public:
  explicit ProgramWriter(const IRModule& module)
      : module_(module), function_(module.function(module.entry)) {}
  Result<Executable> run();

 private:
  Status name_inputs_and_outputs();
  void find_targets();
  Result<TensorSpec> spec(ValueId value) const;
  Status add_step(uint32_t node);
  Place place(ValueId value) const { return places_.at(key(value)); }
  static uint64_t key(ValueId v) { return uint64_t{v.node} << 32 | v.output; }
  void collect_constants();

  const IRModule& module_;
  const Function& function_;
  std::unordered_map<std::string, Target> targets_;
  std::unordered_map<uint64_t, Place> places_;
  std::unordered_map<uint64_t, uint32_t> output_of_;  // per result: its first place in the outputs
  Ints offsets_;
  size_t next_offset_ = 0;
  Executable out_;
};

void ProgramWriter::find_targets() {
  for (uint32_t m = 0; m < out_.modules.size(); ++m) {
    for (uint32_t f = 0; f < out_.modules[m].functions.size(); ++f) {
      const ExternalFunction& external = module_.external_mods[m].functions[f];
      targets_[external.symbol] = {m, f};
      for (const ExternalAlias& alias : external.aliases)
        targets_[alias.symbol] = {m, f, &alias.locs};
      out_.modules[m].functions[f].aliases.clear();
    }
  }
}

Result<TensorSpec> ProgramWriter::spec(ValueId value) const {
  const TensorType& type = *function_.type(value);
  if (!is_static(type.shape)) {
    return invalid(cat(node_name(function_, value.node), " has type ", type,
                       ", which has a size without a number"))
        .with_slug("symbolic-shape")
        .with_help("bind the sizes, as in --shape N=1");
  }
  return TensorSpec{type.dtype, static_extents(type.shape)};
}

Status ProgramWriter::name_inputs_and_outputs() {
  size_t params = function_.num_params();
  for (uint32_t k = 0; k < params; ++k) {
    BYOC_TRY(TensorSpec type, spec({k, 0}));
    out_.program.inputs.push_back(
        {std::get<Param>(function_.nodes[k].kind).name.str(), std::move(type)});
    places_[key({k, 0})] = {Place::kInput, k, 0};
  }
  Strings names = function_.attrs.strings("output_names");
  for (uint32_t k = 0; k < function_.results.size(); ++k) {
    BYOC_TRY(TensorSpec type, spec(function_.results[k]));
    output_of_.emplace(key(function_.results[k]), k);
    out_.program.outputs.push_back(
        {k < names.size() ? names[k] : cat("output", k), std::move(type)});
  }
  return {};
}

Status ProgramWriter::add_step(uint32_t node) {
  const Node& n = function_.nodes[node];
  Symbol symbol = std::get<Extern>(n.kind).symbol;
  Step step;
  step.symbol = symbol.str();
  auto target = targets_.find(step.symbol);
  if (target != targets_.end()) {
    step.module = target->second.module;
    step.function = target->second.function;
    if (target->second.alias_locs != nullptr) step.locs = *target->second.alias_locs;
  } else if (!n.loc.empty()) step.locs.push_back(n.loc.str());
  for (ValueId arg : function_.args(n)) {
    BYOC_TRY(TensorSpec type, spec(arg));
    step.args.push_back(place(arg));
    step.types.push_back(std::move(type));
  }
  step.n_in = static_cast<uint32_t>(step.args.size());
  for (uint32_t k = 0; k < n.types.size(); ++k) {
    BYOC_TRY(TensorSpec type, spec({node, k}));
    int64_t offset = offsets_[next_offset_++];
    Place here{Place::kArena, 0, static_cast<uint64_t>(offset)};
    if (offset < 0) here = {Place::kOutput, output_of_.at(key({node, k})), 0};
    places_[key({node, k})] = here;
    step.args.push_back(here);
    step.types.push_back(std::move(type));
  }
  out_.program.steps.push_back(std::move(step));
  return {};
}

// Collects the constants that the modules keep and those that the program reads. A constant that a
// plugin only copied at compile is passed to it again at load.
void ProgramWriter::collect_constants() {
  auto add = [&](const ContentKey& k) { out_.constants[k] = module_.constants.at(k); };
  for (const ProgramConstant& constant : out_.program.constants) add(constant.key);
  for (const ExternalModule& compiled : out_.modules) {
    for (const ExternalFunction& external : compiled.functions) {
      for (const ExternalConstant& constant : external.constants) add(constant.key);
      for (const auto& [packed, align] : external.packed) add(packed);
    }
  }
}

Result<Executable> ProgramWriter::run() {
  offsets_ = function_.attrs.ints("arena_offsets");
  out_.modules = module_.external_mods;
  find_targets();
  BYOC_TRY_STATUS(name_inputs_and_outputs());
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    const Kind& kind = function_.nodes[node].kind;
    if (auto* constant = std::get_if<Constant>(&kind)) {
      BYOC_TRY(TensorSpec type, spec({node, 0}));
      places_[key({node, 0})] = {Place::kConstant,
                                 static_cast<uint32_t>(out_.program.constants.size()), 0};
      out_.program.constants.push_back({constant->data->key(), std::move(type)});
    } else if (std::holds_alternative<Extern>(kind)) {
      BYOC_TRY_STATUS(add_step(node));
    }
  }
  for (uint32_t k = 0; k < function_.results.size(); ++k) {
    Place from = place(function_.results[k]);
    if (from != Place{Place::kOutput, k, 0}) out_.program.copies.push_back({from, k});
  }
  out_.program.arena_bytes = static_cast<uint64_t>(function_.attrs.i("arena_bytes"));
  out_.program.peak_live_bytes = static_cast<uint64_t>(function_.attrs.i("arena_peak_live"));
  collect_constants();
  out_.producer = cat("byoc ", version());
  return std::move(out_);
}

}  // namespace

Result<Executable> make_executable(const IRModule& planned) {
  const Function* entry = planned.find(planned.entry);
  if (entry == nullptr)
    return invalid(cat("the module has no function @", planned.entry))
        .with_slug("unknown-function");
  size_t results = 0;
  for (const Node& node : entry->nodes) {
    if (std::holds_alternative<Extern>(node.kind)) results += node.types.size();
  }
  if (!entry->attrs.has("arena_bytes") || entry->attrs.ints("arena_offsets").size() != results) {
    return failed(cat("@", planned.entry, " has no memory plan that fits it"))
        .with_slug("not-compiled")
        .with_help("run plan_memory first");
  }
  return ProgramWriter(planned).run();
}

}  // namespace byoc
