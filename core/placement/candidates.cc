// SPDX-License-Identifier: Apache-2.0
#include "core/placement/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "byoc/base/check.h"
#include "byoc/op/placement_attr.h"
#include "core/region/annotate_function.h"
#include "core/region/annotations.h"
#include "core/region/composites.h"
#include "core/region/match.h"

namespace byoc::placement {
namespace {

constexpr size_t kAlternatives = 4;  // per pattern and root

class Finder {
 public:
  Finder(IRModule& module, Symbol name, const Costs& costs, const PassContext& context)
      : module_(module),
        function_(module.function(name)),
        name_(name),
        costs_(costs),
        context_(context),
        judge_(module, context),
        uses_(function_),
        sample_(at_sample_sizes(function_)) {}

  Result<Candidates> run(const std::vector<std::string>& ids) {
    BYOC_TRY(annotations_, read_annotations(function_, name_));
    BYOC_TRY_STATUS(read_rules());
    for (const std::string& id : ids) BYOC_TRY_STATUS(add_plugin(id));
    out_.first_default = out_.plugins.size();
    for (const std::string& id : context_.defaults) BYOC_TRY_STATUS(add_plugin(id));
    out_.of_node.resize(function_.nodes.size());
    for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
      if (is_open(node)) add_singles(node);
    }
    if (context_.level > 0) add_matches();
    drop_slow();
    return std::move(out_);
  }

 private:
  Status add_plugin(const std::string& id) {
    BYOC_TRY(const Plugin* plugin, context_.plugins->get(id));
    out_.plugins.push_back(plugin);
    out_.place_of.push_back(kHostPlace);
    no_device_.push_back("");
    if (plugin->device_table() == nullptr) return {};
    if (plugin->devices().empty()) {
      const Status& status = plugin->devices_status();
      no_device_.back() = cat("it has no device here", status.ok() ? "" : ": ", status.message());
    } else if (out_.links.size() == kMostDevices) {
      no_device_.back() = cat("the choice by cost has at most ", kMostDevices, " devices");
    } else {
      out_.links.push_back(costs_.machine.link_of(plugin->id(), version_and_build(*plugin),
                                                  plugin->devices()[0].id));
      out_.place_of.back() = static_cast<uint8_t>(out_.links.size());
    }
    return {};
  }
  // Reads the rules of the function, of its ops and of the user; the last of equal ones count.
  Status read_rules() {
    BYOC_TRY(rules_, Rules::parse(function_.attr(kRulesAttribute)));
    BYOC_TRY_STATUS(check_plugins(rules_).at(cat("@", name_)));
    rules_.add(costs_.rules);
    for (const Node& node : function_.nodes) {
      const std::string* text = own_rules_text(node);
      if (text == nullptr || own_rules_.contains(*text)) continue;
      Result<Rules> own = Rules::parse_attribute(*text);
      Status status = own.ok() ? check_plugins(*own) : std::move(own.status());
      if (!status.ok()) return std::move(status).at(cat("@", name_, " ", op_label(module_, node)));
      own->add(rules_);
      own_rules_.emplace(*text, *std::move(own));
    }
    return {};
  }
  Status check_plugins(const Rules& rules) const {
    for (const Rule& rule : rules.all())
      BYOC_TRY_STATUS(context_.plugins->get(rule.plugin).status());
    return {};
  }
  // Returns the rules that a call has in its attribute, null when it has none.
  static const std::string* own_rules_text(const Node& node) {
    auto* call = std::get_if<Call>(&node.kind);
    const AttrValue* value = call != nullptr ? call->attrs->find(kPlacementAttribute) : nullptr;
    return value != nullptr ? std::get_if<std::string>(value) : nullptr;
  }
  const Rules& rules_of(const Node& node) const {
    const std::string* text = own_rules_text(node);
    return text != nullptr ? own_rules_.at(*text) : rules_;
  }
  bool is_open(uint32_t node) const {
    return is_candidate(module_, function_.nodes[node]) && annotations_.region_of[node] == kOutside;
  }
  void refuse(uint32_t node, uint32_t plugin, std::string what, std::string reason) {
    out_.refusals.push_back({node, plugin, std::move(what), std::move(reason)});
  }

  // Returns the reason for which the plugin's device cannot run these ops, "" when there is none.
  std::string without_device(uint32_t plugin, std::span<const uint32_t> nodes) const {
    if (!no_device_[plugin].empty()) return no_device_[plugin];
    if (out_.place_of[plugin] == kHostPlace) return "";
    auto is_sized = [](TypeId type) { return size_bytes(*type).ok(); };
    for (uint32_t node : nodes) {
      const Node& n = function_.nodes[node];
      bool fits = true;
      for (size_t k = 0; k < n.types.size(); ++k) fits &= is_sized(n.types[k]);
      for (ValueId arg : function_.args(n)) fits &= is_sized(function_.type(arg));
      if (!fits) return "the choice by cost gives devices no open sizes";
    }
    return "";
  }

  // Returns the rule that keeps the plugin from these ops, "" when there is none.
  std::string forbidden(const Plugin& plugin, std::span<const uint32_t> nodes) const {
    if (rules_.empty() && own_rules_.empty()) return "";
    for (uint32_t node : nodes) {
      const Node& n = function_.nodes[node];
      const std::string op = op_label(module_, n);
      const std::string& rule = rules_of(n).forbids(plugin.id(), op, n.loc.text(), name_.text());
      if (!rule.empty()) return cat("the rule ", rule);
    }
    return "";
  }

  // The function at the sizes that times are estimated for.
  const Function& sized() const { return sample_ ? *sample_ : function_; }

  void set_cost(Candidate& candidate, std::span<const uint32_t> nodes) {
    BYOC_CHECK(candidate.plugin < out_.plugins.size(), "a plugin that was added");
    const Plugin& plugin = *out_.plugins[candidate.plugin];
    candidate.text = canonical_text(function_, nodes);
    auto [at, is_new] = known_.try_emplace(cat(candidate.plugin, " ", candidate.text));
    if (is_new) {
      const Work work = nodes.size() == 1 ? work_of(module_, sized(), nodes[0])
                                          : work_of(sized(), nodes, candidate.root);
      at->second = costs_.of(plugin, candidate.verdict, work, candidate.text);
    }
    candidate.cost = at->second;
    std::string rule = forbidden(plugin, nodes);
    if (rule.empty()) rule = without_device(candidate.plugin, nodes);
    if (!rule.empty()) {
      candidate.cost = {CandidateCost::kForbiddenByRule, std::numeric_limits<double>::infinity(),
                        std::move(rule)};
    }
  }

  void add(Candidate candidate, std::span<const uint32_t> nodes) {
    BYOC_CHECK(std::ranges::is_sorted(nodes) && nodes.back() == candidate.root,
               "the root of a match is its last node");
    set_cost(candidate, nodes);
    for (uint32_t node : nodes)
      out_.of_node[node].push_back(static_cast<uint32_t>(out_.all.size()));
    out_.all.push_back(std::move(candidate));
  }

  // The first default codegen that takes the op gets it without an annotation. The others
  // are candidates only where a rule forbids the first.
  void add_singles(uint32_t node) {
    bool has_rest = false;
    for (uint32_t p = 0; p < out_.plugins.size(); ++p) {
      const Plugin& plugin = *out_.plugins[p];
      const bool is_default = p >= out_.first_default;
      Verdict verdict = judge_.takes(plugin, function_, uses_, node);
      if (verdict.accept == Verdict::kNo) {
        refuse(node, p, op_label(module_, function_.nodes[node]), verdict.reason);
        continue;
      }
      if (sample_) verdict.est_ns = judge_.takes(plugin, *sample_, uses_, node).est_ns;
      const bool is_rest = is_default && !std::exchange(has_rest, has_rest || is_default);
      add({p, BYOC_NO_PATTERN, node, kNone, is_rest, {}, verdict, {}}, std::span(&node, 1));
      if (is_default && out_.all.back().cost.source != CandidateCost::kForbiddenByRule) return;
    }
  }

  struct Row {
    uint32_t plugin, pattern;
    int32_t priority;
  };
  struct Found {
    const Row* row;
    Match match;
  };

  void add_matches() {
    const std::vector<const Plugin*> plugins(
        out_.plugins.begin(), out_.plugins.begin() + static_cast<ptrdiff_t>(out_.first_default));
    std::vector<Row> rows;  // as PatternStates numbers them
    for (uint32_t p = 0; p < plugins.size(); ++p) {
      for (const PatternTable::Row& row : judge_.table(*plugins[p]).rows)
        rows.push_back({p, row.index, plugins[p]->patterns()[row.index].priority});
    }
    PatternStates& states = judge_.cache().states(plugins, context_);
    PatternSweep sweep(states, function_, uses_);
    std::vector<Found> found;
    for (uint32_t root = 0; root < function_.nodes.size(); ++root) {
      for (uint32_t k : sweep.patterns_at(root)) {
        if (states.pattern(k).max_ops() < 2) continue;
        for (Match& match : sweep.matches(k, root, kAlternatives)) {
          const bool fits =
              match.nodes.size() >= 2 && std::all_of(match.nodes.begin(), match.nodes.end(),
                                                     [&](uint32_t node) { return is_open(node); });
          if (fits) found.push_back({&rows[k], std::move(match)});
        }
      }
    }
    judge_.cache().pattern_steps += sweep.steps();
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      if (a.row->priority != b.row->priority) return a.row->priority > b.row->priority;
      return a.match.nodes.size() > b.match.nodes.size();
    });
    for (Found& one : found) try_match(*one.row, std::move(one.match));
  }

  // Equal matches of a plugin differ in their pattern alone; that of the highest priority counts.
  bool is_new_match(const Row& row, const Match& match) const {
    for (uint32_t index : out_.of_node[match.root]) {
      const Candidate& known = out_.all[index];
      if (known.plugin == row.plugin && known.match != kNone &&
          out_.matches[known.match].nodes == match.nodes)
        return false;
    }
    return std::all_of(match.nodes.begin(), match.nodes.end(),
                       [&](uint32_t node) { return out_.of_node[node].size() < kMostCandidates; });
  }

  void try_match(const Row& row, Match match) {
    if (!is_new_match(row, match)) return;
    const Plugin& plugin = *out_.plugins[row.plugin];
    const std::string composite = composite_name(plugin, plugin.patterns()[row.pattern]);
    Verdict verdict = judge_match(function_, row, match, composite);
    if (verdict.accept == Verdict::kNo) {
      refuse(match.root, row.plugin, composite, verdict.reason);
      return;
    }
    if (sample_) verdict.est_ns = judge_match(*sample_, row, match, composite).est_ns;
    const auto index = static_cast<uint32_t>(out_.matches.size());
    out_.matches.push_back(std::move(match));
    const Match& kept = out_.matches.back();
    const std::vector<uint32_t> nodes = kept.nodes;
    add({row.plugin, row.pattern, kept.root, index, false, {}, verdict, {}}, nodes);
  }

  // Judges a composite without locations, which is in the module for that time only.
  Verdict judge_match(const Function& function, const Row& row, const Match& match,
                      const std::string& composite) {
    const Plugin& plugin = *out_.plugins[row.plugin];
    Function body = composite_body(function, match, composite, plugin.id());
    for (Node& node : body.nodes) node.loc = {};
    CompositePool pool(module_);
    const Symbol name = pool.add(composite, std::move(body));
    const Function call = composite_call(function, match, name);
    Judge judge(module_, context_with_cache());
    const Verdict verdict =
        judge(plugin, row.pattern, call, static_cast<uint32_t>(call.nodes.size() - 1));
    pool.drop_last();
    return verdict;
  }

  bool is_usable(uint32_t index) const { return std::isfinite(out_.all[index].cost.ns); }
  bool is_slow(uint32_t index) const {
    const Candidate& one = out_.all[index];
    return one.verdict.accept == Verdict::kSlow && one.cost.source != CandidateCost::kMeasured;
  }

  // Takes what a plugin calls slow out of the lists of ops that another candidate may run. Measured
  // times are compared as they are.
  void drop_slow() {
    std::vector<uint8_t> has_other(function_.nodes.size(), 0);
    for (uint32_t node = 0; node < has_other.size(); ++node) {
      has_other[node] = std::ranges::any_of(out_.of_node[node], [&](uint32_t index) {
        return is_usable(index) && !is_slow(index) && out_.all[index].match == kNone;
      });
    }
    std::vector<uint8_t> is_dropped(out_.all.size(), 0);
    for (uint32_t index = 0; index < out_.all.size(); ++index) {
      const Candidate& one = out_.all[index];
      const auto nodes = out_.nodes_of(one);
      if (!is_slow(index) || !is_usable(index) ||
          !std::ranges::all_of(nodes, [&](uint32_t node) { return has_other[node] != 0; }))
        continue;
      is_dropped[index] = 1;
      refuse(one.root, one.plugin, label_of(one), cat("slow there: ", one.verdict.reason));
    }
    for (std::vector<uint32_t>& list : out_.of_node)
      std::erase_if(list, [&](uint32_t index) { return is_dropped[index] != 0; });
  }

  std::string label_of(const Candidate& one) const {
    if (one.match == kNone) return op_label(module_, function_.nodes[one.root]);
    const Plugin& plugin = *out_.plugins[one.plugin];
    return composite_name(plugin, plugin.patterns()[one.pattern]);
  }

  const PassContext& context_with_cache() {
    if (!shared_.judge_cache) {
      shared_ = context_;
      shared_.judge_cache = std::shared_ptr<JudgeCache>(&judge_.cache(), [](JudgeCache*) {});
    }
    return shared_;
  }

  IRModule& module_;
  const Function& function_;
  Symbol name_;
  const Costs& costs_;
  const PassContext& context_;
  PassContext shared_;
  Judge judge_;
  UseCounts uses_;
  std::optional<Function> sample_;  // at numbers for open sizes; nullopt: it has none
  Annotations annotations_;
  std::vector<std::string> no_device_;  // per plugin: why its device runs nothing
  Rules rules_;
  std::unordered_map<std::string, Rules> own_rules_;  // by the text of the attribute; with rules_
  Candidates out_;
  std::unordered_map<std::string, CandidateCost> known_;
};

}  // namespace

Result<Candidates> find_candidates(IRModule& module, Symbol name,
                                   const std::vector<std::string>& plugins, const Costs& costs,
                                   const PassContext& context) {
  return Finder(module, name, costs, context).run(plugins);
}

}  // namespace byoc::placement
