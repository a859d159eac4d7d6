// SPDX-License-Identifier: Apache-2.0
// Ops whose output reads the input through strides: transpose, expand, tile, depth_to_space,
// space_to_depth.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/move.h"

namespace byoc::op {

namespace {

std::vector<int64_t> strides_of(TypeId x) { return row_major_strides(static_extents(x->shape)); }

Result<std::vector<size_t>> permutation(Types in, const Attrs& attrs) {
  size_t rank = in[0]->shape.size();
  Ints perm = attrs.ints("perm");
  for (size_t d = 0; perm.size() < rank && attrs.ints("perm").empty(); ++d) {
    perm.push_back(static_cast<int64_t>(rank - 1 - d));
  }
  std::vector<bool> seen(rank);
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      perm.clear();
      break;
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  if (perm.size() == rank) return std::vector<size_t>(perm.begin(), perm.end());
  std::string text;
  print_to(text, AttrValue(attrs.ints("perm")));
  return shape_error(cat("transpose: perm ", text, " is no permutation of the dims"), in[0]);
}

Result<std::vector<TensorType>> infer_transpose(Types in, const Attrs& attrs) {
  BYOC_TRY(std::vector<size_t> perm, permutation(in, attrs));
  TensorType y{in[0]->dtype, {}};
  for (size_t axis : perm) y.shape.push_back(in[0]->shape[axis]);
  return one_result(std::move(y));
}

Result<RefKernel> reference_transpose(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(std::vector<size_t> perm, permutation(in, attrs));
  std::vector<int64_t> own = strides_of(in[0]), strides;
  for (size_t axis : perm) strides.push_back(own[axis]);
  return strided_kernel(in[0]->dtype, static_extents(out[0]->shape), strides);
}

Result<IndexFn> transpose_index(Types in, const TensorType&, const Attrs& attrs) {
  BYOC_TRY(std::vector<size_t> perm, permutation(in, attrs));
  return IndexFn([perm = std::move(perm)](const Exprs& at) {
    BYOC_CHECK(at.size() == perm.size(), at.size(), " indices of ", perm.size(), " dims");
    Exprs x(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) x[perm[d]] = at[d];
    return x;
  });
}

// ---- expand, tile

Result<std::vector<TensorType>> infer_expand(Types in, const Attrs& attrs) {
  Shape target;
  BYOC_TRY_STATUS(check_has_shape("expand", attrs));
  if (attrs.has(kOpenShapeAttr)) {
    BYOC_TRY(target, open_shape_of(attrs));
  }
  for (int64_t extent : attrs.ints("shape")) {
    if (extent < 0) return shape_error(cat("expand: shape holds ", extent), in[0]);
    target.push_back(extent);
  }
  TypeId both[] = {in[0], TensorType{in[0]->dtype, target}};
  BYOC_TRY(Shape shape, broadcast_shapes("expand", both));
  return one_result({in[0]->dtype, shape});
}

Result<RefKernel> reference_expand(Types in, Types out, const Attrs&) {
  return strided_kernel(in[0]->dtype, static_extents(out[0]->shape),
                        broadcast_strides(in[0]->shape, out[0]->shape));
}

Result<IndexFn> expand_index(Types in, const TensorType&, const Attrs&) {
  return IndexFn([x = Tensor("x", in[0]->dtype, te::extents_of(*in[0]))](const Exprs& at) {
    return broadcast_index(x, at);
  });
}

Result<std::vector<TensorType>> infer_tile(Types in, const Attrs& attrs) {
  Ints repeats = attrs.ints("repeats");
  TensorType y = *in[0];
  if (repeats.size() != y.shape.size()) {
    return shape_error(
        cat("tile: repeats has ", repeats.size(), " entries, expected ", y.shape.size()), in[0]);
  }
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return shape_error(cat("tile: repeats holds ", repeats[d]), in[0]);
    if (repeats[d] == 1) continue;
    if (is_open(y.shape[d])) {
      BYOC_TRY(y.shape[d], dim_product(y.shape[d], repeats[d]));
      continue;
    }
    if (!y.shape[d].is_static()) {
      return invalid(cat("tile: dim ", d, " must be known (x ", in[0], ")"))
          .with_slug("symbolic-shape");
    }
    int64_t extent = 0;
    if (__builtin_mul_overflow(y.shape[d].extent(), repeats[d], &extent)) {
      return Status(Code::kOutOfRange, cat("tile: dim ", d, " times ", repeats[d],
                                           " does not fit in 63 bits (x ", in[0], ")"));
    }
    y.shape[d] = extent;
  }
  return one_result(std::move(y));
}

Result<RefKernel> reference_tile(Types in, Types out, const Attrs&) {
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  std::vector<int64_t> strides = strides_of(in[0]);
  std::vector<std::vector<int64_t>> tables(strides.size());
  for (size_t d = 0; d < tables.size(); ++d) {
    BYOC_CHECK(in[0]->shape[d].extent() > 0, in[0], " is repeated to ", out[0]);
    BYOC_TRY_STATUS(check_table("tile", out[0], d));
    tables[d].reserve(static_cast<size_t>(out[0]->shape[d].extent()));
    for (int64_t y = 0; y < out[0]->shape[d].extent(); ++y) {
      tables[d].push_back(y % in[0]->shape[d].extent() * strides[d]);
    }
  }
  return table_kernel(in[0]->dtype, tables);
}

Result<IndexFn> tile_index(Types in, const TensorType&, const Attrs& attrs) {
  return IndexFn([shape = te::extents_of(*in[0]),
                  repeats = attrs.ints("repeats")](const Exprs& at) {
    Exprs x;
    BYOC_CHECK(at.size() == shape.size() && repeats.size() == shape.size(), at.size(), " indices, ",
               repeats.size(), " repeats of rank ", shape.size());
    for (size_t d = 0; d < at.size(); ++d)
      x.push_back(repeats[d] <= 1 || as_int(shape[d]) == 0 ? at[d] : floor_mod(at[d], shape[d]));
    return x;
  });
}

// ---- depth_to_space, space_to_depth

Result<int64_t> block_size(std::string_view op, Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_rank(op, "x", in[0], 4));
  int64_t block = attrs.i("blocksize");
  for (size_t d = 1; d < 4; ++d) {
    if (!in[0]->shape[d].is_static() && (d == 1 || !is_open(in[0]->shape[d]))) {
      return invalid(cat(op, ": dim ", d, " must be known (x ", in[0], ")"))
          .with_slug("symbolic-shape");
    }
  }
  if (block >= 1 && block < int64_t{1} << 31) return block;
  return shape_error(cat(op, ": blocksize is ", block, ", expected at least 1 and less than 2^31"),
                     in[0]);
}

Status check_mode(std::string_view op, Types in, const Attrs& attrs) {
  std::string mode = attrs.s("mode", "DCR");
  if (mode == "DCR" || mode == "CRD") return {};
  return shape_error(cat(op, ": mode is \"", mode, "\", expected DCR or CRD"), in[0]);
}

Result<std::vector<TensorType>> infer_depth_to_space(Types in, const Attrs& attrs) {
  BYOC_TRY(int64_t block, block_size("depth_to_space", in, attrs));
  BYOC_TRY_STATUS(check_mode("depth_to_space", in, attrs));
  const Shape& x = in[0]->shape;
  if (x[1].extent() % (block * block) != 0) {
    return shape_error(
        cat("depth_to_space: channels do not divide into blocks of ", block, " x ", block), in[0]);
  }
  const Result<Dim> h = dim_product(x[2], block), w = dim_product(x[3], block);
  if (!h.ok() || !w.ok()) {
    return Status(Code::kOutOfRange,
                  cat("depth_to_space: an extent does not fit in 63 bits (x ", in[0], ")"));
  }
  return one_result({in[0]->dtype, {x[0], x[1].extent() / (block * block), *h, *w}});
}

// Reads y[n, c, h * block + i, w * block + j] from x at channel (i * block + j) * C + c (DCR:
// depth, column, row) or c * block^2 + i * block + j (CRD), where C is the number of channels of y.
Result<RefKernel> reference_depth_to_space(Types in, Types out, const Attrs& attrs) {
  int64_t block = attrs.i("blocksize"), c = out[0]->shape[1].extent();
  bool depth_first = attrs.s("mode", "DCR") == "DCR";
  std::vector<int64_t> x = static_extents(in[0]->shape), s = row_major_strides(x);
  BYOC_CHECK(x.size() == 4 && block > 0, "blocks of ", block, " of ", in[0]);
  int64_t step_c = depth_first ? s[1] : s[1] * block * block;
  int64_t step_j = depth_first ? s[1] * c : s[1];
  return strided_kernel(in[0]->dtype, {x[0], c, x[2], block, x[3], block},
                        {s[0], step_c, s[2], step_j * block, s[3], step_j});
}

Result<IndexFn> depth_to_space_index(Types, const TensorType& y, const Attrs& attrs) {
  int64_t block = attrs.i("blocksize"), c = y.shape[1].extent();
  bool depth_first = attrs.s("mode", "DCR") == "DCR";
  return IndexFn([=](const Exprs& at) -> Exprs {
    BYOC_CHECK(at.size() == 4, at.size(), " indices of an image");
    Expr cell = floor_mod(at[2], block) * block + floor_mod(at[3], block);
    Expr channel = depth_first ? cell * c + at[1] : at[1] * (block * block) + cell;
    return {at[0], channel, floor_div(at[2], block), floor_div(at[3], block)};
  });
}

Result<std::vector<TensorType>> infer_space_to_depth(Types in, const Attrs& attrs) {
  BYOC_TRY(int64_t block, block_size("space_to_depth", in, attrs));
  BYOC_TRY_STATUS(check_mode("space_to_depth", in, attrs));
  const Shape& x = in[0]->shape;
  const std::optional<Dim> h = dim_exact_quotient(x[2], block), w = dim_exact_quotient(x[3], block);
  if ((!h && is_open(x[2])) || (!w && is_open(x[3])))
    return invalid(cat("space_to_depth: whether blocks of ", block,
                       " divide the image must be known (x ", in[0], ")"))
        .with_slug("symbolic-shape");
  if (!h || !w)
    return shape_error(cat("space_to_depth: extents do not divide into blocks of ", block), in[0]);
  int64_t c = 0;
  if (__builtin_mul_overflow(x[1].extent(), block * block, &c)) {
    return Status(Code::kOutOfRange,
                  cat("space_to_depth: channels do not fit in 63 bits (x ", in[0], ")"));
  }
  return one_result({in[0]->dtype, {x[0], c, *h, *w}});
}

// Computes y[n, (i * block + j) * C + c, h, w] (DCR) or y[n, c * block^2 + i * block + j, h, w]
// (CRD) = x[n, c, h * block + i, w * block + j], where C is the number of channels of x.
Result<RefKernel> reference_space_to_depth(Types in, Types out, const Attrs& attrs) {
  int64_t block = attrs.i("blocksize");
  std::vector<int64_t> x = static_extents(in[0]->shape), y = static_extents(out[0]->shape),
                       s = row_major_strides(x);
  BYOC_CHECK(x.size() == 4 && y.size() == 4, in[0], " becomes ", out[0]);
  if (attrs.s("mode", "DCR") == "CRD")
    return strided_kernel(in[0]->dtype, {x[0], x[1], block, block, y[2], y[3]},
                          {s[0], s[1], s[2], s[3], s[2] * block, s[3] * block});
  return strided_kernel(in[0]->dtype, {x[0], block, block, x[1], y[2], y[3]},
                        {s[0], s[2], s[3], s[1], s[2] * block, s[3] * block});
}

Result<IndexFn> space_to_depth_index(Types in, const TensorType&, const Attrs& attrs) {
  int64_t block = attrs.i("blocksize"), c = std::max<int64_t>(in[0]->shape[1].extent(), 1);
  bool depth_first = attrs.s("mode", "DCR") == "DCR";
  return IndexFn([=](const Exprs& at) -> Exprs {
    BYOC_CHECK(at.size() == 4, at.size(), " indices of an image");
    Expr cell = depth_first ? floor_div(at[1], c) : floor_mod(at[1], block * block);
    Expr channel = depth_first ? floor_mod(at[1], c) : floor_div(at[1], block * block);
    return {at[0], channel, at[2] * block + floor_div(cell, block),
            at[3] * block + floor_mod(cell, block)};
  });
}

using MakeIndex = Result<IndexFn> (*)(Types in, const TensorType& out, const Attrs&);

OpDef moving_op(std::string name, std::string doc, std::vector<AttrSpec> attrs, InferFn infer,
                ReferenceFn reference, MakeIndex index, bool takes_open = false) {
  ComputeFn compute = move_compute(name, index);
  compute.takes_open = takes_open;
  return {.name = name,
          .doc = std::move(doc),
          .kind = FusionKind::kInjective,
          .inputs = {{"x", "any type"}},
          .attrs = std::move(attrs),
          .infer = std::move(infer),
          .reference = std::move(reference),
          .compute = std::move(compute),
          .flops = no_flops};
}

}  // namespace

void add_transpose_ops(OpRegistry& ops) {
  AttrSpec blocksize = {"blocksize", int64_t{1}, "cells per side of a block", AttrSpec::kRequired};
  AttrSpec mode = {"mode", "DCR",
                   "DCR: the block's cell is the outer part of the channel; CRD: the inner"};
  ops.add(with_facts(moving_op("transpose", "Dim d of y is dim perm[d] of x.",
                               {{"perm", Ints{}, "a permutation of the dims; empty: reversed"}},
                               infer_transpose, reference_transpose, transpose_index, true),
                     {.family = OpFamily::kTranspose}));
  ops.add(moving_op("expand", "x broadcast together with `shape`, by numpy's rules.",
                    {{"shape", Ints{}, "extents", AttrSpec::kOptional}, open_shape_attr()},
                    infer_expand, reference_expand, expand_index, true));
  ops.add(moving_op("tile", "repeats[d] copies of x one after the other along dim d.",
                    {{"repeats", Ints{}, "one per dim, at least 0", AttrSpec::kRequired}},
                    infer_tile, reference_tile, tile_index, true));
  ops.add(moving_op(
      "depth_to_space",
      "[n, c, h, w] -> [n, c / b^2, h * b, w * b]: channels become blocks of b x b cells.",
      {blocksize, mode}, infer_depth_to_space, reference_depth_to_space, depth_to_space_index,
      true));
  ops.add(moving_op(
      "space_to_depth",
      "[n, c, h, w] -> [n, c * b^2, h / b, w / b]: blocks of b x b cells become channels.",
      {blocksize, mode}, infer_space_to_depth, reference_space_to_depth, space_to_depth_index,
      true));
}

}  // namespace byoc::op
