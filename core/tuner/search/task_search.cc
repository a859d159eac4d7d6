// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/task_search.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::tune {
namespace {

double gain_of(double before, double after) {
  if (!std::isfinite(after)) return 0;
  return std::isfinite(before) ? 1 - after / before : 1;
}

}  // namespace

TaskSearch::TaskSearch(const Space& space, const RoundOptions& options, uint64_t seed)
    : grid_(space), options_(options), random_(seed), best_ns_(kFailed), before_ns_(kFailed) {
  for (const Point& guess : space.guesses) {
    if (starts_.size() == options.guesses) break;
    const auto genes = grid_.genes(guess);
    if (!genes) continue;
    if (first_.empty()) first_ = *genes;
    starts_.push_back(*genes);
  }
  if (first_.empty()) first_.assign(space.knobs.size(), 0);
}

void TaskSearch::add_start(const Point& point) {
  if (grid_.size() > 0) starts_.push_back(grid_.nearest(point, first_));
}

std::vector<Genes> TaskSearch::begin_round(size_t n, const Score* score) {
  std::vector<Genes> out;
  if (grid_.size() == 0) n = 0;
  take_starts(n, out);
  BYOC_CHECK(out.size() <= n, out.size(), " starts in a round of ", n);
  const auto free = static_cast<double>(n - out.size());
  const double share = std::clamp(options_.random_share, 0.0, 1.0);
  const auto random = static_cast<size_t>(std::ceil(free * share));
  if (score) {
    BYOC_CHECK(out.size() + random <= n, random, " random points of ", n - out.size());
    take_scored(n - out.size() - random, *score, out);
  } else {
    take_neighbours((n - out.size()) / 2, out);
  }
  take_random(n - out.size(), out);
  progress_.is_exhausted = static_cast<double>(visited_.size()) >= grid_.size();
  note_round(out);
  return out;
}

std::vector<Genes> TaskSearch::begin_round(size_t n, const PointSearch& search) {
  std::vector<Genes> out;
  take_starts(n, out);
  if (out.empty() && n > 0) {
    std::vector<TriedPoint> tried;
    for (const auto& [genes, ns] : results_) tried.push_back({grid_.point(genes), ns});
    for (const Point& point : search(grid_.space(), tried, n)) {
      auto genes = grid_.genes(point);
      if (genes && out.size() < n) take(*std::move(genes), out);
    }
  }
  progress_.is_exhausted = out.empty() || static_cast<double>(visited_.size()) >= grid_.size();
  note_round(out);
  return out;
}

void TaskSearch::note_round(const std::vector<Genes>& points) {
  if (points.empty()) return;
  ++progress_.rounds;
  open_.push_back(points.size());
}

bool TaskSearch::take(Genes genes, std::vector<Genes>& out) {
  if (!visited_.insert(genes).second) return false;
  out.push_back(std::move(genes));
  return true;
}

void TaskSearch::take_starts(size_t n, std::vector<Genes>& out) {
  for (; out.size() < n && !starts_.empty(); starts_.pop_front())
    take(std::move(starts_.front()), out);
}

void TaskSearch::take_scored(size_t n, const Score& score, std::vector<Genes>& out) {
  if (n == 0) return;
  const size_t end = out.size() + n;
  const auto near = static_cast<size_t>(std::ceil(static_cast<double>(n) * options_.near_share));
  if (best_ns_ < kFailed) {
    for (Genes& genes : best_neighbours(grid_, best_, visited_, score, near))
      take(std::move(genes), out);
  }
  BYOC_CHECK(out.size() <= end, "more neighbours than ", n, " points");
  n = end - out.size();
  const auto parents = fastest(options_.evolution.population / 2);
  for (Genes& genes : evolve(grid_, parents, visited_, score, options_.evolution, n, random_))
    take(std::move(genes), out);
}

// Tries a few times only: neighbours may all be visited.
void TaskSearch::take_neighbours(size_t n, std::vector<Genes>& out) {
  const size_t end = out.size() + n;
  for (size_t k = 0; k < 8 * n && out.size() < end; ++k) {
    Genes genes = best_ns_ < kFailed ? best_ : first_;
    grid_.mutate(genes, random_);
    take(std::move(genes), out);
  }
}

void TaskSearch::take_random(size_t n, std::vector<Genes>& out) {
  for (size_t k = 0; k < n; ++k) {
    auto genes = grid_.random_outside(visited_, random_);
    if (!genes) return;
    take(std::move(*genes), out);
  }
}

void TaskSearch::add(const Genes& genes, double ns) {
  if (!results_.contains(genes)) ++trials_;
  const bool is_of_round = !results_.contains(genes) && visited_.contains(genes) && !open_.empty();
  set_result(genes, ns);
  BYOC_CHECK(!is_of_round || open_.front() > 0, "a round that awaits no points is open");
  if (is_of_round && --open_.front() == 0) end_round();
}

void TaskSearch::add_known(const Genes& genes, double ns) {
  known_ += !results_.contains(genes);
  set_result(genes, ns);
  if (progress_.rounds == 0) before_ns_ = best_ns_;
}

void TaskSearch::set_result(const Genes& genes, double ns) {
  BYOC_CHECK(genes.size() == grid_.space().knobs.size(), genes.size(), " genes of ",
             grid_.space().knobs.size(), " knobs");
  if (!(ns > 0)) ns = kFailed;
  visited_.insert(genes);
  results_[genes] = ns;
  if (ns < best_ns_) {
    best_ns_ = ns, best_ = genes;
  } else if (genes == best_ && ns > best_ns_) {  // a replacement
    best_ns_ = kFailed, best_.clear();
    for (const auto& [other, other_ns] : results_)
      if (other_ns < best_ns_) best_ns_ = other_ns, best_ = other;
  }
  const auto first = results_.find(first_);
  const bool is_comparable = first != results_.end() && std::isfinite(first->second);
  progress_.remaining = is_comparable ? best_ns_ / first->second : 1;
}

void TaskSearch::end_round() {
  BYOC_CHECK(!open_.empty() && open_.front() == 0, "a round ends that awaits points");
  open_.pop_front();
  const auto first = results_.find(first_);
  if (progress_.gains.empty() && !std::isfinite(before_ns_) && first != results_.end())
    before_ns_ = first->second;
  progress_.gains.push_back(gain_of(before_ns_, best_ns_));
  before_ns_ = best_ns_;
}

std::vector<Genes> TaskSearch::fastest(size_t n) const {
  std::vector<std::pair<double, const Genes*>> order;
  for (const auto& [genes, ns] : results_)
    if (std::isfinite(ns)) order.emplace_back(ns, &genes);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Genes> out;
  for (size_t k = 0; k < std::min(n, order.size()); ++k) out.push_back(*order[k].second);
  return out;
}

}  // namespace byoc::tune
