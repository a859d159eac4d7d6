#pragma once
// One row per op y[k] = f(x[k]): its name, formula, element types and f, a lambda over the type
// that elements are computed in.
#include "core/op/kernel.h"

namespace byoc::op {

/// `make(attrs)` returns f; all attributes are read there, once.
template <class List, class Make>
OpDef unary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                 Make make) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kElementwise};
  op.inputs = {{"x", cat("one of ", dtypes_of(list))}};
  op.attrs = std::move(attrs);
  op.infer = same_as_input(name, dtypes_of(list));
  op.reference = [name, list, make](Types inputs, Types, const Attrs& given) {
    return for_dtype(name, inputs[0]->dtype, list, [&]<class T>() -> Result<RefKernel> {
      return map_kernel<T, T>(count(inputs[0]), make(given));
    });
  };
  return op;
}

template <class List, class F>
OpDef unary(std::string name, std::string doc, List list, F f) {
  return unary_with(std::move(name), std::move(doc), list, {}, [f](const Attrs&) { return f; });
}

/// The same with a bool result.
template <class List, class Make>
OpDef predicate_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                     Make make) {
  OpDef op = unary_with(name, std::move(doc), list, std::move(attrs), make);
  op.infer = [name, list](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "x", inputs[0], dtypes_of(list)));
    return one_result({DType::kBool, inputs[0]->shape});
  };
  op.reference = [name, list, make](Types inputs, Types, const Attrs& given) {
    return for_dtype(name, inputs[0]->dtype, list, [&]<class T>() -> Result<RefKernel> {
      return map_kernel<T, bool>(count(inputs[0]), make(given));
    });
  };
  return op;
}

}  // namespace byoc::op
