// SPDX-License-Identifier: Apache-2.0
// Conversion of element types: cast by value, bit_cast by bits.
#include "byoc/base/check.h"
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
  BYOC_CHECK(count(inputs[0]) == count(outputs[0]), inputs[0], " is cast to ", outputs[0]);
  return map_kernel(count(inputs[0]), row, nullptr);
}

// Refuses bools as results: only two of their 256 patterns are bools.
Result<std::vector<TensorType>> infer_bit_cast(Types inputs, const Attrs& attrs) {
  DType from = inputs[0]->dtype, to = attrs.dtype("to");
  if (dtype_size(from) != dtype_size(to))
    return invalid(cat("bit_cast: x is ", inputs[0], ", an element of ", 8 * dtype_size(from),
                       " bits is not one of ", to, ", which has ", 8 * dtype_size(to)))
        .with_slug("op-dtype");
  if (to == DType::kBool && from != DType::kBool)
    return invalid(cat("bit_cast: x is ", inputs[0], ", only a bool has the bits of a bool"))
        .with_slug("op-dtype");
  return one_result({to, inputs[0]->shape});
}

// Returns the bits of x in another type. A bool is the number 0 or 1.
Expr bits_as(DType to, const Expr& x) {
  BYOC_CHECK(dtype_size(to) == dtype_size(x.dtype()), "the bits of ", x.dtype(), " as ", to);
  return x.dtype() == DType::kBool && to != DType::kBool ? te::bitcast(to, te::cast(DType::kU8, x))
                                                         : te::bitcast(to, x);
}

OpDef bit_cast() {
  OpDef op{.name = "bit_cast", .kind = FusionKind::kElementwise};
  op.doc = "y = the bits of x as elements of type `to`, which has as many bits";
  op.inputs = {{"x", "any type"}};
  op.attrs = {{"to", DType::kF32, "the new element type", AttrSpec::kRequired}};
  op.infer = infer_bit_cast;
  op.reference = [](Types inputs, Types, const Attrs&) -> Result<RefKernel> {
    return copy_kernel(inputs[0]);
  };
  op.compute = with_open_sizes([](te::Builder& builder, Inputs in, Types out, const Attrs&) {
    return one(builder.compute("bit_cast", in[0].shape(),
                               [&](const Exprs& i) { return bits_as(out[0]->dtype, in[0](i)); }));
  });
  op.flops = [](Types, Types, const Attrs&) { return 0.0; };
  return op;
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
  op.compute = with_open_sizes([](te::Builder& builder, Inputs in, Types out, const Attrs&) {
    return one(builder.compute("cast", in[0].shape(), [&](const Exprs& i) {
      return converted_to(out[0]->dtype, in[0](i));
    }));
  });
  op.facts = {.family = OpFamily::kCast};
  ops.add(std::move(op));
  ops.add(bit_cast());
}

}  // namespace byoc::op
