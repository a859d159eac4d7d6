// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes graphs that match a pattern: its ops on operands of valid types, with attributes that it
// allows, chosen by a seed.
#include "byoc/pass/pattern.h"
#include "core/conform/samples/samples.h"

namespace byoc::conform {

inline constexpr size_t kInstancesTried = 64;

struct Instance {
  std::string label;  // "conv2d add relu f32[1,3,8,8] f32[4,3,3,3] ..."
  IRModule module;    // `main`, whose last node is the root
  std::vector<Domain> domains;
  size_t ops = 0;  // that the pattern matches
};

/// Ways to choose operands that random choices meet too seldom.
struct InstanceStyle {
  /// Constants are single numbers that exporters write for their op.
  bool has_exporter_values = false;
  /// Operands of one type are one value: multiply(x, x).
  bool repeats_operands = false;
  /// Results have no elements: f32[5,0].
  bool is_empty = false;
};

/// Makes `tries` graphs, and calls `use` for different ones that the host's matcher accepts, until
/// it returns false.
void for_instances_of(const Pattern& pattern, uint64_t seed, size_t tries, InstanceStyle style,
                      const std::function<bool(const Instance&)>& use);
/// Makes `tries` graphs and returns at most `count` different ones that the host's matcher accepts.
std::vector<Instance> instances_of(const Pattern& pattern, uint64_t seed, size_t tries,
                                   size_t count, InstanceStyle style = {});
/// Returns whether some operand of the pattern is a constant.
bool has_constants(const Pattern& pattern);
/// Returns the ops that the pattern names and the registry does not have.
std::vector<std::string> unknown_ops(const Pattern& pattern);

}  // namespace byoc::conform
