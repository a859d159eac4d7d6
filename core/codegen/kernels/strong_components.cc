// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/strong_components.h"

#include <algorithm>

namespace byoc {
namespace {

class Components {
 public:
  explicit Components(const Edges& edges)
      : edges_(edges),
        next_(edges.first),
        index_(edges.size(), kNone),
        low_(edges.size(), 0),
        component_(edges.size(), kNone) {}
  std::vector<uint32_t> run() {
    for (uint32_t v = 0; v < edges_.size(); ++v) {
      if (index_[v] != kNone) continue;
      enter(v);
      while (!path_.empty()) step();
    }
    return std::move(component_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  void enter(uint32_t v) {
    index_[v] = low_[v] = entered_++;
    path_.push_back(v);
    open_.push_back(v);
  }
  // Follows the next edge of the path's end, or leaves it.
  void step() {
    const uint32_t v = path_.back();
    if (next_[v] < edges_.first[v + 1]) {
      const uint32_t w = edges_.target[next_[v]++];
      if (index_[w] == kNone) enter(w);
      else if (component_[w] == kNone) low_[v] = std::min(low_[v], index_[w]);
      return;
    }
    path_.pop_back();
    if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[v]);
    if (low_[v] == index_[v]) close(v);
  }
  void close(uint32_t root) {
    uint32_t v = kNone;
    do {
      v = open_.back();
      open_.pop_back();
      component_[v] = closed_;
    } while (v != root);
    ++closed_;
  }

  const Edges& edges_;
  std::vector<uint32_t> next_;         // per vertex: the edge to follow next
  std::vector<uint32_t> index_, low_;  // order of entry; the earliest one that is reached
  std::vector<uint32_t> component_;    // kNone: not closed
  std::vector<uint32_t> path_, open_;  // from the root; entered and in no component yet
  uint32_t entered_ = 0, closed_ = 0;
};

}  // namespace

std::vector<uint32_t> strong_components(const Edges& edges) { return Components(edges).run(); }

}  // namespace byoc
