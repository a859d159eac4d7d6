// SPDX-License-Identifier: Apache-2.0
#pragma once
// One row per op y = f(a, b) with broadcasting; f is a lambda over the type that elements are
// computed in, and is also given as an expression.
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

struct BinaryParts {
  std::string name, doc;
  TypedRows<BroadcastRow> rows;
  bool to_bool = false;  // the result's dtype is bool; else the inputs'
  std::vector<AttrSpec> attrs;
  MakeFunction make;  // empty: f has no state
  std::function<ExprFn2(const Attrs&)> expression;
};
OpDef binary_op(BinaryParts parts);

/// Infers the broadcast shape; both dtypes are one of `allowed` and equal. `result`: kept, or bool.
InferFn infer_binary(std::string name, DTypes allowed, bool to_bool);

/// `make(attrs)` returns f, `expression(attrs)` returns f as a function of Exprs.
template <class List, class Make>
OpDef binary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                  Make make, std::function<ExprFn2(const Attrs&)> expression) {
  using F = decltype(make(Attrs{}));
  return binary_op({std::move(name), std::move(doc), broadcast_rows<F, false>(list), false,
                    std::move(attrs),
                    [make](const Attrs& given) { return std::make_shared<const F>(make(given)); },
                    std::move(expression)});
}

template <class List, class F>
OpDef binary(std::string name, std::string doc, List list, F, ExprFn2 expression) {
  static_assert(std::is_empty_v<F>, "f has state: use binary_with");
  return binary_op({std::move(name),
                    std::move(doc),
                    broadcast_rows<F, false>(list),
                    false,
                    {},
                    {},
                    always(std::move(expression))});
}

/// The same with a bool result.
template <class List, class F>
OpDef comparison(std::string name, std::string doc, List list, F, ExprFn2 expression) {
  static_assert(std::is_empty_v<F>, "f has state");
  return binary_op({std::move(name),
                    std::move(doc),
                    broadcast_rows<F, true>(list),
                    true,
                    {},
                    {},
                    always(std::move(expression))});
}

}  // namespace byoc::op
