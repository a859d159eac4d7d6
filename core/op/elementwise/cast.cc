// SPDX-License-Identifier: Apache-2.0
// Conversion of element types.
#include "byoc/op/registry.h"
#include "core/op/kernel/convert.h"
#include "core/op/kernel/expression.h"

namespace byoc::op {
namespace {

template <class From, class To>
void cast_row(const void*, const void* x, void* y, int64_t n) {
  const From* from = static_cast<const From*>(x);
  To* to = static_cast<To*>(y);
  for (int64_t k = 0; k < n; ++k) to[k] = converted<To>(from[k]);
}

Result<RefKernel> reference_cast(Types inputs, Types outputs, const Attrs&) {
  constexpr AllTypes kAll;
  auto from = [&]<class From>() {
    return for_dtype<MapRow>("cast", outputs[0]->dtype, kAll,
                             []<class To>() -> MapRow { return cast_row<From, To>; });
  };
  BYOC_TRY(MapRow row, for_dtype<MapRow>("cast", inputs[0]->dtype, kAll, from));
  return map_kernel(count(inputs[0]), row, nullptr);
}

}  // namespace

void add_cast_ops(OpRegistry& ops) {
  OpDef op{.name = "cast", .kind = FusionKind::kElementwise};
  op.doc =
      "y = x as an element of type `to`: floats round to the nearest (halves to even), and to an "
      "integer "
      "towards 0 within its range, NaN to 0; integers wrap around; to bool is x != 0";
  op.inputs = {{"x", "any type"}};
  op.attrs = {{"to", DType::kF32, "the new element type", AttrSpec::kRequired}};
  op.infer = [](Types inputs, const Attrs& attrs) {
    return one_result({attrs.dtype("to"), inputs[0]->shape});
  };
  op.reference = reference_cast;
  op.compute = [](te::Builder& builder, Inputs in, Types out, const Attrs&) {
    return one(builder.compute("cast", in[0].shape(), [&](const Exprs& i) {
      return converted_to(out[0]->dtype, in[0](i));
    }));
  };
  ops.add(std::move(op));
}

}  // namespace byoc::op
