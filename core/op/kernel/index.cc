// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/index.h"

#include "byoc/base/check.h"
#include "byoc/base/index_error.h"

namespace byoc::op {
namespace {

/// Checks `count` indices, `step` apart. One unsigned comparison each: an index below
/// `low` wraps around.
template <class T>
bool are_inside(const T* indices, int64_t count, int64_t step, IndexRange range) {
  const auto low = static_cast<uint64_t>(range.low);
  const uint64_t values = static_cast<uint64_t>(range.extent) - low;
  bool inside = true;
  for (int64_t k = 0; k < count; ++k)
    inside &= static_cast<uint64_t>(static_cast<int64_t>(indices[k * step])) - low < values;
  return inside;
}

template <class T>
Status check_columns(const std::string& op, const T* indices, int64_t rows,
                     const std::vector<IndexRange>& ranges) {
  const auto columns = static_cast<int64_t>(ranges.size());
  for (int64_t d = 0; d < columns; ++d) {
    const IndexRange range = ranges[static_cast<size_t>(d)];
    if (are_inside(indices + d, rows, columns, range)) [[likely]]
      continue;
    const T* at = indices + d;
    while (*at >= range.low && *at < range.extent) at += columns;
    return index_outside(op, *at, range.low, range.extent);
  }
  return {};
}

Expr is_below(const Expr& index, const Expr& extent) { return 0 <= index && index < extent; }

}  // namespace

ValueCheck index_check(std::string op, TypeId indices, size_t operand,
                       std::vector<IndexRange> ranges) {
  const int64_t n = count(indices);
  if (n == 0 || ranges.empty()) return [](const void* const*) { return Status(); };
  BYOC_CHECK(n % static_cast<int64_t>(ranges.size()) == 0, ranges.size(), " ranges for ", indices);
  const int64_t rows = n / static_cast<int64_t>(ranges.size());
  const bool is_wide = indices->dtype == DType::kI64;
  return [=, op = std::move(op), ranges = std::move(ranges)](const void* const* in) {
    return is_wide ? check_columns(op, in_as<int64_t>(in, operand), rows, ranges)
                   : check_columns(op, in_as<int32_t>(in, operand), rows, ranges);
  };
}

CheckedIndices::CheckedIndices(te::Builder& builder, std::string_view op, const Tensor& indices,
                               const std::vector<IndexRange>& ranges)
    : indices_(indices) {
  for (const IndexRange& range : ranges) ranges_.push_back({range.low, range.extent});
  add_checks(builder, op);
}

CheckedIndices CheckedIndices::below(te::Builder& builder, std::string_view op,
                                     const Tensor& indices, Expr extent) {
  CheckedIndices out(indices, {{0, std::move(extent)}});
  out.add_checks(builder, op);
  return out;
}

// Makes loops over all indices around body(place, range).
te::Stmt CheckedIndices::each(
    const std::function<te::Stmt(const Exprs&, const OpenRange&)>& body) const {
  const Exprs& extents = indices_.shape();
  if (ranges_.size() == 1)
    return loops_over(extents, [&](const Exprs& i) { return body(i, ranges_[0]); });
  BYOC_CHECK(!extents.empty() && as_int(extents.back()) == static_cast<int64_t>(ranges_.size()),
             ranges_.size(), " ranges for rows of indices of rank ", extents.size());
  return loops_over(Exprs(extents.begin(), extents.end() - 1), [&](const Exprs& row) {
    std::vector<te::Stmt> columns;
    for (size_t k = 0; k < ranges_.size(); ++k) {
      Exprs at = row;
      at.push_back(static_cast<int64_t>(k));
      columns.push_back(body(at, ranges_[k]));
    }
    return te::make_block(std::move(columns));
  });
}

// Checks in two passes: the first has no branches, so that it becomes vector code; the second runs
// when an index is outside, and finds it.
void CheckedIndices::add_checks(te::Builder& builder, std::string_view op) {
  if (ranges_.empty()) return;  // rows of no indices
  const Scalar outside("outside", DType::kI64);
  const Tensors made = builder.procedure(
      cat(op, ".indices"), {{DType::kI64, {Dim(1)}}}, {indices_}, [&](const Tensors& zero) {
        te::Stmt look = each([&](const Exprs& at, const OpenRange& range) {
          Expr is_outside = select(is_below(counted(at, range), range.extent), Expr(0), 1);
          return outside.set(te::binary(te::BinaryOp::kOr, outside.get(), is_outside));
        });
        te::Stmt find = each([&](const Exprs& at, const OpenRange& range) {
          te::Stmt error = te::make_index_error(op, te::cast(DType::kI64, indices_(at)), range.low,
                                                range.extent);
          return te::make_if(is_below(counted(at, range), range.extent), {}, error);
        });
        te::Stmt all =
            te::make_block({outside.set(0), look, te::make_if(outside.get() != Expr(0), find)});
        return te::make_block({outside.in(all), te::make_store(zero[0], {0}, 0)});
      });
  BYOC_CHECK(made.size() == 1, made.size(), " results of checked indices");
  zero_ = made[0];
}

Expr CheckedIndices::operator()(const Exprs& at) const {
  if (ranges_.empty()) return te::cast(DType::kI64, indices_(at));
  size_t column = 0;
  if (ranges_.size() > 1) {
    const std::optional<int64_t> last = at.empty() ? std::nullopt : as_int(at.back());
    BYOC_CHECK(last && *last >= 0 && *last < static_cast<int64_t>(ranges_.size()),
               "an index of several ranges is in a column that is known");
    column = static_cast<size_t>(*last);
  }
  return counted(at, ranges_[column]) + zero_(0);
}

Expr CheckedIndices::counted(const Exprs& at, const OpenRange& range) const {
  const Expr index = te::cast(DType::kI64, indices_(at));
  if (range.low == 0) return index;
  const Expr sign = te::binary(te::BinaryOp::kShiftRight, index, 63);  // -1 or 0
  return index + te::binary(te::BinaryOp::kAnd, sign, range.extent);
}

Tensors CheckedIndices::inputs() const {
  return zero_.is_empty() ? Tensors{indices_} : Tensors{indices_, zero_};
}

std::vector<IndexRange> TupleLoop::ranges() const {
  std::vector<IndexRange> out;
  for (int64_t extent : extents) out.push_back(from_either_end(extent));
  return out;
}

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
      cat(op, ": indices must have x's rank and lie inside of it except for dim ", axis), x,
      indices);
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
  BYOC_CHECK(view.batch_dims + view.width <= x->shape.size(), view.batch_dims, " batch dims and ",
             view.width, " indices per row for ", x);
  BYOC_CHECK(view.batch_dims < indices->shape.size(), view.batch_dims, " batch dims of ", indices);
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
