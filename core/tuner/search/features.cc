// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/features.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "byoc/base/check.h"
#include "core/tuner/search/grid.h"

namespace byoc::tune {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Returns log2 of number k of the point's value; NaN without one.
float log_at(const Point& point, const std::string& knob, size_t k) {
  const auto value = point.find(knob);
  if (value == point.end()) return kMissing;
  const std::vector<double> numbers = numbers_of(value->second);
  return k < numbers.size() ? static_cast<float>(log_of(numbers[k])) : kMissing;
}

// Returns the share of sorted numbers that are smaller.
float place_of(const std::vector<double>& sorted, double number) {
  BYOC_CHECK(!sorted.empty(), "the place of ", number, " among no numbers");
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), number);
  return static_cast<float>(at - sorted.begin()) / static_cast<float>(sorted.size());
}

// Returns the number of numbers that all the values have; 0: they differ, or are other texts.
size_t common_count(const std::set<std::string>& values) {
  std::set<size_t> counts;
  for (const std::string& value : values) counts.insert(numbers_of(value).size());
  return counts.size() == 1 ? *counts.begin() : 0;
}

// log2(1 + x), which is finite for all sizes.
float size_log(double x) { return static_cast<float>(std::log2(1 + std::max(x, 0.0))); }

}  // namespace

Features::Features(std::span<const Space* const> spaces) {
  add_knobs(spaces);
  for (const Space* space : spaces) add_pairs(*space);
  for (const Space* space : spaces) add_places(*space);
  std::set<std::string> kinds;
  for (const Space* space : spaces) kinds.insert(space->kind);
  for (const std::string& kind : kinds) kinds_[kind] = add_column("kind " + kind);
  flops_ = add_column("log2 flops");
  bytes_ = add_column("log2 bytes");
  intensity_ = add_column("log2 flops per byte");
}

size_t Features::add_column(std::string name) {
  names_.push_back(std::move(name));
  return names_.size() - 1;
}

void Features::add_knobs(std::span<const Space* const> spaces) {
  std::map<std::string, std::set<std::string>> values;
  for (const Space* space : spaces) {
    for (const Knob& knob : space->knobs)
      values[knob.name].insert(knob.values.begin(), knob.values.end());
  }
  for (const auto& [knob, all] : values) {
    const size_t n = common_count(all);
    for (size_t k = 0; k < n; ++k) {
      const std::string name = n == 1 ? knob : cat(knob, ".", k);
      const size_t log = add_column("log2 " + name), ratio = add_column("ratio " + name);
      numbers_[knob].push_back({log, ratio, add_column("place " + name)});
    }
    if (n > 0) continue;
    for (const std::string& value : all)
      categories_[knob][value] = add_column(cat(knob, " is ", value));
  }
}

void Features::add_pairs(const Space& space) {
  std::vector<size_t> logs;
  for (const Knob& knob : space.knobs) {
    const auto numbers = numbers_.find(knob.name);
    if (numbers == numbers_.end()) continue;
    for (const Number& number : numbers->second) logs.push_back(number.log);
  }
  std::sort(logs.begin(), logs.end());
  for (size_t a = 0; a < logs.size(); ++a) {
    for (size_t b = a + 1; b < logs.size(); ++b) {
      const auto [at, is_new] = pairs_.try_emplace({logs[a], logs[b]}, 0);
      if (is_new) at->second = add_column(cat(names_[logs[a]], " + ", names_[logs[b]]));
    }
  }
}

void Features::add_places(const Space& space) {
  if (places_.contains(&space)) return;
  for (const Knob& knob : space.knobs) {
    const auto columns = numbers_.find(knob.name);
    if (columns == numbers_.end()) continue;
    Values& places = places_[&space][knob.name];
    for (size_t k = 0; k < columns->second.size(); ++k) {
      std::vector<double> sorted;
      for (const std::string& value : knob.values) {
        const std::vector<double> numbers = numbers_of(value);
        BYOC_CHECK(k < numbers.size(), "knob ", knob.name, " has values of other forms than ",
                   value);
        sorted.push_back(numbers[k]);
      }
      std::sort(sorted.begin(), sorted.end());
      for (const std::string& value : knob.values)
        places[value].push_back(place_of(sorted, numbers_of(value)[k]));
    }
  }
}

void Features::append(const Subject& subject, const Point& point, Matrix& out) const {
  BYOC_CHECK(out.cells.size() % width() == 0, out.cells.size(), " cells in rows of ", width());
  out.columns = width();
  out.cells.resize(out.cells.size() + width(), kMissing);
  const std::span<float> row = std::span(out.cells).last(width());
  fill_knobs(subject, point, row);
  for (const auto& [kind, column] : kinds_) row[column] = kind == subject.kind ? 1 : 0;
  row[flops_] = size_log(subject.flops);
  row[bytes_] = size_log(subject.bytes);
  row[intensity_] = row[flops_] - row[bytes_];
}

void Features::fill_knobs(const Subject& subject, const Point& point, std::span<float> row) const {
  for (const auto& [name, value] : point) {
    const auto values = categories_.find(name);
    if (values != categories_.end()) {
      for (const auto& [other, column] : values->second) row[column] = value == other ? 1 : 0;
    }
    const auto numbers = numbers_.find(name);
    if (numbers == numbers_.end()) continue;
    for (size_t k = 0; k < numbers->second.size(); ++k) {
      const Number& columns = numbers->second[k];
      const float log = row[columns.log] = log_at(point, name, k);
      if (subject.space && !subject.space->guesses.empty())
        row[columns.ratio] = log - log_at(subject.space->guesses.front(), name, k);
    }
  }
  BYOC_CHECK(row.size() == width(), "a row of ", row.size(), " cells, not ", width());
  for (const auto& [pair, column] : pairs_) row[column] = row[pair.first] + row[pair.second];
  const auto places = places_.find(subject.space);
  if (places == places_.end()) return;
  for (const auto& [knob, values] : places->second) {
    const auto value = point.find(knob);
    const auto place = value == point.end() ? values.end() : values.find(value->second);
    if (place == values.end()) continue;
    const auto numbers = numbers_.find(knob);
    BYOC_CHECK(numbers != numbers_.end() && place->second.size() <= numbers->second.size(), "knob ",
               knob, " has ", place->second.size(), " places");
    for (size_t k = 0; k < place->second.size(); ++k)
      row[numbers->second[k].place] = place->second[k];
  }
}

}  // namespace byoc::tune
