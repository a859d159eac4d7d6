#include "core/op/kernel/index.h"

namespace byoc::op {

Status expect_indices(std::string_view op, TypeId indices) {
  return expect_dtype(op, "indices", indices, {DType::kI32, DType::kI64});
}

Status index_error(std::string message, TypeId x, TypeId indices) {
  return invalid(cat(message, " (x ", x, ", indices ", indices, ")")).with_slug("op-shape");
}

Status expect_inside(std::string_view op, size_t axis, TypeId x, TypeId indices) {
  const Shape &whole = x->shape, &part = indices->shape;
  bool fits = whole.size() == part.size();
  for (size_t d = 0; fits && d < part.size(); ++d) {
    fits = d == axis || part[d] == whole[d] ||
           (part[d].is_static() && whole[d].min() >= part[d].extent());
  }
  if (fits) return {};
  return index_error(
      cat(op, ": indices must have x's rank and lie inside of it but for dim ", axis), x, indices);
}

Result<TupleView> view_tuples(std::string_view op, TypeId x, TypeId indices, int64_t batch_dims) {
  size_t rank = x->shape.size(), index_rank = indices->shape.size();
  if (index_rank == 0 || !indices->shape.back().is_static()) {
    return index_error(cat(op, ": the last dim of indices must be known"), x, indices);
  }
  if (batch_dims < 0 || batch_dims >= static_cast<int64_t>(std::min(rank, index_rank))) {
    return index_error(cat(op, ": batch_dims is ", batch_dims), x, indices);
  }
  TupleView view{static_cast<size_t>(batch_dims), 0};
  for (size_t d = 0; d < view.batch_dims; ++d) {
    if (x->shape[d] != indices->shape[d])
      return index_error(cat(op, ": batch dim ", d, " differs"), x, indices);
  }
  int64_t width = indices->shape.back().extent();
  if (width > static_cast<int64_t>(rank) - batch_dims) {
    return index_error(cat(op, ": rows of ", width, " indices name more dims than x has"), x,
                       indices);
  }
  view.width = static_cast<size_t>(width);
  return view;
}

TupleLoop::TupleLoop(const TupleView& view, TypeId x, TypeId indices) {
  std::vector<int64_t> all = static_extents(x->shape), steps = row_major_strides(all);
  for (size_t d = 0; d < view.batch_dims; ++d) batches *= all[d];
  for (size_t d = view.batch_dims; d + 1 < indices->shape.size(); ++d)
    rows_per_batch *= indices->shape[d].extent();
  for (size_t d = view.batch_dims; d < all.size(); ++d) {
    batch_step *= all[d];
    if (d >= view.batch_dims + view.width) {
      inner *= all[d];
    } else {
      extents.push_back(all[d]);
      strides.push_back(steps[d]);
    }
  }
}

}  // namespace byoc::op
