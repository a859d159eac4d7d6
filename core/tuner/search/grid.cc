// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/grid.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::tune {
namespace {

std::optional<uint32_t> index_of(const Knob& knob, const std::string& value) {
  const auto at = std::find(knob.values.begin(), knob.values.end(), value);
  if (at == knob.values.end()) return std::nullopt;
  return static_cast<uint32_t>(at - knob.values.begin());
}

// Returns the index of the value whose numbers are nearest to those of `value`; nullopt when there
// is none of as many numbers.
std::optional<uint32_t> nearest_value(const Knob& knob, const std::string& value) {
  const std::vector<double> goal = numbers_of(value);
  std::optional<uint32_t> best;
  double least = 0;
  for (uint32_t k = 0; k < knob.values.size() && !goal.empty(); ++k) {
    const std::vector<double> numbers = numbers_of(knob.values[k]);
    if (numbers.size() != goal.size()) continue;
    double distance = 0;
    for (size_t n = 0; n < goal.size(); ++n)
      distance += std::abs(log_of(numbers[n]) - log_of(goal[n]));
    if (!best || distance < least) best = k, least = distance;
  }
  return best;
}

}  // namespace

size_t GenesHash::operator()(const Genes& genes) const {
  uint64_t hash = genes.size();
  for (uint32_t gene : genes) hash = Random(hash ^ gene).next();
  return hash;
}

std::vector<double> numbers_of(std::string_view value) {
  std::vector<double> out;
  for (const char *at = value.data(), *end = at + value.size();; ++at) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || !std::isfinite(number)) return {};
    out.push_back(number);
    at = next;
    if (at == end) return out;
    if (*at != 'x') return {};
  }
}

double log_of(double number) { return number > 0 ? std::log2(number) : -1 - std::log2(1 - number); }

Grid::Grid(const Space& space) : space_(&space) {
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    size_ *= static_cast<double>(space.knobs[k].values.size());
    if (space.knobs[k].values.size() > 1) free_.push_back(k);
  }
}

Point Grid::point(const Genes& genes) const {
  BYOC_CHECK(genes.size() == space_->knobs.size(), genes.size(), " genes of ", space_->knobs.size(),
             " knobs");
  Point point;
  for (size_t k = 0; k < genes.size(); ++k) {
    const Knob& knob = space_->knobs[k];
    BYOC_CHECK(genes[k] < knob.values.size(), "knob ", knob.name, " has no value ", genes[k]);
    point[knob.name] = knob.values[genes[k]];
  }
  return point;
}

std::optional<Genes> Grid::genes(const Point& point) const {
  if (point.size() != space_->knobs.size()) return std::nullopt;
  Genes genes;
  for (const Knob& knob : space_->knobs) {
    const auto value = point.find(knob.name);
    if (value == point.end()) return std::nullopt;
    const auto index = index_of(knob, value->second);
    if (!index) return std::nullopt;
    genes.push_back(*index);
  }
  return genes;
}

Genes Grid::nearest(const Point& point, const Genes& rest) const {
  BYOC_CHECK(rest.size() == space_->knobs.size(), rest.size(), " genes of ", space_->knobs.size(),
             " knobs");
  Genes genes = rest;
  for (size_t k = 0; k < genes.size(); ++k) {
    const Knob& knob = space_->knobs[k];
    const auto value = point.find(knob.name);
    if (value == point.end()) continue;
    auto index = index_of(knob, value->second);
    if (!index) index = nearest_value(knob, value->second);
    if (index) genes[k] = *index;
  }
  return genes;
}

Genes Grid::random(Random& random) const {
  Genes genes;
  for (const Knob& knob : space_->knobs)
    genes.push_back(static_cast<uint32_t>(random.below(knob.values.size())));
  return genes;
}

std::optional<Genes> Grid::random_outside(const GenesSet& visited, Random& random) const {
  if (size_ <= static_cast<double>(visited.size())) return std::nullopt;
  constexpr int kDraws = 16;  // then it walks from the last draw to a point that is free
  Genes genes = this->random(random);
  for (int k = 1; k < kDraws && visited.contains(genes); ++k) genes = this->random(random);
  while (visited.contains(genes)) advance(genes);
  return genes;
}

void Grid::advance(Genes& genes) const {
  BYOC_CHECK(genes.size() == space_->knobs.size(), genes.size(), " genes of ", space_->knobs.size(),
             " knobs");
  for (size_t k = genes.size(); k-- > 0;) {
    if (++genes[k] < space_->knobs[k].values.size()) return;
    genes[k] = 0;
  }
}

void Grid::mutate(Genes& genes, Random& random) const {
  if (free_.empty()) return;
  const size_t knob = free_[random.below(free_.size())];
  const size_t n = space_->knobs[knob].values.size();
  BYOC_CHECK(n > 1 && knob < genes.size() && genes[knob] < n, "knob ", knob, " of ", genes.size(),
             " has ", n, " values");
  uint32_t& gene = genes[knob];
  if (random.unit() < 0.5) {
    gene = static_cast<uint32_t>((gene + 1 + random.below(n - 1)) % n);
  } else if (gene + 1 == n || (gene > 0 && random.unit() < 0.5)) {
    --gene;
  } else {
    ++gene;
  }
}

}  // namespace byoc::tune
