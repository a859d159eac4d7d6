// SPDX-License-Identifier: Apache-2.0
#pragma once
// One row per op y[k] = f(x[k]): its name, formula, element types and f, a lambda over the type
// that elements are computed in, which is also given as an expression.
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

struct UnaryParts {
  std::string name, doc;
  TypedRows<MapRow> rows;
  bool to_bool = false;  // the result's dtype is bool; else the input's
  std::vector<AttrSpec> attrs;
  MakeFunction make;  // empty: f has no state
  std::function<ExprFn(const Attrs&)> expression;
};
OpDef unary_op(UnaryParts parts);

template <class List, class F>
OpDef unary(std::string name, std::string doc, List list, F, ExprFn expression) {
  static_assert(std::is_empty_v<F>, "f has state: use unary_with");
  return unary_op({std::move(name),
                   std::move(doc),
                   map_rows<F, false>(list),
                   false,
                   {},
                   {},
                   always(std::move(expression))});
}

/// `make(attrs)` returns f; all attributes are read there, once. `expression(attrs)` returns f as a
/// function of an Expr.
template <class List, class Make>
OpDef unary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                 Make make, std::function<ExprFn(const Attrs&)> expression) {
  using F = decltype(make(Attrs{}));
  return unary_op({std::move(name), std::move(doc), map_rows<F, false>(list), false,
                   std::move(attrs),
                   [make](const Attrs& given) { return std::make_shared<const F>(make(given)); },
                   std::move(expression)});
}

/// The same with a bool result.
template <class List, class Make>
OpDef predicate_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                     Make make, std::function<ExprFn(const Attrs&)> expression) {
  using F = decltype(make(Attrs{}));
  return unary_op({std::move(name), std::move(doc), map_rows<F, true>(list), true, std::move(attrs),
                   [make](const Attrs& given) { return std::make_shared<const F>(make(given)); },
                   std::move(expression)});
}

}  // namespace byoc::op
