#pragma once
// One row per op y = f(a, b) with broadcasting; f is a lambda over the type that elements are
// computed in; and the same as an expression.
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {

/// Infers the broadcast shape; both dtypes are one of `allowed` and equal. `result`: kept, or bool.
inline InferFn infer_binary(std::string name, DTypes allowed, bool to_bool) {
  return [name, allowed, to_bool](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "a", inputs[0], allowed));
    BYOC_TRY_STATUS(expect_same_dtype(name, inputs));
    BYOC_TRY(Shape shape, broadcast_shapes(name, inputs));
    return one_result({to_bool ? DType::kBool : inputs[0]->dtype, std::move(shape)});
  };
}

/// `make(attrs)` returns f, `expression(attrs)` what f is of Exprs. Result: the inputs' dtype, or
/// bool.
template <class List, class Make, bool kToBool = false>
OpDef binary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                  Make make, std::function<ExprFn2(const Attrs&)> expression,
                  std::bool_constant<kToBool> = {}) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kBroadcast};
  op.inputs = {{"a", cat("one of ", dtypes_of(list))}, {"b", "dtype of a, broadcast with it"}};
  op.attrs = std::move(attrs);
  op.infer = infer_binary(name, dtypes_of(list), kToBool);
  op.reference = [name, make](Types inputs, Types outputs,
                              const Attrs& given) -> Result<RefKernel> {
    using F = decltype(make(given));
    BYOC_TRY(BroadcastRow row,
             for_dtype<BroadcastRow>(name, inputs[0]->dtype, List{}, []<class T>() -> BroadcastRow {
               return broadcast_row<T, std::conditional_t<kToBool, bool, T>, F>;
             }));
    return broadcast_kernel(inputs, outputs, row, std::make_shared<F>(make(given)));
  };
  op.compute = broadcast_compute(name, std::move(expression));
  return op;
}

template <class List, class F>
OpDef binary(std::string name, std::string doc, List list, F f, ExprFn2 expression) {
  return binary_with(
      std::move(name), std::move(doc), list, {}, [f](const Attrs&) { return f; },
      always(std::move(expression)));
}

/// The same with a bool result.
template <class List, class F>
OpDef comparison(std::string name, std::string doc, List list, F f, ExprFn2 expression) {
  return binary_with(
      std::move(name), std::move(doc), list, {}, [f](const Attrs&) { return f; },
      always(std::move(expression)), std::true_type{});
}

}  // namespace byoc::op
