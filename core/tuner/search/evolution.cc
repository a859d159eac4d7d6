// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/evolution.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc::tune {
namespace {

struct Scored {
  Genes genes;
  float score;
};

void sort_by_score(std::vector<Scored>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
}

size_t distance(const Genes& a, const Genes& b) {
  BYOC_CHECK(a.size() == b.size(), "points of ", a.size(), " and ", b.size(), " genes");
  size_t n = 0;
  for (size_t k = 0; k < a.size(); ++k) n += a[k] != b[k] ? 1 : 0;
  return n;
}

// Returns `count` of the points, best first: at first each that differs from all before it in more
// than `spread` knobs, then of the others those that differ in fewer.
std::vector<Genes> best_of(std::vector<Scored> points, size_t count, size_t spread) {
  sort_by_score(points);
  points.resize(std::min(points.size(), 16 * count));
  std::vector<Genes> out;
  for (size_t least = spread + 1; least > 0 && out.size() < count; --least) {
    for (const Scored& point : points) {
      const auto is_far = [&](const Genes& other) { return distance(point.genes, other) >= least; };
      if (out.size() < count && std::all_of(out.begin(), out.end(), is_far))
        out.push_back(point.genes);
    }
  }
  return out;
}

// Appends points with their scores.
void append_scored(std::vector<Genes> points, const Score& score, std::vector<Scored>& out) {
  const std::vector<float> scores = score(points);
  BYOC_CHECK(scores.size() == points.size(), scores.size(), " scores of ", points.size(),
             " points");
  for (size_t k = 0; k < points.size(); ++k) out.push_back({std::move(points[k]), scores[k]});
}

std::vector<Scored> all_outside(const Grid& grid, const GenesSet& visited, const Score& score) {
  std::vector<Genes> points;
  Genes genes(grid.space().knobs.size());
  for (size_t k = 0; k < static_cast<size_t>(grid.size()); ++k, grid.advance(genes))
    if (!visited.contains(genes)) points.push_back(genes);
  std::vector<Scored> out;
  append_scored(std::move(points), score, out);
  return out;
}

// One evolution. `found_` has each point outside of `visited` once, in the order of discovery.
class Evolution {
 public:
  Evolution(const Grid& grid, const GenesSet& visited, const Score& score,
            const EvolutionOptions& options, Random& random)
      : grid_(grid), visited_(visited), score_(score), options_(options), random_(random) {}

  std::vector<Scored> run(const std::vector<Genes>& parents) {
    std::vector<Genes> first(parents.begin(),
                             parents.begin() + std::min(parents.size(), options_.population / 2));
    while (first.size() < options_.population) first.push_back(grid_.random(random_));
    adopt(std::move(first));
    for (size_t k = 0; k < options_.generations; ++k) adopt(children());
    return std::move(found_);
  }

 private:
  // Makes the points the next generation, best first.
  void adopt(std::vector<Genes> points) {
    generation_.clear();
    append_scored(std::move(points), score_, generation_);
    sort_by_score(generation_);
    for (const Scored& point : generation_) {
      if (!visited_.contains(point.genes) && seen_.insert(point.genes).second)
        found_.push_back(point);
    }
  }

  // The better of two: a point of the better half is picked more often.
  const Genes& parent() {
    const size_t n = generation_.size();
    BYOC_CHECK(n > 0, "a generation of no points has no parents");
    return generation_[std::min(random_.below(n), random_.below(n))].genes;
  }

  // The best eighth lives on.
  std::vector<Genes> children() {
    std::vector<Genes> out;
    for (size_t k = 0; k < generation_.size() / 8; ++k) out.push_back(generation_[k].genes);
    while (out.size() < options_.population) {
      Genes child = parent();
      if (random_.unit() < options_.mutation_share) {
        grid_.mutate(child, random_);
      } else {
        const Genes& other = parent();
        for (size_t k = 0; k < child.size(); ++k)
          if (random_.unit() < 0.5) child[k] = other[k];
      }
      out.push_back(std::move(child));
    }
    return out;
  }

  const Grid& grid_;
  const GenesSet& visited_;
  const Score& score_;
  const EvolutionOptions& options_;
  Random& random_;
  std::vector<Scored> generation_, found_;
  GenesSet seen_;
};

}  // namespace

std::vector<Genes> evolve(const Grid& grid, const std::vector<Genes>& parents,
                          const GenesSet& visited, const Score& score,
                          const EvolutionOptions& options, size_t count, Random& random) {
  if (grid.size() == 0) return {};
  if (grid.size() <= static_cast<double>(options.enumerate_up_to))
    return best_of(all_outside(grid, visited, score), count, options.spread);
  return best_of(Evolution(grid, visited, score, options, random).run(parents), count,
                 options.spread);
}

std::vector<Genes> best_neighbours(const Grid& grid, const Genes& genes, const GenesSet& visited,
                                   const Score& score, size_t count) {
  BYOC_CHECK(genes.size() == grid.space().knobs.size(), genes.size(), " genes of ",
             grid.space().knobs.size(), " knobs");
  std::vector<Genes> points;
  for (size_t k = 0; k < genes.size(); ++k) {
    Genes other = genes;
    for (other[k] = 0; other[k] < grid.space().knobs[k].values.size(); ++other[k])
      if (!visited.contains(other)) points.push_back(other);
  }
  std::vector<Scored> found;
  append_scored(std::move(points), score, found);
  return best_of(std::move(found), count, 0);
}

}  // namespace byoc::tune
