// SPDX-License-Identifier: Apache-2.0
#include "reduce.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "core/process/child.h"

namespace byoc::fuzz {
namespace {

/// Replaces every use of a value.
void replace(Case& graph, const std::function<Ref(Ref)>& now) {
  for (Step& step : graph.steps) {
    for (Ref& arg : step.args) arg = now(arg);
  }
  for (Ref& result : graph.results) result = now(result);
}

/// Returns all values of the steps, by the reference kernels. Nothing when they are not determined.
std::optional<std::vector<std::vector<Known>>> step_values(const Case& graph) {
  Case all = graph;
  all.results.clear();
  for (uint32_t k = 0; k < graph.steps.size(); ++k) {
    for (uint32_t output = 0; output < graph.steps[k].types.size(); ++output)
      all.results.push_back({false, k, output});
  }
  auto values = evaluate_case(all, kOracleSeed);
  if (!values.ok()) return std::nullopt;
  std::vector<std::vector<Known>> out(graph.steps.size());
  for (size_t k = 0; k < values->size(); ++k)
    out[all.results[k].index].push_back(std::move((*values)[k]));
  return out;
}

class Reducer {
 public:
  Reducer(const Configuration& configuration, Reduced start, size_t most_tries, uint32_t timeout_s)
      : configuration_(configuration),
        best_(std::move(start)),
        most_tries_(most_tries),
        timeout_s_(timeout_s) {}

  Reduced run() {
    try_graph(without_unused(best_.graph));
    for (bool smaller = true; smaller && !is_over();) {
      smaller = reduce_results();
      smaller |= cut_steps();
      smaller |= bypass_steps();
      smaller |= reduce_extents();
    }
    simplify_values();
    return std::move(best_);
  }

 private:
  bool is_over() const { return best_.tries >= most_tries_ || process::interrupted(); }

  /// Keeps the graph when it fails in the same way as the first one.
  bool try_graph(const Case& graph) {
    if (is_over()) return false;
    ++best_.tries;
    Outcome outcome = check_in_child(graph, configuration_, timeout_s_);
    if (outcome.kind != best_.outcome.kind) return false;
    best_.graph = graph;
    best_.outcome = std::move(outcome);
    return true;
  }

  bool reduce_results() {
    if (best_.graph.results.size() < 2) return false;
    const std::vector<Ref> results = best_.graph.results;
    for (Ref result : results) {
      Case graph = best_.graph;
      graph.results = {result};
      if (try_graph(without_unused(graph))) return true;
    }
    bool smaller = false;
    for (size_t k = results.size(); k-- > 0 && best_.graph.results.size() > 1;) {
      if (k >= best_.graph.results.size()) continue;
      Case graph = best_.graph;
      graph.results.erase(graph.results.begin() + static_cast<std::ptrdiff_t>(k));
      smaller |= try_graph(without_unused(graph));
    }
    return smaller;
  }

  /// Replaces steps [begin, end) by parameters with the right values.
  bool cut(size_t begin, size_t end) {
    auto values = step_values(best_.graph);
    if (!values) return false;
    Case graph = best_.graph;
    std::map<Ref, Ref> leaves;
    replace(graph, [&](Ref ref) {
      if (ref.is_leaf || ref.index < begin || ref.index >= end) return ref;
      auto [at, is_new] = leaves.try_emplace(ref);
      if (is_new) {
        const Known& known = (*values)[ref.index][ref.output];
        at->second = {true, static_cast<uint32_t>(graph.leaves.size()), 0};
        graph.leaves.push_back(
            {cat("v", ref.index, "_", ref.output), known.type, known.right, false});
      }
      return at->second;
    });
    // A former result that is now a parameter has no information.
    std::erase_if(graph.results, [](Ref result) { return result.is_leaf; });
    if (graph.results.empty()) return false;
    graph = without_unused(graph);
    name_leaves(graph);
    return graph.steps.size() < best_.graph.steps.size() && try_graph(graph);
  }

  static void name_leaves(Case& graph) {
    for (size_t k = 0; k < graph.leaves.size(); ++k) graph.leaves[k].name = cat("x", k);
  }

  bool cut_steps() {
    bool smaller = false;
    for (size_t size = (best_.graph.steps.size() + 1) / 2; size > 0; size /= 2) {
      for (size_t begin = 0; begin < best_.graph.steps.size();) {
        if (cut(begin, begin + size)) smaller = true;
        else begin += size;
      }
    }
    return smaller;
  }

  /// Replaces uses of a step's result by uses of an operand of the same type.
  bool bypass_steps() {
    bool smaller = false;
    for (size_t k = best_.graph.steps.size(); k-- > 0;) {
      if (k >= best_.graph.steps.size()) continue;
      const Step step = best_.graph.steps[k];
      for (Ref arg : step.args) {
        if (best_.graph.type(arg) != step.types[0] || best_.graph.steps.size() < 2) continue;
        Case graph = best_.graph;
        replace(graph, [&](Ref ref) {
          return ref == Ref{false, static_cast<uint32_t>(k), 0} ? arg : ref;
        });
        std::erase_if(graph.results, [](Ref result) { return result.is_leaf; });
        if (graph.results.empty()) continue;
        if (!try_graph(without_unused(graph))) continue;
        smaller = true;
        break;
      }
    }
    return smaller;
  }

  /// Returns `graph` with every extent `from` of a leaf made `to`, and with attributes of that
  /// value too when `attrs` is set.
  static std::optional<Case> resized(Case graph, int64_t from, int64_t to, bool attrs) {
    for (Leaf& leaf : graph.leaves) {
      Shape shape = leaf.type->shape;
      std::vector<int64_t> old = static_extents(shape);
      for (Dim& dim : shape) {
        if (dim == Dim(from)) dim = Dim(to);
      }
      if (shape == leaf.type->shape) continue;
      TypeId type = TensorType{leaf.type->dtype, shape};
      leaf.data = first_part(leaf, old, type);
      leaf.type = type;
    }
    for (Step& step : graph.steps) {
      if (!attrs) break;
      Attrs changed = *step.attrs;
      for (const auto& [name, value] : *step.attrs) {
        if (auto* list = std::get_if<Ints>(&value)) {
          Ints now = *list;
          std::replace(now.begin(), now.end(), from, to);
          changed.set(name, now);
        }
      }
      step.attrs = intern(changed);
    }
    auto typed = with_types(std::move(graph));
    return typed.ok() ? std::optional(*std::move(typed)) : std::nullopt;
  }

  /// Returns the elements of a leaf that are inside of smaller extents.
  static Bytes first_part(const Leaf& leaf, const std::vector<int64_t>& old, TypeId type) {
    std::vector<double> from = elements(leaf.type, *leaf.data), to;
    std::vector<int64_t> now = static_extents(type->shape);
    const int64_t count = element_count(type);
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat, at = 0, stride = 1;
      for (size_t k = now.size(); k-- > 0;) {
        at += rest % now[k] * stride;
        rest /= now[k];
        stride *= old[k];
      }
      to.push_back(from[static_cast<size_t>(at)]);
    }
    return from_elements(type, to);
  }

  bool reduce_extents() {
    std::set<int64_t> extents;
    for (const Leaf& leaf : best_.graph.leaves) {
      for (int64_t extent : static_extents(leaf.type->shape)) extents.insert(extent);
    }
    bool smaller = false;
    for (int64_t from : extents) {
      std::set<int64_t> choices = {1, 2, from / 2, from - 1};
      for (int64_t to : choices) {
        if (to < 1 || to >= from) continue;
        bool taken = false;
        for (bool attrs : {false, true}) {
          auto graph = resized(best_.graph, from, to, attrs);
          if (graph && try_graph(*graph)) taken = true;
          if (taken) break;
        }
        smaller |= taken;
        if (taken) break;
      }
    }
    return smaller;
  }

  void simplify_values() {
    for (size_t k = 0; k < best_.graph.leaves.size(); ++k) {
      const Leaf& leaf = best_.graph.leaves[k];
      std::vector<double> ones(static_cast<size_t>(element_count(leaf.type)), 1.0), count = ones;
      for (size_t i = 0; i < count.size(); ++i) count[i] = static_cast<double>(i + 1);
      for (const auto& values : {ones, count}) {
        Case graph = best_.graph;
        graph.leaves[k].data = from_elements(leaf.type, values);
        if (!is_float(leaf.type->dtype) || try_graph(graph)) break;
      }
    }
  }

  const Configuration& configuration_;
  Reduced best_;
  size_t most_tries_;
  uint32_t timeout_s_;
};

}  // namespace

Reduced reduce(const Case& graph, const Configuration& configuration, const Outcome& outcome,
               size_t most_tries, uint32_t timeout_s) {
  return Reducer(configuration, {graph, outcome, 0}, most_tries, timeout_s).run();
}

}  // namespace byoc::fuzz
