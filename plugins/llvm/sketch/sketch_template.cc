// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sketch/sketch_template.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "byoc/base/check.h"
#include "byoc/te/key.h"
#include "plugins/llvm/families/family.h"
#include "plugins/llvm/sketch/sketcher.h"
#include "plugins/llvm/tiling/access.h"

namespace byoc::llvm_plugin::sketch {
namespace {

using topi::Choices;
using topi::Knob;
using topi::knob_of;
using topi::number_at;
using topi::Point;
using topi::Template;

constexpr const char* kSketch = "sketch";
constexpr const char* kTemplate = "template";
constexpr size_t kMostStages = 64;  // of Dags that have sketches
constexpr size_t kSketchGuesses = 3;

std::string text_of(const Factors& factors) { return cat(factors.rows, "x", factors.lanes); }

// Reads "4x2".
Factors factors_in(const std::string& text) {
  Factors out;
  out.rows = std::stoll(text);
  out.lanes = std::stoll(text.substr(text.find('x') + 1));
  return out;
}

Point point_of(const SketchRules& rules) {
  return {{"inlining", topi::name_of(rules.inlining)},
          {"sums", cat(rules.sums)},
          {"tile_vectors", cat(rules.tile_vectors)},
          {"blocks", cat(rules.blocks)},
          {"middle", text_of(rules.middle)},
          {"outer", text_of(rules.outer)},
          {"terms", cat(rules.terms)},
          {"fetch", rules.has_fetch ? "1" : "0"},
          {"partials", cat(rules.partials)},
          {"unroll", cat(rules.unroll)},
          {"vectors", cat(rules.vectors)},
          {"depth", cat(rules.depth)},
          {"joined", cat(rules.joined)},
          {"grain", cat(rules.grain)}};
}

SketchRules rules_at(const Point& point) {
  for (const char* knob : {kSketch, "inlining", "middle", "outer"})
    BYOC_CHECK(point.contains(knob), "the point has no knob ", knob);
  SketchRules out;
  out.derivation = point.find(kSketch)->second;
  out.inlining = topi::inlining_of(point.find("inlining")->second);
  out.sums = number_at(point, "sums");
  out.tile_vectors = number_at(point, "tile_vectors");
  out.blocks = number_at(point, "blocks");
  out.middle = factors_in(point.find("middle")->second);
  out.outer = factors_in(point.find("outer")->second);
  out.terms = number_at(point, "terms");
  out.has_fetch = number_at(point, "fetch") != 0;
  out.partials = number_at(point, "partials");
  out.unroll = number_at(point, "unroll");
  out.vectors = number_at(point, "vectors");
  out.depth = static_cast<size_t>(number_at(point, "depth"));
  out.joined = static_cast<size_t>(number_at(point, "joined"));
  out.grain = number_at(point, "grain");
  return out;
}

constexpr const char* kFactors[] = {"1x1", "1x2", "1x4", "1x8", "2x1",  "4x1",
                                    "8x1", "2x2", "4x4", "8x8", "16x1", "1x16"};

/// Facts about the stages of a Dag: they decide which knobs change some of its sketches. Nothing is
/// scheduled for that, since a compilation with a tuning log reads the space of every function.
struct Traits {
  bool has_tiles = false, has_lanes = false, has_sums = false, has_elementwise = false;
  bool has_several = false;           // stages
  int64_t rows = 1, lanes = 1;        // most elements of an axis, and of the last one
  int64_t terms = 1, last_terms = 1;  // most terms of an axis
  size_t rank = 0;
};

Traits traits_of(const te::Dag& dag, const std::vector<Reduction>& reductions) {
  Traits out;
  for (const Reduction& reduction : reductions) {
    for (Rule rule : reduction.rules) {
      out.has_tiles |= rule == Rule::kTiles;
      out.has_lanes |= rule == Rule::kLanes;
    }
  }
  size_t stages = 0;
  for (const te::Stage& stage : dag.stages) {
    auto* own = std::get_if<te::Compute>(&stage.kind);
    if (own == nullptr) continue;
    ++stages;
    (own->reduce.empty() ? out.has_elementwise : out.has_sums) = true;
    out.rank = std::max(out.rank, own->axes.size());
    for (const te::Axis& axis : own->axes) out.rows = std::max(out.rows, topi::extent_of(axis));
    if (!own->axes.empty()) out.lanes = std::max(out.lanes, topi::extent_of(own->axes.back()));
    for (const te::Axis& axis : own->reduce) out.terms = std::max(out.terms, topi::extent_of(axis));
    if (!own->reduce.empty())
      out.last_terms = std::max(out.last_terms, topi::extent_of(own->reduce.back()));
  }
  out.has_several = stages > 1;
  return out;
}

// Returns the numbers up to `most` when the knob matters, else none.
Knob numbers(const char* name, bool matters, std::vector<int64_t> values, int64_t most) {
  std::erase_if(values, [&](int64_t value) { return !matters || value > most; });
  return knob_of(name, values);
}

Knob factor_knob(const char* name, const Traits& traits, int64_t lanes) {
  Knob out{name, {}};
  for (const char* text : kFactors) {
    const Factors factors = factors_in(text);
    const bool fits = factors.rows <= traits.rows && factors.lanes * lanes <= traits.lanes;
    if (traits.has_tiles && (fits || (factors.rows == 1 && factors.lanes == 1)))
      out.values.emplace_back(text);
  }
  return out;
}

// Returns the values of all knobs but the first, "sketch".
std::vector<Knob> knobs_for(const Traits& traits, const te::Target& target) {
  constexpr int64_t kAny = int64_t{1} << 40;
  std::vector<int64_t> sums = {1, 2, 4, 6, 8, 12};
  for (int64_t more : {16, 20, 24}) {
    if (more + 4 <= target.vector_registers) sums.push_back(more);
  }
  const int64_t lanes = target.lanes(4);
  const auto rank = static_cast<int64_t>(traits.rank);
  Knob inlining{"inlining", {}};
  if (traits.has_several) inlining.values = topi::inlining_names();
  return {
      inlining,
      numbers("sums", traits.has_tiles, sums, traits.rows * traits.lanes),
      numbers("tile_vectors", traits.has_tiles, {1, 2, 4}, traits.lanes),
      numbers("blocks", traits.has_tiles || traits.has_elementwise, {1, 2, 4, 8}, traits.rows),
      factor_knob("middle", traits, lanes),
      factor_knob("outer", traits, lanes),
      numbers("terms", traits.has_tiles, {0, 4, 16, 64, 256}, traits.terms - 1),
      numbers("fetch", traits.has_tiles && traits.has_several, {0, 1}, 1),
      numbers("partials", traits.has_lanes, {1, 2, 4, 8}, traits.last_terms),
      numbers("unroll", traits.has_sums, {0, 16, 64, 256}, kAny),
      numbers("vectors", traits.has_elementwise, {0, 1, 2, 4, 8}, traits.rows),
      numbers("depth", traits.has_several, {0, 1, 2, 3}, rank),
      numbers("joined", traits.has_elementwise && rank > 1, {1, 2, 3, 8}, rank > 3 ? kAny : rank),
      numbers("grain", target.threads > 1, {1 << 13, 1 << 15, 1 << 17}, kAny)};
}

/// The sketches of one Dag.
class Sketches {
 public:
  Sketches(const te::Dag& dag, const te::Target& target) : dag_(dag), target_(target) {
    if (dag.stages.size() > kMostStages || !has_sketches(dag)) return;
    reductions_ = main_reductions(dag, target);
    derivations_ = derivations_of(reductions_);
  }
  const std::vector<std::string>& derivations() const { return derivations_; }
  te::Schedule at(const Point& point) const { return sketch_of(dag_, target_, rules_at(point)); }

  /// Returns the knobs with the values that may change a schedule, and the best points first.
  Choices choices() const {
    Point first = point_of(SketchRules());
    Choices out{knobs_for(traits_of(dag_, reductions_), target_), {}};
    if (derivations_.empty()) {
      for (Knob& knob : out.knobs) knob.values.clear();
      first[kSketch] = kTemplate;
    } else {
      first[kSketch] = derivations_[0];
    }
    for (size_t k = 0; k < std::min(derivations_.size(), kSketchGuesses); ++k) {
      out.guesses.push_back(first);
      out.guesses.back()[kSketch] = derivations_[k];
    }
    BYOC_CHECK(std::ranges::find(out.knobs, kSketch, &Knob::name) == out.knobs.end(),
               "the knob of sketches is added once");
    out.knobs.insert(out.knobs.begin(), {kSketch, {kTemplate}});
    out.knobs[0].values.insert(out.knobs[0].values.end(), derivations_.begin(), derivations_.end());
    return out;
  }

 private:
  const te::Dag& dag_;
  const te::Target& target_;
  std::vector<Reduction> reductions_;
  std::vector<std::string> derivations_;
};

// Returns the knobs of both, with the values of both.
std::vector<Knob> joined_knobs(std::vector<Knob> knobs, const std::vector<Knob>& more) {
  for (const Knob& knob : more) {
    auto known = std::ranges::find(knobs, knob.name, &Knob::name);
    if (known == knobs.end()) knobs.push_back(knob);
    else known->values.insert(known->values.end(), knob.values.begin(), knob.values.end());
  }
  return knobs;
}

// Returns `point` with the values of `rest` for knobs that it does not have.
Point completed(Point point, const Point& rest) {
  point.insert(rest.begin(), rest.end());
  return point;
}

Choices joined_choices(const Choices& made, const Choices& sketches, const Point& first) {
  std::vector<Point> guesses;
  for (size_t k = 0; k < std::max(made.guesses.size(), sketches.guesses.size()); ++k) {
    if (k < made.guesses.size()) guesses.push_back(completed(made.guesses[k], first));
    if (k < sketches.guesses.size()) guesses.push_back(completed(sketches.guesses[k], first));
  }
  return topi::complete(joined_knobs(made.knobs, sketches.knobs), guesses);
}

/// The choices of the last Dags: a tuner compiles many points of one, each of which is checked
/// against them.
class LastChoices {
 public:
  Choices get(const std::string& key, const std::function<Choices()>& make) {
    std::lock_guard lock(mutex_);
    auto known = std::ranges::find(entries_, key, &Entry::first);
    if (known == entries_.end()) {
      if (entries_.size() == kMost) entries_.pop_front();
      entries_.emplace_back(key, make());
      known = std::prev(entries_.end());
    }
    return known->second;
  }

 private:
  static constexpr size_t kMost = 8;
  using Entry = std::pair<std::string, Choices>;
  std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace

Template template_of(const te::Dag& dag, const te::Target& target) {
  Template made = llvm_plugin::template_of(dag, target);
  Template out;
  out.kind = made.kind;
  out.is_one_row = made.is_one_row;
  out.first = completed(made.first, point_of(SketchRules()));
  out.first[kSketch] = kTemplate;
  out.choices = [&dag, &target, choices = made.choices, first = out.first] {
    static LastChoices& last = *new LastChoices;
    return last.get(te::canonical_text(dag) + te::print(target), [&] {
      return joined_choices(choices(), Sketches(dag, target).choices(), first);
    });
  };
  out.at = [&dag, &target, at = made.at](const Point& point) -> Result<te::Schedule> {
    const auto derivation = point.find(kSketch);
    BYOC_CHECK(derivation != point.end(), "the point names no sketch");
    const bool is_sketch = derivation->second != kTemplate && has_sketches(dag);
    if (is_sketch) return Sketches(dag, target).at(point);
    return at(point);
  };
  return out;
}

}  // namespace byoc::llvm_plugin::sketch
