// Ops whose output reads the input through strides: transpose, slice, expand, tile, depth_to_space,
// ...
#include <algorithm>

#include "core/op/families.h"
#include "core/op/move.h"

namespace byoc::op {

RefKernel strided_kernel(DType dtype, const std::vector<int64_t>& extents,
                         const std::vector<int64_t>& strides, int64_t offset) {
  Walk<1> walk(extents, {strides});
  return for_width(dtype, [&]<class U>() -> RefKernel {
    return [walk, offset](const void* const* in, void* const* out) {
      const U* x = static_cast<const U*>(in[0]) + offset;
      U* y = static_cast<U*>(out[0]);
      walk.for_rows([&](const auto& at, int64_t n, const auto& step) {
        const U* from = x + at[0];
        if (step[0] == 1) y = std::copy_n(from, n, y);
        else if (step[0] == 0) y = std::fill_n(y, n, *from);
        else
          for (int64_t k = 0; k < n; ++k) *y++ = from[k * step[0]];
      });
    };
  });
}

namespace {

Status shape_error(std::string message, TypeId x) {
  return invalid(cat(message, " (x ", x, ")")).with_slug("op-shape");
}

std::vector<int64_t> strides_of(TypeId x) { return row_major_strides(static_extents(x->shape)); }

// ---- transpose

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

}  // namespace

void add_transpose_ops(OpRegistry& ops) {
  ops.add({.name = "transpose",
           .doc = "Dim d of y is dim perm[d] of x.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type"}},
           .attrs = {{"perm", Ints{}, "a permutation of the dims; empty: reversed"}},
           .infer = infer_transpose,
           .reference = reference_transpose,
           .flops = no_flops});
}

}  // namespace byoc::op
