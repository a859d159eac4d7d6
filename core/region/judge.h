// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asking plugins: which single op or composite a plugin takes, with one cached verdict per distinct
// candidate.
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "byoc/pass/pass.h"
#include "core/region/pattern_states.h"

namespace byoc {

/// A plugin's patterns, parsed; those that do not parse are left out and told to the report.
struct PatternTable {
  struct Row {
    uint32_t index;  // in Plugin::patterns()
    Pattern pattern;
  };
  std::vector<Row> rows;
  /// Rows whose root may be that op, by the priority of their patterns.
  std::unordered_map<std::string, std::vector<uint32_t>> by_root;
  std::unordered_set<std::string> ops;  // every op that some row names, at its root or inside
  bool lists_single_ops = false;        // some pattern can match one op alone
};

/// What one compilation knows of its plugins, for all functions and passes: parsed patterns, and
/// verdicts by (plugin, pattern, canonical candidate), which is op, attributes, types, which
/// operands are constant, the content of constants of at most 64 elements, never names. Plugins are
/// known by their addresses. Not thread-safe.
class JudgeCache {
 public:
  const PatternTable& table(const Plugin& plugin, const PassContext& context);

  /// Where the patterns of all these plugins can match: the rows of their tables one after another,
  /// the first plugin's first.
  PatternStates& states(const std::vector<const Plugin*>& plugins, const PassContext& context);

  std::unordered_map<std::string, Verdict> verdicts;
  std::unordered_map<std::string, uint32_t> bodies;  // function_key of a composite -> a number
  uint64_t pattern_steps = 0;  // parts of patterns that merge_composites tried

 private:
  std::unordered_map<const Plugin*, PatternTable> tables_;
  std::map<std::vector<const Plugin*>, PatternStates> states_;
};

/// "onednn.conv2d_relu": the pattern's name with its plugin in front, once.
std::string composite_name(const Plugin& plugin, const PluginPattern& pattern);

class Judge {
 public:
  Judge(const IRModule& module, const PassContext& context);
  /// Node `node` of `function`, an op or the call of a composite, as a candidate for `pattern`.
  const Verdict& operator()(const Plugin& plugin, uint32_t pattern, const Function& function,
                            uint32_t node);
  /// Whether `plugin` takes that op or composite as one; the reason says why not. Remembers parsed
  /// patterns.
  /// The reference holds until the next question.
  const Verdict& takes(const Plugin& plugin, const Function& function, const UseCounts& uses,
                       uint32_t node);
  /// False when the last answer of takes() was found in the plugin's patterns alone.
  bool has_called_plugin() const { return has_called_plugin_; }
  /// A plugin's answer about one op of a composite of another plugin.
  struct InnerVerdict {
    Symbol op, loc;
    Report::Remark::Kind kind = Report::Remark::kRefused;  // or kNoPattern, kCovered
    std::string reason;
  };
  /// Judges each op of the composite that `node` calls, with the call's constants, as an op outside
  /// of composites.
  std::vector<InnerVerdict> takes_inside(const Plugin& plugin, const Function& function,
                                         uint32_t node);
  /// True for the call of a composite that belongs to another plugin than `plugin`.
  bool is_foreign(const Plugin& plugin, const Node& node) const;
  const PatternTable& table(const Plugin& plugin) { return cache_->table(plugin, context_); }
  JudgeCache& cache() { return *cache_; }

 private:
  const Verdict& takes_op(const Plugin& plugin, const Function& function, const UseCounts& uses,
                          uint32_t node);
  const Verdict& takes_composite(const Plugin& plugin, const Function& function, uint32_t node);
  std::string foreign_reason(const Plugin& plugin, const Function& function, uint32_t node);
  const Verdict& no_pattern_for(const Plugin& plugin, const OpDef& op);
  const Verdict& no(std::string reason);
  void make_key(const Plugin& plugin, uint32_t pattern, const Function& function, uint32_t node);
  uint32_t canonical_body(Symbol composite);

  const IRModule& module_;
  const PassContext& context_;
  std::shared_ptr<JudgeCache> cache_;
  std::map<std::pair<const Plugin*, const OpDef*>, Verdict> no_pattern_;
  std::string key_;  // of the candidate at hand
  std::vector<uint32_t> first_;
  Verdict no_;  // the last answer that was made for one question
  bool has_called_plugin_ = false;
  std::unordered_map<uint32_t, uint32_t> bodies_;  // composite's symbol -> in cache_->bodies
};

/// The name of an op or of the composite a node calls; its locs, the body's for a composite.
std::string op_label(const IRModule& module, const Node& node);
std::vector<Symbol> op_locs(const IRModule& module, const Node& node);
/// The plugin a composite belongs to, "" for any other function.
std::string composite_owner(const Function& function);
/// Ops a node stands for: those of a composite's body, else one.
uint64_t op_count(const IRModule& module, const Node& node);

}  // namespace byoc
