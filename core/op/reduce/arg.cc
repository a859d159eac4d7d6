// SPDX-License-Identifier: Apache-2.0
// The positions of extremes: argmax, argmin.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/reduce/reduce.h"

namespace byoc::op {
namespace {

Result<std::vector<TensorType>> infer_arg(std::string_view op, TypeId x, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(op, "x", x, dtypes_of(NumericTypes{})));
  BYOC_TRY(size_t axis, normal_axis(op, attrs.i("axis"), x));
  if (x->shape[axis] == Dim(0))
    return invalid(cat(op, ": nothing to choose from along axis ", axis, " (x ", x, ")"))
        .with_slug("op-shape");
  Shape shape = x->shape;
  if (attrs.b("keepdims", true)) shape[axis] = Dim(1);
  else shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return one_result({DType::kI64, std::move(shape)});
}

template <class T, bool kGreatest>
int64_t best_of(const T* x, const AxisView& view, bool last) {
  int64_t best = 0;
  for (int64_t k = 1; k < view.extent; ++k) {
    Compute<T> a(x[best * view.inner]), b(x[k * view.inner]);
    bool better = kGreatest ? is_less(a, b) : is_less(b, a);
    bool worse = kGreatest ? is_less(b, a) : is_less(a, b);
    if (better || (last && !worse)) best = k;
  }
  return best;
}

template <class T, bool kGreatest>
RefKernel arg_kernel(AxisView view, bool last) {
  return [view, last](const void* const* in, void* const* out) {
    int64_t* y = out_as<int64_t>(out, 0);
    for (int64_t o = 0; o < view.outer; ++o) {
      const T* x = in_as<T>(in, 0) + o * view.extent * view.inner;
      for (int64_t i = 0; i < view.inner; ++i) *y++ = best_of<T, kGreatest>(x + i, view, last);
    }
  };
}

Result<Tensors> compute_arg(te::Builder& builder, Inputs in, Types out, const Attrs& attrs,
                            const std::string& name, bool greatest) {
  const Tensor& x = in[0];
  BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), type_of(x)));
  bool keepdims = attrs.b("keepdims", true), last = attrs.b("select_last_index", false);
  Tensors best = builder.reduce_all(name, te::extents_of(*out[0]), {x.shape()[axis]},
                                    arg_combiner(computing_dtype(x.dtype()), greatest, last),
                                    [&](const Exprs& i, const Exprs& r) -> Exprs {
                                      Exprs at = i;
                                      if (keepdims) at[axis] = r[0];
                                      else
                                        at.insert(at.begin() + static_cast<ptrdiff_t>(axis), r[0]);
                                      return {widened(x(at)), r[0]};
                                    });
  BYOC_CHECK(best.size() == 2, name, " has ", best.size(), " results");
  return one(best[1]);
}

template <bool kGreatest>
OpDef arg_op(std::string name, std::string doc) {
  OpDef op{.name = name, .doc = std::move(doc), .kind = FusionKind::kReduction};
  op.inputs = {{"x", "any number, rank >= 1"}};
  op.outputs = {{"y", "i64"}};
  op.attrs = {{"axis", 0, "in [-rank, rank)"},
              {"keepdims", true, "the axis stays with extent 1"},
              {"select_last_index", false, "the last of equals instead of the first"}};
  op.infer = [name](Types inputs, const Attrs& attrs) { return infer_arg(name, inputs[0], attrs); };
  op.reference = [name](Types inputs, Types, const Attrs& attrs) -> Result<RefKernel> {
    BYOC_TRY(size_t axis, normal_axis(name, attrs.i("axis"), inputs[0]));
    AxisView view = around_axis(inputs[0], axis);
    bool last = attrs.b("select_last_index", false);
    return for_dtype(name, inputs[0]->dtype, NumericTypes{}, [&]<class T>() -> Result<RefKernel> {
      return arg_kernel<T, kGreatest>(view, last);
    });
  };
  op.compute =
      with_open_sizes([name](te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
        return compute_arg(builder, in, out, attrs, name, kGreatest);
      });
  op.flops = [](Types inputs, Types, const Attrs&) { return flop_count(inputs[0]); };
  return op;
}

}  // namespace

void add_arg_ops(OpRegistry& ops) {
  ops.add(arg_op<true>("argmax", "y = index of the greatest x along `axis`; NaN is the greatest"));
  ops.add(arg_op<false>("argmin", "y = index of the least x along `axis`; NaN is the greatest"));
}

}  // namespace byoc::op
