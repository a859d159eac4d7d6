// SPDX-License-Identifier: Apache-2.0
// Ops that read at computed places: gather, gather_elements, gather_nd, one_hot. An index outside
// of its dim is an error of the run, except for one_hot, where it gives no hot element.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {

namespace {

bool is_empty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), Dim(0)) != shape.end();
}

// Returns an error for indices into a dim without entries.
Status has_entries(std::string_view op, size_t d, Types in) {
  if (in[0]->shape[d] != Dim(0) || is_empty(in[1]->shape)) return {};
  return index_error(cat(op, ": dim ", d, " has no entries to choose from"), in[0], in[1]);
}

// ---- gather

Result<std::vector<TensorType>> infer_gather(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather", attrs.i("axis", 0), in[0]));
  BYOC_TRY_STATUS(expect_indices("gather", in[1]));
  BYOC_TRY_STATUS(has_entries("gather", axis, in));
  TensorType y = *in[0];
  y.shape.erase(y.shape.begin() + static_cast<ptrdiff_t>(axis));
  y.shape.insert(y.shape.begin() + static_cast<ptrdiff_t>(axis), in[1]->shape.begin(),
                 in[1]->shape.end());
  return one_result(std::move(y));
}

Result<RefKernel> reference_gather(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather", attrs.i("axis", 0), in[0]));
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  AxisView view = around_axis(in[0], axis);
  int64_t picks = count(in[1]);
  BYOC_CHECK(view.outer * picks * view.inner == count(out[0]), picks, " entries of ", in[0],
             " make ", out[0]);
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=, index_dtype = in[1]->dtype](const void* const* from, void* const* to) {
      const U* x = in_as<U>(from, 0);
      U* y = out_as<U>(to, 0);
      Indices indices(index_dtype, from[1]);
      for (int64_t outer = 0; outer < view.outer; ++outer, x += view.extent * view.inner) {
        for (int64_t k = 0; k < picks; ++k) {
          int64_t entry = from_front(indices[k], view.extent);
          y = std::copy_n(x + entry * view.inner, view.inner, y);
        }
      }
    };
  });
}

Result<ValueCheck> check_gather(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather", attrs.i("axis", 0), in[0]));
  return index_check("gather", in[1], 1, {from_either_end(in[0]->shape[axis].extent())});
}

Result<Tensors> compute_gather(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Shape x = type_of(in[0]).shape;
  BYOC_TRY(size_t axis, normal_axis("gather", attrs.i("axis", 0), type_of(in[0])));
  size_t rank = in[1].rank();
  const CheckedIndices indices(builder, "gather", in[1], {indices_into(x[axis])});
  return one(builder.compute("gather", te::extents_of(*out[0]), [&](const Exprs& i) {
    BYOC_CHECK(i.size() + 1 == x.size() + rank, i.size(), " indices for ranks ", x.size(), " and ",
               rank);
    auto begin = i.begin() + static_cast<ptrdiff_t>(axis),
         end = begin + static_cast<ptrdiff_t>(rank);
    Exprs from(i.begin(), begin);
    from.push_back(indices(Exprs(begin, end)));
    from.insert(from.end(), end, i.end());
    return in[0](from);
  }));
}

// ---- gather_elements

Result<std::vector<TensorType>> infer_gather_elements(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather_elements", attrs.i("axis", 0), in[0]));
  BYOC_TRY_STATUS(expect_indices("gather_elements", in[1]));
  BYOC_TRY_STATUS(has_entries("gather_elements", axis, in));
  BYOC_TRY_STATUS(expect_inside("gather_elements", axis, in[0], in[1]));
  return one_result({in[0]->dtype, in[1]->shape});
}

Result<RefKernel> reference_gather_elements(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather_elements", attrs.i("axis", 0), in[0]));
  std::vector<int64_t> strides = row_major_strides(static_extents(in[0]->shape));
  BYOC_CHECK(in[1]->shape.size() == strides.size(), in[1], " are indices into ", in[0]);
  int64_t step_axis = strides[axis], extent = in[0]->shape[axis].extent();
  strides[axis] = 0;
  Walk<1> walk(static_extents(in[1]->shape), {strides});
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=, index_dtype = in[1]->dtype](const void* const* from, void* const* to) {
      Indices indices(index_dtype, from[1]);
      int64_t next = 0;
      U* y = out_as<U>(to, 0);
      walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
        const U* x = in_as<U>(from, 0) + at[0];
        for (int64_t k = 0; k < n; ++k)
          *y++ = x[k * step[0] + from_front(indices[next++], extent) * step_axis];
      });
    };
  });
}

Result<ValueCheck> check_gather_elements(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather_elements", attrs.i("axis", 0), in[0]));
  return index_check("gather_elements", in[1], 1, {from_either_end(in[0]->shape[axis].extent())});
}

Result<Tensors> compute_gather_elements(te::Builder& builder, Inputs in, Types out,
                                        const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("gather_elements", attrs.i("axis", 0), out[0]));
  const Dim entries = type_of(in[0]).shape[axis];
  const CheckedIndices indices(builder, "gather_elements", in[1], {indices_into(entries)});
  return one(builder.compute("gather_elements", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs from = i;
    from[axis] = indices(i);
    return in[0](from);
  }));
}

// ---- gather_nd

Result<std::vector<TensorType>> infer_gather_nd(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_indices("gather_nd", in[1]));
  BYOC_TRY(TupleView view, view_tuples("gather_nd", in[0], in[1], attrs.i("batch_dims", 0)));
  for (size_t d = view.batch_dims; d < view.batch_dims + view.width; ++d) {
    BYOC_TRY_STATUS(has_entries("gather_nd", d, in));
  }
  TensorType y{in[0]->dtype, {in[1]->shape.begin(), in[1]->shape.end() - 1}};
  y.shape.insert(y.shape.end(),
                 in[0]->shape.begin() + static_cast<ptrdiff_t>(view.batch_dims + view.width),
                 in[0]->shape.end());
  return one_result(std::move(y));
}

Result<RefKernel> reference_gather_nd(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(TupleView view, view_tuples("gather_nd", in[0], in[1], attrs.i("batch_dims", 0)));
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  TupleLoop loop(view, in[0], in[1]);
  BYOC_CHECK(loop.batches * loop.rows_per_batch * loop.inner == count(out[0]), "slices of ",
             loop.inner, " elements make ", out[0]);
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=, index_dtype = in[1]->dtype](const void* const* from, void* const* to) {
      U* y = out_as<U>(to, 0);
      loop.for_tuples(Indices(index_dtype, from[1]), [&](int64_t offset) {
        y = std::copy_n(in_as<U>(from, 0) + offset, loop.inner, y);
      });
    };
  });
}

Result<ValueCheck> check_gather_nd(Types in, const Attrs& attrs) {
  BYOC_TRY(TupleView view, view_tuples("gather_nd", in[0], in[1], attrs.i("batch_dims", 0)));
  return index_check("gather_nd", in[1], 1, TupleLoop(view, in[0], in[1]).ranges());
}

Result<Tensors> compute_gather_nd(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Shape x = type_of(in[0]).shape, rows = type_of(in[1]).shape;
  BYOC_CHECK(!rows.empty(), "gather_nd of indices without dims");
  if (is_open(rows.back())) return needs_number("gather_nd", rows.back());
  auto batch = static_cast<size_t>(attrs.i("batch_dims", 0)), leading = rows.size() - 1;
  auto width = static_cast<size_t>(rows.back().extent());
  std::vector<RangeExpr> ranges;
  BYOC_CHECK(batch + width <= x.size(), width, " indices after ", batch, " dims of rank ",
             x.size());
  for (Dim dim : std::span(x).subspan(batch, width)) {
    ranges.push_back(indices_into(dim));
  }
  const CheckedIndices indices(builder, "gather_nd", in[1], ranges);
  return one(builder.compute("gather_nd", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs from(i.begin(), i.begin() + static_cast<ptrdiff_t>(batch));
    Exprs row(i.begin(), i.begin() + static_cast<ptrdiff_t>(leading));
    row.emplace_back();
    for (size_t k = 0; k < width; ++k) {
      row.back() = static_cast<int64_t>(k);
      from.push_back(indices(row));
    }
    from.insert(from.end(), i.begin() + static_cast<ptrdiff_t>(leading), i.end());
    return in[0](from);
  }));
}

// ---- one_hot

Result<std::vector<TensorType>> infer_one_hot(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_indices("one_hot", in[0]));
  if (in[1]->shape != Shape{2}) {
    return invalid(cat("one_hot: values must have shape [2] (values ", in[1], ")"))
        .with_slug("op-shape");
  }
  int64_t depth = attrs.i("depth");
  if (depth < 0) return invalid(cat("one_hot: depth is ", depth, ", expected at least 0"));
  TensorType y{in[1]->dtype, in[0]->shape};
  y.shape.push_back(depth);
  if (y.shape.size() > kMaxRank)
    return invalid(cat("one_hot: the result has more than ", kMaxRank, " dims"));
  BYOC_TRY(size_t axis, normal_axis("one_hot", attrs.i("axis", -1), y));
  std::rotate(y.shape.begin() + static_cast<ptrdiff_t>(axis), y.shape.end() - 1, y.shape.end());
  return one_result(std::move(y));
}

Result<RefKernel> reference_one_hot(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("one_hot", attrs.i("axis", -1), out[0]));
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  AxisView view = around_axis(out[0], axis);
  BYOC_CHECK(view.outer * view.inner == count(in[0]), in[0], " indices make ", out[0]);
  return for_width(out[0]->dtype, [&]<class U>() -> RefKernel {
    return [=, index_dtype = in[0]->dtype](const void* const* from, void* const* to) {
      Indices indices(index_dtype, from[0]);
      U off = in_as<U>(from, 1)[0], on = in_as<U>(from, 1)[1];
      U* y = out_as<U>(to, 0);
      for (int64_t outer = 0; outer < view.outer; ++outer) {
        for (int64_t k = 0; k < view.extent; ++k) {
          for (int64_t i = 0; i < view.inner; ++i) {
            int64_t hot = indices[outer * view.inner + i];
            *y++ = hot == k || hot == k - view.extent ? on : off;
          }
        }
      }
    };
  });
}

Result<Tensors> compute_one_hot(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("one_hot", attrs.i("axis", -1), out[0]));
  int64_t depth = out[0]->shape[axis].extent();
  return one(builder.compute("one_hot", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs at = i;
    at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    Expr hot = te::cast(DType::kI64, in[0](at));
    return select(hot == i[axis] || hot == i[axis] - depth, in[1](1), in[1](0));
  }));
}

}  // namespace

void add_gather_ops(OpRegistry& ops) {
  ops.add(
      {.name = "gather",
       .doc =
           "Entries `indices` of x along `axis`; negative ones count from the end, one outside is "
           "an error of the run.",
       .kind = FusionKind::kInjective,
       .inputs = {{"x", "any type, rank >= 1"}, {"indices", "i32 or i64"}},
       .attrs = {{"axis", int64_t{0}, "in [-rank, rank)"}},
       .infer = infer_gather,
       .reference = reference_gather,
       .compute = with_open_sizes(compute_gather),
       .flops = no_flops,
       .check = check_gather});
  ops.add({.name = "gather_elements",
           .doc = "y[i, j, ...] = x[i, indices[i, j, ...], ...], the index is at position `axis`; "
                  "indices as in gather.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type, rank >= 1"}, {"indices", "i32 or i64, rank of x"}},
           .attrs = {{"axis", int64_t{0}, "in [-rank, rank)"}},
           .infer = infer_gather_elements,
           .reference = reference_gather_elements,
           .compute = with_open_sizes(compute_gather_elements),
           .flops = no_flops,
           .check = check_gather_elements});
  ops.add(
      {.name = "gather_nd",
       .doc =
           "The slices of x whose leading indices are the rows of `indices`; indices as in gather.",
       .kind = FusionKind::kInjective,
       .inputs = {{"x", "any type, rank >= 1"}, {"indices", "i32 or i64 [..., k]"}},
       .attrs = {{"batch_dims", int64_t{0}, "leading dims that x and indices share"}},
       .infer = infer_gather_nd,
       .reference = reference_gather_nd,
       .compute = with_open_sizes(compute_gather_nd),
       .flops = no_flops,
       .check = check_gather_nd});
  ops.add({.name = "one_hot",
           .doc = "values[1] where the position along the new dim equals the index (from -depth), "
                  "else values[0].",
           .kind = FusionKind::kInjective,
           .inputs = {{"indices", "i32 or i64"}, {"values", "any type [2]: off, on"}},
           .attrs = {{"depth", int64_t{0}, "extent of the new dim", AttrSpec::kRequired},
                     {"axis", int64_t{-1}, "position of the new dim in y"}},
           .infer = infer_one_hot,
           .reference = reference_one_hot,
           .compute = with_open_sizes(compute_one_hot),
           .flops = no_flops});
}

}  // namespace byoc::op
