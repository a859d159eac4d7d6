// SPDX-License-Identifier: Apache-2.0
// The numbers start, start + delta, ... before a limit, all of which are operands.
#include <cmath>

#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

using RangeTypes = TypeList<float, double, int16_t, int32_t, int64_t>;

Result<std::vector<TensorType>> infer_range(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("range", "start", in[0], dtypes_of(RangeTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype("range", in));
  for (TypeId type : in) {
    if (!type->shape.empty() && type->shape != Shape{1})
      return invalid(cat("range: operands must have one element, one is ", type))
          .with_slug("op-shape");
  }
  const int64_t most = attrs.i("most");
  if (most < 0) return invalid(cat("range: most is ", most, ", expected at least 0"));
  BYOC_TRY(Dim n, counted_dim("range", attrs, most));
  return one_result({in[0]->dtype, {n}});
}

// Returns the number of values as a float, which is exact for the lengths that tensors can have.
template <class T>
double length_of(T start, T limit, T delta) {
  return std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                   static_cast<double>(delta));
}

// Returns the number of integers, exactly. The differences fit in 64 bits without a sign.
inline double length_of(int64_t start, int64_t limit, int64_t delta) {
  if (delta == 0) return NAN;
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  auto [high, low] = delta > 0 ? std::pair(limit, start) : std::pair(start, limit);
  const uint64_t distance = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
  return static_cast<double>((distance - 1) / step + 1);
}

// The values of one run.
struct Values {
  double start, limit, delta, count;
};
using ReadValues = std::function<Values(const void* const*)>;

Result<std::vector<TensorType>> sizes_range(Types in, const void* const* data, const Attrs& attrs) {
  BYOC_TRY(ReadValues read,
           for_dtype<ReadValues>("range", in[0]->dtype, RangeTypes{}, []<class T>() -> ReadValues {
             return [](const void* const* from) -> Values {
               const T start = *in_as<T>(from, 0), limit = *in_as<T>(from, 1),
                       delta = *in_as<T>(from, 2);
               return {static_cast<double>(start), static_cast<double>(limit),
                       static_cast<double>(delta), length_of(start, limit, delta)};
             };
           }));
  const Values now = read(data);
  const int64_t most = attrs.i("most");
  const std::string range = cat("range: from ", now.start, " to ", now.limit, " by ", now.delta);
  if (now.delta == 0) return Status(Code::kOutOfRange, cat(range, ": delta must not be 0"));
  if (now.count <= static_cast<double>(most))
    return one_result({in[0]->dtype, {Dim(now.count > 0 ? static_cast<int64_t>(now.count) : 0)}});
  return Status(Code::kOutOfRange,
                cat(range, " it has ", now.count, " elements, at most ", most, " are possible"));
}

Result<RefKernel> reference_range(Types in, Types out, const Attrs&) {
  return for_dtype("range", in[0]->dtype, RangeTypes{},
                   [n = count(out[0])]<class T>() -> RefKernel {
                     return [n](const void* const* from, void* const* to) {
                       using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
                       const auto start = static_cast<U>(*in_as<T>(from, 0)),
                                  delta = static_cast<U>(*in_as<T>(from, 2));
                       T* y = out_as<T>(to, 0);
                       for (int64_t k = 0; k < n; ++k)
                         y[k] = static_cast<T>(start + static_cast<U>(k) * delta);
                     };
                   });
}

// ---- iota

using IotaTypes = TypeList<float, double, int32_t, int64_t>;

Result<std::vector<TensorType>> infer_iota(Types, const Attrs& attrs) {
  BYOC_TRY_STATUS(check_has_shape("iota", attrs));
  Shape shape;
  for (int64_t extent : attrs.ints("shape")) {
    if (extent < 0) return invalid(cat("iota: shape holds ", extent)).with_slug("op-shape");
    shape.push_back(extent);
  }
  if (attrs.has(kOpenShapeAttr)) {
    BYOC_TRY(shape, open_shape_of(attrs));
  }
  if (shape.size() != 1)
    return invalid(cat("iota: shape has ", shape.size(), " dims, expected 1"))
        .with_slug("op-shape");
  const DType dtype = attrs.dtype("to");
  if (!dtypes_of(IotaTypes{}).has(dtype))
    return invalid(cat("iota: to is ", dtype, ", expected one of ", dtypes_of(IotaTypes{})))
        .with_slug("op-dtype");
  return one_result({dtype, std::move(shape)});
}

Result<RefKernel> reference_iota(Types, Types out, const Attrs& attrs) {
  return for_dtype("iota", out[0]->dtype, IotaTypes{},
                   [n = count(out[0]), start = attrs.i("start"),
                    step = attrs.i("step")]<class T>() -> RefKernel {
                     return [=](const void* const*, void* const* to) {
                       T* y = out_as<T>(to, 0);
                       for (int64_t k = 0; k < n; ++k) y[k] = static_cast<T>(start + k * step);
                     };
                   });
}

Result<Tensors> compute_iota(te::Builder& builder, Inputs, Types out, const Attrs& attrs) {
  const DType dtype = out[0]->dtype;
  return one(builder.compute("iota", te::extents_of(*out[0]), [&](const Exprs& i) {
    return te::cast(dtype, i[0] * attrs.i("step") + attrs.i("start"));
  }));
}

}  // namespace

void add_range_ops(OpRegistry& ops) {
  ops.add({.name = "range",
           .doc = "start, start + delta, ... before the limit. Each run counts them.",
           .inputs = {{"start", "f32 f64 i16 i32 i64, one element"},
                      {"limit", "as start, exclusive"},
                      {"delta", "as start, not 0"}},
           .attrs = {{"most", int64_t{0}, "the most elements that a run has", AttrSpec::kRequired},
                     size_attr()},
           .infer = infer_range,
           .reference = reference_range,
           .sizes = sizes_range});
  ops.add({.name = "iota",
           .doc = "start, start + step, ... as many as the shape has.",
           .kind = FusionKind::kInjective,
           .inputs = {},
           .attrs = {{"shape", Ints{}, "one extent", AttrSpec::kOptional},
                     open_shape_attr(),
                     {"to", DType::kI64, "f32 f64 i32 i64", AttrSpec::kRequired},
                     {"start", int64_t{0}, "the first value"},
                     {"step", int64_t{1}, "the difference of neighbours"}},
           .infer = infer_iota,
           .reference = reference_iota,
           .compute = with_open_sizes(compute_iota),
           .flops = no_flops});
}

}  // namespace byoc::op
