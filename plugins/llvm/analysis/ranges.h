// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about an integer expression that hold without running it: bounds and divisibility.
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "byoc/base/check.h"
#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// A range with both ends included. Ends at or beyond +-2^62 mean: unknown.
struct Range {
  static constexpr int64_t kUnknown = int64_t{1} << 62;
  int64_t low = -kUnknown, high = kUnknown;
  bool is_within(int64_t a, int64_t b) const { return low >= a && high <= b; }
};

class Ranges {
 public:
  void set(const te::Var& var, Range range) {
    BYOC_CHECK(range.low <= range.high, "variable ", var.name(), " is in [", range.low, ", ",
               range.high, "]");
    vars_[var.id()] = range;
  }
  /// States that the variable is a multiple of `factor`.
  void set_factor(const te::Var& var, int64_t factor) { factors_[var.id()] = factor; }
  Range of(const te::Expr& x) const;
  /// Returns a number that every value of `x` is a multiple of; 0: x is 0.
  int64_t factor_of(const te::Expr& x) const;
  /// Returns the value that a condition has wherever its variables are in their ranges;
  /// nullopt: it differs.
  std::optional<bool> decide(const te::Expr& condition) const;
  /// Returns an expression of the same value for the facts about its variables here.
  te::Expr simplified(const te::Expr& x) const;
  /// Returns true when every index lies in its dim.
  bool is_inside(const te::Load& load) const;

 private:
  Range of_binary(const te::Binary& x) const;
  std::optional<bool> decide_comparison(const te::Binary& x) const;
  std::unordered_map<const void*, Range> vars_;
  std::unordered_map<const void*, int64_t> factors_;
};

}  // namespace byoc::llvm_plugin
