// SPDX-License-Identifier: Apache-2.0
// Parses patterns from JSON. The JSON reader bounds the depth, so the recursion here is bounded.
#include <algorithm>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "byoc/base/json.h"
#include "byoc/base/nearest.h"
#include "core/region/pattern_tree.h"

namespace byoc {
namespace {

Status syntax(std::string_view path, std::string message) {
  return invalid(std::move(message)).with_slug("pattern-syntax").at(path);
}

Result<AttrValue> read_value(const Json& json, const std::string& path) {
  if (json.is_boolean()) return AttrValue(json.get<bool>());
  if (json.is_number_integer()) return AttrValue(json.get<int64_t>());
  if (json.is_number()) return AttrValue(json.get<double>());
  if (json.is_string()) return AttrValue(json.get<std::string>());
  if (!json.is_array())
    return syntax(path, "an attribute value must be a number, string, bool or a list of one kind");
  auto all = [&](auto is) { return std::all_of(json.begin(), json.end(), is); };
  if (all([](const Json& j) { return j.is_number_integer(); })) return AttrValue(json.get<Ints>());
  if (all([](const Json& j) { return j.is_number(); })) return AttrValue(json.get<Floats>());
  if (all([](const Json& j) { return j.is_string(); })) return AttrValue(json.get<Strings>());
  return syntax(path, "a list must have values of one kind");
}

/// Refuses a member that is none of `known`: without it the pattern would match more than is meant.
Status check_members(const Json& json, const std::string& path,
                     std::initializer_list<const char*> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::count(names, name) > 0) continue;
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) {
      for (const std::string& one : names) hint += cat(hint.empty() ? "; known are " : ", ", one);
    }
    return syntax(path, cat("unknown member \"", name, "\"", hint));
  }
  return {};
}

Status check_true(const Json& json, const std::string& path, const char* member) {
  if (json[member] == Json(true)) return {};
  return syntax(path, cat("`", member, "` must be true"));
}

class Parser {
 public:
  Result<PatternNode> pattern(const Json& json, const std::string& path, bool in_chain);

 private:
  Result<PatternNode::Op> op(const Json& json, const std::string& path, bool in_chain);
  Result<std::vector<PatternNode>> list(const Json& json, const std::string& path, bool in_chain);
  Result<PatternNode> chain(const Json& json, const std::string& path, bool repeat);
  Result<PatternNode::Const> constant(const Json& json, const std::string& path);
  Result<std::vector<AttrTest>> attr_tests(const Json& json, const std::string& path);
};

Result<std::vector<AttrTest>> Parser::attr_tests(const Json& json, const std::string& path) {
  std::vector<AttrTest> out;
  if (!json.is_object()) return syntax(path, "`attrs` must be an object");
  for (const auto& [name, test] : json.items()) {
    std::string here = cat(path, "/", name);
    if (!test.is_object()) {
      BYOC_TRY(AttrValue value, read_value(test, here));
      out.push_back({name, AttrTest::kEquals, {std::move(value)}});
      continue;
    }
    if (test.empty()) return syntax(here, "a test needs one of in, min, max");
    for (const auto& [key, operand] : test.items()) {
      AttrTest now{name, AttrTest::kEquals, {}};
      if (key == "in") {
        if (!operand.is_array()) return syntax(here, "`in` must be a list of values");
        now.kind = AttrTest::kIn;
        for (const Json& member : operand) {
          BYOC_TRY(AttrValue value, read_value(member, here));
          now.values.push_back(std::move(value));
        }
      } else if (key == "min" || key == "max") {
        if (!operand.is_number()) return syntax(here, cat("`", key, "` must be a number"));
        now.kind = key == "min" ? AttrTest::kMin : AttrTest::kMax;
        now.values.push_back(operand.get<double>());
      } else {
        return syntax(here, cat("unknown test \"", key, "\"; known are in, min, max"));
      }
      out.push_back(std::move(now));
    }
  }
  return out;
}

Result<std::vector<PatternNode>> Parser::list(const Json& json, const std::string& path,
                                              bool in_chain) {
  if (!json.is_array()) return syntax(path, "a list of patterns is expected");
  std::vector<PatternNode> out;
  for (size_t k = 0; k < json.size(); ++k) {
    BYOC_TRY(PatternNode node, pattern(json[k], cat(path, "/", k), in_chain));
    out.push_back(std::move(node));
  }
  return out;
}

Result<PatternNode::Op> Parser::op(const Json& json, const std::string& path, bool in_chain) {
  PatternNode::Op out;
  BYOC_TRY_STATUS(check_members(json, path, {"op", "args", "attrs", "dtype", "rank", "as"}));
  if (!json["op"].is_string()) return syntax(path, "`op` must be a string");
  out.op = json["op"].get<std::string>();
  if (json.contains("args")) {
    out.has_args = true;
    BYOC_TRY(out.args, list(json["args"], cat(path, "/args"), in_chain));
  }
  if (json.contains("attrs")) {
    BYOC_TRY(out.attrs, attr_tests(json["attrs"], cat(path, "/attrs")));
  }
  for (const char* list : {"dtype", "rank"}) {
    if (json.contains(list) && json[list].empty())
      return syntax(cat(path, "/", list), cat("`", list, "` is empty"));
  }
  if (json.contains("dtype")) {
    for (const Json& name : json["dtype"]) {
      auto dtype = name.is_string() ? parse_dtype(name.get<std::string>()) : std::nullopt;
      if (!dtype) return syntax(cat(path, "/dtype"), cat("no dtype ", name.dump()));
      out.dtypes.push_back(*dtype);
    }
  }
  if (json.contains("rank")) {
    for (const Json& rank : json["rank"]) {
      if (!rank.is_number_integer())
        return syntax(cat(path, "/rank"), "`rank` must be a list of integers");
      out.ranks.push_back(rank.get<int64_t>());
    }
  }
  return out;
}

Result<PatternNode::Const> Parser::constant(const Json& json, const std::string& path) {
  PatternNode::Const out;
  BYOC_TRY_STATUS(check_members(json, path, {"const", "value", "rtol", "as"}));
  BYOC_TRY_STATUS(check_true(json, path, "const"));
  if (json.contains("value")) {
    if (!json["value"].is_number()) return syntax(path, "`value` must be a number");
    out.value = json["value"].get<double>();
  }
  if (!json.contains("rtol")) return out;
  if (!out.value) return syntax(path, "`rtol` needs `value`");
  if (!json["rtol"].is_number() || !(json["rtol"].get<double>() >= 0))
    return syntax(path, "`rtol` must be a number of at least 0");
  out.rtol = json["rtol"].get<double>();
  return out;
}

bool takes_dollar(const PatternNode& node) {
  if (auto* one = std::get_if<PatternNode::OneOf>(&node.kind)) {
    return std::all_of(one->choices.begin(), one->choices.end(), takes_dollar);
  }
  auto* op = std::get_if<PatternNode::Op>(&node.kind);
  return op != nullptr &&
         std::count_if(op->args.begin(), op->args.end(), [](const PatternNode& arg) {
           return std::holds_alternative<PatternNode::Dollar>(arg.kind);
         }) == 1;
}

Result<PatternNode> Parser::chain(const Json& json, const std::string& path, bool repeat) {
  const char* key = repeat ? "repeat" : "optional";
  BYOC_TRY_STATUS(repeat ? check_members(json, path, {"repeat", "on", "min", "max", "as"})
                         : check_members(json, path, {"optional", "on", "as"}));
  if (!json.contains("on")) return syntax(path, cat("`", key, "` needs `on`"));
  BYOC_TRY(PatternNode q, pattern(json[key], cat(path, "/", key), true));
  BYOC_TRY(PatternNode p, pattern(json["on"], cat(path, "/on"), false));
  if (!takes_dollar(q))
    return syntax(cat(path, "/", key),
                  "an op, or one_of of ops, with \"$\" as exactly one argument is expected");
  PatternNode out;
  if (!repeat) {
    out.kind = PatternNode::Optional{{std::move(q), std::move(p)}};
    return out;
  }
  PatternNode::Repeat node{{std::move(q), std::move(p)}};
  for (const char* bound : {"min", "max"})
    if (json.contains(bound) && !json[bound].is_number_integer())
      return syntax(path, cat("`", bound, "` is ", json[bound].dump(), ", expected an integer"));
  node.min = json.value("min", int64_t{0});
  node.max = json.value("max", int64_t{16});
  if (node.min < 0 || node.max < node.min || node.max > 64)
    return syntax(path,
                  cat("0 <= min <= max <= 64 is expected, not min ", node.min, ", max ", node.max));
  out.kind = std::move(node);
  return out;
}

Result<PatternNode> Parser::pattern(const Json& json, const std::string& path, bool in_chain) {
  PatternNode out;
  if (json.is_string() && json.get<std::string>() == "$") {
    if (!in_chain) return syntax(path, "\"$\" is only valid inside `optional` and `repeat`");
    out.kind = PatternNode::Dollar{};
    return out;
  }
  if (!json.is_object()) return syntax(path, "a pattern must be an object");
  if (json.contains("op")) {
    BYOC_TRY(out.kind, op(json, path, in_chain));
  } else if (json.contains("any")) {
    BYOC_TRY_STATUS(check_members(json, path, {"any", "as"}));
    BYOC_TRY_STATUS(check_true(json, path, "any"));
    out.kind = PatternNode::Any{};
  } else if (json.contains("const")) {
    BYOC_TRY(out.kind, constant(json, path));
  } else if (json.contains("one_of")) {
    BYOC_TRY_STATUS(check_members(json, path, {"one_of", "as"}));
    BYOC_TRY(auto choices, list(json["one_of"], cat(path, "/one_of"), in_chain));
    if (choices.empty()) return syntax(path, "`one_of` is empty");
    out.kind = PatternNode::OneOf{std::move(choices)};
  } else if (json.contains("optional") || json.contains("repeat")) {
    BYOC_TRY(out, chain(json, path, json.contains("repeat")));
  } else if (json.contains("same")) {
    BYOC_TRY_STATUS(check_members(json, path, {"same"}));
    if (!json["same"].is_string()) return syntax(path, "`same` must be the name of a capture");
    out.kind = PatternNode::Same{json["same"].get<std::string>()};
  } else {
    return syntax(path, "a pattern needs one of op, any, const, one_of, optional, repeat, same");
  }
  if (json.contains("as")) {
    if (!json["as"].is_string()) return syntax(path, "`as` must be a string");
    out.as = json["as"].get<std::string>();
  }
  return out;
}

// Returns the children of a node; most kinds have none.
std::span<PatternNode> parts_of(PatternNode& node) {
  if (auto* op = std::get_if<PatternNode::Op>(&node.kind)) return op->args;
  if (auto* one = std::get_if<PatternNode::OneOf>(&node.kind)) return one->choices;
  if (auto* optional = std::get_if<PatternNode::Optional>(&node.kind)) return optional->parts;
  if (auto* repeat = std::get_if<PatternNode::Repeat>(&node.kind)) return repeat->parts;
  return {};
}
std::span<const PatternNode> parts_of(const PatternNode& node) {
  return parts_of(const_cast<PatternNode&>(node));
}

struct Extent {
  size_t min = 0, max = 0;
};
Extent ops_of(const PatternNode& node) {
  auto sum = [](const std::vector<PatternNode>& list) {
    Extent out;
    for (const PatternNode& part : list) {
      Extent e = ops_of(part);
      out.min += e.min;
      out.max += e.max;
    }
    return out;
  };
  if (auto* op = std::get_if<PatternNode::Op>(&node.kind)) {
    Extent args = sum(op->args);
    return {args.min + 1, args.max + 1};
  }
  if (auto* one = std::get_if<PatternNode::OneOf>(&node.kind)) {
    Extent out{SIZE_MAX, 0};
    for (const PatternNode& choice : one->choices) {
      Extent e = ops_of(choice);
      out = {std::min(out.min, e.min), std::max(out.max, e.max)};
    }
    return out;
  }
  if (auto* optional = std::get_if<PatternNode::Optional>(&node.kind)) {
    Extent q = ops_of(optional->parts[0]), p = ops_of(optional->parts[1]);
    return {p.min, p.max + q.max};
  }
  if (auto* repeat = std::get_if<PatternNode::Repeat>(&node.kind)) {
    Extent q = ops_of(repeat->parts[0]), p = ops_of(repeat->parts[1]);
    return {p.min + q.min * static_cast<size_t>(repeat->min),
            p.max + q.max * static_cast<size_t>(repeat->max)};
  }
  return {};
}

void add_root_ops(const PatternNode& node, std::vector<std::string>& out) {
  if (auto* op = std::get_if<PatternNode::Op>(&node.kind)) out.push_back(op->op);
  if (auto* one = std::get_if<PatternNode::OneOf>(&node.kind)) {
    for (const PatternNode& choice : one->choices) add_root_ops(choice, out);
  }
  if (auto* optional = std::get_if<PatternNode::Optional>(&node.kind)) {
    for (const PatternNode& part : optional->parts) add_root_ops(part, out);
  }
  if (auto* repeat = std::get_if<PatternNode::Repeat>(&node.kind)) {
    if (repeat->max > 0) add_root_ops(repeat->parts[0], out);
    if (repeat->min == 0) add_root_ops(repeat->parts[1], out);
  }
}

using Names = std::unordered_set<std::string>;
using Captures = std::unordered_map<std::string, bool>;  // name -> it has the links of a chain

// Adds what `from` captures to `into`, the smaller to the larger. A name of both is an error unless
// only one of the two matches, or both are of the links of chains, which share a list.
Status add_captures(Captures from, bool are_alternatives, const std::string& path, Captures& into) {
  if (from.size() > into.size()) std::swap(from, into);
  for (const auto& [name, is_list] : from) {
    auto [at, is_new] = into.try_emplace(name, is_list);
    const bool may_share = is_new || are_alternatives || (is_list && at->second);
    at->second = at->second && is_list;
    if (may_share) continue;
    return syntax(path, cat("the name \"", name, "\" is captured twice; {\"same\": \"", name,
                            "\"} matches the value that has it"));
  }
  return {};
}

// Returns what a pattern captures. Errors: a name that two values of a match have.
Result<Captures> captures_of(const PatternNode& node, const std::string& path) {
  Captures out;
  const bool is_op = std::holds_alternative<PatternNode::Op>(node.kind);
  const bool are_alternatives = std::holds_alternative<PatternNode::OneOf>(node.kind);
  const bool is_repeat = std::holds_alternative<PatternNode::Repeat>(node.kind);
  const std::span<const PatternNode> parts = parts_of(node);
  for (size_t k = 0; k < parts.size(); ++k) {
    const std::string here = is_op              ? cat(path, "/args/", k)
                             : are_alternatives ? cat(path, "/one_of/", k)
                             : k == 1           ? cat(path, "/on")
                                                : cat(path, is_repeat ? "/repeat" : "/optional");
    BYOC_TRY(Captures names, captures_of(parts[k], here));
    if (is_repeat && k == 0) {
      for (auto& [name, is_list] : names) is_list = true;
    }
    BYOC_TRY_STATUS(add_captures(std::move(names), are_alternatives, here, out));
  }
  if (node.as.empty()) return out;
  BYOC_TRY_STATUS(add_captures({{node.as, is_repeat}}, false, path, out));
  return out;
}

void add_same_names(const PatternNode& node, Names& out) {
  if (auto* same = std::get_if<PatternNode::Same>(&node.kind)) out.insert(same->as);
  for (const PatternNode& part : parts_of(node)) add_same_names(part, out);
}

// Numbers the nodes from the root down and sets is_read_again. `again`: the value at `node` is
// captured by a node above it and read elsewhere in the pattern.
void number(PatternNode& node, const Names& same_names, bool again, uint32_t& next) {
  node.id = next++;
  node.is_read_again = again || (!node.as.empty() && same_names.contains(node.as));
  bool is_op = std::holds_alternative<PatternNode::Op>(node.kind);
  bool is_repeat = std::holds_alternative<PatternNode::Repeat>(node.kind);
  std::span<PatternNode> parts = parts_of(node);
  for (size_t k = 0; k < parts.size(); ++k) {
    bool is_base = is_repeat && k == 1;  // `as` of a repeat captures its links alone
    number(parts[k], same_names, !is_op && (is_base ? again : node.is_read_again), next);
  }
}

Result<std::shared_ptr<const Pattern::Tree>> parse_tree(std::string_view dag_json) {
  BYOC_TRY(Json json, parse_json(dag_json, size_t{1} << 20, 48));
  auto tree = std::make_shared<Pattern::Tree>();
  try {
    BYOC_TRY(tree->root, Parser().pattern(json, "pattern", false));
  } catch (const std::exception& e) {  // nlohmann, on a kind of value that no check covers
    return syntax("pattern", e.what());
  }
  Extent ops = ops_of(tree->root);
  tree->min_ops = ops.min;
  tree->max_ops = ops.max;
  if (ops.max == 0) return syntax("pattern", "a pattern needs an op");
  BYOC_TRY_STATUS(captures_of(tree->root, "pattern").status());
  Names same_names;
  add_same_names(tree->root, same_names);
  number(tree->root, same_names, false, tree->num_nodes);
  add_root_ops(tree->root, tree->root_ops);
  std::sort(tree->root_ops.begin(), tree->root_ops.end());
  tree->root_ops.erase(std::unique(tree->root_ops.begin(), tree->root_ops.end()),
                       tree->root_ops.end());
  if (tree->root_ops.empty()) return syntax("pattern", "the root must be an op");
  return std::shared_ptr<const Pattern::Tree>(std::move(tree));
}

// The most trees that a process keeps. Their texts come from plugins, and few processes load many.
constexpr size_t kMostTrees = 4096;

}  // namespace

// A text is parsed once per process: compilations and checks take the same patterns each time.
Result<Pattern> Pattern::parse(std::string_view dag_json) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Tree>> trees;
  std::lock_guard lock(mutex);
  const std::string text(dag_json);
  Pattern out;
  if (auto known = trees.find(text); known != trees.end()) {
    out.tree_ = known->second;
    return out;
  }
  BYOC_TRY(out.tree_, parse_tree(text));
  if (trees.size() == kMostTrees) trees.clear();
  trees.emplace(text, out.tree_);
  return out;
}

size_t Pattern::min_ops() const { return tree_->min_ops; }
size_t Pattern::max_ops() const { return tree_->max_ops; }
bool Pattern::is_bare_op() const {
  auto* op = std::get_if<PatternNode::Op>(&tree_->root.kind);
  return op != nullptr && !op->has_args && op->attrs.empty() && op->dtypes.empty() &&
         op->ranks.empty();
}
const std::vector<std::string>& Pattern::root_ops() const { return tree_->root_ops; }

}  // namespace byoc
