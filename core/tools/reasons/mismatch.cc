// SPDX-License-Identifier: Apache-2.0
#include "core/tools/reasons/mismatch.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

#include "byoc/base/status.h"
#include "core/region/judge.h"
#include "core/region/match.h"
#include "core/region/pattern_tree.h"

namespace byoc::driver {
namespace {

constexpr size_t kMostRoots = 16;    // ops after the op that are tried as roots
constexpr int kMostAttempts = 2000;  // parts of a pattern that are tried at one root

/// The value of one way through a pattern.
struct Outcome {
  size_t matched = 0;  // ops before the test that failed
  std::string test;    // empty: all of it fits
  bool ok() const { return test.empty(); }
};

bool names_op(const PatternNode& part, std::string_view op) {
  auto any = [&](const std::vector<PatternNode>& parts) {
    return std::ranges::any_of(parts, [&](const PatternNode& p) { return names_op(p, op); });
  };
  return std::visit(overloaded{[](const PatternNode::Any&) { return false; },
                               [&](const PatternNode::Op& p) { return p.op == op || any(p.args); },
                               [](const PatternNode::Const&) { return false; },
                               [](const PatternNode::Dollar&) { return false; },
                               [&](const PatternNode::OneOf& p) { return any(p.choices); },
                               [&](const PatternNode::Optional& p) { return any(p.parts); },
                               [&](const PatternNode::Repeat& p) { return any(p.parts); },
                               [](const PatternNode::Same&) { return false; }},
                    part.kind);
}

std::string test_text(const AttrTest& test, const Attrs& attrs) {
  const AttrValue* have = attrs.find(test.name);
  if (have == nullptr) return cat("it has no attribute ", test.name);
  std::string value, wanted;
  print_to(value, *have);
  for (const AttrValue& want : test.values) {
    if (!wanted.empty()) wanted += " or ";
    print_to(wanted, want);
  }
  std::string_view bound = test.kind == AttrTest::kMin   ? "at least "
                           : test.kind == AttrTest::kMax ? "at most "
                                                         : "";
  return cat("its attribute ", test.name, " is ", value, ", expected ", bound, wanted);
}

/// Follows a pattern from the root down as the matcher does, without taking back what fitted.
class Diagnosis {
 public:
  Diagnosis(const Function& function, const UseCounts& uses) : function_(function), uses_(uses) {}

  Outcome run(const PatternNode& root, uint32_t node) {
    Outcome out = value(root, {node, 0}, nullptr);
    return out.ok() ? outside_readers(node) : out;
  }
  bool has_matched(uint32_t node) const { return farthest_.contains(node); }

 private:
  using Dollar = std::function<Outcome(ValueId)>;
  Outcome fail(std::string test) {
    if (nodes_.size() >= farthest_.size()) farthest_ = {nodes_.begin(), nodes_.end()};
    return {nodes_.size(), std::move(test)};
  }
  std::string name(ValueId v) const;
  Outcome value(const PatternNode& p, ValueId v, const Dollar* dollar);
  Outcome op(const PatternNode::Op& want, ValueId v, const Dollar* dollar);
  Outcome constant(const PatternNode::Const& want, ValueId v);
  std::string failing_test(const PatternNode::Op& want, const Call& call, const TensorType& type,
                           ValueId v) const;
  Outcome args(const PatternNode::Op& want, std::span<const ValueId> values, const Dollar* dollar);
  Outcome repeat(const PatternNode::Repeat& chain, ValueId v, int64_t done);
  Outcome outside_readers(uint32_t root);
  /// Tries the ways in turn, each from the same state; the best failure counts.
  Outcome first_of(const std::vector<std::function<Outcome()>>& ways);

  const Function& function_;
  const UseCounts& uses_;
  std::vector<uint32_t> nodes_;  // ops matched so far
  std::vector<std::pair<std::string, ValueId>> captures_;
  std::set<uint32_t> farthest_;  // the ops of the best failure
  int attempts_ = 0;
};

std::string Diagnosis::name(ValueId v) const {
  const Node& node = function_.nodes[v.node];
  return std::visit(
      overloaded{[&](const Param&) { return std::string("an input"); },
                 [&](const Constant&) { return std::string("a constant"); },
                 [&](const Call& call) {
                   return node.loc.empty() ? call.op->name
                                           : cat(call.op->name, " \"", node.loc, "\"");
                 },
                 [&](const Invoke& invoke) { return cat("a call of ", invoke.function); },
                 [&](const Extern&) { return std::string("a compiled function"); },
                 [&](const Control&) { return std::string("control flow"); }},
      node.kind);
}

Outcome Diagnosis::first_of(const std::vector<std::function<Outcome()>>& ways) {
  const auto nodes = nodes_;
  const auto captures = captures_;
  Outcome best{0, "it has no alternative"};
  bool has_best = false;
  for (const auto& way : ways) {
    nodes_ = nodes;
    captures_ = captures;
    Outcome out = way();
    if (out.ok()) return out;
    if (!has_best || out.matched > best.matched) best = std::move(out);
    has_best = true;
  }
  nodes_ = nodes;
  captures_ = captures;
  return best;
}

Outcome Diagnosis::constant(const PatternNode::Const& want, ValueId v) {
  const Node& node = function_.nodes[v.node];
  auto* found = std::get_if<Constant>(&node.kind);
  if (found == nullptr) return fail(cat(name(v), " is where a constant is expected"));
  if (!has_value(want, *found->data, node.types[0]->dtype))
    return fail(cat("a constant ", *node.types[0], " has other values than ", *want.value));
  return {};
}

Outcome Diagnosis::value(const PatternNode& p, ValueId v, const Dollar* dollar) {
  if (++attempts_ > kMostAttempts) return fail("the pattern has too many ways to match");
  Outcome out = std::visit(
      overloaded{[&](const PatternNode::Any&) { return Outcome(); },
                 [&](const PatternNode::Op& want) { return op(want, v, dollar); },
                 [&](const PatternNode::Const& want) { return constant(want, v); },
                 [&](const PatternNode::Dollar&) { return dollar ? (*dollar)(v) : Outcome(); },
                 [&](const PatternNode::OneOf& one) {
                   std::vector<std::function<Outcome()>> ways;
                   for (const PatternNode& choice : one.choices)
                     ways.emplace_back([&, this] { return value(choice, v, dollar); });
                   return first_of(ways);
                 },
                 [&](const PatternNode::Optional& chain) {
                   Dollar base = [&](ValueId inner) {
                     return value(chain.parts[1], inner, nullptr);
                   };
                   return first_of({[&] { return value(chain.parts[0], v, &base); },
                                    [&] { return value(chain.parts[1], v, nullptr); }});
                 },
                 [&](const PatternNode::Repeat& chain) { return repeat(chain, v, 0); },
                 [&](const PatternNode::Same& same) {
                   for (const auto& [as, known] : captures_) {
                     if (as == same.as && !(known == v))
                       return fail(cat(name(v), " is not the value that \"", as, "\" is"));
                   }
                   return Outcome();
                 }},
      p.kind);
  if (out.ok() && !p.as.empty()) captures_.emplace_back(p.as, v);
  return out;
}

std::string Diagnosis::failing_test(const PatternNode::Op& want, const Call& call,
                                    const TensorType& type, ValueId v) const {
  auto lacks = [](const auto& list, auto x) {
    return !list.empty() && std::find(list.begin(), list.end(), x) == list.end();
  };
  if (lacks(want.dtypes, type.dtype))
    return cat(name(v), " has the dtype ", dtype_name(type.dtype));
  if (lacks(want.ranks, static_cast<int64_t>(type.shape.size())))
    return cat(name(v), " has the rank ", type.shape.size());
  for (const AttrTest& test : want.attrs) {
    PatternNode::Op one;
    one.attrs = {test};
    if (!passes_tests(one, call, nullptr)) return cat(name(v), ": ", test_text(test, *call.attrs));
  }
  return "";
}

Outcome Diagnosis::op(const PatternNode::Op& want, ValueId v, const Dollar* dollar) {
  const Node& node = function_.nodes[v.node];
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->name != want.op)
    return fail(cat(name(v), " is where ", want.op, " is expected"));
  if (std::ranges::count(nodes_, v.node) > 0)
    return fail(cat(name(v), " would be two ops of the pattern"));
  nodes_.push_back(v.node);
  if (std::string test = failing_test(want, *call, *function_.type(v), v); !test.empty())
    return fail(std::move(test));
  if (!want.has_args) return {};
  std::span<const ValueId> values = function_.args(node);
  if (values.size() != want.args.size())
    return fail(cat(name(v), " has ", values.size(), " operands, expected ", want.args.size()));
  if (values.size() != 2 || !is_commutative(want.op)) return args(want, values, dollar);
  std::array<ValueId, 2> swapped = {values[1], values[0]};
  return first_of(
      {[&] { return args(want, values, dollar); }, [&] { return args(want, swapped, dollar); }});
}

Outcome Diagnosis::args(const PatternNode::Op& want, std::span<const ValueId> values,
                        const Dollar* dollar) {
  for (size_t k = 0; k < values.size(); ++k) {
    Outcome out = value(want.args[k], values[k], dollar);
    if (!out.ok()) return out;
  }
  return {};
}

Outcome Diagnosis::repeat(const PatternNode::Repeat& chain, ValueId v, int64_t done) {
  std::vector<std::function<Outcome()>> ways;
  Dollar longer = [&](ValueId inner) { return repeat(chain, inner, done + 1); };
  if (done < chain.max) ways.emplace_back([&] { return value(chain.parts[0], v, &longer); });
  if (done >= chain.min) ways.emplace_back([&] { return value(chain.parts[1], v, nullptr); });
  return first_of(ways);
}

/// A value inside of a match has no reader outside of it.
Outcome Diagnosis::outside_readers(uint32_t root) {
  for (uint32_t node : nodes_) {
    uint32_t inside = 0;
    for (uint32_t reader : nodes_) {
      for (ValueId arg : function_.args(function_.nodes[reader])) inside += arg.node == node;
    }
    if (node != root && inside != uses_.of_node(node))
      return fail(cat(name({node, 0}), " is also read outside of the match, or is an output"));
  }
  return {};
}

/// Returns the nodes that may be roots for a match with `node`: itself, and ops after it.
std::vector<uint32_t> roots_for(const Pattern& pattern, const Function& function, uint32_t node) {
  std::vector<uint32_t> out;
  std::set<uint32_t> reached = {node};
  const uint64_t end = std::min<uint64_t>(function.nodes.size(), uint64_t{node} + 256);
  for (uint32_t at = node; at < end && out.size() < kMostRoots; ++at) {
    const Node& now = function.nodes[at];
    auto args = function.args(now);
    if (at != node && std::none_of(args.begin(), args.end(),
                                   [&](ValueId arg) { return reached.contains(arg.node); }))
      continue;
    reached.insert(at);
    auto* call = std::get_if<Call>(&now.kind);
    if (call != nullptr && std::ranges::count(pattern.root_ops(), call->op->name) > 0)
      out.push_back(at);
  }
  return out;
}

/// Returns the failure with the most matched ops; nullopt when the pattern fits.
std::optional<std::string> failure_of(const Pattern& pattern, const Function& function,
                                      const UseCounts& uses, uint32_t node) {
  std::optional<Outcome> best;
  bool is_best_here = false;  // the best failure has the op among the ops that it matched
  for (uint32_t root : roots_for(pattern, function, node)) {
    for (const Match& match : matches_at(pattern, function, uses, root, size_t{4})) {
      if (std::ranges::count(match.nodes, node) > 0) return std::nullopt;
    }
    Diagnosis diagnosis(function, uses);
    Outcome out = diagnosis.run(pattern.tree().root, root);
    if (out.ok()) continue;
    const bool is_here = diagnosis.has_matched(node);
    const bool is_better =
        !best || std::pair(is_here, out.matched) > std::pair(is_best_here, best->matched);
    if (!is_better) continue;
    best = std::move(out);
    is_best_here = is_here;
  }
  if (best) return best->test;
  std::string roots;
  for (const std::string& op : pattern.root_ops()) roots += cat(roots.empty() ? "" : " or ", op);
  return cat("no op after it is ", roots, ", with which the pattern ends");
}

}  // namespace

PatternTests::PatternTests(const Plugin& plugin) {
  for (const PluginPattern& row : plugin.patterns()) {
    Result<Pattern> pattern = Pattern::parse(row.dag_json);
    if (pattern.ok()) rows_.push_back({composite_name(plugin, row), *std::move(pattern)});
  }
}

std::vector<PatternMiss> PatternTests::first_failures(const Function& function,
                                                      const UseCounts& uses, uint32_t node) const {
  std::vector<PatternMiss> out;
  auto* call = std::get_if<Call>(&function.nodes[node].kind);
  if (call == nullptr) return out;
  for (const Row& row : rows_) {
    if (!names_op(row.pattern.tree().root, call->op->name)) continue;
    auto test = failure_of(row.pattern, function, uses, node);
    if (test) out.push_back({row.name, *std::move(test)});
  }
  return out;
}

}  // namespace byoc::driver
