// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/sketch/sketch_template.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "byoc/te/key.h"
#include "plugins/llvm/sketch/sketcher.h"
#include "plugins/llvm/topi/schedule.h"

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

Factors factors_at(const Point& point, const char* knob) {
  const std::string& text = point.find(knob)->second;
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
  SketchRules out;
  out.derivation = point.find(kSketch)->second;
  out.inlining = topi::inlining_of(point.find("inlining")->second);
  out.sums = number_at(point, "sums");
  out.tile_vectors = number_at(point, "tile_vectors");
  out.blocks = number_at(point, "blocks");
  out.middle = factors_at(point, "middle");
  out.outer = factors_at(point, "outer");
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

// Returns the values of all knobs but the first, "sketch".
std::vector<Knob> all_knobs(const te::Target& target) {
  std::vector<int64_t> sums = {1, 2, 4, 6, 8, 12};
  for (int64_t more : {16, 20, 24}) {
    if (more + 4 <= target.vector_registers) sums.push_back(more);
  }
  const std::vector<std::string> factors = {"1x1", "1x2", "1x4", "1x8", "2x1",  "4x1",
                                            "8x1", "2x2", "4x4", "8x8", "16x1", "1x16"};
  std::vector<Knob> out = {{"inlining", topi::inlining_names()},
                           knob_of("sums", sums),
                           knob_of("tile_vectors", {1, 2, 4}),
                           knob_of("blocks", {1, 2, 4, 8}),
                           {"middle", factors},
                           {"outer", factors},
                           knob_of("terms", {0, 4, 16, 64, 256}),
                           knob_of("fetch", {0, 1}),
                           knob_of("partials", {1, 2, 4, 8}),
                           knob_of("unroll", {0, 16, 64, 256}),
                           knob_of("vectors", {0, 1, 2, 4, 8}),
                           knob_of("depth", {0, 1, 2, 3}),
                           knob_of("joined", {1, 2, 3, 8})};
  const bool is_parallel = target.threads > 1;
  out.push_back(knob_of("grain", is_parallel ? std::vector<int64_t>{1 << 13, 1 << 15, 1 << 17}
                                             : std::vector<int64_t>{}));
  return out;
}

/// The sketches of one Dag.
class Sketches {
 public:
  Sketches(const te::Dag& dag, const te::Target& target) : dag_(dag), target_(target) {
    if (dag.stages.size() <= kMostStages && has_sketches(dag))
      derivations_ = derivations_of(main_reductions(dag, target));
  }
  const std::vector<std::string>& derivations() const { return derivations_; }
  te::Schedule at(const Point& point) const { return sketch_of(dag_, target_, rules_at(point)); }

  /// Returns the knobs with the values that change a schedule, and the best points first.
  Choices choices() const {
    Point first = point_of(SketchRules());
    Choices out{all_knobs(target_), {}};
    if (derivations_.empty()) {
      for (Knob& knob : out.knobs) knob.values.clear();
      first[kSketch] = kTemplate;
    } else {
      first[kSketch] = derivations_[0];
      for (Knob& knob : out.knobs) keep_values(first, knob);
    }
    for (size_t k = 0; k < std::min(derivations_.size(), kSketchGuesses); ++k) {
      out.guesses.push_back(first);
      out.guesses.back()[kSketch] = derivations_[k];
    }
    out.knobs.insert(out.knobs.begin(), {kSketch, {kTemplate}});
    out.knobs[0].values.insert(out.knobs[0].values.end(), derivations_.begin(), derivations_.end());
    return out;
  }

 private:
  std::string trace_of(const Point& point) const { return te::print(at(point).trace()); }

  // Keeps the values that change the schedule of the first derivation or of the last one, when the
  // other knobs have their first values.
  void keep_values(const Point& first, Knob& knob) const {
    std::vector<std::string> kept;
    for (const std::string* derivation : {&derivations_.front(), &derivations_.back()}) {
      Point point = first;
      point[kSketch] = *derivation;
      std::vector<std::string> texts = {trace_of(point)};
      for (const std::string& value : knob.values) {
        point[knob.name] = value;
        std::string text = trace_of(point);
        if (std::ranges::find(texts, text) != texts.end()) continue;
        texts.push_back(std::move(text));
        if (std::ranges::find(kept, value) == kept.end()) kept.push_back(value);
      }
      if (derivations_.size() == 1) break;
    }
    knob.values = std::move(kept);
  }

  const te::Dag& dag_;
  const te::Target& target_;
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
  Template made = topi::template_of(dag, target);
  Template out;
  out.kind = made.kind;
  out.first = completed(made.first, point_of(SketchRules()));
  out.first[kSketch] = kTemplate;
  out.choices = [&dag, &target, choices = made.choices, first = out.first] {
    static LastChoices& last = *new LastChoices;
    return last.get(te::canonical_text(dag) + te::print(target), [&] {
      return joined_choices(choices(), Sketches(dag, target).choices(), first);
    });
  };
  out.at = [&dag, &target, at = made.at](const Point& point) -> Result<te::Schedule> {
    const bool is_sketch = point.find(kSketch)->second != kTemplate && has_sketches(dag);
    if (is_sketch) return Sketches(dag, target).at(point);
    return at(point);
  };
  return out;
}

}  // namespace byoc::llvm_plugin::sketch
