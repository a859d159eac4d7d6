// SPDX-License-Identifier: Apache-2.0
#include "core/region/judge.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/extend/hooks.h"
#include "byoc/ir/visit.h"
#include "byoc/op/added.h"
#include "byoc/text/graph_json.h"
#include "core/region/composites.h"
#include "core/region/function_key.h"
#include "core/region/match.h"

namespace byoc {
namespace {

constexpr int64_t kInlineElements = 64;
// Sets `out[k]` to the index of the first operand that is the same value as operand k. Linear for
// many operands; allocates nothing for few.
void first_places(std::span<const ValueId> args, std::vector<uint32_t>& out) {
  out.resize(args.size());
  if (args.size() <= 8) {
    for (size_t k = 0; k < args.size(); ++k)
      out[k] = static_cast<uint32_t>(std::find(args.begin(), args.end(), args[k]) - args.begin());
    return;
  }
  std::iota(out.begin(), out.end(), 0);
  std::ranges::stable_sort(out, {}, [&](uint32_t k) { return args[k]; });
  std::vector<uint32_t> sorted = out;
  for (size_t k = 0; k < sorted.size(); ++k) {
    bool again = k > 0 && args[sorted[k]] == args[sorted[k - 1]];
    out[sorted[k]] = again ? out[sorted[k - 1]] : sorted[k];
  }
}

// Returns a function with this node alone. Constant operands stay constants; each other distinct
// operand becomes a parameter.
Function candidate(const Function& function, uint32_t node) {
  Function out;
  const Node& n = function.nodes[node];
  std::span<const ValueId> args = function.args(n);
  std::vector<ValueId> mapped(args.size());
  std::vector<uint32_t> first_place;
  first_places(args, first_place);
  auto is_constant = [&](ValueId v) {
    return std::holds_alternative<Constant>(function.nodes[v.node].kind);
  };
  for (bool constants : {false, true}) {
    for (size_t k = 0; k < args.size(); ++k) {
      if (is_constant(args[k]) != constants) continue;
      if (first_place[k] < k) mapped[k] = mapped[first_place[k]];
      else if (constants)
        mapped[k] = {out.add_constant(std::get<Constant>(function.nodes[args[k].node].kind).data,
                                      function.type(args[k])),
                     0};
      else mapped[k] = {out.add_param(cat("x", k), function.type(args[k])), 0};
    }
  }
  Node copy = n;
  copy.loc = {};
  uint32_t now = out.add_copy(copy, mapped);
  for (uint32_t k = 0; k < n.types.size(); ++k) out.results.push_back({now, k});
  return out;
}

void append_number(std::string& key, uint64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void collect_ops(const PatternNode& pattern, std::unordered_set<std::string>& out) {
  auto all = [&](const std::vector<PatternNode>& parts) {
    for (const PatternNode& part : parts) collect_ops(part, out);
  };
  std::visit(overloaded{
                 [](const PatternNode::Any&) {},
                 [&](const PatternNode::Op& op) {
                   out.insert(op.op);
                   all(op.args);
                 },
                 [](const PatternNode::Const&) {},
                 [](const PatternNode::Dollar&) {},
                 [&](const PatternNode::OneOf& one_of) { all(one_of.choices); },
                 [&](const PatternNode::Optional& optional) { all(optional.parts); },
                 [&](const PatternNode::Repeat& repeat) { all(repeat.parts); },
                 [](const PatternNode::Same&) {},
             },
             pattern.kind);
}

// Returns the body of the composite that `node` calls, with constants for the operands that are
// constant in the call and parameters for the others. Locs are kept.
Function opened_composite(const Function& function, uint32_t node, const Function& body) {
  Function out;
  std::span<const ValueId> args = function.args(function.nodes[node]);
  std::vector<uint32_t> now(body.nodes.size());
  for (bool constants : {false, true}) {
    for (size_t k = 0; k < args.size(); ++k) {
      auto* constant = std::get_if<Constant>(&function.nodes[args[k].node].kind);
      if ((constant != nullptr) != constants) continue;
      TypeId type = function.type(args[k]);
      now[k] =
          constants ? out.add_constant(constant->data, type) : out.add_param(cat("x", k), type);
    }
  }
  std::vector<ValueId> mapped;
  for (size_t k = args.size(); k < body.nodes.size(); ++k) {
    mapped.clear();
    for (ValueId arg : body.args(body.nodes[k])) mapped.push_back({now[arg.node], arg.output});
    now[k] = out.add_copy(body.nodes[k], mapped);
  }
  for (ValueId result : body.results) out.results.push_back({now[result.node], result.output});
  return out;
}

}  // namespace

std::string composite_name(const Plugin& plugin, const PluginPattern& pattern) {
  std::string prefix = plugin.id() + ".";
  return pattern.name.starts_with(prefix) ? pattern.name : prefix + pattern.name;
}

namespace {

PatternTable parse_patterns(const Plugin& plugin, const PassContext& context) {
  PatternTable table;
  for (const LeftOutPattern& one : left_out_patterns(plugin))
    context.remark({Report::Remark::kNote, plugin.id(), one.name, {}, left_out_text(plugin, one)});
  for (uint32_t k = 0; k < plugin.patterns().size(); ++k) {
    const PluginPattern& row = plugin.patterns()[k];
    Result<Pattern> pattern = Pattern::parse(row.dag_json);
    if (!pattern.ok()) continue;
    collect_ops(pattern->tree().root, table.ops);
    for (const std::string& op : pattern->root_ops()) {
      table.by_root[op].push_back(static_cast<uint32_t>(table.rows.size()));
    }
    table.rows.push_back({k, *std::move(pattern)});
  }
  for (auto& [op, rows] : table.by_root) {
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      return plugin.patterns()[table.rows[a].index].priority >
             plugin.patterns()[table.rows[b].index].priority;
    });
  }
  return table;
}

}  // namespace

const PatternTable& JudgeCache::table(const Plugin& plugin, const PassContext& context) {
  auto [at, is_new] = tables_.try_emplace(&plugin);
  if (is_new) at->second = parse_patterns(plugin, context);
  return at->second;
}

PatternStates& JudgeCache::states(const std::vector<const Plugin*>& plugins,
                                  const PassContext& context) {
  auto known = states_.find(plugins);
  if (known != states_.end()) return known->second;
  std::vector<Pattern> patterns;
  for (const Plugin* plugin : plugins) {
    for (const PatternTable::Row& row : table(*plugin, context).rows)
      patterns.push_back(row.pattern);
  }
  return states_.try_emplace(plugins, std::move(patterns)).first->second;
}

std::string composite_owner(const Function& function) {
  return function.attrs.has("composite") ? function.attr("owner") : "";
}

std::string op_label(const IRModule& module, const Node& node) {
  if (auto* call = std::get_if<Call>(&node.kind)) return call->op->name;
  auto* invoke = std::get_if<Invoke>(&node.kind);
  if (invoke == nullptr) return "";
  const Function* callee = module.find(invoke->function);
  return callee && callee->attrs.has("composite") ? callee->attr("composite")
                                                  : cat("@", invoke->function);
}

std::vector<Symbol> op_locs(const IRModule& module, const Node& node) {
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  std::vector<Symbol> out;
  if (callee != nullptr) {
    for (const Node& inner : callee->nodes) {
      if (std::holds_alternative<Call>(inner.kind) && !inner.loc.empty()) out.push_back(inner.loc);
    }
  }
  if (out.empty() && !node.loc.empty()) out.push_back(node.loc);
  return out;
}

uint64_t op_count(const IRModule& module, const Node& node) {
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  if (callee == nullptr || !callee->attrs.has("composite")) return 1;
  return static_cast<uint64_t>(
      std::count_if(callee->nodes.begin(), callee->nodes.end(),
                    [](const Node& inner) { return std::holds_alternative<Call>(inner.kind); }));
}

uint64_t byte_size(const TensorType& type) {
  Result<int64_t> bytes = size_bytes(type);
  return bytes.ok() ? static_cast<uint64_t>(*bytes) : 1;
}

uint64_t byte_count(const Function& function, uint32_t node) {
  uint64_t bytes = 0;
  for (size_t t = 0; t < function.nodes[node].types.size(); ++t)
    bytes += byte_size(*function.nodes[node].types[t]);
  for (ValueId arg : function.args(function.nodes[node])) {
    if (std::holds_alternative<Constant>(function.nodes[arg.node].kind))
      bytes += byte_size(*function.type(arg));
  }
  return bytes;
}

Judge::Judge(const IRModule& module, const PassContext& context)
    : module_(module),
      context_(context),
      cache_(context.judge_cache ? context.judge_cache : std::make_shared<JudgeCache>()) {}

// Returns one number for all composites with equal bodies: locs are ignored, so equal bodies share
// one verdict.
uint32_t Judge::canonical_body(Symbol composite) {
  auto [at, is_new] = bodies_.try_emplace(composite.id());
  if (is_new) {
    std::string key = function_key(module_.function(composite), Locs::kIgnored);
    uint32_t next = static_cast<uint32_t>(cache_->bodies.size());
    at->second = cache_->bodies.try_emplace(std::move(key), next).first->second;
  }
  return at->second;
}

void Judge::make_key(const Plugin& plugin, uint32_t pattern, const Function& function,
                     uint32_t node) {
  const Node& n = function.nodes[node];
  std::string& key = key_;
  key.clear();
  append_number(
      key,
      reinterpret_cast<uintptr_t>(&plugin));  // lives as long as the context, as the cache does
  append_number(key, pattern);
  if (auto* call = std::get_if<Call>(&n.kind)) {
    append_number(key, reinterpret_cast<uintptr_t>(call->op));
    append_number(key, reinterpret_cast<uintptr_t>(call->attrs));
  } else {
    append_number(key, uint64_t{1} << 40 | canonical_body(std::get<Invoke>(n.kind).function));
  }
  std::span<const ValueId> args = function.args(n);
  first_places(args, first_);
  for (size_t k = 0; k < args.size(); ++k) {
    append_number(key, uint64_t{first_[k]} << 32 | function.type(args[k]).id());
    auto* constant = std::get_if<Constant>(&function.nodes[args[k].node].kind);
    if (constant == nullptr) continue;
    Result<int64_t> elements = num_elements(function.type(args[k])->shape);
    bool small = elements.ok() && *elements <= kInlineElements;
    key += small ? 's' : 'c';
    if (small) key.append(reinterpret_cast<const char*>(constant->data->key().bytes.data()), 16);
  }
  for (size_t k = 0; k < n.types.size(); ++k) append_number(key, n.types[k].id());
}

namespace {

bool is_added_op(const Node& node) {
  const auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && is_added(*call->op);
}

// Lets the judge of a library refuse what the plugin accepts.
void refuse_by_library(const Plugin& plugin, const Function& function, uint32_t node,
                       Verdict& verdict) {
  const auto& own = extend::hooks().region_judge;
  if (!own || verdict.accept == Verdict::kNo) return;
  std::string reason = own(plugin.id(), candidate(function, node));
  if (reason.empty()) return;
  verdict = {};
  verdict.reason = std::move(reason);
}

}  // namespace

const Verdict& Judge::operator()(const Plugin& plugin, uint32_t pattern, const Function& function,
                                 uint32_t node) {
  // A program with the op itself would need the library when it runs.
  if (plugin.id() == "json" && is_added_op(function.nodes[node]) &&
      context_.option("added_ops") != "reference")
    return no("it runs ops of libraries as loops only, which their `compute` gives");
  if (!plugin.takes_counted() && has_counted_values(module_, function, node))
    return no("it takes no values whose sizes are counted at run time");
  if (!plugin.takes_open_sizes() && has_open_values(module_, function, node))
    return no("it takes no values of open sizes: give it numbers, as in --shape N=16");
  has_called_plugin_ = true;
  if (context_.report) ++context_.report->judge_calls;
  make_key(plugin, pattern, function, node);
  auto [at, is_new] = cache_->verdicts.try_emplace(key_);
  Verdict& verdict = at->second;
  if (!is_new) return verdict;
  if (context_.report) ++context_.report->judge_distinct;
  if (!plugin.has_judge()) {
    verdict.accept = Verdict::kYes;
    refuse_by_library(plugin, function, node, verdict);
    return verdict;
  }
  std::string json;
  write_graph_json(module_, candidate(function, node), "candidate", json);
  Result<Verdict> answer = plugin.judge(pattern, json, context_.machine.get());
  if (answer.ok()) verdict = *std::move(answer);
  else verdict.reason = cat("judge failed: ", answer.status().message());
  refuse_by_library(plugin, function, node, verdict);
  return verdict;
}

const Verdict& Judge::takes(const Plugin& plugin, const Function& function, const UseCounts& uses,
                            uint32_t node) {
  const Node& n = function.nodes[node];
  has_called_plugin_ = false;
  return std::holds_alternative<Invoke>(n.kind) ? takes_composite(plugin, function, node)
                                                : takes_op(plugin, function, uses, node);
}

const Verdict& Judge::no(std::string reason) {
  no_ = Verdict();
  no_.reason = std::move(reason);
  return no_;
}

const Verdict& Judge::no_pattern_for(const Plugin& plugin, const OpDef& op) {
  auto [at, is_new] = no_pattern_.try_emplace({&plugin, &op});
  if (is_new && table(plugin).ops.contains(op.name)) {
    at->second.reason = cat("its patterns have ", op.name,
                            " only inside larger matches, and the op is in none of those");
  } else if (is_new) {
    const bool lacks_some = table(plugin).rows.size() < plugin.patterns().size();
    at->second.reason =
        cat("it has no pattern for ", op.name, lacks_some ? " among those that can be read" : "");
  }
  return at->second;
}

bool Judge::is_foreign(const Plugin& plugin, const Node& node) const {
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module_.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("composite") &&
         composite_owner(*callee) != plugin.id();
}

std::vector<Judge::InnerVerdict> Judge::takes_inside(const Plugin& plugin, const Function& function,
                                                     uint32_t node) {
  const Function& body = module_.function(std::get<Invoke>(function.nodes[node].kind).function);
  Function opened = opened_composite(function, node, body);
  UseCounts uses(opened);
  std::vector<InnerVerdict> out;
  for (uint32_t k = 0; k < opened.nodes.size(); ++k) {
    auto* call = std::get_if<Call>(&opened.nodes[k].kind);
    if (call == nullptr) continue;
    const Verdict& verdict = takes(plugin, opened, uses, k);
    InnerVerdict& inner = out.emplace_back();
    inner.op = call->op->name;
    inner.loc = opened.nodes[k].loc;
    inner.reason = verdict.reason;
    if (verdict.accept == Verdict::kNo) {
      inner.kind = has_called_plugin_ ? Report::Remark::kRefused : Report::Remark::kNoPattern;
      continue;
    }
    inner.kind = Report::Remark::kCovered;
    inner.reason = cat("it takes ", call->op->name, " alone, but the op is inside the composite ",
                       body.attr("composite"), ", and composites are formed before");
  }
  return out;
}

// Returns the reason of the first refusal among the ops of the composite.
std::string Judge::foreign_reason(const Plugin& plugin, const Function& function, uint32_t node) {
  std::vector<InnerVerdict> inner = takes_inside(plugin, function, node);
  for (const InnerVerdict& op : inner) {
    if (op.kind != Report::Remark::kCovered) return cat(op.op, ": ", op.reason);
  }
  return inner.empty() ? "it contains no op" : inner[0].reason;
}

const Verdict& Judge::takes_composite(const Plugin& plugin, const Function& function,
                                      uint32_t node) {
  const Function& body = module_.function(std::get<Invoke>(function.nodes[node].kind).function);
  if (composite_owner(body) != plugin.id()) return no(foreign_reason(plugin, function, node));
  for (uint32_t k = 0; k < plugin.patterns().size(); ++k) {
    if (composite_name(plugin, plugin.patterns()[k]) == body.attr("composite"))
      return (*this)(plugin, k, function, node);
  }
  return no(cat("it has no pattern ", body.attr("composite")));
}

namespace {
bool matches_alone(const Pattern& pattern, const Function& function, const UseCounts& uses,
                   uint32_t node) {
  return !matches_at(pattern, function, uses, node, MatchSearch{.max_ops = 1}).empty();
}
}  // namespace

const Verdict& Judge::takes_op(const Plugin& plugin, const Function& function,
                               const UseCounts& uses, uint32_t node) {
  const PatternTable& patterns = table(plugin);  // also for its remarks
  if (plugin.patterns().empty()) return (*this)(plugin, BYOC_NO_PATTERN, function, node);
  const OpDef& op = *std::get<Call>(function.nodes[node].kind).op;
  auto rows = patterns.by_root.find(op.name);
  if (rows == patterns.by_root.end()) return no_pattern_for(plugin, op);
  const Verdict* first_no = nullptr;
  for (uint32_t k : rows->second) {
    const PatternTable::Row& row = patterns.rows[k];
    if (row.pattern.min_ops() > 1) continue;
    if (!row.pattern.is_bare_op() && !matches_alone(row.pattern, function, uses, node)) continue;
    const Verdict& verdict = (*this)(plugin, row.index, function, node);
    if (verdict.accept != Verdict::kNo) return verdict;
    if (first_no == nullptr) first_no = &verdict;
  }
  if (first_no != nullptr) return *first_no;
  return no(
      cat("its patterns with ", op.name, " do not fit this one's attributes, types or neighbours"));
}

}  // namespace byoc
