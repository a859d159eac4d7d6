// SPDX-License-Identifier: Apache-2.0
// Choice between two tensors, element by element.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_where(Types inputs, const Attrs&) {
  BYOC_TRY_STATUS(expect_dtype("where", "condition", inputs[0], {DType::kBool}));
  if (inputs[1]->dtype != inputs[2]->dtype)
    return invalid(cat("where: x is ", inputs[1], " and y is ", inputs[2], ", expects one dtype"))
        .with_slug("op-dtype");
  BYOC_TRY(Shape shape, broadcast_shapes("where", inputs));
  return one_result({inputs[1]->dtype, std::move(shape)});
}

// Moves elements without computing with them, so only their size counts.
template <class T>
RefKernel choose(Types inputs, Types outputs) {
  const Shape& to = outputs[0]->shape;
  Walk<3> walk(static_extents(to),
               {broadcast_strides(inputs[0]->shape, to), broadcast_strides(inputs[1]->shape, to),
                broadcast_strides(inputs[2]->shape, to)});
  return [walk = std::move(walk)](const void* const* in, void* const* out) {
    T* y = out_as<T>(out, 0);
    walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
      const bool* condition = in_as<bool>(in, 0) + at[0];
      const T* a = in_as<T>(in, 1) + at[1];
      const T* b = in_as<T>(in, 2) + at[2];
      for (int64_t k = 0; k < n; ++k)
        *y++ = condition[k * step[0]] ? a[k * step[1]] : b[k * step[2]];
    });
  };
}

Result<RefKernel> reference_where(Types inputs, Types outputs, const Attrs&) {
  switch (dtype_size(outputs[0]->dtype)) {
    case 1:
      return choose<uint8_t>(inputs, outputs);
    case 2:
      return choose<uint16_t>(inputs, outputs);
    case 4:
      return choose<uint32_t>(inputs, outputs);
    default:
      BYOC_CHECK(dtype_size(outputs[0]->dtype) == 8, "no elements are as wide as ", outputs[0]);
      return choose<uint64_t>(inputs, outputs);
  }
}

Result<Tensors> compute_where(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  return one(builder.compute("where", te::extents_of(*out[0]), [&](const Exprs& i) {
    auto element = [&](const Tensor& x) { return x(broadcast_index(x, i)); };
    return select(element(in[0]), element(in[1]), element(in[2]));
  }));
}

}  // namespace

void add_where_ops(OpRegistry& ops) {
  OpDef op{.name = "where", .kind = FusionKind::kBroadcast};
  op.doc = "out = x where condition holds, else y";
  op.inputs = {{"condition", "bool, broadcast with x and y"},
               {"x", "any type"},
               {"y", "dtype of x, broadcast with it"}};
  op.outputs = {{"out", "dtype of x"}};
  op.infer = infer_where;
  op.reference = reference_where;
  op.compute = with_open_sizes(compute_where);
  ops.add(std::move(op));
}

}  // namespace byoc::op
