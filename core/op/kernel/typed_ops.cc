// SPDX-License-Identifier: Apache-2.0
// Makes ops from their typed rows: the part that is the same for all element types.
#include "byoc/base/check.h"
#include "core/op/kernel/binary.h"
#include "core/op/kernel/unary.h"

namespace byoc::op {

OpDef unary_op(UnaryParts parts) {
  const std::string& name = parts.name;
  const DTypes dtypes = dtypes_of(parts.rows);
  BYOC_CHECK(!parts.rows.empty(), name, " has no element types");
  OpDef op{.name = name, .doc = std::move(parts.doc), .kind = FusionKind::kElementwise};
  op.inputs = {{"x", cat("one of ", dtypes)}};
  op.attrs = std::move(parts.attrs);
  op.infer = [name, dtypes, to_bool = parts.to_bool](
                 Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "x", inputs[0], dtypes));
    return one_result({to_bool ? DType::kBool : inputs[0]->dtype, inputs[0]->shape});
  };
  op.reference = [name, rows = std::move(parts.rows), make = std::move(parts.make)](
                     Types inputs, Types, const Attrs& given) -> Result<RefKernel> {
    BYOC_TRY(MapRow row, row_for(name, inputs[0]->dtype, rows));
    return map_kernel(count(inputs[0]), row, make ? make(given) : nullptr);
  };
  op.compute = map_compute(name, std::move(parts.expression));
  return op;
}

InferFn infer_binary(std::string name, DTypes allowed, bool to_bool) {
  return [name, allowed, to_bool](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
    BYOC_TRY_STATUS(expect_dtype(name, "a", inputs[0], allowed));
    BYOC_TRY_STATUS(expect_same_dtype(name, inputs));
    BYOC_TRY(Shape shape, broadcast_shapes(name, inputs));
    return one_result({to_bool ? DType::kBool : inputs[0]->dtype, std::move(shape)});
  };
}

OpDef binary_op(BinaryParts parts) {
  const std::string& name = parts.name;
  const DTypes dtypes = dtypes_of(parts.rows);
  BYOC_CHECK(!parts.rows.empty(), name, " has no element types");
  OpDef op{.name = name, .doc = std::move(parts.doc), .kind = FusionKind::kBroadcast};
  op.inputs = {{"a", cat("one of ", dtypes)}, {"b", "dtype of a, broadcast with it"}};
  op.attrs = std::move(parts.attrs);
  op.infer = infer_binary(name, dtypes, parts.to_bool);
  op.reference = [name, rows = std::move(parts.rows), make = std::move(parts.make)](
                     Types inputs, Types outputs, const Attrs& given) -> Result<RefKernel> {
    BYOC_TRY(BroadcastRow row, row_for(name, inputs[0]->dtype, rows));
    return broadcast_kernel(inputs, outputs, row, make ? make(given) : nullptr);
  };
  op.compute = broadcast_compute(name, std::move(parts.expression));
  return op;
}

}  // namespace byoc::op
