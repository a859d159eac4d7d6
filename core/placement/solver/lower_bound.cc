// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/lower_bound.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::placement {
namespace {

class Messages {
 public:
  explicit Messages(const Problem& problem) : problem_(problem), incidence_(problem) {
    uint64_t entries = 0;
    for (const Problem::Edge& edge : problem.edges) {
      to_u_.push_back(entries);
      entries += problem.states(edge.u);
      to_v_.push_back(entries);
      entries += problem.states(edge.v);
    }
    message_.assign(entries, 0);
    share_.resize(problem.size());
    for (uint32_t v = 0; v < problem.size(); ++v) {
      uint32_t before = 0, after = 0;
      for (uint32_t e : incidence_.of(v)) ++(other(e, v) < v ? before : after);
      share_[v] = std::max({before, after, 1u});
    }
  }

  void sweep(bool forward) {
    for (uint32_t k = 0; k < problem_.size(); ++k) {
      const uint32_t v = forward ? k : problem_.size() - 1 - k;
      gather(v);
      for (Cost& cost : full_) {
        if (cost < kForbidden) cost /= share_[v];
      }
      for (uint32_t e : incidence_.of(v)) {
        if ((other(e, v) > v) == forward) send(e, v);
      }
    }
  }

  Cost bound() {
    Cost sum = 0;
    for (uint32_t v = 0; v < problem_.size(); ++v) {
      gather(v);
      sum = add(sum, *std::min_element(full_.begin(), full_.end()));
    }
    for (uint32_t e = 0; e < problem_.edges.size(); ++e) {
      Cost least = kForbidden;
      for_each_entry(e, [&](uint64_t, Cost cost) { least = std::min(least, cost); });
      sum = add(sum, least);
    }
    return sum;
  }

  Problem moved() {
    Problem out;
    for (uint32_t v = 0; v < problem_.size(); ++v) {
      gather(v);
      out.add_node(full_);
    }
    for (uint32_t e = 0; e < problem_.edges.size(); ++e) {
      const uint64_t place = out.matrix.size();
      for_each_entry(e, [&](uint64_t, Cost cost) { out.matrix.push_back(cost); });
      out.add_edge(problem_.edges[e].u, problem_.edges[e].v, place);
    }
    return out;
  }

 private:
  uint32_t other(uint32_t e, uint32_t v) const {
    return problem_.edges[e].u == v ? problem_.edges[e].v : problem_.edges[e].u;
  }
  Cost* into(uint32_t e, uint32_t v) {
    return message_.data() + (problem_.edges[e].u == v ? to_u_[e] : to_v_[e]);
  }
  // Sets full_ to the costs of v with all messages.
  void gather(uint32_t v) {
    full_.assign(problem_.costs(v).begin(), problem_.costs(v).end());
    for (uint32_t e : incidence_.of(v)) {
      const Cost* message = into(e, v);
      for (size_t k = 0; k < full_.size(); ++k) full_[k] = add(full_[k], message[k]);
    }
  }
  // Sends the share of v along edge e. Messages are at least 0 and at most kMostCost.
  void send(uint32_t e, uint32_t v) {
    const uint32_t w = other(e, v);
    BYOC_CHECK(full_.size() == problem_.states(v), "the costs gathered are of node ", v);
    const bool is_row = problem_.edges[e].u == v;
    const Cost *back = into(e, v), *entries = problem_.matrix.data() + problem_.edges[e].matrix;
    Cost* out = into(e, w);
    const uint32_t rows = problem_.states(v), columns = problem_.states(w);
    Cost least = kForbidden;
    for (uint32_t y = 0; y < columns; ++y) {
      Cost best = kForbidden;
      for (uint32_t x = 0; x < rows; ++x) {
        const Cost pair = is_row ? entries[x * columns + y] : entries[y * rows + x];
        best = std::min(best, add(add(full_[x], pair), -back[x]));
      }
      out[y] = best;
      least = std::min(least, best);
    }
    if (least >= kForbidden) least = 0;
    for (uint32_t y = 0; y < columns; ++y) out[y] = std::clamp(out[y] - least, Cost{0}, kMostCost);
  }
  template <class F>
  void for_each_entry(uint32_t e, F&& f) {
    const Problem::Edge& edge = problem_.edges[e];
    const uint32_t rows = problem_.states(edge.u), columns = problem_.states(edge.v);
    for (uint32_t x = 0; x < rows; ++x) {
      for (uint32_t y = 0; y < columns; ++y) {
        const uint64_t at = uint64_t{x} * columns + y;
        const Cost cost = problem_.matrix[edge.matrix + at];
        f(at, add(cost, -(message_[to_u_[e] + x] + message_[to_v_[e] + y])));
      }
    }
  }

  const Problem& problem_;
  Incidence incidence_;
  std::vector<uint64_t> to_u_, to_v_;  // per edge: the first entry of its messages
  std::vector<Cost> message_, full_;
  std::vector<uint32_t> share_;
};

}  // namespace

Cost lower_bound(const Problem& problem, uint32_t sweeps) {
  Messages messages(problem);
  const Cost best = messages.bound();
  for (uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    messages.sweep(true);
    messages.sweep(false);
  }
  return std::max(best, messages.bound());
}

Moved move_costs(const Problem& problem, uint32_t sweeps) {
  Messages messages(problem);
  Moved best{messages.moved(), messages.bound()};
  for (uint32_t sweep = 0; sweep < sweeps; ++sweep) {
    messages.sweep(true);
    messages.sweep(false);
    const Cost now = messages.bound();
    if (now > best.bound) best = {messages.moved(), now};
  }
  return best;
}

}  // namespace byoc::placement
