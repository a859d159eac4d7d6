// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns as one row each (docs/patterns.md):
//   {"conv2d_bias_relu",
//    repeat(one_of({op("relu", {prior()}), op("add", {prior(), any("r")})}),
//           optional(op("add", {prior(), constant("b")}), op("conv2d", {any("x"),
//           constant("w")}).as("conv")), "post")}
// The host parses and matches them; its message about a malformed one names the JSON path.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace byoc::sdk {

/// A piece of a pattern: the fields of one JSON object, or the "$" of prior().
class Dag {
 public:
  Dag() = default;  // prior()
  /// A node with one member.
  Dag(std::string_view key, std::string json) { fields_.emplace_back(key, std::move(json)); }
  /// Adds a member of the JSON.
  Dag with(std::string_view key, std::string json) && {
    fields_.emplace_back(key, std::move(json));
    return std::move(*this);
  }
  /// Names what is matched.
  Dag as(std::string_view capture) && { return std::move(*this).with("as", quote(capture)); }
  /// The result has one of these dtypes.
  Dag dtype(std::initializer_list<std::string_view> names) && {
    std::string list;
    for (std::string_view name : names) list += (list.empty() ? "" : ",") + quote(name);
    return std::move(*this).with("dtype", "[" + list + "]");
  }
  /// The result has one of these ranks.
  Dag rank(std::initializer_list<int64_t> ranks) && {
    std::string list;
    for (int64_t rank : ranks) list += (list.empty() ? "" : ",") + std::to_string(rank);
    return std::move(*this).with("rank", "[" + list + "]");
  }
  /// Adds a condition: JSON, a value or {"in":[...]}, {"max":n}, {"min":n}; several calls add up.
  Dag attr(std::string_view name, std::string_view condition) && {
    attrs_ += (attrs_.empty() ? "" : ",") + quote(name) + ":" + std::string(condition);
    return std::move(*this);
  }
  /// The pattern as JSON.
  std::string json() const {
    if (fields_.empty()) return "\"$\"";
    std::string out;
    for (const auto& [key, value] : fields_)
      out += (out.empty() ? "" : ",") + quote(key) + ":" + value;
    if (!attrs_.empty()) out += ",\"attrs\":{" + attrs_ + "}";
    return "{" + out + "}";
  }
  /// "text" with quotes
  static std::string quote(std::string_view text) { return '"' + std::string(text) + '"'; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
  std::string attrs_;
};

namespace detail {
inline std::string join(std::initializer_list<Dag> parts) {
  std::string out;
  for (const Dag& part : parts) out += (out.empty() ? "" : ",") + part.json();
  return "[" + out + "]";
}
}  // namespace detail

/// Makes an op with any operands.
inline Dag op(std::string_view name) { return {"op", Dag::quote(name)}; }
/// Makes an op; args correspond to the operands one for one.
inline Dag op(std::string_view name, std::initializer_list<Dag> args) {
  return op(name).with("args", detail::join(args));
}
/// Any value, captured.
inline Dag any(std::string_view capture) { return Dag("any", "true").as(capture); }
/// A constant, captured.
inline Dag constant(std::string_view capture) { return Dag("const", "true").as(capture); }
/// The value captured before.
inline Dag same(std::string_view capture) { return {"same", Dag::quote(capture)}; }
inline Dag prior() { return {}; }  ///< the value so far, in optional and repeat
/// The first that matches.
inline Dag one_of(std::initializer_list<Dag> choices) { return {"one_of", detail::join(choices)}; }
/// Makes q applied to `on`, or `on` alone.
inline Dag optional(const Dag& q, const Dag& on) {
  return Dag("optional", q.json()).with("on", on.json());
}
/// Makes a chain of `min` to `max` links q on `on`, captured.
inline Dag repeat(const Dag& q, const Dag& on, std::string_view capture, int min = 0,
                  int max = 16) {
  return Dag("repeat", q.json())
      .with("on", on.json())
      .with("min", std::to_string(min))
      .with("max", std::to_string(max))
      .as(capture);
}

/// Two or more ops are a composite of this name. One op is declared as supported.
struct Pattern {
  /// A pattern; a higher priority goes first among those of the plugin.
  Pattern(std::string name, Dag dag, int32_t priority = 0)
      : name(std::move(name)), dag_json(dag.json()), priority(priority) {}
  std::string name, dag_json;  ///< the name; the pattern as JSON
  int32_t priority = 0;        ///< higher goes first
};

/// Adds a pattern per op, each named as the op.
inline void add_ops(std::vector<Pattern>& patterns, std::initializer_list<std::string_view> ops) {
  for (std::string_view name : ops) patterns.emplace_back(std::string(name), op(name));
}

}  // namespace byoc::sdk
