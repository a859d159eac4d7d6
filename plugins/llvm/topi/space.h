// SPDX-License-Identifier: Apache-2.0
#pragma once
// The choices of a schedule. A template has named knobs and makes the schedule of each of their
// points; its first point is the choice of an analytic model.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/te/schedule.h"
#include "byoc/te/target.h"

namespace byoc::llvm_plugin::topi {

/// A value per knob, by name.
using Point = std::map<std::string, std::string, std::less<>>;

struct Knob {
  std::string name;
  std::vector<std::string> values;  // in the order of the numbers in them
};

/// The knobs for one Dag.
struct Choices {
  std::vector<Knob> knobs;
  std::vector<Point> guesses;  // best first, at least one
};

/// The schedules of one kind for one Dag, which outlives the template.
struct Template {
  std::string kind;                  // templates of one kind have the same knobs
  Point first;                       // the point of the model
  std::function<Choices()> choices;  // their first guess is `first`
  /// Makes the schedule of a point. Values of other Dags of the same kind are valid too: those
  /// that are too large for this Dag count as the largest that fits. Errors: those of primitives.
  std::function<Result<te::Schedule>(const Point&)> at;
  bool is_one_row = false;  // a product of one row, whose tiles are wide
};
/// Returns nullopt for Dags that the template is not made for.
using TemplateMaker =
    std::function<std::optional<Template>(const te::Dag& dag, const te::Target& target)>;

/// Provides the schedules of first points.
te::ScheduleProvider first_schedules(const TemplateMaker& maker, const te::Target& target);

/// Returns a knob of numbers.
Knob knob_of(std::string name, const std::vector<int64_t>& numbers);
/// Returns the number that a knob has at a point.
int64_t number_at(const Point& point, std::string_view knob);

/// Completes choices: knobs get the values of the guesses, sorted and each once; of the guesses at
/// most eight different ones are kept.
Choices complete(std::vector<Knob> knobs, const std::vector<Point>& guesses);
/// Returns the choices of both. Knobs that one of them has alone have their values at its first
/// guess in the guesses of the other. Most guesses are those of `a`.
Choices joined(Choices a, Choices b);
/// Returns an error that names the knob when the point is not one of the choices.
Status check_point(const Choices& choices, const Point& point);
/// Returns the number of points.
double size_of(const Choices& choices);

}  // namespace byoc::llvm_plugin::topi
