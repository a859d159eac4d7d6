// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/space.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr size_t kMostGuesses = 8;
constexpr size_t kGuessesOfFirst = 6;  // of choices that are joined with others

// Returns the numbers in a value: 6 and 2 in "6x2".
std::vector<int64_t> numbers_in(std::string_view value) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < value.size();) {
    int64_t number = 0;
    auto [end, error] = std::from_chars(value.data() + at, value.data() + value.size(), number);
    if (error == std::errc()) out.push_back(number);
    at = std::max(static_cast<size_t>(end - value.data()), at + 1);
  }
  return out;
}

bool is_before(const std::string& a, const std::string& b) {
  return std::pair(numbers_in(a), a) < std::pair(numbers_in(b), b);
}

void sort_values(Knob& knob) {
  std::ranges::sort(knob.values, is_before);
  const auto rest = std::ranges::unique(knob.values);
  knob.values.erase(rest.begin(), rest.end());
}

std::string listed(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += cat(out.empty() ? "" : ", ", value);
  return out;
}

}  // namespace

te::ScheduleProvider first_schedules(const TemplateMaker& maker, const te::Target& target) {
  return [maker, target](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    std::optional<Template> found = maker(dag, target);
    if (!found) return std::nullopt;
    return found->at(found->first);
  };
}

Knob knob_of(std::string name, const std::vector<int64_t>& numbers) {
  Knob out{std::move(name), {}};
  for (int64_t number : numbers) out.values.push_back(cat(number));
  sort_values(out);
  return out;
}

int64_t number_at(const Point& point, std::string_view knob) {
  auto found = point.find(knob);
  BYOC_CHECK(found != point.end(), "no knob ", knob);
  const std::string& text = found->second;
  int64_t out = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  BYOC_CHECK(error == std::errc() && end == text.data() + text.size(), "knob ", knob, " is ", text);
  return out;
}

Choices complete(std::vector<Knob> knobs, const std::vector<Point>& guesses) {
  Choices out{std::move(knobs), {}};
  for (const Point& guess : guesses) {
    const bool is_new = std::ranges::find(out.guesses, guess) == out.guesses.end();
    if (is_new && out.guesses.size() < kMostGuesses) out.guesses.push_back(guess);
  }
  for (Knob& knob : out.knobs) {
    for (const Point& guess : out.guesses) knob.values.push_back(guess.at(knob.name));
    sort_values(knob);
  }
  return out;
}

namespace {

// Adds the knobs that `a` alone has to `b`, with their values at a's first guess.
void add_knobs(const Choices& a, Choices& b) {
  for (const Knob& knob : a.knobs) {
    if (std::ranges::find(b.knobs, knob.name, &Knob::name) != b.knobs.end()) continue;
    const std::string& value = a.guesses.at(0).at(knob.name);
    b.knobs.push_back({knob.name, {value}});
    for (Point& guess : b.guesses) guess[knob.name] = value;
  }
}

}  // namespace

Choices joined(Choices a, Choices b) {
  add_knobs(a, b);
  add_knobs(b, a);
  std::vector<Knob> knobs = a.knobs;
  for (Knob& knob : knobs) {
    const std::vector<std::string>& more =
        std::ranges::find(b.knobs, knob.name, &Knob::name)->values;
    knob.values.insert(knob.values.end(), more.begin(), more.end());
  }
  const size_t first = std::min(kGuessesOfFirst, a.guesses.size());
  const auto middle = a.guesses.begin() + static_cast<ptrdiff_t>(first);
  std::vector<Point> guesses(a.guesses.begin(), middle);
  guesses.insert(guesses.end(), b.guesses.begin(), b.guesses.end());
  guesses.insert(guesses.end(), middle, a.guesses.end());
  return complete(std::move(knobs), guesses);
}

Status check_point(const Choices& choices, const Point& point) {
  std::vector<std::string> names;
  for (const Knob& knob : choices.knobs) {
    names.push_back(knob.name);
    auto found = point.find(knob.name);
    if (found == point.end())
      return invalid(cat("the point has no value for knob \"", knob.name, "\""))
          .with_slug("bad-point")
          .with_help(cat("values of \"", knob.name, "\": ", listed(knob.values)));
    if (std::ranges::find(knob.values, found->second) != knob.values.end()) continue;
    return invalid(cat("knob \"", knob.name, "\" is \"", found->second,
                       "\" in the point, expected one of: ", listed(knob.values)))
        .with_slug("bad-point");
  }
  for (const auto& [name, value] : point) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return invalid(cat("the point has knob \"", name,
                       "\", which the function has not; its knobs: ", listed(names)))
        .with_slug("bad-point");
  }
  return {};
}

double size_of(const Choices& choices) {
  double out = 1;
  for (const Knob& knob : choices.knobs) out *= static_cast<double>(knob.values.size());
  return out;
}

}  // namespace byoc::llvm_plugin::topi
