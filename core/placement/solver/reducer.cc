// SPDX-License-Identifier: Apache-2.0
#include "core/placement/solver/reducer.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::placement {
namespace {

constexpr uint32_t kListed = 16;  // lists of edges up to this length are searched without index
constexpr uint32_t kMostSteps = 4000;  // half-edges that part_of follows for a bounded part

}  // namespace

Reducer::Reducer(const Problem& problem)
    : problem_(problem),
      cost_(problem.cost),
      head_(problem.size(), kEnd),
      degree_(problem.size(), 0),
      mark_(problem.size(), 0),
      left_(problem.size(), 1),
      state_(problem.size(), 0) {
  edges_.reserve(problem.edges.size() + problem.edges.size() / 4);
  eliminated_.reserve(problem.size());
  for (const Problem::Edge& edge : problem.edges) {
    BYOC_CHECK(edge.u != edge.v, "an edge from node ", edge.u, " to itself");
    const uint32_t known = find_edge(edge.u, edge.v);
    if (known == kEnd) add_edge(edge.u, edge.v, edge.matrix, false);
    else add_matrix(edge.u, edge.v, problem.matrix.data() + edge.matrix);
  }
  for (uint32_t v = problem.size(); v-- > 0;) {
    if (degree_[v] <= 2) ready_.push_back(v);
  }
}

void Reducer::link(uint32_t e, uint32_t side) {
  Edge& edge = edges_[e];
  const uint32_t v = edge.node[side], half = 2 * e + side;
  edge.next[side] = head_[v];
  edge.previous[side] = kEnd;
  if (head_[v] != kEnd) edges_[head_[v] / 2].previous[head_[v] % 2] = half;
  head_[v] = half;
  ++degree_[v];
}

void Reducer::unlink(uint32_t e, uint32_t side) {
  const Edge& edge = edges_[e];
  const uint32_t v = edge.node[side], next = edge.next[side], previous = edge.previous[side];
  if (previous == kEnd) head_[v] = next;
  else edges_[previous / 2].next[previous % 2] = next;
  if (next != kEnd) edges_[next / 2].previous[next % 2] = previous;
  BYOC_CHECK(degree_[v] > 0, "node ", v, " has an edge to lose");
  if (--degree_[v] <= 2 && left_[v]) ready_.push_back(v);
}

void Reducer::add_edge(uint32_t u, uint32_t v, uint64_t matrix, bool is_own) {
  const auto e = static_cast<uint32_t>(edges_.size());
  edges_.push_back({{u, v}, {}, {}, matrix, is_own, true});
  link(e, 0);
  link(e, 1);
  if (!index_.empty()) {
    if (2 * indexed_ >= index_.size()) index_edges();
    else *slot(u, v) = e + 1;
  }
}

void Reducer::remove_edge(uint32_t e) {
  BYOC_CHECK(e < edges_.size() && edges_[e].is_left, "edge ", e, " is removed once");
  unlink(e, 0);
  unlink(e, 1);
  edges_[e].is_left = false;
}

// Returns the slot of that pair of nodes: the one that has an edge between them, left or removed,
// or a new one.
uint32_t* Reducer::slot(uint32_t u, uint32_t v) {
  const uint64_t pair = uint64_t{std::min(u, v)} << 32 | std::max(u, v);
  BYOC_CHECK(indexed_ < index_.size(), "the index has a free slot");
  const size_t mask = index_.size() - 1;
  for (size_t at = (pair * 0x9e3779b97f4a7c15u) >> 20 & mask;; at = (at + 1) & mask) {
    if (index_[at] == 0) {
      ++indexed_;
      return &index_[at];
    }
    const Edge& edge = edges_[index_[at] - 1];
    if ((edge.node[0] == u && edge.node[1] == v) || (edge.node[0] == v && edge.node[1] == u))
      return &index_[at];
  }
}

// Indexes all edges anew, with room for as many more.
void Reducer::index_edges() {
  size_t size = 64;
  while (size < 4 * edges_.size()) size *= 2;
  index_.assign(size, 0);
  indexed_ = 0;
  for (uint32_t e = 0; e < edges_.size(); ++e) {
    if (edges_[e].is_left) *slot(edges_[e].node[0], edges_[e].node[1]) = e + 1;
  }
}

uint32_t Reducer::find_edge(uint32_t u, uint32_t v) {
  if (degree_[u] > degree_[v]) std::swap(u, v);
  if (degree_[u] <= kListed) {
    for (uint32_t half = head_[u]; half != kEnd; half = edges_[half / 2].next[half % 2]) {
      if (other(half / 2, u) == v) return half / 2;
    }
    return kEnd;
  }
  if (index_.empty() || 2 * indexed_ >= index_.size()) index_edges();
  uint32_t* found = slot(u, v);
  if (*found == 0) {  // the slot stays empty
    --indexed_;
    return kEnd;
  }
  return edges_[*found - 1].is_left ? *found - 1 : kEnd;
}

// Adds entries, rows of u, to the edge between u and v, and makes it when there is none.
void Reducer::add_matrix(uint32_t u, uint32_t v, const Cost* entries_of_u) {
  const uint32_t rows = k_of(u), columns = k_of(v);
  const size_t n = size_t{rows} * columns;
  uint32_t e = find_edge(u, v);
  if (e == kEnd) {
    const uint64_t place = own_.size();
    own_.insert(own_.end(), entries_of_u, entries_of_u + n);
    add_edge(u, v, place, true);
    return;
  }
  Edge& edge = edges_[e];
  if (!edge.is_own) {
    const uint64_t place = own_.size();
    own_.resize(place + n);
    std::copy_n(entries(edge), n, own_.begin() + static_cast<ptrdiff_t>(place));
    edge.matrix = place;
    edge.is_own = true;
  }
  BYOC_CHECK(edge.matrix + n <= own_.size(), "the matrix of an edge is its own");
  Cost* to = own_.data() + edge.matrix;
  const bool is_row = edge.node[0] == u;
  for (uint32_t x = 0; x < rows; ++x) {
    for (uint32_t y = 0; y < columns; ++y) {
      Cost& now = to[is_row ? x * columns + y : y * rows + x];
      now = add(now, entries_of_u[x * columns + y]);
    }
  }
}

// R1: adds to each state of the neighbour the best of v next to it.
void Reducer::fold_into_neighbour(uint32_t v, uint32_t e) {
  const uint32_t w = other(e, v), k = k_of(v);
  for (uint32_t y = 0; y < k_of(w); ++y) {
    Cost best = kForbidden;
    for (uint32_t x = 0; x < k; ++x) best = std::min(best, add(cost(v)[x], entry(e, v, x, y)));
    cost(w)[y] = add(cost(w)[y], best);
  }
}

// R2: adds to each pair of states of the two neighbours the best of v between them.
void Reducer::fold_into_edge(uint32_t v, uint32_t e, uint32_t f) {
  const uint32_t y = other(e, v), z = other(f, v), ky = k_of(y), kz = k_of(z);
  scratch_.assign(size_t{ky} * kz, kForbidden);
  for (uint32_t x = 0; x < k_of(v); ++x) {
    for (uint32_t a = 0; a < ky; ++a) {
      const Cost so_far = add(cost(v)[x], entry(e, v, x, a));
      for (uint32_t b = 0; b < kz; ++b) {
        Cost& best = scratch_[size_t{a} * kz + b];
        best = std::min(best, add(so_far, entry(f, v, x, b)));
      }
    }
  }
  forget(v);
  remove_edge(e);
  remove_edge(f);
  add_matrix(y, z, scratch_.data());
}

void Reducer::forget(uint32_t v) { left_[v] = 0; }

void Reducer::eliminate(uint32_t v) {
  BYOC_CHECK(left_[v] && degree_[v] <= 2, "node ", v, " has ", degree_[v], " neighbours");
  const uint32_t half = head_[v];
  const uint32_t e = half == kEnd ? kEnd : half / 2;
  const uint32_t next = e == kEnd ? kEnd : edges_[e].next[half % 2];
  const uint32_t f = next == kEnd ? kEnd : next / 2;
  eliminated_.push_back({v, {e, f}});
  if (e == kEnd) {
    offset_ = add(offset_, *std::min_element(cost(v), cost(v) + k_of(v)));
    forget(v);
  } else if (f == kEnd) {
    fold_into_neighbour(v, e);
    forget(v);
    remove_edge(e);
  } else {
    fold_into_edge(v, e, f);
  }
}

void Reducer::reduce() {
  while (!ready_.empty()) {
    const uint32_t v = ready_.back();
    ready_.pop_back();
    if (left_[v] && degree_[v] <= 2) eliminate(v);
  }
}

std::vector<uint32_t> Reducer::part_of(uint32_t v, uint32_t most) {
  std::vector<uint32_t> part{v};
  mark_[v] = ++marks_;
  uint32_t steps = 0;
  for (size_t k = 0; k < part.size(); ++k) {
    for (uint32_t half = head_[part[k]]; half != kEnd; half = edges_[half / 2].next[half % 2]) {
      const uint32_t w = other(half / 2, part[k]);
      if (++steps > kMostSteps && most != UINT32_MAX) return {};
      if (mark_[w] == marks_) continue;
      if (part.size() == most) return {};
      mark_[w] = marks_;
      part.push_back(w);
    }
  }
  return part;
}

Problem Reducer::extract(std::span<const uint32_t> nodes) {
  Problem out;
  std::vector<std::pair<uint32_t, uint32_t>> number;
  for (uint32_t v : nodes) number.emplace_back(v, out.add_node({cost(v), k_of(v)}));
  std::sort(number.begin(), number.end());
  auto number_of = [&](uint32_t v) {
    return std::lower_bound(number.begin(), number.end(), std::pair(v, 0u))->second;
  };
  for (uint32_t v : nodes) {
    for (uint32_t half = head_[v]; half != kEnd; half = edges_[half / 2].next[half % 2]) {
      if (half % 2 != 0) continue;  // each edge once, from its first node
      const Edge& edge = edges_[half / 2];
      const size_t n = size_t{k_of(edge.node[0])} * k_of(edge.node[1]);
      out.add_edge(number_of(edge.node[0]), number_of(edge.node[1]),
                   out.add_matrix({entries(edge), n}));
    }
  }
  return out;
}

void Reducer::fix_part(std::span<const uint32_t> nodes, std::span<const uint8_t> states) {
  BYOC_CHECK(nodes.size() == states.size(), "a state per node, got ", states.size());
  for (size_t k = 0; k < nodes.size(); ++k) {
    BYOC_CHECK(states[k] < k_of(nodes[k]), "node ", nodes[k], " has no state ", int{states[k]});
    state_[nodes[k]] = states[k];
    forget(nodes[k]);
  }
}

void Reducer::fix_by_heuristic(uint32_t v) {
  std::vector<Cost> looks(cost(v), cost(v) + k_of(v));
  for (uint32_t half = head_[v]; half != kEnd; half = edges_[half / 2].next[half % 2]) {
    const uint32_t w = other(half / 2, v);
    for (uint32_t x = 0; x < looks.size(); ++x) {
      Cost best = kForbidden;
      for (uint32_t y = 0; y < k_of(w); ++y)
        best = std::min(best, add(cost(w)[y], entry(half / 2, v, x, y)));
      looks[x] = add(looks[x], best);
    }
  }
  const auto x =
      static_cast<uint32_t>(std::min_element(looks.begin(), looks.end()) - looks.begin());
  state_[v] = static_cast<uint8_t>(x);
  offset_ = add(offset_, cost(v)[x]);
  forget(v);
  while (head_[v] != kEnd) {
    const uint32_t e = head_[v] / 2, w = other(e, v);
    for (uint32_t y = 0; y < k_of(w); ++y) cost(w)[y] = add(cost(w)[y], entry(e, v, x, y));
    remove_edge(e);
  }
}

std::vector<uint8_t> Reducer::states() {
  for (size_t k = eliminated_.size(); k-- > 0;) {
    const auto& [v, edge] = eliminated_[k];
    Cost best = 0;
    for (uint32_t x = 0; x < k_of(v); ++x) {
      Cost now = cost(v)[x];
      for (uint32_t e : edge) {
        if (e != kEnd) now = add(now, entry(e, v, x, state_[other(e, v)]));
      }
      if (x == 0 || now < best) {
        best = now;
        state_[v] = static_cast<uint8_t>(x);
      }
    }
  }
  return std::move(state_);
}

}  // namespace byoc::placement
