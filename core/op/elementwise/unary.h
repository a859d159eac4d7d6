#pragma once
// One row per op y[k] = f(x[k]): its name, formula, element types and f, a lambda over the type
// that elements are computed in; and the same as an expression.
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

/// `make(attrs)` returns f; all attributes are read there, once. `expression(attrs)` returns what f
/// is of an Expr. Result: the input's type, or bool.
template <class List, class Make, bool kToBool = false>
OpDef unary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                 Make make, std::function<ExprFn(const Attrs&)> expression,
                 std::bool_constant<kToBool> = {}) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kElementwise};
  op.inputs = {{"x", cat("one of ", dtypes_of(list))}};
  op.attrs = std::move(attrs);
  op.infer = [name](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "x", inputs[0], dtypes_of(List{})));
    return one_result({kToBool ? DType::kBool : inputs[0]->dtype, inputs[0]->shape});
  };
  op.reference = [name, make](Types inputs, Types, const Attrs& given) -> Result<RefKernel> {
    using F = decltype(make(given));
    BYOC_TRY(MapRow row, for_dtype<MapRow>(name, inputs[0]->dtype, List{}, []<class T>() -> MapRow {
               return map_row<T, std::conditional_t<kToBool, bool, T>, F>;
             }));
    return map_kernel(count(inputs[0]), row, std::make_shared<F>(make(given)));
  };
  op.compute = map_compute(name, std::move(expression));
  return op;
}

template <class List, class F>
OpDef unary(std::string name, std::string doc, List list, F f, ExprFn expression) {
  return unary_with(
      std::move(name), std::move(doc), list, {}, [f](const Attrs&) { return f; },
      always(std::move(expression)));
}

/// The same with a bool result.
template <class List, class Make>
OpDef predicate_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                     Make make, std::function<ExprFn(const Attrs&)> expression) {
  return unary_with(std::move(name), std::move(doc), list, std::move(attrs), make,
                    std::move(expression), std::true_type{});
}

}  // namespace byoc::op
