#pragma once
// One row per op y = f(a, b) with broadcasting; f is a lambda over the type that elements are
// computed in.
#include "core/op/kernel.h"

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

template <class List>
OpDef binary_schema(std::string name, std::string doc, List list, bool to_bool) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kBroadcast};
  op.inputs = {{"a", cat("one of ", dtypes_of(list))}, {"b", "dtype of a, broadcast with it"}};
  op.infer = infer_binary(name, dtypes_of(list), to_bool);
  return op;
}

/// `make(attrs)` returns f.
template <class List, class Make>
OpDef binary_with(std::string name, std::string doc, List list, std::vector<AttrSpec> attrs,
                  Make make) {
  OpDef op = binary_schema(name, std::move(doc), list, false);
  op.attrs = std::move(attrs);
  op.reference = [name, list, make](Types inputs, Types outputs, const Attrs& given) {
    return for_dtype(name, inputs[0]->dtype, list, [&]<class T>() -> Result<RefKernel> {
      return broadcast_kernel<T, T>(inputs, outputs, make(given));
    });
  };
  return op;
}

template <class List, class F>
OpDef binary(std::string name, std::string doc, List list, F f) {
  return binary_with(std::move(name), std::move(doc), list, {}, [f](const Attrs&) { return f; });
}

/// The same with a bool result.
template <class List, class F>
OpDef comparison(std::string name, std::string doc, List list, F f) {
  OpDef op = binary_schema(name, std::move(doc), list, true);
  op.reference = [name, list, f](Types inputs, Types outputs, const Attrs&) {
    return for_dtype(name, inputs[0]->dtype, list, [&]<class T>() -> Result<RefKernel> {
      return broadcast_kernel<T, bool>(inputs, outputs, f);
    });
  };
  return op;
}

}  // namespace byoc::op
