// SPDX-License-Identifier: Apache-2.0
#include "forms/states.h"

#include <algorithm>
#include <cstring>

#include "byoc/pass/bind.h"

namespace byoc::fuzz {
namespace {

constexpr size_t kMostPairs = 2;
constexpr int kSteps = 4;

bool is_state(const std::vector<StatePair>& pairs, size_t leaf) {
  return std::ranges::count(pairs, leaf, &StatePair::leaf) > 0;
}

std::string output_name(size_t result) { return cat("y", result); }

Tensor tensor_of(TypeId type, const Bytes& data) {
  Tensor out = *Tensor::make({type->dtype, static_extents(type->shape)});
  if (data != nullptr && data->size() > 0) std::memcpy(out.data(), data->data(), data->size());
  return out;
}

/// A session, and the graph with the states of its context as values of the leaves.
class Steps {
 public:
  Steps(const Session& session, Context& context, Case graph, const std::vector<StatePair>& pairs)
      : session_(session), context_(context), graph_(std::move(graph)), pairs_(pairs) {}

  Status begin() {
    for (const StatePair& pair : pairs_) {
      const Leaf& leaf = graph_.leaves[pair.leaf];
      const Tensor value = tensor_of(leaf.type, leaf.data);
      BYOC_TRY_STATUS(session_.set_state(context_, leaf.name, value.view()));
    }
    return {};
  }

  Result<Outcome> step(Sums sums) {
    const Result<std::vector<Known>> wanted = evaluate_case(graph_, kOracleSeed, sums);
    if (!wanted.ok()) return Outcome{Outcome::kUndetermined, wanted.status().message()};
    BYOC_TRY(const std::vector<Tensor> got, run());
    for (size_t k = 0; k < got.size(); ++k) {
      const std::string text = difference(got[k].data(), (*wanted)[k]);
      if (!text.empty()) return Outcome{Outcome::kWrong, cat("result ", k, ": ", text)};
    }
    for (const StatePair& pair : pairs_) {  // as the next step reads them
      const Tensor& now = got[pair.result];
      graph_.leaves[pair.leaf].data = Buffer::copy({now.data(), now.size_bytes()});
    }
    return Outcome{};
  }

 private:
  // Returns all results of the graph, of which some are states.
  Result<std::vector<Tensor>> run() {
    std::vector<Tensor> inputs, results;
    for (size_t k = 0; k < graph_.leaves.size(); ++k) {
      const Leaf& leaf = graph_.leaves[k];
      if (!leaf.is_constant && !is_state(pairs_, k))
        inputs.push_back(tensor_of(leaf.type, leaf.data));
    }
    for (const Ref& result : graph_.results)
      results.push_back(tensor_of(graph_.type(result), nullptr));
    std::vector<DLTensor> in, out;
    for (const Tensor& tensor : inputs) in.push_back(tensor.view());
    for (size_t k = 0; k < results.size(); ++k) {
      if (std::ranges::count(pairs_, k, &StatePair::result) == 0) out.push_back(results[k].view());
    }
    BYOC_TRY_STATUS(session_.run(context_, in, out));
    for (const StatePair& pair : pairs_)
      BYOC_TRY_STATUS(
          session_.get_state(context_, output_name(pair.result), results[pair.result].view()));
    return results;
  }

  const Session& session_;
  Context& context_;
  Case graph_;
  const std::vector<StatePair>& pairs_;
};

}  // namespace

std::vector<StatePair> state_pairs(const Case& graph) {
  std::vector<StatePair> out;
  for (size_t k = 0; k < graph.leaves.size() && out.size() < kMostPairs; ++k) {
    if (graph.leaves[k].is_constant) continue;
    for (size_t r = 0; r < graph.results.size(); ++r) {
      const bool is_free = std::ranges::count(out, r, &StatePair::result) == 0;
      if (!is_free || graph.type(graph.results[r]) != graph.leaves[k].type) continue;
      out.push_back({k, r});
      break;
    }
  }
  return out;
}

Result<IRModule> with_states(const Case& graph, const std::vector<StatePair>& pairs) {
  IRModule module = to_module(graph);
  std::vector<std::string> names, texts;
  for (size_t k = 0; k < graph.results.size(); ++k) names.push_back(output_name(k));
  module.function("main").attrs.set("output_names", names);
  for (const StatePair& pair : pairs)
    texts.push_back(cat(graph.leaves[pair.leaf].name, "=", output_name(pair.result)));
  return bind_states(std::move(module), texts, PassContext());
}

Result<Outcome> run_steps(const Session& session, const Case& graph,
                          const std::vector<StatePair>& pairs, Sums sums) {
  BYOC_TRY(auto context, session.make_context());
  Steps steps(session, *context, graph, pairs);
  BYOC_TRY_STATUS(steps.begin());
  for (int k = 0; k < kSteps; ++k) {
    BYOC_TRY(Outcome outcome, steps.step(sums));
    if (outcome.kind == Outcome::kUndetermined && k > 0) return Outcome{};
    if (outcome.failed()) outcome.what = cat("step ", k, ": ", outcome.what);
    if (outcome.kind != Outcome::kRight) return outcome;
  }
  return Outcome{};
}

}  // namespace byoc::fuzz
