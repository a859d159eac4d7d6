// SPDX-License-Identifier: Apache-2.0
// Ops that select elements by their values, and so count their results: nonzero, compress.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

// ---- nonzero

Result<std::vector<TensorType>> infer_nonzero(Types in, const Attrs& attrs) {
  BYOC_TRY(int64_t most, most_elements("nonzero", in[0]));
  BYOC_TRY(Dim n, counted_dim("nonzero", attrs, most));
  return one_result({DType::kI64, {Dim(static_cast<int64_t>(in[0]->shape.size())), n}});
}

// Calls f(position) for each element that is not zero, in row-major order.
template <class T, class F>
void for_nonzero(const T* x, int64_t n, F&& f) {
  for (int64_t k = 0; k < n; ++k) {
    if (x[k] != T(0)) f(k);
  }
}

using Counter = std::function<int64_t(const void*)>;

Result<std::vector<TensorType>> sizes_nonzero(Types in, const void* const* data, const Attrs&) {
  const int64_t n = count(in[0]);
  BYOC_TRY(Counter counter,
           (for_dtype<Counter>("nonzero", in[0]->dtype, AllTypes{}, [n]<class T>() -> Counter {
             return [n](const void* x) {
               int64_t found = 0;
               for_nonzero(static_cast<const T*>(x), n, [&](int64_t) { ++found; });
               return found;
             };
           })));
  return one_result(
      {DType::kI64, {Dim(static_cast<int64_t>(in[0]->shape.size())), Dim(counter(data[0]))}});
}

// Row d of y has the index along dim d of each element.
Result<RefKernel> reference_nonzero(Types in, Types out, const Attrs&) {
  const std::vector<int64_t> extents = static_extents(in[0]->shape);
  BYOC_CHECK(out[0]->shape.size() == 2, "the indices of ", in[0], " make ", out[0]);
  const int64_t n = count(in[0]), columns = out[0]->shape[1].extent();
  return for_dtype("nonzero", in[0]->dtype, AllTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      int64_t* y = out_as<int64_t>(to, 0);
      int64_t column = 0;
      for_nonzero(in_as<T>(from, 0), n, [&](int64_t at) {
        for (size_t d = extents.size(); d-- > 0; at /= extents[d])
          y[static_cast<int64_t>(d) * columns + column] = at % extents[d];
        ++column;
      });
    };
  });
}

// ---- compress

// x as outer x extent x inner elements, of which entries of the middle are selected.
Result<AxisView> compress_view(TypeId x, const Attrs& attrs) {
  if (!attrs.has("axis")) return AxisView{1, count(x), 1};
  BYOC_TRY(size_t axis, normal_axis("compress", attrs.i("axis"), x));
  return around_axis(x, axis);
}

Result<std::vector<TensorType>> infer_compress(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("compress", "condition", in[1], {DType::kBool}));
  BYOC_TRY_STATUS(expect_rank("compress", "condition", in[1], 1));
  BYOC_TRY(int64_t most, most_of("compress", in[1]->shape[0], in[1]));
  TensorType y{in[0]->dtype, {}};
  if (!attrs.has("axis")) {
    BYOC_TRY(int64_t elements, most_elements("compress", in[0]));
    BYOC_TRY(Dim n, counted_dim("compress", attrs, std::min(most, elements)));
    y.shape = {n};
    return one_result(std::move(y));
  }
  BYOC_TRY(size_t axis, normal_axis("compress", attrs.i("axis"), in[0]));
  y.shape = in[0]->shape;
  BYOC_TRY(int64_t extent, most_of("compress", y.shape[axis], in[0]));
  BYOC_TRY(y.shape[axis], counted_dim("compress", attrs, std::min(most, extent)));
  return one_result(std::move(y));
}

Result<std::vector<TensorType>> sizes_compress(Types in, const void* const* data,
                                               const Attrs& attrs) {
  BYOC_TRY(AxisView view, compress_view(in[0], attrs));
  const bool* condition = in_as<bool>(data, 1);
  const Dim n(std::count(condition, condition + std::min(view.extent, count(in[1])), true));
  if (!attrs.has("axis")) return one_result({in[0]->dtype, {n}});
  BYOC_TRY(size_t axis, normal_axis("compress", attrs.i("axis"), in[0]));
  TensorType y = *in[0];
  y.shape[axis] = n;
  return one_result(std::move(y));
}

Result<RefKernel> reference_compress(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(AxisView view, compress_view(in[0], attrs));
  const int64_t entries = std::min(view.extent, count(in[1]));
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      const U* x = in_as<U>(from, 0);
      const bool* condition = in_as<bool>(from, 1);
      U* y = out_as<U>(to, 0);
      for (int64_t outer = 0; outer < view.outer; ++outer, x += view.extent * view.inner) {
        for (int64_t k = 0; k < entries; ++k)
          if (condition[k]) y = std::copy_n(x + k * view.inner, view.inner, y);
      }
    };
  });
}

}  // namespace

void add_select_ops(OpRegistry& ops) {
  ops.add({.name = "nonzero",
           .doc = "The indices of the elements that are not 0, in row-major order: a row per dim "
                  "of x, a column per element. Each run counts them.",
           .inputs = {{"x", "any type"}},
           .outputs = {{"y", "i64 [rank, ?size]"}},
           .attrs = {size_attr()},
           .infer = infer_nonzero,
           .reference = reference_nonzero,
           .flops = no_flops,
           .sizes = sizes_nonzero});
  ops.add({.name = "compress",
           .doc = "The entries of x along `axis`, or its elements without one, where `condition` "
                  "is true; entries beyond its end are left out. Each run counts them.",
           .inputs = {{"x", "any type"}, {"condition", "bool [n]"}},
           .attrs = {{"axis", int64_t{0}, "in [-rank, rank)", AttrSpec::kOptional}, size_attr()},
           .infer = infer_compress,
           .reference = reference_compress,
           .flops = no_flops,
           .sizes = sizes_compress});
}

}  // namespace byoc::op
