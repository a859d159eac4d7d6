// SPDX-License-Identifier: Apache-2.0
#pragma once
// Simplifies many expressions in one context. Results are interned: equal ones are the same node.
#include "byoc/te/rewrite.h"
#include "core/te/interner.h"
#include "core/te/simplify/linear.h"

namespace byoc::te {

class Simplifier {
 public:
  explicit Simplifier(Ranges ranges = {}) : ranges_(std::move(ranges)), bounds_(ranges_) {}
  Simplifier(const Simplifier&) = delete;
  Simplifier& operator=(const Simplifier&) = delete;

  Expr operator()(const Expr& x);
  Interval bounds(const Expr& x) { return bounds_(x); }
  /// Sets the range of a variable that no expression has named so far.
  void set(const Var& var, Interval range) { ranges_[var.id()] = range; }
  const Ranges& ranges() const { return ranges_; }
  /// Takes for true that an expression is at least 0. It names a variable that is in scope only
  /// where that holds, and that no expression has named so far.
  void assume(const Expr& x);
  /// Returns true when an expression is certainly at least 0.
  bool is_natural(const Expr& x);
  /// Keeps the value of a variable of a Let, for `with_values`.
  void define(const Var& var, const Expr& value) { values_[var.id()] = with_values(value); }
  /// Returns an expression with the values of such variables for them.
  Expr with_values(const Expr& x);

 private:
  using Constant = std::optional<int64_t>;
  Expr intern(const Expr& x) { return interner_(x); }
  Expr rules(const Expr& x);
  Expr unary_rules(const Expr& x, const Unary& v);
  Expr binary_rules(const Expr& x, const Binary& v);
  Expr float_rules(const Expr& x, const Binary& v);
  Expr int_rules(const Expr& x, const Binary& v);
  Expr select_rules(const Expr& x, const Select& v);
  Expr cast_rules(const Expr& x, const Cast& v);
  // sums
  Linear linear(const Expr& x) { return linear_of(x, opaque_); }
  Expr sum(const Expr& x);
  void join_divisions(Linear& sum);
  // division by a positive constant
  Expr divide(const Expr& x, const Expr& dividend, int64_t divisor, bool is_modulo);
  struct Quotient {
    Linear quotient, remainder;
  };
  std::optional<Quotient> divide(const Linear& x, int64_t divisor);
  std::optional<Quotient> divide_parts(const Linear& x, int64_t divisor);
  Quotient divide_rest(const Linear& x, int64_t divisor);
  std::optional<Expr> divide_once(const Expr& x, int64_t divisor);
  Expr divide_term(const Expr& x, int64_t divisor, bool is_modulo);
  // products with sizes, and divisions by them
  std::optional<Expr> open_product(const Expr& a, const Expr& b);
  bool join_open_divisions(Linear& sum);
  std::optional<Expr> open_division(const Binary& v);
  bool is_natural(const Linear& x);
  bool is_natural(const Linear& x, int facts);
  bool is_natural_by_remainders(const Linear& x, int facts);
  bool is_natural_by_quotients(const Linear& x, int facts);
  std::optional<Linear> without_quotient(const Linear& x, size_t term);
  // order
  std::optional<bool> decide(BinaryOp op, const Expr& a, const Expr& b);
  std::optional<bool> decide_by_facts(BinaryOp op, const Linear& difference);
  Expr min_max(const Expr& x, const Binary& v);
  Expr logic(const Expr& x, const Binary& v);

  Ranges ranges_;
  Bounds bounds_;
  Interner interner_;
  std::vector<Linear> facts_;               // at least 0
  VarMap values_;                           // of variables of Lets
  std::unordered_set<const void*> opaque_;  // sums too long to be split into terms
  std::unordered_map<const void*, std::pair<Expr, Expr>> done_;
};

}  // namespace byoc::te
