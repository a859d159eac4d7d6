// SPDX-License-Identifier: Apache-2.0
// Simplifies the expressions of statements, with the ranges that their loops give.
#include "byoc/te/rewrite.h"
#include "core/te/simplify/simplifier.h"

namespace byoc::te {
namespace {

// Two loops may name one variable, so ranges end with each loop: each loop body has a
// Simplifier of its own.
class Statements {
 public:
  explicit Statements(Ranges ranges) : ranges_(std::move(ranges)) {}

  Stmt operator()(const Stmt& s) {
    if (s.is_empty()) return s;
    if (const For* v = std::get_if<For>(&s->kind)) return loop(*v);
    if (const If* v = std::get_if<If>(&s->kind)) {
      const Expr condition = simplify(v->condition, ranges_);
      if (std::optional<int64_t> value = as_int(condition)) return (*this)(*value ? v->yes : v->no);
    }
    return map_parts(
        s, [&](const Expr& x) { return simplify(x, ranges_); }, *this);
  }

 private:
  Stmt loop(const For& v) {
    const Expr begin = simplify(v.begin, ranges_), extent = simplify(v.extent, ranges_);
    const Interval first = bounds_of(begin, ranges_), count = bounds_of(extent, ranges_);
    if (count.hi <= 0) return {};
    const auto outer = ranges_.find(v.var.id());
    const std::optional<Interval> before =
        outer == ranges_.end() ? std::nullopt : std::optional(outer->second);
    ranges_[v.var.id()] = within(DType::kI64, first.lo, Wide{first.hi} + count.hi - 1);
    Stmt body = (*this)(v.body);
    if (before) ranges_[v.var.id()] = *before;
    else ranges_.erase(v.var.id());
    if (as_int(extent) != 1) return make_for(v.var, begin, extent, v.kind, std::move(body));
    Substitution substitute({{v.var.id(), begin}});
    return (*this)(map_statement(body, substitute));
  }

  Stmt map_statement(const Stmt& s, Substitution& substitute) {
    return map_parts(s, substitute,
                     [&](const Stmt& inner) { return map_statement(inner, substitute); });
  }

  Ranges ranges_;
};

}  // namespace

Stmt simplify(const Stmt& stmt, Ranges ranges) { return Statements(std::move(ranges))(stmt); }

}  // namespace byoc::te
