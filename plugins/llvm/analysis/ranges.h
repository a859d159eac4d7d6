// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is known of an integer expression without running it: bounds and divisibility.
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "byoc/te/stmt.h"

namespace byoc::llvm_plugin {

/// Both ends included. Ends at or beyond +-2^62 mean: unknown.
struct Range {
  static constexpr int64_t kUnknown = int64_t{1} << 62;
  int64_t low = -kUnknown, high = kUnknown;
  bool is_within(int64_t a, int64_t b) const { return low >= a && high <= b; }
};

class Ranges {
 public:
  void set(const te::Var& var, Range range) { vars_[var.id()] = range; }
  /// `factor`: what the variable is a multiple of.
  void set_factor(const te::Var& var, int64_t factor) { factors_[var.id()] = factor; }
  Range of(const te::Expr& x) const;
  /// A number that every value of `x` is a multiple of; 0: x is 0.
  int64_t factor_of(const te::Expr& x) const;
  /// What a condition comes to wherever its variables are in their ranges; nullopt: it depends.
  std::optional<bool> decide(const te::Expr& condition) const;
  /// The same value, for all that is known of its variables here.
  te::Expr simplified(const te::Expr& x) const;
  /// Every index lies in its dim.
  bool is_inside(const te::Load& load) const;

 private:
  Range of_binary(const te::Binary& x) const;
  std::optional<bool> decide_comparison(const te::Binary& x) const;
  std::unordered_map<const void*, Range> vars_;
  std::unordered_map<const void*, int64_t> factors_;
};

}  // namespace byoc::llvm_plugin
