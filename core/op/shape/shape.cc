// SPDX-License-Identifier: Apache-2.0
// Ops that change the shape and keep the elements and their order: reshape, flatten,
// squeeze, unsqueeze.
#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/move.h"
#include "core/op/shape/reshape.h"

namespace byoc::op {
namespace {

// The elements of a shape as a number times named sizes.
struct Elements {
  int64_t known = 1;
  Shape named;
};

Result<Elements> elements_of(std::string_view op, std::span<const Dim> dims, TypeId x) {
  Elements elements;
  Shape known;
  for (Dim dim : dims) (dim.is_static() ? known : elements.named).push_back(dim);
  auto product = num_elements(known);
  if (!product.ok())
    return Status(Code::kOutOfRange, cat(op, ": ", product.status().message(), " (x ", x, ")"));
  elements.known = *product;
  return elements;
}

// Removes the named sizes of `part` from `whole`; those that `whole` does not have stay in `part`.
void cancel_named(Elements& whole, Elements& part) {
  std::erase_if(part.named, [&](Dim dim) {
    auto at = std::find(whole.named.begin(), whole.named.end(), dim);
    if (at == whole.named.end()) return false;
    whole.named.erase(at);
    return true;
  });
}

std::string shown(const Ints& list) {
  std::string text;
  print_to(text, AttrValue(list));
  return text;
}

// Returns the elements as one dim.
Result<Dim> open_product(const Elements& elements) {
  Dim out(elements.known);
  for (Dim dim : elements.named) {
    BYOC_TRY(out, dim_product(out, dim));
  }
  return out;
}

// Returns whole / rest where sizes are open and rest divides it.
std::optional<Dim> open_quotient(const Elements& whole, const Elements& rest) {
  const Result<Dim> all = open_product(whole), part = open_product(rest);
  return all.ok() && part.ok() ? dim_exact_quotient(*all, *part) : std::nullopt;
}

// Returns the extent for -1 when the other dims hold `rest` and x holds `whole`.
Result<Dim> remaining_dim(Elements whole, Elements rest, const Ints& target, TypeId x) {
  cancel_named(whole, rest);
  bool is_number = whole.named.empty() && rest.named.empty();
  if (is_number && rest.known != 0 && whole.known % rest.known == 0)
    return Dim(whole.known / rest.known);
  if (rest.named.empty() && whole.named.size() == 1 && whole.known == rest.known)
    return whole.named[0];
  if (auto open = open_quotient(whole, rest)) return *open;
  const bool counts = rest.named.empty() && rest.known != 0 && has_counted(whole.named);
  if (counts &&
      std::all_of(whole.named.begin(), whole.named.end(), [](Dim dim) { return dim.is_counted(); }))
    return counted_product(whole.named, whole.known, rest.known);
  std::string what = cat("reshape: no extent fits -1 in ", shown(target));
  if (is_number) return shape_error(what, x);
  return invalid(cat(what, " before the sizes are known (x ", x, ")")).with_slug("symbolic-shape");
}

Status same_elements(Elements whole, Elements given, const Ints& target, TypeId x) {
  cancel_named(whole, given);
  const Result<Dim> all = open_product(whole), rest = open_product(given);
  if (all.ok() && rest.ok() && *all == *rest) return {};
  if (whole.named.empty() && given.named.empty()) {
    if (whole.known == given.known) return {};
    return shape_error(
        cat("reshape: ", shown(target), " holds ", given.known, " elements, x ", whole.known), x);
  }
  return invalid(cat("reshape: ", shown(target),
                     " cannot be checked before the sizes are known (x ", x, ")"))
      .with_slug("symbolic-shape");
}

Result<Dim> product(std::span<const Dim> dims, TypeId x) {
  BYOC_TRY(Elements elements, elements_of("flatten", dims, x));
  if (elements.named.empty()) return Dim(elements.known);
  if (elements.named.size() == 1 && elements.known == 1) return elements.named[0];
  if (Result<Dim> open = open_product(elements); open.ok()) return *open;
  if (std::all_of(elements.named.begin(), elements.named.end(),
                  [](Dim dim) { return dim.is_counted(); }))
    return counted_product(elements.named, elements.known, 1);
  return invalid(cat("flatten: the product of the dims must be known (x ", x, ")"))
      .with_slug("symbolic-shape");
}

Result<std::vector<TensorType>> infer_flatten(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  auto rank = static_cast<int64_t>(x->shape.size());
  int64_t axis = attrs.i("axis", 1);
  if (axis < -rank || axis > rank) {
    return invalid(cat("flatten: axis ", axis, " is outside [", -rank, ", ", rank, "] (x ", x, ")"))
        .with_slug("op-axis");
  }
  std::span<const Dim> dims = x->shape;
  auto split = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  BYOC_TRY(Dim rows, product(dims.first(split), x));
  BYOC_TRY(Dim columns, product(dims.subspan(split), x));
  return one_result({x->dtype, {rows, columns}});
}

Result<std::vector<TensorType>> infer_squeeze(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  BYOC_TRY(std::vector<size_t> axes, normal_axes("squeeze", attrs.ints("axes"), x));
  TensorType y{x->dtype, {}};
  for (size_t d = 0; d < x->shape.size(); ++d) {
    bool named = std::binary_search(axes.begin(), axes.end(), d);
    if (named && x->shape[d] != Dim(1))
      return shape_error(cat("squeeze: dim ", d, " is ", x->shape[d], ", expected 1"), x);
    const Dim dim = x->shape[d];
    if (axes.empty() && is_open(dim) && dim.max() != Dim::kUnbounded && dim.min() <= 1)
      return invalid(cat("squeeze: dim ", d, " is 1 for some sizes and not for others (x ", x,
                         "): the axes must be given"))
          .with_slug("symbolic-shape");
    if (named || (axes.empty() && dim == Dim(1))) continue;
    y.shape.push_back(x->shape[d]);
  }
  return one_result(std::move(y));
}

Result<std::vector<TensorType>> infer_unsqueeze(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  Ints given = attrs.ints("axes");
  if (x->shape.size() + given.size() > kMaxRank) {
    return shape_error(cat("unsqueeze: the result has rank ", x->shape.size() + given.size(),
                           ", at most ", kMaxRank, " is possible"),
                       x);
  }
  TensorType y{x->dtype, Shape(x->shape.size() + given.size(), Dim(1))};
  BYOC_TRY(std::vector<size_t> axes, normal_axes("unsqueeze", given, y));
  for (size_t d = 0, from = 0; d < y.shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) y.shape[d] = x->shape[from++];
  }
  return one_result(std::move(y));
}

// ---- shape: the extents of x as numbers

// Returns dims start .. end - 1; negative numbers count from the end, all are clamped.
std::pair<size_t, size_t> dims_asked(TypeId x, const Attrs& attrs) {
  auto rank = static_cast<int64_t>(x->shape.size());
  int64_t start = attrs.i("start", 0), end = attrs.i("end", rank);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  return {start, end};
}

Result<std::vector<TensorType>> infer_shape(Types in, const Attrs& attrs) {
  auto [start, end] = dims_asked(in[0], attrs);
  return one_result({DType::kI64, {Dim(static_cast<int64_t>(end - start))}});
}

Result<RefKernel> reference_shape(Types in, Types, const Attrs& attrs) {
  auto [start, end] = dims_asked(in[0], attrs);
  Ints extents = static_extents({in[0]->shape.begin() + static_cast<ptrdiff_t>(start),
                                 in[0]->shape.begin() + static_cast<ptrdiff_t>(end)});
  return RefKernel([extents](const void* const*, void* const* to) {
    std::copy(extents.begin(), extents.end(), static_cast<int64_t*>(to[0]));
  });
}

Result<RefKernel> copy_bytes(Types in, Types, const Attrs&) {
  BYOC_TRY(int64_t bytes, size_bytes(*in[0]));
  return RefKernel([bytes](const void* const* from, void* const* to) {
    if (bytes > 0) std::memcpy(to[0], from[0], static_cast<size_t>(bytes));
  });
}

Result<IndexFn> same_elements_index(Types in, const TensorType& out, const Attrs&) {
  if (has_open(in[0]->shape) || has_open(out.shape)) return reshaped_by(out.shape, in[0]->shape);
  return IndexFn([from = static_extents(in[0]->shape), to = static_extents(out.shape)](
                     const Exprs& at) { return reshaped_index(at, to, from); });
}

Result<Tensors> compute_shape(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  auto [start, end] = dims_asked(type_of(in[0]), attrs);
  const Exprs& all = in[0].shape();
  BYOC_CHECK(start <= end && end <= all.size(), "dims ", start, " to ", end, " of rank ",
             all.size());
  return one(builder.compute(
      "shape", te::extents_of(*out[0]), [&, start = start, end = end](const Exprs& i) {
        Expr value = 0;
        for (size_t d = start; d < end; ++d)
          value = select(i[0] == static_cast<int64_t>(d - start), all[d], value);
        return value;
      }));
}

OpDef same_bytes(std::string name, std::string doc, std::vector<AttrSpec> attrs, InferFn infer) {
  return {.name = name,
          .doc = std::move(doc),
          .kind = FusionKind::kInjective,
          .inputs = {{"x", "any type"}},
          .attrs = std::move(attrs),
          .infer = std::move(infer),
          .reference = copy_bytes,
          .compute = with_open_sizes(move_compute(name, same_elements_index)),
          .flops = no_flops,
          .facts = {.is_view = true}};
}

}  // namespace

namespace {

// Reshapes to dims that are all given.
Result<std::vector<TensorType>> infer_open_reshape(TypeId x, const Attrs& attrs) {
  BYOC_TRY(Shape shape, open_shape_of(attrs));
  BYOC_TRY(Elements whole, elements_of("reshape", x->shape, x));
  BYOC_TRY(Elements given, elements_of("reshape", shape, x));
  BYOC_TRY(Dim all, open_product(whole));
  BYOC_TRY(Dim rest, open_product(given));
  if (all == rest) return one_result({x->dtype, std::move(shape)});
  return shape_error(cat("reshape: ", shape, " holds ", rest, " elements, x ", all), x);
}

}  // namespace

Result<std::vector<TensorType>> infer_reshape(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  BYOC_TRY_STATUS(check_has_shape("reshape", attrs));
  if (attrs.has(kOpenShapeAttr)) return infer_open_reshape(x, attrs);
  Ints target = attrs.ints("shape");
  bool allow_zero = attrs.b("allow_zero", false);
  Shape shape;
  size_t open = target.size();
  for (size_t d = 0; d < target.size(); ++d) {
    bool copies = target[d] == 0 && !allow_zero;
    if (target[d] < -1) return shape_error(cat("reshape: shape holds ", target[d]), x);
    if (copies && d >= x->shape.size())
      return shape_error(cat("reshape: shape copies dim ", d, ", which x lacks"), x);
    if (target[d] == -1 && open != target.size())
      return shape_error("reshape: shape holds -1 twice", x);
    if (target[d] == -1) open = d;
    shape.push_back(copies ? x->shape[d] : Dim(std::max<int64_t>(target[d], 0)));
  }
  BYOC_TRY(Elements whole, elements_of("reshape", x->shape, x));
  if (open != target.size()) shape[open] = 1;
  BYOC_TRY(Elements given, elements_of("reshape", shape, x));
  if (open != target.size()) {
    BYOC_TRY(shape[open], remaining_dim(whole, given, target, x));
  } else {
    BYOC_TRY_STATUS(same_elements(whole, given, target, x));
  }
  return one_result({x->dtype, shape});
}

void add_shape_ops(OpRegistry& ops) {
  ops.add(same_bytes(
      "reshape", "The elements of x in another shape.",
      {{"shape", Ints{}, "extents; 0 copies the dim of x, one -1 is computed", AttrSpec::kOptional},
       {"allow_zero", false, "0 is an extent of zero instead"},
       open_shape_attr()},
      infer_reshape));
  ops.add(same_bytes("flatten", "A matrix: dims before `axis` times dims from `axis` on.",
                     {{"axis", int64_t{1}, "in [-rank, rank]"}}, infer_flatten));
  ops.add(same_bytes("squeeze", "x without dims of extent 1.",
                     {{"axes", Ints{}, "the dims to remove; empty: all of extent 1"}},
                     infer_squeeze));
  ops.add(same_bytes("unsqueeze", "x with more dims of extent 1.",
                     {{"axes", Ints{}, "their positions in y", AttrSpec::kRequired}},
                     infer_unsqueeze));
  ops.add({.name = "shape",
           .doc = "The extents of x's dims from `start` on, before `end`. x's values are not read.",
           .inputs = {{"x", "any type"}},
           .outputs = {{"y", "i64 [end - start]"}},
           .attrs = {{"start", int64_t{0}, "negative: from the end; clamped"},
                     {"end", int64_t{0}, "likewise; absent: the rank", AttrSpec::kOptional}},
           .infer = infer_shape,
           .reference = reference_shape,
           .compute = with_open_sizes(compute_shape),
           .flops = no_flops});
}

}  // namespace byoc::op
