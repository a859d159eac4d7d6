// SPDX-License-Identifier: Apache-2.0
// Matches patterns from the root down, with backtracking over operand orders, alternatives and
// chain lengths. The search at one root is bounded by kMaxSteps, so that a sweep over a graph stays
// linear for every pattern.
#include "core/region/match.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/base/literal.h"
#include "byoc/op/registry.h"

namespace byoc {

bool is_commutative(std::string_view op) {
  const OpDef* def = all_ops().find(op);
  return def != nullptr && def->facts.is_commutative;
}

namespace {

constexpr uint64_t kMaxSteps = 4096;  // at one root

bool same_value(const AttrValue& have, const AttrValue& want) {
  if (attr_equal(have, want)) return true;
  auto number = [](const AttrValue& v) -> std::optional<double> {
    if (auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
    if (auto* f = std::get_if<double>(&v)) return *f;
    return std::nullopt;
  };
  auto a = number(have), b = number(want);
  if (a && b) return *a == *b;
  auto* dtype = std::get_if<DType>(&have);
  auto* name = std::get_if<std::string>(&want);
  return dtype && name && dtype_name(*dtype) == *name;
}

bool in_range(const AttrValue& have, double bound, bool is_min) {
  auto fits = [&](double x) { return is_min ? x >= bound : x <= bound; };
  if (auto* i = std::get_if<int64_t>(&have)) return fits(static_cast<double>(*i));
  if (auto* f = std::get_if<double>(&have)) return fits(*f);
  if (auto* list = std::get_if<Ints>(&have)) {
    return std::all_of(list->begin(), list->end(),
                       [&](int64_t x) { return fits(static_cast<double>(x)); });
  }
  if (auto* list = std::get_if<Floats>(&have)) return std::all_of(list->begin(), list->end(), fits);
  return false;
}

bool passes(const AttrTest& test, const Attrs& attrs) {
  const AttrValue* have = attrs.find(test.name);
  if (have == nullptr) return false;
  if (test.kind == AttrTest::kMin || test.kind == AttrTest::kMax) {
    return in_range(*have, std::get<double>(test.values[0]), test.kind == AttrTest::kMin);
  }
  return std::any_of(test.values.begin(), test.values.end(),
                     [&](const AttrValue& want) { return same_value(*have, want); });
}

}  // namespace

// Without a tolerance the value is rounded to the dtype as a literal of a model is.
bool has_value(const PatternNode::Const& want, const Buffer& data, DType dtype) {
  if (!want.value) return true;
  const size_t size = dtype_size(dtype);
  std::array<std::byte, sizeof(uint64_t)> rounded{};
  const bool is_rounded = parse_element(cat(*want.value), dtype, rounded.data());
  const double value =
      is_rounded && want.rtol == 0 ? element_value(dtype, rounded.data()) : *want.value;
  const double most = std::abs(*want.value) * want.rtol;
  for (size_t at = 0; at < data.size(); at += size) {
    if (!(std::abs(element_value(dtype, data.data() + at) - value) <= most)) return false;
  }
  return data.size() > 0;
}

bool passes_tests(const PatternNode::Op& want, const Call& call, const TensorType* type) {
  auto contains = [](const auto& list, auto x) {
    return list.empty() || std::find(list.begin(), list.end(), x) != list.end();
  };
  if (type != nullptr && (!contains(want.dtypes, type->dtype) ||
                          !contains(want.ranks, static_cast<int64_t>(type->shape.size())))) {
    return false;
  }
  return std::ranges::all_of(want.attrs,
                             [&](const AttrTest& test) { return passes(test, *call.attrs); });
}

namespace {

// A callable that is borrowed: continuations are lambdas of the callers. It must not be used after
// the lambda is destroyed, which for a lambda without a name is at the end of the statement.
template <class Signature>
class Borrowed;
template <class R, class... Args>
class Borrowed<R(Args...)> {
 public:
  template <class F>
  requires(!std::same_as<F, Borrowed>)
      Borrowed(const F& f)  // NOLINT: implicit, so that a lambda can be passed as Borrowed
      : f_(&f), call_([](const void* g, Args... args) -> R {
          return (*static_cast<const F*>(g))(args...);
        }) {}
  R operator()(Args... args) const { return call_(f_, args...); }

 private:
  const void* f_;
  R (*call_)(const void*, Args...);
};

// Continuations instead of return values: each way to match calls `next` with what is captured so
// far; false means "try another way". The depth is bounded by the pattern's size and its
// repeat limits.
class Matcher {
 public:
  using Next = const Borrowed<bool()>&;
  Matcher(const Function& function, const UseCounts& uses, const MatchSearch& search)
      : function_(function), uses_(uses), search_(search) {}
  std::vector<Match> run(const PatternNode& pattern, uint32_t root) {
    root_ = root;
    value(pattern, {root, 0}, nullptr, [&] { return accept(); });
    if (search_.steps != nullptr) *search_.steps += steps_;
    return std::move(found_);
  }

 private:
  struct Capture {
    const std::string* name;
    ValueId value;
  };
  // Called at "$" with the value in its place.
  using Dollar = Borrowed<bool(ValueId, Next)>;

  bool value(const PatternNode& p, ValueId v, const Dollar* dollar, Next next);
  bool op(const PatternNode& p, const PatternNode::Op& want, ValueId v, const Dollar* dollar,
          Next next);
  bool args(const std::vector<PatternNode>& patterns, std::span<const ValueId> values, size_t k,
            const Dollar* dollar, Next next);
  bool repeat(const PatternNode& p, const PatternNode::Repeat& chain, ValueId v, int64_t done,
              Next next);
  bool optional(const PatternNode& p, const PatternNode::Optional& chain, ValueId v, Next next);
  bool with_capture(const PatternNode& p, ValueId v, Next next) {
    if (p.as.empty()) return next();
    captures_.push_back({&p.as, v});
    if (next()) return true;
    captures_.pop_back();
    return false;
  }
  bool accept();
  std::vector<ValueId> outside_values(const std::vector<uint32_t>& nodes) const;

  const Function& function_;
  const UseCounts& uses_;
  const MatchSearch& search_;
  uint32_t root_ = 0;
  uint64_t steps_ = 0;
  std::vector<uint32_t> nodes_;  // ops matched so far
  std::vector<Capture> captures_;
  std::vector<ValueId> as_input_;  // values matched by any, const, same
  std::vector<Match> found_;
};

bool Matcher::value(const PatternNode& p, ValueId v, const Dollar* dollar, Next next) {
  bool is_root = nodes_.empty();
  if (search_.sweep != nullptr && !is_root && !search_.sweep->may_match(search_.pattern, p, v))
    return false;
  if (++steps_ > kMaxSteps) return false;
  const Node& node = function_.nodes[v.node];
  return std::visit(
      overloaded{
          [&](const PatternNode::Op& want) { return op(p, want, v, dollar, next); },
          [&](const PatternNode::Any&) {
            as_input_.push_back(v);
            if (with_capture(p, v, next)) return true;
            as_input_.pop_back();
            return false;
          },
          [&](const PatternNode::Const& want) {
            auto* constant = std::get_if<Constant>(&node.kind);
            if (constant == nullptr || !has_value(want, *constant->data, node.types[0]->dtype))
              return false;
            as_input_.push_back(v);
            if (with_capture(p, v, next)) return true;
            as_input_.pop_back();
            return false;
          },
          [&](const PatternNode::Dollar&) {
            BYOC_CHECK(dollar, "\"$\" outside a chain");
            return (*dollar)(v, next);
          },
          [&](const PatternNode::OneOf& one) {
            for (const PatternNode& choice : one.choices) {
              if (value(choice, v, dollar, [&] { return with_capture(p, v, next); })) return true;
            }
            return false;
          },
          [&](const PatternNode::Optional& chain) { return optional(p, chain, v, next); },
          [&](const PatternNode::Repeat& chain) { return repeat(p, chain, v, 0, next); },
          [&](const PatternNode::Same& same) {
            for (const Capture& capture : captures_) {
              if (*capture.name == same.as) return capture.value == v && next();
            }
            return false;
          },
      },
      p.kind);
}

bool Matcher::op(const PatternNode& p, const PatternNode::Op& want, ValueId v, const Dollar* dollar,
                 Next next) {
  const Node& node = function_.nodes[v.node];
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->name != want.op || call->op->is_annotation) return false;
  if (nodes_.size() == search_.max_ops) return false;
  if (std::find(nodes_.begin(), nodes_.end(), v.node) != nodes_.end()) return false;
  if (!passes_tests(want, *call, &*function_.type(v))) return false;
  std::span<const ValueId> values = function_.args(node);
  size_t inputs = as_input_.size();
  nodes_.push_back(v.node);
  auto after = [&] { return with_capture(p, v, next); };
  bool found = false;
  if (!want.has_args) {
    as_input_.insert(as_input_.end(), values.begin(), values.end());
    found = after();
  } else if (values.size() == want.args.size()) {
    found = args(want.args, values, 0, dollar, after);
    if (!found && values.size() == 2 && is_commutative(want.op)) {
      std::array<ValueId, 2> swapped = {values[1], values[0]};
      found = args(want.args, swapped, 0, dollar, after);
    }
  }
  if (!found) {
    nodes_.pop_back();
    as_input_.resize(inputs);
  }
  return found;
}

bool Matcher::args(const std::vector<PatternNode>& patterns, std::span<const ValueId> values,
                   size_t k, const Dollar* dollar, Next next) {
  if (k == patterns.size()) return next();
  return value(patterns[k], values[k], dollar,
               [&] { return args(patterns, values, k + 1, dollar, next); });
}

bool Matcher::optional(const PatternNode& p, const PatternNode::Optional& chain, ValueId v,
                       Next next) {
  auto after = [&] { return with_capture(p, v, next); };
  auto on = [&](ValueId inner, Next rest) { return value(chain.parts[1], inner, nullptr, rest); };
  Dollar dollar = on;
  return value(chain.parts[0], v, &dollar, after) || value(chain.parts[1], v, nullptr, after);
}

// Matches from the last op of the chain up to its base, and tries the longest chain first. Captures
// of `as` are pushed after the captures of their operands, so they are in graph order.
bool Matcher::repeat(const PatternNode& p, const PatternNode::Repeat& chain, ValueId v,
                     int64_t done, Next next) {
  if (done < chain.max) {
    auto longer = [&](ValueId inner, Next rest) { return repeat(p, chain, inner, done + 1, rest); };
    Dollar dollar = longer;
    if (value(chain.parts[0], v, &dollar, [&] { return with_capture(p, v, next); })) return true;
  }
  return done >= chain.min && value(chain.parts[1], v, nullptr, next);
}

std::vector<ValueId> Matcher::outside_values(const std::vector<uint32_t>& nodes) const {
  std::vector<ValueId> out;
  for (uint32_t node : nodes) {
    for (ValueId arg : function_.args(function_.nodes[node])) {
      if (std::find(nodes.begin(), nodes.end(), arg.node) != nodes.end()) continue;
      if (std::find(out.begin(), out.end(), arg) == out.end()) out.push_back(arg);
    }
  }
  return out;
}

// Accepts or refuses a complete assignment. A value that is matched as an input must not also be an
// op of the match, and inner values must be read only inside the match. True ends the search.
bool Matcher::accept() {
  auto inside = [&](uint32_t node) {
    return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
  };
  for (ValueId input : as_input_) {
    if (inside(input.node)) return false;
  }
  Match match;
  match.root = root_;
  match.nodes = nodes_;
  std::sort(match.nodes.begin(), match.nodes.end());
  for (uint32_t node : nodes_) {
    if (node == root_) continue;
    uint32_t read_inside = 0;
    for (uint32_t reader : nodes_) {
      for (ValueId arg : function_.args(function_.nodes[reader])) read_inside += arg.node == node;
    }
    if (read_inside != uses_.of_node(node)) return false;
  }
  for (const Match& known : found_) {
    if (known.nodes == match.nodes) return false;  // another assignment of the same ops
  }
  match.inputs = outside_values(match.nodes);
  for (const Capture& capture : captures_) match.captures[*capture.name].push_back(capture.value);
  found_.push_back(std::move(match));
  return found_.size() >= search_.limit;
}

// Removes the nodes of `candidates` without readers, and the candidates that only such nodes read.
Function drop_unread(const Function& function, const std::vector<uint32_t>& candidates) {
  std::vector<uint32_t> reads(function.nodes.size(), 0);
  for (const Node& node : function.nodes) {
    for (ValueId arg : function.args(node)) ++reads[arg.node];
  }
  for (ValueId result : function.results) ++reads[result.node];
  std::vector<uint8_t> may_go(function.nodes.size(), 0), gone(function.nodes.size(), 0);
  for (uint32_t node : candidates) may_go[node] = 1;
  for (uint32_t node = static_cast<uint32_t>(function.nodes.size()); node-- > 0;) {
    if (!may_go[node] || reads[node] > 0) continue;
    gone[node] = 1;
    for (ValueId arg : function.args(function.nodes[node])) --reads[arg.node];
  }
  Rewriter rewriter(function);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (!gone[node]) rewriter.copy(node);
  }
  return std::move(rewriter).finish();
}

}  // namespace

std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, const MatchSearch& search) {
  return Matcher(function, uses, search).run(pattern.tree().root, root);
}

std::vector<Match> matches_at(const Pattern& pattern, const Function& function,
                              const UseCounts& uses, uint32_t root, size_t limit) {
  return matches_at(pattern, function, uses, root, MatchSearch{.limit = limit});
}

PatternSweep::PatternSweep(PatternStates& states, const Function& function, const UseCounts& uses)
    : states_(states), function_(function), uses_(uses), labels_(states.label(function, uses)) {}

std::vector<Match> PatternSweep::matches(uint32_t pattern, uint32_t root, size_t limit) {
  MatchSearch search{.limit = limit, .steps = &steps_, .sweep = this, .pattern = pattern};
  return matches_at(states_.pattern(pattern), function_, uses_, root, search);
}

Result<Function> rewrite(const Function& function, const Pattern& pattern,
                         const Replacement& replace) {
  UseCounts uses(function);
  PatternStates states({pattern});
  PatternSweep sweep(states, function, uses);
  std::vector<std::optional<Match>> at_root(function.nodes.size());
  std::vector<uint8_t> taken(function.nodes.size(), 0);
  for (uint32_t root = static_cast<uint32_t>(function.nodes.size()); root-- > 0;) {
    if (sweep.patterns_at(root).empty()) continue;
    for (Match& match : sweep.matches(0, root, 1)) {
      if (std::any_of(match.nodes.begin(), match.nodes.end(), [&](uint32_t n) { return taken[n]; }))
        continue;
      for (uint32_t node : match.nodes) taken[node] = 1;
      at_root[root] = std::move(match);
    }
  }
  Rewriter rewriter(function);
  std::vector<uint32_t> maybe_dead;  // nodes of the new function
  std::vector<uint32_t> now_at(function.nodes.size(), 0);
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (at_root[node]) {
      BYOC_TRY(std::optional<ValueId> now, replace(*at_root[node], rewriter));
      if (now) {
        rewriter.set({node, 0}, *now);
        for (uint32_t inner : at_root[node]->nodes) {
          if (inner != node) maybe_dead.push_back(now_at[inner]);
        }
        continue;
      }
    }
    now_at[node] = rewriter.copy(node);
  }
  return drop_unread(std::move(rewriter).finish(), maybe_dead);
}

}  // namespace byoc
