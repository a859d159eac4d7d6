// SPDX-License-Identifier: Apache-2.0
// Joins open regions and closes them (docs/partitioning.md, "How regions are found").
//   before: %0 = compiler_begin(%x) {compiler="onednn", open=true, region=0}
//           %1 = conv2d(%0, %w)
//           %2 = compiler_end(%1) {compiler="onednn", open=true, region=0}
//           %3 = compiler_begin(%2) {compiler="onednn", open=true, region=1}
//           %4 = relu(%3)
//           %5 = compiler_end(%4) {compiler="onednn", open=true, region=1}
//   after:  %0 = compiler_begin(%x) {compiler="onednn", region=0}
//           %1 = conv2d(%0, %w)
//           %2 = relu(%1)
//           %3 = compiler_end(%2) {compiler="onednn", region=0}
// The weights %w are a constant.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/pass/partition.h"
#include "core/partition/convex/waves.h"
#include "core/partition/partition_metrics.h"
#include "core/region/judge.h"
#include "core/region/quotient.h"
#include "core/region/rewrite_annotations.h"

namespace byoc {
namespace {

constexpr uint32_t kHost = 0;  // color of ops that no plugin takes

using RegionFinder = std::vector<uint32_t> (*)(const RegionGraph&, const RegionOptions&);

class RegionMerger {
 public:
  RegionMerger(const IRModule& module, const PassContext& context, const Function& function,
               Symbol name)
      : module_(module), context_(context), function_(function), name_(name) {}
  Result<Function> run();
  /// Returns the regions that `find` makes of the annotated ops. Errors: those of the annotations.
  Result<Annotations> merged(RegionFinder find);

 private:
  uint32_t color_of(Symbol compiler);
  void add_item(uint32_t item);
  void add_edges(uint32_t item);
  uint32_t tensor_of(ValueId value);
  Annotations renumber(const std::vector<uint32_t>& region_of_item) const;
  bool is_alone(uint32_t item) const;

  const IRModule& module_;
  const PassContext& context_;
  const Function& function_;
  Symbol name_;
  Annotations annotations_;
  Quotient quotient_;
  RegionGraph graph_;
  RegionOptions options_;
  std::map<Symbol, uint32_t> colors_;
  std::vector<uint32_t> first_tensor_;  // per node
};

uint32_t RegionMerger::color_of(Symbol compiler) {
  auto [at, is_new] = colors_.try_emplace(compiler, static_cast<uint32_t>(options_.colors.size()));
  if (is_new) {
    ColorLimits limits;
    limits.max_ops = 4096;  // the ABI's default, also for a plugin that is absent
    const Plugin* plugin = context_.plugins ? context_.plugins->find(compiler.str()) : nullptr;
    if (plugin != nullptr) {
      limits.max_ops = plugin->max_ops();
      if (plugin->max_bytes() > 0) limits.max_bytes = plugin->max_bytes();
      limits.horizontal = plugin->is_horizontal();
    }
    limits.joins = context_.level > 0;
    options_.colors.push_back(limits);
  }
  return at->second;
}

// Returns true for items that are never joined: a region written by hand or merged before, a call
// of a compiled function, an extern, and control flow.
bool RegionMerger::is_alone(uint32_t item) const {
  if (quotient_.region[item] != kOutside) return true;
  const Node& node = function_.nodes[quotient_.member[quotient_.first_member[item]]];
  if (std::holds_alternative<Extern>(node.kind) || std::holds_alternative<Control>(node.kind))
    return true;
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module_.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("compiler");
}

void RegionMerger::add_item(uint32_t item) {
  uint32_t first = quotient_.member[quotient_.first_member[item]];
  uint32_t region = annotations_.region_of[first];
  graph_.color.push_back(region == kOutside ? kHost
                                            : color_of(annotations_.regions[region].compiler));
  graph_.alone.push_back(is_alone(item));
  uint64_t ops = 0, bytes = 0;
  for (uint32_t k = quotient_.first_member[item]; k < quotient_.first_member[item + 1]; ++k) {
    ops += op_count(module_, function_.nodes[quotient_.member[k]]);
    bytes += byte_count(function_, quotient_.member[k]);
  }
  graph_.ops.push_back(ops);
  graph_.bytes.push_back(bytes);
}

// Returns the number of a value. Numbers are dense, and those of one node are consecutive.
uint32_t RegionMerger::tensor_of(ValueId value) {
  if (first_tensor_.empty()) {
    first_tensor_.push_back(0);
    for (const Node& node : function_.nodes)
      first_tensor_.push_back(first_tensor_.back() + static_cast<uint32_t>(node.types.size()));
  }
  BYOC_CHECK(value.node + 1 < first_tensor_.size(), "node ", value.node, " of ",
             first_tensor_.size() - 1);
  return first_tensor_[value.node] + value.output;
}

void RegionMerger::add_edges(uint32_t item) {
  for (uint32_t k = quotient_.first_member[item]; k < quotient_.first_member[item + 1]; ++k) {
    for (ValueId arg : function_.args(function_.nodes[quotient_.member[k]])) {
      ValueId value = through_annotations(function_, arg);
      uint32_t from = quotient_.item_of[value.node];
      if (from == kNoItem || from == item) continue;
      graph_.source.push_back(from);
      graph_.weight.push_back(static_cast<int64_t>(byte_size(*function_.type(value))));
      graph_.tensor.push_back(tensor_of(value));
    }
  }
  graph_.first.push_back(static_cast<uint32_t>(graph_.source.size()));
}

// Numbers regions in order of their first op, so that a second run changes nothing.
Annotations RegionMerger::renumber(const std::vector<uint32_t>& region_of_item) const {
  Annotations out;
  out.region_of.assign(function_.nodes.size(), kOutside);
  BYOC_CHECK(region_of_item.size() == quotient_.size(), region_of_item.size(), " of ",
             quotient_.size(), " items have a region");
  std::vector<uint32_t> index(graph_.size(), kOutside);
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    uint32_t old = annotations_.region_of[node];
    if (old == kOutside) continue;
    uint32_t& now = index[region_of_item[quotient_.item_of[node]]];
    if (now == kOutside) {
      now = static_cast<uint32_t>(out.regions.size());
      out.regions.push_back({static_cast<int64_t>(now), annotations_.regions[old].compiler, false});
    }
    out.region_of[node] = now;
  }
  return out;
}

Result<Annotations> RegionMerger::merged(RegionFinder find) {
  BYOC_TRY(annotations_, read_annotations(function_, name_));
  if (annotations_.is_empty()) return annotations_;
  BYOC_TRY(quotient_, contract_regions(function_, annotations_, false, name_));
  options_.colors.push_back({.joins = false, .is_rest = true});               // kHost
  for (const std::string& compiler : context_.compilers) color_of(compiler);  // by priority
  graph_.first.push_back(0);
  for (uint32_t item = 0; item < quotient_.size(); ++item) add_item(item);
  for (uint32_t item = 0; item < quotient_.size(); ++item) add_edges(item);
  BYOC_CHECK(graph_.size() == quotient_.size() && graph_.first.size() == graph_.size() + 1,
             graph_.size(), " nodes of ", quotient_.size(), " items");
  return renumber(find(graph_, options_));
}

Result<Function> RegionMerger::run() {
  BYOC_TRY(Annotations regions, merged(find_regions));
  if (regions.is_empty()) return function_;
  return rewrite_annotations(function_, regions, *context_.ops);
}

}  // namespace

Result<PartitionMetrics> measure_waves(const IRModule& annotated, const PassContext& context,
                                       WaveRegions regions) {
  RegionFinder find = regions == WaveRegions::kConnected ? find_wave_regions : find_whole_waves;
  PartitionMetrics count;
  for (const auto& [name, function] : annotated.functions) {
    BYOC_TRY(Annotations regions, RegionMerger(annotated, context, function, name).merged(find));
    count += measure_partition(annotated, function, regions);
  }
  return count;
}

Result<IRModule> merge_compiler_regions(IRModule module, const PassContext& context) {
  std::map<Symbol, Function> merged;
  for (const auto& [name, function] : module.functions) {
    BYOC_TRY(merged[name], RegionMerger(module, context, function, name).run());
  }
  module.functions = std::move(merged);
  return module;
}

}  // namespace byoc
