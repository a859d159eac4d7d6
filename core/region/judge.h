// SPDX-License-Identifier: Apache-2.0
#pragma once
// Judges which single ops and composites a plugin takes; caches a verdict per distinct candidate.
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "byoc/pass/pass.h"
#include "core/region/pattern_states.h"

namespace byoc {

/// A plugin's parsed patterns. Patterns that do not parse are left out; the report has a remark. A
/// plugin whose patterns are all left out takes nothing: it is none without patterns.
struct PatternTable {
  struct Row {
    uint32_t index;  // in Plugin::patterns()
    Pattern pattern;
  };
  std::vector<Row> rows;
  /// Rows whose root may be that op, by the priority of their patterns.
  std::unordered_map<std::string, std::vector<uint32_t>> by_root;
  std::unordered_set<std::string> ops;  // every op that some row names, at its root or inside
};

/// Parsed patterns and verdicts of the plugins of one compilation, shared by its functions and
/// passes. The key of a verdict is plugin, pattern and canonical candidate. A canonical candidate
/// is made of op, attributes, types, which operands are constant, and the content of constants of
/// at most 64 elements; it has no names. Plugins are identified by their addresses.
/// Not thread-safe.
class JudgeCache {
 public:
  const PatternTable& table(const Plugin& plugin, const PassContext& context);

  /// Returns the automaton over the patterns of all these plugins. Patterns are numbered through
  /// the rows of the plugins' tables, in the order of `plugins`.
  PatternStates& states(const std::vector<const Plugin*>& plugins, const PassContext& context);

  std::unordered_map<std::string, Verdict> verdicts;
  std::unordered_map<std::string, uint32_t> bodies;  // function_key of a composite -> a number
  uint64_t pattern_steps = 0;  // parts of patterns that merge_composites tried

 private:
  std::unordered_map<const Plugin*, PatternTable> tables_;
  std::map<std::vector<const Plugin*>, PatternStates> states_;
};

/// Returns the pattern's name with exactly one prefix of its plugin: "onednn.conv2d_relu".
std::string composite_name(const Plugin& plugin, const PluginPattern& pattern);

class Judge {
 public:
  Judge(const IRModule& module, const PassContext& context);
  /// Judges node `node` of `function` as a candidate for `pattern`. The node is an op or the call
  /// of a composite.
  const Verdict& operator()(const Plugin& plugin, uint32_t pattern, const Function& function,
                            uint32_t node);
  /// Returns whether `plugin` takes that op or composite as one, with the reason when it does not.
  /// Parsed patterns are cached. The reference is valid until the next call.
  const Verdict& takes(const Plugin& plugin, const Function& function, const UseCounts& uses,
                       uint32_t node);
  /// Returns false when the last verdict of takes() followed from the plugin's patterns alone.
  bool has_called_plugin() const { return has_called_plugin_; }
  /// A plugin's answer about one op of a composite of another plugin.
  struct InnerVerdict {
    Symbol op, loc;
    Report::Remark::Kind kind = Report::Remark::kRefused;  // or kNoPattern, kCovered
    std::string reason;
  };
  /// Judges each op of the composite that `node` calls, with the call's constants, as if it were
  /// outside composites.
  std::vector<InnerVerdict> takes_inside(const Plugin& plugin, const Function& function,
                                         uint32_t node);
  /// Returns true for the call of a composite that belongs to another plugin than `plugin`.
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
  Verdict no_;  // the last verdict that is not in the cache
  bool has_called_plugin_ = false;
  std::unordered_map<uint32_t, uint32_t> bodies_;  // composite's symbol -> in cache_->bodies
};

/// Return the name of an op or of the composite that a node calls, and its locs; a composite has
/// the locs of its body.
std::string op_label(const IRModule& module, const Node& node);
std::vector<Symbol> op_locs(const IRModule& module, const Node& node);
/// Returns the plugin that a composite belongs to, "" for any other function.
std::string composite_owner(const Function& function);
/// Returns the number of ops that a node represents: those of a composite's body, otherwise one.
uint64_t op_count(const IRModule& module, const Node& node);
/// Returns the size of a value in bytes; 1 when it is not static.
uint64_t byte_size(const TensorType& type);
/// Returns the bytes of a node that count against byoc_plugin::max_bytes: its results, and the
/// constants that it reads.
uint64_t byte_count(const Function& function, uint32_t node);

}  // namespace byoc
