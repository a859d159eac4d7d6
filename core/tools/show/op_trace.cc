// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/op_trace.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace byoc::driver {

std::vector<Pass> OpTrace::with_labels(std::vector<Pass> passes) {
  Pass label{"label_ops",
             [this](IRModule module, const PassContext&, const PassArgs&) -> Result<IRModule> {
               module = labels_.label(std::move(module));
               removals_.resize(labels_.ops().size());
               is_labelled_ = true;
               return module;
             },
             {}};
  // bind_constant_arguments is the last pass that copies functions before ops are changed.
  auto at = std::ranges::find(passes, "bind_constant_arguments", &Pass::name);
  passes.insert(at == passes.end() ? passes.begin() : at + 1, std::move(label));
  return passes;
}

Instrument OpTrace::instrument() {
  return {.before = nullptr,
          .after = [this](const Pass& pass, const IRModule& before, const IRModule& after,
                          uint64_t) -> Status {
            see(pass, before, after);
            return {};
          }};
}

void OpTrace::see(const Pass& pass, const IRModule& before, const IRModule& after) {
  if (!is_labelled_) return;
  if (after.external_mods.size() > before.external_mods.size()) {  // once more per decline
    if (!first_compiled_) first_compiled_ = before.external_mods.size();
    follow_declined(after, *first_compiled_);
    return;
  }
  if (first_compiled_) return;
  if (pass.name == "choose_computes") return;  // ops in loops are still computed
  note_removed(pass.name, before, after);
  if (pass.name != "partition_graph" && pass.name != "fuse_ops") return;
  placement_ = placement_of(after);
  has_placement_ = true;
}

void OpTrace::note_removed(Symbol pass, const IRModule& before, const IRModule& after) {
  std::vector<uint8_t> is_present(labels_.ops().size());
  for (const auto& [name, function] : after.functions) {
    for (const Node& node : function.nodes) {
      uint32_t label = label_of(after, node);
      if (label != OpLabels::kNone) is_present[label] = 1;
    }
  }
  bool some = false;
  for (size_t label = 0; label < removals_.size(); ++label) {
    if (is_present[label] || !removals_[label].pass.empty()) continue;
    removals_[label].pass = pass;
    some = true;
  }
  if (!some || pass.text() != "merge_equal_nodes") return;
  for (const auto& [name, function] : before.functions) {
    if (const Function* now = after.find(name)) find_survivors(pass, function, *now);
  }
}

uint32_t OpTrace::label_of(const Node& node) const {
  return op_of(node) ? labels_.find(node.loc) : OpLabels::kNone;
}

// Counts ops of libraries that are loops by now.
uint32_t OpTrace::label_of(const IRModule& module, const Node& node) const {
  return library_loops_of(module, node) != nullptr ? labels_.find(node.loc) : label_of(node);
}

// Returns per node the last op that reads it and the place of the operand; for nodes that no op
// reads, the place in the function's results.
std::vector<OpTrace::Reader> OpTrace::readers_of(const Function& function) const {
  std::vector<Reader> readers(function.nodes.size());
  for (uint32_t k = 0; k < function.results.size(); ++k)
    readers[function.results[k].node] = {OpLabels::kNone, k};
  for (const Node& node : function.nodes) {
    uint32_t label = label_of(node);
    auto args = function.args(node);
    for (uint32_t place = 0; label != OpLabels::kNone && place < args.size(); ++place)
      readers[args[place].node] = {label, place};
  }
  return readers;
}

// Finds the op that remains for each merged op: the reader of the merged op reads it at the same
// place. Nodes are visited from last to first, so readers come first; they may be merged as well.
void OpTrace::find_survivors(Symbol pass, const Function& before, const Function& after) {
  std::unordered_map<uint32_t, uint32_t> now;  // label -> node of `after`
  for (uint32_t k = 0; k < after.nodes.size(); ++k) {
    uint32_t label = label_of(after.nodes[k]);
    if (label != OpLabels::kNone) now[label] = k;
  }
  std::vector<Reader> readers = readers_of(before);
  for (uint32_t k = static_cast<uint32_t>(before.nodes.size()); k-- > 0;) {
    uint32_t label = label_of(before.nodes[k]);
    if (label == OpLabels::kNone || now.contains(label)) continue;
    auto [reader, place] = readers[k];
    if (reader != OpLabels::kNone && removals_[reader].pass == pass)
      reader = removals_[reader].into;
    std::span<const ValueId> values = after.results;
    if (auto at = now.find(reader); at != now.end()) values = after.args(after.nodes[at->second]);
    else if (readers[k].label != OpLabels::kNone) continue;  // its reader is not known
    if (place < values.size()) removals_[label].into = label_of(after.nodes[values[place].node]);
  }
}

// Places the ops of functions that a plugin declined and that were fused again. They are found by
// the locs of the compiled functions that did not exist before.
void OpTrace::follow_declined(const IRModule& compiled, size_t first_module) {
  struct Homes {
    std::vector<std::pair<Symbol, Symbol>> functions;  // plugin, function
    size_t next = 0;
  };
  std::unordered_set<uint32_t> placed, kept;
  for (const PlacedOp& op : placement_.ops) placed.insert(op.function.id());
  std::unordered_map<uint32_t, Homes> homes;  // by label
  for (size_t k = first_module; k < compiled.external_mods.size(); ++k) {
    const ExternalModule& module = compiled.external_mods[k];
    auto keep = [&](Symbol symbol, const std::vector<std::string>& locs) {
      kept.insert(symbol.id());
      if (placed.contains(symbol.id())) return;
      for (const std::string& loc : locs)
        homes[labels_.find(loc)].functions.push_back({module.plugin, symbol});
    };
    for (const ExternalFunction& function : module.functions) {
      keep(function.symbol, function.locs);
      for (const ExternalAlias& alias : function.aliases) keep(alias.symbol, alias.locs);
    }
  }
  for (PlacedOp& op : placement_.ops) {
    if (kept.contains(op.function.id())) continue;
    op.plugin = op.function = op.composite = {};
    uint32_t label = labels_.find(op.name);
    auto found = label == OpLabels::kNone ? homes.end() : homes.find(label);
    if (found == homes.end()) continue;
    Homes& home = found->second;
    std::tie(op.plugin, op.function) = home.functions[home.next];
    home.next = std::min(home.next + 1, home.functions.size() - 1);
  }
}

}  // namespace byoc::driver
