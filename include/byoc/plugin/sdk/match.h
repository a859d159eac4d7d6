// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants of patterns: their values in the pattern, and in the composite that a node calls.
//   {"my_chip.eps", op("add", {any("x"), constant("eps", 1e-5, 1e-3)})}
//   ...
//   Match match(graph, graph.nodes[0]);
//   std::optional<float> eps = match.constant<float>("eps");
#include <cstdio>
#include <type_traits>

#include "byoc/plugin/sdk/graph.h"
#include "byoc/plugin/sdk/pattern.h"

namespace byoc::sdk {

/// A constant whose elements all have a value, within a share of it; 0: as its dtype has it.
inline Dag constant(std::string_view capture, double value, double rtol = 1e-6) {
  const auto text = [](double number) {
    char out[32];
    std::snprintf(out, sizeof out, "%.17g", number);
    return std::string(out);
  };
  return Dag("const", "true").with("value", text(value)).with("rtol", text(rtol)).as(capture);
}

/// The call of a composite. Borrows the graph. In `judge` constants of at most 64 elements have
/// values; `compile` reads larger ones with Constants::data(index).
class Match {
 public:
  /// `node` is a call of a composite in `graph`.
  Match(const Graph& graph, const Node& node)
      : graph_(graph), node_(node), body_(*graph.callee(node)) {}
  const Body& body() const { return body_; }                                    ///< the composite
  const std::string& pattern() const { return body_.pattern; }                  ///< "my_chip.gelu"
  const Node* op(std::string_view name) const { return body_.captured(name); }  ///< null: no op
  /// Returns the operand of the call that is captured under `name`; nothing for ops and for names
  /// that are not captured.
  std::optional<Operand> operand(std::string_view name) const {
    auto found = body_.captures.find(name);
    if (found == body_.captures.end() || found->second.empty()) return std::nullopt;
    const Operand& first = found->second.front();
    if (first.kind != Operand::kInput || first.index >= node_.args.size()) return std::nullopt;
    return node_.args[first.index];
  }
  /// Returns the index in Graph::constants; nothing for what is no constant.
  std::optional<uint32_t> constant_index(std::string_view name) const {
    const std::optional<Operand> value = operand(name);
    if (!value || value->kind != Operand::kConstant) return std::nullopt;
    return value->index;
  }
  /// Returns the elements as numbers; empty for a capture that is no constant with values.
  template <class T>
  std::vector<T> constants(std::string_view name) const {
    static_assert(std::is_arithmetic_v<T>);
    std::vector<T> out;
    const std::optional<uint32_t> index = constant_index(name);
    if (!index || !graph_.constants[*index].value) return out;
    const auto append = [&out](const auto& list) {
      for (auto element : list) out.push_back(static_cast<T>(element));
    };
    const Attr& value = *graph_.constants[*index].value;
    if (auto* ints = std::get_if<Ints>(&value)) append(*ints);
    if (auto* floats = std::get_if<Floats>(&value)) append(*floats);
    if (auto* bools = std::get_if<Bools>(&value)) append(*bools);
    return out;
  }
  /// Returns the value that all elements have; nothing for other captures.
  template <class T>
  std::optional<T> constant(std::string_view name) const {
    const std::vector<T> all = constants<T>(name);
    if (all.empty()) return std::nullopt;
    for (const T& one : all) {
      if (!(one == all[0])) return std::nullopt;
    }
    return all[0];
  }

 private:
  const Graph& graph_;
  const Node& node_;
  const Body& body_;
};

}  // namespace byoc::sdk
