// SPDX-License-Identifier: Apache-2.0
// pad adds cells around a tensor, or removes some.
#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

constexpr std::string_view kModes[] = {"constant", "reflect", "edge", "wrap"};

struct Padding {
  std::string mode;
  Ints begins, ends;  // per dim; negative ones remove cells
};

Result<Padding> read_padding(TypeId x, const Attrs& attrs) {
  Ints pads = attrs.ints("pads");
  size_t rank = x->shape.size();
  if (pads.size() != 2 * rank)
    return shape_error(cat("pad: pads has ", pads.size(), " entries, expected ", 2 * rank), x);
  Padding padding{attrs.s("mode", "constant"),
                  {pads.begin(), pads.begin() + static_cast<ptrdiff_t>(rank)},
                  {pads.begin() + static_cast<ptrdiff_t>(rank), pads.end()}};
  for (std::string_view mode : kModes) {
    if (padding.mode == mode) return padding;
  }
  return shape_error(
      cat("pad: mode is \"", padding.mode, "\", expected constant, reflect, edge or wrap"), x);
}

// Returns an error for a mode that copies more cells than there are.
Status check_source(const std::string& mode, int64_t n, int64_t begin, int64_t end, size_t d,
                    TypeId x) {
  if (mode == "constant" || (begin <= 0 && end <= 0)) return {};
  int64_t least = mode == "reflect" ? std::max(begin, end) + 1 : 1;
  if (n >= least) return {};
  return shape_error(cat("pad: mode ", mode, " needs at least ", least, " cells in dim ", d), x);
}

// Returns an open dim with its pads, which every size has cells for.
Result<Dim> open_padded(const std::string& mode, Dim n, int64_t begin, int64_t end, size_t d,
                        TypeId x) {
  if (n.is_counted() || begin + end < -n.min())
    return invalid(cat("pad: dim ", d, " must be known (x ", x, ")")).with_slug("symbolic-shape");
  BYOC_TRY_STATUS(check_source(mode, n.min(), begin, end, d, x));
  return begin + end < 0 ? dim_difference(n, Dim(-(begin + end))) : dim_sum(n, Dim(begin + end));
}

Result<std::vector<TensorType>> infer_pad(Types in, const Attrs& attrs) {
  BYOC_TRY(Padding padding, read_padding(in[0], attrs));
  TensorType y = *in[0];
  for (size_t d = 0; d < y.shape.size(); ++d) {
    int64_t begin = padding.begins[d], end = padding.ends[d], extent = 0;
    if (begin == 0 && end == 0) continue;
    if (begin > INT64_MAX / 4 || end > INT64_MAX / 4 || begin < -INT64_MAX / 4 ||
        end < -INT64_MAX / 4) {
      return Status(Code::kOutOfRange, cat("pad: pads ", begin, " and ", end, " of dim ", d,
                                           " do not fit (x ", in[0], ")"));
    }
    if (!y.shape[d].is_static()) {
      BYOC_TRY(y.shape[d], open_padded(padding.mode, y.shape[d], begin, end, d, in[0]));
      continue;
    }
    int64_t n = y.shape[d].extent();
    BYOC_TRY_STATUS(check_source(padding.mode, n, begin, end, d, in[0]));
    if (__builtin_add_overflow(n, begin + end, &extent) || extent < 0) {
      return shape_error(cat("pad: pads ", begin, " and ", end, " do not fit dim ", d), in[0]);
    }
    y.shape[d] = extent;
  }
  return one_result(std::move(y));
}

// Returns the cell of [0, n) whose value is at position `at` outside of it; -1: none.
int64_t source_cell(const std::string& mode, int64_t at, int64_t n) {
  if (at >= 0 && at < n) return at;
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "wrap") return (at % n + n) % n;
  if (mode == "reflect") return at < 0 ? -at : 2 * (n - 1) - at;
  return -1;
}

Result<RefKernel> reference_pad(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Padding padding, read_padding(in[0], attrs));
  std::vector<int64_t> strides = row_major_strides(static_extents(in[0]->shape));
  std::vector<std::vector<int64_t>> tables(strides.size());
  BYOC_CHECK(out[0]->shape.size() == tables.size(), in[0], " is padded to ", out[0]);
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  for (size_t d = 0; d < tables.size(); ++d) {
    BYOC_TRY_STATUS(check_table("pad", out[0], d));
    tables[d].reserve(static_cast<size_t>(out[0]->shape[d].extent()));
    for (int64_t y = 0; y < out[0]->shape[d].extent(); ++y) {
      int64_t cell = source_cell(padding.mode, y - padding.begins[d], in[0]->shape[d].extent());
      BYOC_CHECK(cell < in[0]->shape[d].extent(), "cell ", cell, " of dim ", d, " of ", in[0]);
      tables[d].push_back(cell < 0 ? -1 : cell * strides[d]);
    }
  }
  return table_kernel(in[0]->dtype, tables, bits_of(in[0]->dtype, attrs.f("value", 0)));
}

/// The cells of a dim, and those to add before and after them.
struct PaddedDim {
  Expr n;
  int64_t least;  // of n
  int64_t begin, end;
};

// Returns the cell whose value is at position `at`, which may be outside of [0, n) as far as the
// pads reach; for mode constant a position outside has no cell. Compares where other modes could
// divide or clamp: loops are divided where a comparison changes.
Expr source_cell(const std::string& mode, const Expr& at, const PaddedDim& dim) {
  const Expr& n = dim.n;
  if (mode == "constant") return at;
  Expr before = 0, after = te::simplify(n - 1);
  if (mode == "reflect") before = -at, after = te::simplify((n - 1) * 2) - at;
  if (mode == "wrap") {
    before = dim.begin <= dim.least ? at + n : floor_mod(at, n);
    after = dim.end <= dim.least ? at - n : floor_mod(at, n);
  }
  const Expr inside = dim.end > 0 ? select(at < n, at, after) : at;
  return dim.begin > 0 ? select(at < 0, before, inside) : inside;
}

Result<Tensors> compute_pad(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const TensorType type = type_of(in[0]);
  const Exprs& x = in[0].shape();
  BYOC_TRY(Padding padding, read_padding(type, attrs));
  return one(builder.compute("pad", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs cell = i, inside;
    BYOC_CHECK(i.size() == x.size(), i.size(), " indices of rank ", x.size());
    for (size_t d = 0; d < x.size(); ++d) {
      int64_t begin = padding.begins[d], end = padding.ends[d];
      if (begin != 0) cell[d] = i[d] - begin;
      if (begin <= 0 && end <= 0) continue;
      if (padding.mode != "constant" && type.shape[d].max() > 0)
        cell[d] = source_cell(padding.mode, cell[d], {x[d], type.shape[d].min(), begin, end});
      if (padding.mode != "constant") continue;
      if (begin > 0) inside.push_back(Expr(0) <= cell[d]);
      if (end > 0) inside.push_back(cell[d] < x[d]);
    }
    if (inside.empty()) return in[0](cell);
    return select(all_of(inside), in[0](cell), literal(in[0].dtype(), attrs.f("value", 0)));
  }));
}

}  // namespace

void add_pad_ops(OpRegistry& ops) {
  ops.add({.name = "pad",
           .doc = "x with pads[d] cells before and pads[rank + d] cells after dim d; negative "
                  "numbers take "
                  "cells away.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type"}},
           .attrs = {{"pads", Ints{}, "begins, then ends, of all dims", AttrSpec::kRequired},
                     {"mode", "constant", "constant, reflect (around the edge cell), edge or wrap"},
                     {"value", 0.0, "of the new cells, for mode constant"}},
           .infer = infer_pad,
           .reference = reference_pad,
           .compute = with_open_sizes(compute_pad),
           .flops = no_flops,
           .facts = {.family = OpFamily::kPad}});
}

}  // namespace byoc::op
