// SPDX-License-Identifier: Apache-2.0
// Joins tensors along an axis, and cuts one into parts.
#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/ir/dim.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

std::string shown(Types in) {
  std::string text = " (";
  for (size_t k = 0; k < in.size() && k < 8; ++k) text += cat(k ? ", " : "", in[k]);
  return text + (in.size() > 8 ? ", ...)" : ")");
}

Status add_extent(Dim& total, Dim part, Types in) {
  if (part == Dim(0)) return {};
  if (total == Dim(0)) {
    total = part;
    return {};
  }
  if (can_count({total, part})) {
    BYOC_TRY(total, counted_sum(total, part));
    return {};
  }
  if (is_open(total) || is_open(part)) {
    if (Result<Dim> open = dim_sum(total, part); open.ok()) {
      total = *open;
      return {};
    }
  }
  if (!total.is_static() || !part.is_static()) {
    return invalid(cat("concat: extents along the axis must be known", shown(in)))
        .with_slug("symbolic-shape");
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(total.extent(), part.extent(), &sum)) {
    return Status(Code::kOutOfRange,
                  cat("concat: the sum of the extents does not fit in 63 bits", shown(in)));
  }
  total = sum;
  return {};
}

Result<std::vector<TensorType>> infer_concat(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_same_dtype("concat", in));
  BYOC_TRY(size_t axis, normal_axis("concat", attrs.i("axis"), in[0]));
  TensorType y = *in[0];
  for (size_t k = 1; k < in.size(); ++k) {
    Shape part = in[k]->shape;
    bool fits = part.size() == y.shape.size();
    for (size_t d = 0; fits && d < part.size(); ++d) fits = d == axis || part[d] == y.shape[d];
    if (!fits) {
      return invalid(cat("concat: input ", k, " differs from input 0 in more than dim ", axis,
                         shown(in)))
          .with_slug("op-shape");
    }
    BYOC_TRY_STATUS(add_extent(y.shape[axis], part[axis], in));
  }
  return one_result(std::move(y));
}

// Returns the bytes of one tensor's part of a row: the rows run over the dims before the axis.
size_t row_bytes(TypeId type, size_t axis) {
  AxisView view = around_axis(type, axis);
  return static_cast<size_t>(view.extent * view.inner) * dtype_size(type->dtype);
}

Result<RefKernel> reference_concat(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("concat", attrs.i("axis"), in[0]));
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  std::vector<size_t> rows;
  for (TypeId type : in) rows.push_back(row_bytes(type, axis));
  int64_t outer = around_axis(out[0], axis).outer;
  return RefKernel([rows, outer](const void* const* from, void* const* to) {
    auto* y = static_cast<std::byte*>(to[0]);
    for (int64_t row = 0; row < outer; ++row) {
      for (size_t k = 0; k < rows.size(); ++k) {
        const auto* x = static_cast<const std::byte*>(from[k]) + static_cast<size_t>(row) * rows[k];
        y = std::copy_n(x, rows[k], y);
      }
    }
  });
}

// Returns element `at` of inputs first .. last - 1, of which input k begins at begins[k]: a search
// tree, so that many inputs cost few comparisons.
Expr concat_element(Inputs in, const Exprs& begins, size_t axis, const Exprs& at, size_t first,
                    size_t last) {
  BYOC_CHECK(first < last && last <= in.size() && begins.size() == in.size(), "inputs ", first,
             " to ", last, " of ", in.size(), ", of which ", begins.size(), " have a begin");
  if (last - first == 1) {
    Exprs from = at;
    if (as_int(begins[first]) != 0) from[axis] = at[axis] - begins[first];
    return in[first](from);
  }
  size_t middle = (first + last) / 2;
  return select(at[axis] < begins[middle], concat_element(in, begins, axis, at, first, middle),
                concat_element(in, begins, axis, at, middle, last));
}

Result<Tensors> compute_concat(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("concat", attrs.i("axis"), out[0]));
  Tensors parts;  // those that may have elements: the others are never read
  Exprs begins;
  Expr begin = 0;
  for (const Tensor& x : in) {
    const Expr extent = x.shape()[axis];
    if (as_int(extent) == 0) continue;
    parts.push_back(x);
    begins.push_back(begin);
    begin = te::simplify(begin + extent);
  }
  if (parts.empty()) parts.push_back(in[0]), begins.emplace_back(0);
  return one(builder.compute("concat", te::extents_of(*out[0]), [&](const Exprs& i) {
    return concat_element(parts, begins, axis, i, 0, parts.size());
  }));
}

Result<std::vector<TensorType>> infer_split(Types in, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("split", attrs.i("axis", 0), in[0]));
  Ints parts = attrs.ints("split");
  std::string text;
  print_to(text, AttrValue(parts));
  if (!in[0]->shape[axis].is_static()) {
    return invalid(cat("split: dim ", axis, " must be known (x ", in[0], ")"))
        .with_slug("symbolic-shape");
  }
  std::vector<TensorType> results;
  int64_t left = in[0]->shape[axis].extent();
  bool fits = !parts.empty();
  for (int64_t part : parts) {
    fits = fits && part >= 0 && part <= left;
    if (!fits) break;
    left -= part;
    results.push_back(*in[0]);
    results.back().shape[axis] = part;
  }
  if (fits && left == 0) return results;
  return invalid(cat("split: ", text, " does not add up to dim ", axis, " (x ", in[0], ")"))
      .with_slug("op-shape");
}

Result<RefKernel> reference_split(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("split", attrs.i("axis", 0), in[0]));
  if (count(in[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  std::vector<size_t> rows;
  for (TypeId type : out) rows.push_back(row_bytes(type, axis));
  int64_t outer = around_axis(in[0], axis).outer;
  return RefKernel([rows, outer](const void* const* from, void* const* to) {
    const auto* x = static_cast<const std::byte*>(from[0]);
    for (int64_t row = 0; row < outer; ++row) {
      for (size_t k = 0; k < rows.size(); x += rows[k++]) {
        std::copy_n(x, rows[k],
                    static_cast<std::byte*>(to[k]) + static_cast<size_t>(row) * rows[k]);
      }
    }
  });
}

Result<Tensors> compute_split(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(size_t axis, normal_axis("split", attrs.i("axis", 0), out[0]));
  const Dim whole = type_of(in[0]).shape[axis];
  if (is_open(whole)) return needs_number("split", whole);
  Tensors parts;
  int64_t begin = 0;
  for (TypeId type : out) {
    parts.push_back(builder.compute("split", te::extents_of(*type), [&](const Exprs& i) {
      Exprs from = i;
      if (begin != 0) from[axis] = i[axis] + begin;
      return in[0](from);
    }));
    begin += type->shape[axis].extent();
  }
  BYOC_CHECK(begin == whole.extent(), "parts of ", begin, " cells in all are cut from ", whole);
  return parts;
}

}  // namespace

void add_concat_ops(OpRegistry& ops) {
  ops.add({.name = "concat",
           .doc = "The inputs one after the other along `axis`; their other dims are equal.",
           .kind = FusionKind::kInjective,
           .inputs = {{.name = "x", .doc = "any type, rank >= 1", .variadic = true}},
           .attrs = {{"axis", int64_t{0}, "in [-rank, rank)", AttrSpec::kRequired}},
           .infer = infer_concat,
           .reference = reference_concat,
           .compute = with_open_sizes(compute_concat),
           .flops = no_flops,
           .facts = {.family = OpFamily::kConcat}});
  ops.add({.name = "split",
           .doc = "One output per entry of `split`: that many entries of x along `axis`.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type, rank >= 1"}},
           .outputs = {{"y", "as many as `split` has entries"}},
           .attrs = {{"axis", int64_t{0}, "in [-rank, rank)"},
                     {"split", Ints{}, "extents, which add up to that of x", AttrSpec::kRequired}},
           .infer = infer_split,
           .reference = reference_split,
           .compute = with_open_sizes(compute_split),
           .flops = no_flops});
}

}  // namespace byoc::op
