// SPDX-License-Identifier: Apache-2.0
// Replaces matches of plugins' patterns by calls of composite functions.
//   before: fn main(%x) {
//             %0 = conv2d(%x, %w)
//             %1 = relu(%0)
//             return %1
//           }
//   after:  fn main(%x) {
//             %0 = @onednn_conv2d_relu_0(%x, %w)
//             return %0
//           }
//           fn onednn_conv2d_relu_0(%i0, %i1) {composite="onednn.conv2d_relu", owner="onednn"} {
//             %0 = conv2d(%i0, %i1)
//             %1 = relu(%0)
//             return %1
//           }
#include <algorithm>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/pass/partition.h"
#include "core/region/annotate_function.h"
#include "core/region/annotations.h"
#include "core/region/composites.h"
#include "core/region/judge.h"
#include "core/region/match.h"

namespace byoc {
namespace {

constexpr size_t kAlternatives = 4;  // per pattern and root

struct Candidate {
  uint32_t plugin;  // index in the list
  int32_t priority;
  uint32_t place;  // index of the pattern in the table
  Match match;
};

// Compares plugin, priority, size, later root and index in the table, in this order
// (docs/patterns.md, "Which match wins").
bool wins(const Candidate& a, const Candidate& b) {
  if (a.plugin != b.plugin) return a.plugin < b.plugin;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.match.nodes.size() != b.match.nodes.size())
    return a.match.nodes.size() > b.match.nodes.size();
  if (a.match.root != b.match.root) return a.match.root > b.match.root;
  return a.place < b.place;
}

class CompositeMerger {
 public:
  CompositeMerger(IRModule& module, CompositePool& pool, const PassContext& context, Judge& judge,
                  const Function& function, Symbol name)
      : module_(module),
        pool_(pool),
        context_(context),
        judge_(judge),
        function_(function),
        name_(name),
        uses_(function) {}
  Result<Function> run(const std::vector<const Plugin*>& plugins);

 private:
  void find_candidates(const std::vector<const Plugin*>& plugins);
  bool competes_alone(const std::vector<const Plugin*>& plugins, uint32_t plugin, int32_t priority);
  bool fits(const Match& match, const Plugin& plugin) const;
  void try_form(const Candidate& candidate, const Plugin& plugin);
  bool accepts(const Candidate& candidate, const Plugin& plugin, Symbol composite);

  IRModule& module_;
  CompositePool& pool_;
  const PassContext& context_;
  Judge& judge_;
  const Function& function_;
  Symbol name_;
  UseCounts uses_;
  Annotations annotations_;
  std::vector<Candidate> candidates_;
  std::unordered_map<uint32_t, FormedComposite> formed_;  // by root
  std::vector<uint8_t> taken_, won_alone_;                // per node
};

// Returns whether a match of one op can take an op from a composite that comes later in the order.
// Such a match makes no composite, but no other pattern gets an op that it wins.
bool CompositeMerger::competes_alone(const std::vector<const Plugin*>& plugins, uint32_t plugin,
                                     int32_t priority) {
  for (uint32_t later = plugin; later < plugins.size(); ++later) {
    for (const PatternTable::Row& row : judge_.table(*plugins[later]).rows) {
      bool comes_later =
          later > plugin || plugins[later]->patterns()[row.index].priority < priority;
      if (row.pattern.max_ops() >= 2 && comes_later) return true;
    }
  }
  return false;
}

// Returns whether all ops of a match are in one region, and that region is the plugin's or outside.
bool CompositeMerger::fits(const Match& match, const Plugin& plugin) const {
  uint32_t region = annotations_.region_of[match.root];
  for (uint32_t node : match.nodes) {
    if (annotations_.region_of[node] != region) return false;
  }
  return region == kOutside || annotations_.regions[region].compiler.text() == plugin.id();
}

void CompositeMerger::find_candidates(const std::vector<const Plugin*>& plugins) {
  struct Row {
    uint32_t plugin, place;
    int32_t priority;
    bool competes;
  };
  std::vector<Row> rows;  // as PatternStates numbers them
  for (uint32_t p = 0; p < plugins.size(); ++p) {
    for (const PatternTable::Row& row : judge_.table(*plugins[p]).rows) {
      int32_t priority = plugins[p]->patterns()[row.index].priority;
      rows.push_back({p, row.index, priority, competes_alone(plugins, p, priority)});
    }
  }
  PatternStates& states = judge_.cache().states(plugins, context_);
  PatternSweep sweep(states, function_, uses_);
  for (uint32_t root = 0; root < function_.nodes.size(); ++root) {
    for (uint32_t k : sweep.patterns_at(root)) {
      BYOC_CHECK(k < rows.size(), "pattern ", k, " of ", rows.size());
      const Row& row = rows[k];
      const Pattern& pattern = states.pattern(k);
      bool alone = pattern.min_ops() == 1 && row.competes;
      if (pattern.max_ops() < 2 && !alone) continue;
      for (Match& match : sweep.matches(k, root, kAlternatives)) {
        if ((match.nodes.size() < 2 && !alone) || !fits(match, *plugins[row.plugin])) continue;
        candidates_.push_back({row.plugin, row.priority, row.place, std::move(match)});
      }
    }
  }
  judge_.cache().pattern_steps += sweep.steps();
  std::stable_sort(candidates_.begin(), candidates_.end(), wins);
}

bool CompositeMerger::accepts(const Candidate& candidate, const Plugin& plugin, Symbol composite) {
  const Function call = composite_call(function_, candidate.match, composite);
  BYOC_CHECK(!call.nodes.empty(), "a call of composite ", composite, " has a node");
  const auto node = static_cast<uint32_t>(call.nodes.size() - 1);
  const Verdict& verdict = judge_(plugin, candidate.place, call, node);
  if (verdict.accept == Verdict::kYes) return true;
  // Its ops become candidates by themselves, so that another plugin gets those that are slow.
  bool no = verdict.accept == Verdict::kNo || avoids_slow_kernels(function_, context_);
  std::vector<Symbol> locs;
  for (uint32_t op : candidate.match.nodes) {
    if (!function_.nodes[op].loc.empty()) locs.push_back(function_.nodes[op].loc);
  }
  context_.remark({no ? Report::Remark::kRefused : Report::Remark::kSlow, plugin.id(),
                   composite_name(plugin, plugin.patterns()[candidate.place]), std::move(locs),
                   verdict.reason});
  return !no;
}

void CompositeMerger::try_form(const Candidate& candidate, const Plugin& plugin) {
  for (uint32_t node : candidate.match.nodes) {
    if (taken_[node]) return;
  }
  if (candidate.match.nodes.size() == 1) {  // annotate_target gets the same verdict from the cache
    const auto accept = judge_(plugin, candidate.place, function_, candidate.match.root).accept;
    won_alone_[candidate.match.root] = taken_[candidate.match.root] =
        accept == Verdict::kYes ||
        (accept == Verdict::kSlow && !avoids_slow_kernels(function_, context_));
    return;
  }
  std::string composite = composite_name(plugin, plugin.patterns()[candidate.place]);
  Symbol name =
      pool_.add(composite, composite_body(function_, candidate.match, composite, plugin.id()));
  if (!accepts(candidate, plugin, name)) {
    if (pool_.is_last_new()) pool_.drop_last();
    return;
  }
  for (uint32_t node : candidate.match.nodes) taken_[node] = 1;
  formed_[candidate.match.root] = {name, candidate.match.inputs};
}

Result<Function> CompositeMerger::run(const std::vector<const Plugin*>& plugins) {
  BYOC_TRY(annotations_, read_annotations(function_, name_));
  taken_.assign(function_.nodes.size(), 0);
  won_alone_.assign(function_.nodes.size(), 0);
  find_candidates(plugins);
  for (const Candidate& candidate : candidates_) try_form(candidate, *plugins[candidate.plugin]);
  std::vector<uint8_t> is_dropped(function_.nodes.size());
  for (size_t node = 0; node < is_dropped.size(); ++node)
    is_dropped[node] = taken_[node] && !won_alone_[node];
  return with_composites(function_, formed_, is_dropped);
}

}  // namespace

Result<IRModule> merge_composites(IRModule module, const std::vector<std::string>& plugins,
                                  const PassContext& context) {
  if (context.level == 0) return module;  // -O0: no composites of more than one op
  BYOC_TRY(std::vector<Symbol> order, callees_first(module, module.entry));
  CompositePool pool(module);
  for (Symbol name : order) {
    Function function = module.function(name);
    if (function.attrs.has("composite") || function.attrs.has("primitive")) continue;
    BYOC_TRY(std::vector<const Plugin*> chosen, plugins_for(function, plugins, context));
    if (chosen.empty()) continue;
    Judge judge(module, context);
    BYOC_TRY(Function merged,
             CompositeMerger(module, pool, context, judge, function, name).run(chosen));
    module.functions[name] = std::move(merged);
  }
  return module;
}

}  // namespace byoc
