// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spaces of choices that a plugin has for one function, and the key under which measurements of
// them are stored. The plugin makes the space (byoc_plugin::knobs) and compiles any point of it
// (byoc_function::point).
#include <map>
#include <string>
#include <vector>

#include "byoc/base/buffer.h"
#include "byoc/base/status.h"

namespace byoc::tune {

/// A value per knob, by name.
using Point = std::map<std::string, std::string>;

/// One choice.
struct Knob {
  std::string name;                 ///< unique in the space
  std::vector<std::string> values;  ///< at least one, all different; numbers are in ascending order
  friend bool operator==(const Knob&, const Knob&) = default;
};

/// The choices for one function.
struct Space {
  /// The computation without names of the model: equal texts are one task. Constants appear with
  /// their types, never with their values.
  std::string task;
  std::string kind;  ///< spaces of one kind have the same knobs, such as "conv2d_nchwc"
  double flops = 0;  ///< floating-point operations of one run
  double bytes = 0;  ///< bytes of operands and results
  std::vector<Knob> knobs;
  /// The plugin's own ranking, best first. The first one is compiled when no point is given.
  std::vector<Point> guesses;
  /// The plugin's estimates of ns per run, by knob and value; any may be missing.
  std::map<std::string, std::map<std::string, double>> cost_ns;
  /// Bytes of the constants that the kernel then reads, by knob and value; any may be missing.
  std::map<std::string, std::map<std::string, double>> constant_bytes;
  friend bool operator==(const Space&, const Space&) = default;
};

/// Returns the product of the numbers of values.
double size_of(const Space& space);
/// Returns the part of the space where the knob has that value. When no guess has it, the only
/// guess is the first with this value. Errors: kNotFound, slug "unknown-compute", and the values.
Result<Space> narrowed(Space space, const std::string& knob, const std::string& value);
/// Returns true when the point has exactly the space's knobs, each with one of its values.
bool contains(const Space& space, const Point& point);
/// Returns a rough time of one run in ns, from flops and bytes alone: at least 1. It weighs tasks
/// that were never measured.
double estimated_ns(const Space& space);
/// Returns the XXH3-128 of plugin id, a zero byte and the task's text.
ContentKey key_of(const std::string& plugin, const Space& space);
ContentKey key_of(const std::string& plugin, const std::string& task);  ///< Does the same.

std::string print(const Point& point);  ///< {"tile_w":"6","unroll":"4"}, sorted by name
/// Parses what print returns. Errors: kInvalidArgument, slug "point": no object, or a value that is
/// no string.
Result<Point> parse_point(std::string_view json);
std::string print(const Space& space);  ///< JSON in one line, as byoc_plugin::knobs writes it
/// Parses what byoc_plugin::knobs wrote. Errors: kInvalidArgument, slug "knob-space", naming the
/// field: an unknown or missing one, a knob twice, a knob without values or with equal ones, a
/// guess outside of the space, no guess, a cost or bytes of something else.
Result<Space> parse_space(std::string_view json);

}  // namespace byoc::tune
