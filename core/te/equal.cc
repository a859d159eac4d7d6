// SPDX-License-Identifier: Apache-2.0
// Structural equality of expressions. Shared nodes are equal at once, so equal DAGs stay cheap.
#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/stmt.h"

namespace byoc::te {
namespace {

bool equal_all(const Exprs& a, const Exprs& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (!structural_equal(a[k], b[k])) return false;
  }
  return true;
}

bool equal_floats(double a, double b) { return a == b || (a != a && b != b); }

}  // namespace

bool structural_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (a.is_empty() || b.is_empty() || a.dtype() != b.dtype() || a->kind.index() != b->kind.index())
    return false;
  return std::visit(
      overloaded{
          [&](const IntImm& x) { return x.value == std::get<IntImm>(b->kind).value; },
          [&](const FloatImm& x) {
            return equal_floats(x.value, std::get<FloatImm>(b->kind).value);
          },
          [&](const VarRef& x) { return x.var == std::get<VarRef>(b->kind).var; },
          [&](const Unary& x) {
            const Unary& y = std::get<Unary>(b->kind);
            return x.op == y.op && structural_equal(x.x, y.x);
          },
          [&](const Binary& x) {
            const Binary& y = std::get<Binary>(b->kind);
            return x.op == y.op && structural_equal(x.a, y.a) && structural_equal(x.b, y.b);
          },
          [&](const Select& x) {
            const Select& y = std::get<Select>(b->kind);
            return structural_equal(x.condition, y.condition) && structural_equal(x.yes, y.yes) &&
                   structural_equal(x.no, y.no);
          },
          [&](const Cast& x) { return structural_equal(x.x, std::get<Cast>(b->kind).x); },
          [&](const Bitcast& x) { return structural_equal(x.x, std::get<Bitcast>(b->kind).x); },
          [&](const std::shared_ptr<const Load>& x) {
            const Load& y = *std::get<std::shared_ptr<const Load>>(b->kind);
            return x->tensor == y.tensor && equal_all(x->indices, y.indices);
          },
      },
      a->kind);
}

}  // namespace byoc::te
