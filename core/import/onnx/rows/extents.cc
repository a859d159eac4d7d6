// SPDX-License-Identifier: Apache-2.0
// Ops whose operands hold the extents of their results: Reshape, Expand, ConstantOfShape, Tile,
// Slice; Size. Constant operands become attributes. For computed ones the result has counted dims,
// within the bounds that are known of the operands.
#include <algorithm>

#include "byoc/ir/open_shape.h"
#include "core/import/onnx/operands.h"
#include "core/import/onnx/rows/extents.h"
#include "core/import/onnx/same_op.h"

namespace byoc::onnx_import {
namespace {

// Returns the refusal of a computed operand.
Status no_bound(Graph& graph, ValueId operand, std::string_view what) {
  return computed_operand(graph, operand, what,
                          "constants, and elements with an upper bound that follows from sizes,");
}

bool is_constant(Graph& graph, const OnnxNode& node, size_t k) {
  return !node.has_input(k) || graph.const_ints(graph.input(k)).has_value();
}

// Returns the attributes dims and most of ops with counted results. -1 is a named size: the dim of
// the operand in the same place.
Attrs dims_attrs(const Shape& shape) {
  Strings names;
  Ints most;
  for (Dim dim : shape) {
    const bool is_named = !dim.is_static() && !dim.is_counted();
    names.push_back(dim.is_counted() ? dim.name().str() : std::string());
    most.push_back(is_named ? -1 : dim.max());
  }
  return {{"dims", std::move(names)}, {"most", std::move(most)}};
}

ValueId as_i64(Graph& graph, ValueId value) {
  if (graph.type(value).dtype == DType::kI64) return value;
  return graph.call("cast", {value}, {{"to", DType::kI64}});
}

/// Returns an error unless operand k, which holds extents, has one dim.
Status check_is_list(Graph& graph, const OnnxNode& node, size_t k, std::string_view what) {
  if (!node.has_input(k) || graph.rank(graph.input(k)) == 1) return {};
  return invalid(
      cat("its input \"", what, "\" is ", graph.type(graph.input(k)), ", expected one dim"));
}

// ---- reshape

// Returns true when the entry is `dim` in every run.
bool is_dim(const SizeEntry& entry, Dim dim) {
  return (dim.is_static() && entry.number == dim.extent()) || (entry.dim && *entry.dim == dim);
}

// Returns the target of a reshape as attributes have it: 0 for a dim of x in its place, -1 for the
// only other one that is no number.
Result<Ints> computed_target(Graph& graph, ValueId x, ValueId shape) {
  const std::vector<SizeEntry> entries = graph.size_entries(shape);
  if (entries.empty()) return no_bound(graph, shape, "shape");
  const Shape& from = graph.type(x).shape;
  Ints target;
  for (size_t k = 0; k < entries.size(); ++k) {
    if (entries[k].number) target.push_back(*entries[k].number);
    else if (entries[k].dim && k < from.size() && *entries[k].dim == from[k]) target.push_back(0);
    else target.push_back(-1);
  }
  if (std::count(target.begin(), target.end(), -1) > 1) return no_bound(graph, shape, "shape");
  return target;
}

// Returns the product of dims.
Result<Dim> product_of(const Shape& shape) {
  Dim out(1);
  for (Dim dim : shape) {
    BYOC_TRY(out, dim_product(out, dim));
  }
  return out;
}

// Returns the shape that open sizes give; nullopt unless it holds the elements of x for all sizes.
std::optional<Shape> open_target(const Shape& from, const std::vector<SizeEntry>& entries,
                                 bool allows_zero) {
  Shape out;
  std::optional<size_t> rest;
  for (size_t k = 0; k < entries.size(); ++k) {
    const SizeEntry& entry = entries[k];
    const bool copies = entry.number == 0 && !allows_zero;
    if (copies && k >= from.size()) return std::nullopt;
    if (entry.number == -1 && !rest) rest = k;
    else if (entry.number && *entry.number < 0) return std::nullopt;
    else if (!entry.number && (!entry.dim || !is_open(*entry.dim))) return std::nullopt;
    out.push_back(rest == k      ? Dim(1)
                  : copies       ? from[k]
                  : entry.number ? Dim(*entry.number)
                                 : *entry.dim);
  }
  const Result<Dim> whole = product_of(from), given = product_of(out);
  if (!whole.ok() || !given.ok()) return std::nullopt;
  if (!rest) return *whole == *given ? std::optional(out) : std::nullopt;
  const std::optional<Dim> last = dim_exact_quotient(*whole, *given);
  if (!last) return std::nullopt;
  out[*rest] = *last;
  return out;
}

// Reshapes to a shape of numbers and open sizes: by the usual attribute where that can have it.
Converted open_reshape(Graph& graph, ValueId x, const Shape& shape) {
  const Shape& from = graph.type(x).shape;
  Ints target;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool copies = !shape[k].is_static() && k < from.size() && from[k] == shape[k];
    target.push_back(shape[k].is_static() ? shape[k].extent() : copies ? 0 : -1);
  }
  Attrs attrs{{"allow_zero", false}};
  const bool has_zero = std::count(shape.begin(), shape.end(), Dim(0)) > 0;
  if (!has_zero && std::count(target.begin(), target.end(), -1) <= 1) attrs.set("shape", target);
  else set_open_shape(attrs, shape);
  return std::vector{graph.call("reshape", {x}, attrs)};
}

// Reshapes to a computed target. Where its elements may give another shape, or none, each run
// checks them.
Converted reshape_to(Graph& graph, ValueId x, ValueId shape, bool allows_zero) {
  const std::vector<SizeEntry> entries = graph.size_entries(shape);
  if (!entries.empty()) {
    if (auto open = open_target(graph.type(x).shape, entries, allows_zero))
      return open_reshape(graph, x, *open);
  }
  BYOC_TRY(Ints target, computed_target(graph, x, shape));
  if (allows_zero && std::count(target.begin(), target.end(), 0) > 0)
    return no_bound(graph, shape, "shape");
  const Attrs attrs{{"shape", target}, {"allow_zero", allows_zero}};
  BYOC_TRY(const OpDef* op, graph.ops().get("reshape"));
  const TypeId type = graph.type(x);
  BYOC_TRY(std::vector<TensorType> types, op->infer({&type, 1}, attrs));
  bool is_known = true;
  for (size_t k = 0; k < entries.size(); ++k)
    is_known = is_known && (entries[k].number || is_dim(entries[k], types[0].shape[k]));
  if (is_known) return std::vector{graph.call("reshape", {x}, attrs)};
  return std::vector{graph.call("reshape_counted", {x, as_i64(graph, shape)}, attrs)};
}

Converted reshape(Graph& graph, const OnnxNode& node) {
  const ValueId x = graph.input(0);
  bool allows_zero = node.i("allowzero", 0) != 0;
  BYOC_TRY_STATUS(check_is_list(graph, node, 1, "shape"));
  if (node.opset() > 4 && !is_constant(graph, node, 1))
    return reshape_to(graph, x, graph.input(1), allows_zero);
  BYOC_TRY(Ints shape, ints_attr_or_input(graph, node, "shape", 4, 1));
  return std::vector{graph.call("reshape", {x}, {{"shape", shape}, {"allow_zero", allows_zero}})};
}

// ---- expand, ConstantOfShape, tile

// Returns the dim that `dim` broadcasts to together with one that an operand holds.
std::optional<Dim> broadcast_dim(Dim dim, const SizeEntry& entry, const std::string& fresh) {
  if (entry.number == 1) return dim;
  if (!(dim == Dim(1))) return dim;  // the other one is equal, or 1
  if (entry.number && *entry.number >= 0) return Dim(*entry.number);
  if (entry.dim) return *entry.dim;
  if (!entry.most || entry.dim || entry.number) return std::nullopt;
  return *entry.most <= 0 ? Dim(0) : Dim::counted(fresh, *entry.most);
}

}  // namespace

Converted expand_to(Graph& graph, ValueId x, ValueId target, const char* what) {
  const std::vector<SizeEntry> entries = graph.size_entries(target);
  const std::string size = graph.new_size("expand");
  Shape shape = graph.type(x).shape;
  if (entries.empty()) return no_bound(graph, target, what);
  while (shape.size() < entries.size()) shape.insert(shape.begin(), Dim(1));
  bool is_known = true;  // the elements broadcast with x
  for (size_t k = 0; k < entries.size(); ++k) {
    const size_t d = shape.size() - entries.size() + k;
    const std::optional<Dim> dim = broadcast_dim(shape[d], entries[k], cat(size, "_", d));
    if (!dim) return no_bound(graph, target, what);
    is_known = is_known && (entries[k].number == 1 || is_dim(entries[k], *dim));
    shape[d] = *dim;
  }
  if (graph.type(x).shape == shape && is_known) return std::vector{x};
  if (is_known && !has_counted(shape)) {
    Attrs attrs;
    set_open_shape(attrs, shape);
    return std::vector{graph.call("expand", {x}, attrs)};
  }
  return std::vector{graph.call("expand_counted", {x, as_i64(graph, target)}, dims_attrs(shape))};
}

namespace {

Converted expand(Graph& graph, const OnnxNode& node) {
  BYOC_TRY_STATUS(check_is_list(graph, node, 1, "shape"));
  if (!is_constant(graph, node, 1))
    return expand_to(graph, graph.input(0), graph.input(1), "shape");
  BYOC_TRY(Ints shape, constant_ints(graph, node, 1, "shape"));
  return std::vector{graph.call("expand", {graph.input(0)}, {{"shape", shape}})};
}

// Repeats one value (0 of f32 unless given).
Converted constant_of_shape(Graph& graph, const OnnxNode& node) {
  BYOC_TRY_STATUS(check_is_list(graph, node, 0, "input"));
  ValueId value = graph.scalar(DType::kF32, 0);
  if (node.has("value")) {
    BYOC_TRY(auto tensor, node.tensor("value"));
    if (tensor.first.shape != Shape{1})
      return invalid(cat("its value is ", tensor.first, ", expected one element"));
    value = graph.constant({tensor.first.dtype, {}}, std::move(tensor.second));
  }
  if (!is_constant(graph, node, 0)) return expand_to(graph, value, graph.input(0), "input");
  BYOC_TRY(Ints shape, constant_ints(graph, node, 0, "input"));
  return std::vector{graph.call("expand", {value}, {{"shape", shape}})};
}

// Repeats x along one axis: [a, b, c] as [a, 1, b, c], broadcast, and merged again.
Converted repeated(Graph& graph, ValueId x, int64_t axis, ValueId repeats) {
  const auto rank = static_cast<int64_t>(graph.rank(x));
  const auto at = static_cast<size_t>(axis);
  Ints merged(at, 0);
  merged.push_back(-1);
  for (size_t d = at + 1; d < graph.rank(x); ++d) {
    const Dim dim = graph.type(x).shape[d];
    if (!dim.is_static()) return no_bound(graph, repeats, "repeats");
    merged.push_back(dim.extent());
  }
  const ValueId apart = graph.call("unsqueeze", {x}, {{"axes", Ints{axis}}});
  const ValueId one =
      graph.call("gather", {as_i64(graph, repeats), graph.constant_ints({axis})}, {{"axis", 0}});
  const ValueId target = graph.call(
      "concat",
      {graph.constant_ints(Ints(at, 1)), one, graph.constant_ints(Ints(size_t(rank) - at, 1))},
      {{"axis", 0}});
  BYOC_TRY(std::vector<ValueId> wide, expand_to(graph, apart, target, "repeats"));
  return std::vector{graph.call("reshape", {wide[0]}, {{"shape", merged}})};
}

Converted tile(Graph& graph, const OnnxNode& node) {
  ValueId x = graph.input(0);
  BYOC_TRY_STATUS(check_is_list(graph, node, 1, "repeats"));
  if (is_constant(graph, node, 1)) {
    BYOC_TRY(Ints repeats, constant_ints(graph, node, 1, "repeats"));
    return std::vector{graph.call("tile", {x}, {{"repeats", repeats}})};
  }
  const std::vector<SizeEntry> entries = graph.size_entries(graph.input(1));
  if (entries.size() != graph.rank(x))
    return invalid(cat("repeats has ", entries.size(), " entries, expected ", graph.rank(x)));
  for (size_t k = entries.size(); k-- > 0;) {
    if (entries[k].number == 1) continue;
    BYOC_TRY(std::vector<ValueId> wide,
             repeated(graph, x, static_cast<int64_t>(k), graph.input(1)));
    x = wide[0];
  }
  return std::vector{x};
}

// ---- slice

// The operands of a slice.
struct Cut {
  Ints axes, steps;
  std::vector<SizeEntry> starts, ends;
};

// Returns the dim of a slice with computed limits.
std::optional<Dim> slice_dim(Dim dim, const Cut& cut, size_t k, const std::string& fresh) {
  const SizeEntry &start = cut.starts[k], &end = cut.ends[k];
  if (dim.max() == Dim::kUnbounded || !(dim.is_static() || dim.is_counted())) return std::nullopt;
  const bool begins = start.number == 0 && cut.steps[k] == 1;
  if (begins && end.dim && end.dim->is_counted() &&
      (*end.dim == dim || (dim.is_static() && end.dim->max() <= dim.extent())))
    return *end.dim;
  int64_t most = dim.max();
  if (cut.steps[k] == 1 && start.base && start.base == end.base && end.offset > start.offset) {
    const int64_t cells = end.offset - start.offset;
    if (start.is_natural && dim.is_static() && end.most && *end.most <= dim.extent())
      return Dim(cells);
    if (start.is_natural) most = std::min(most, cells);
  }
  if (cut.steps[k] > 0 && start.number && *start.number >= 0 && end.most && end.is_natural)
    most = std::min(most, std::max<int64_t>(*end.most - *start.number, 0));
  const int64_t stride = std::max<int64_t>(cut.steps[k], -cut.steps[k]);
  most = most == 0 ? 0 : (most - 1) / stride + 1;
  return most == 0 ? Dim(0) : Dim::counted(fresh, most);
}

// Takes the entries start, start + 1, ... of x, all of which it has.
Converted gathered_slice(Graph& graph, ValueId x, int64_t axis, int64_t cells) {
  Ints steps;
  for (int64_t k = 0; k < cells; ++k) steps.push_back(k);
  const ValueId start = as_i64(graph, graph.input(1));
  const ValueId indices =
      cells == 1 ? start : graph.call("add", {start, graph.constant_ints(steps)});
  return std::vector{graph.call("gather", {x, indices}, {{"axis", axis}})};
}

// Returns the open dim that a slice from a number to an open size has; nullopt for others.
std::optional<Dim> open_slice_dim(Graph& graph, Dim dim, const Cut& cut, size_t k) {
  const SizeEntry &start = cut.starts[k], &end = cut.ends[k];
  if (cut.steps[k] != 1 || !start.number || *start.number < 0 || *start.number > dim.min())
    return std::nullopt;
  const bool is_number = end.number && *end.number >= 0;
  if (dim.is_counted() || (!is_number && !(end.dim && is_open(*end.dim)))) return std::nullopt;
  const Dim first(*start.number);
  if (!is_number && dim.is_static()) graph.note_table(*end.dim, dim.extent());
  Result<Dim> last = dim_min(dim, is_number ? Dim(*end.number) : *end.dim);
  if (last.ok()) last = dim_max(*last, first);
  const Result<Dim> out = last.ok() ? dim_difference(*last, first) : last;
  return out.ok() ? std::optional(*out) : std::nullopt;
}

// Slices where all limits are numbers or open sizes; nullopt where some are not.
std::optional<ValueId> open_slice(Graph& graph, ValueId x, const Cut& cut) {
  Shape shape = graph.type(x).shape;
  Ints starts;
  for (size_t k = 0; k < cut.axes.size(); ++k) {
    const Result<size_t> axis = normal_axis(cut.axes[k], shape.size());
    if (!axis.ok()) return std::nullopt;
    const std::optional<Dim> dim = open_slice_dim(graph, shape[*axis], cut, k);
    if (!dim) return std::nullopt;
    shape[*axis] = *dim;
    starts.push_back(*cut.starts[k].number);
  }
  if (is_static(shape)) return std::nullopt;
  Attrs attrs{{"starts", starts},
              {"ends", Ints(starts.size(), INT64_MAX)},
              {"axes", cut.axes},
              {"steps", cut.steps}};
  set_open_shape(attrs, shape);
  return graph.call("slice", {x}, attrs);
}

Converted slice_counted(Graph& graph, const OnnxNode& node) {
  const ValueId x = graph.input(0);
  for (const auto& [k, what] : {std::pair(size_t{1}, "starts"), std::pair(size_t{2}, "ends")}) {
    BYOC_TRY_STATUS(check_is_list(graph, node, k, what));
    // An open list has no entries, as if nothing were cut.
    if (!graph.type(graph.input(k)).shape[0].is_static())
      return no_bound(graph, graph.input(k), what);
  }
  Cut cut{{}, {}, graph.size_entries(graph.input(1)), graph.size_entries(graph.input(2))};
  BYOC_TRY(cut.axes, ints_attr_or_input(graph, node, "axes", 9, 3));
  BYOC_TRY(cut.steps, ints_attr_or_input(graph, node, "steps", 9, 4));
  const size_t n = cut.starts.size();
  if (cut.axes.empty())
    for (size_t k = 0; k < n; ++k) cut.axes.push_back(static_cast<int64_t>(k));
  if (cut.steps.empty()) cut.steps.assign(n, 1);
  if (cut.ends.size() != n || cut.axes.size() != n || cut.steps.size() != n)
    return invalid(cat("it has ", n, " starts, ", cut.ends.size(), " ends, ", cut.axes.size(),
                       " axes and ", cut.steps.size(), " steps, expected equally many"));
  if (auto open = open_slice(graph, x, cut)) return std::vector{*open};
  const std::string size = graph.new_size("slice");
  Shape dims;
  for (size_t k = 0; k < n; ++k) {
    BYOC_TRY(size_t axis, normal_axis(cut.axes[k], graph.rank(x)));
    if (cut.steps[k] == 0) return invalid("a step is 0");
    const std::optional<Dim> dim = slice_dim(graph.type(x).shape[axis], cut, k, cat(size, "_", k));
    if (!dim) return no_bound(graph, graph.input(2), "ends");
    dims.push_back(*dim);
  }
  if (n == 1 && dims[0].is_static() && cut.steps[0] == 1)
    return gathered_slice(graph, x, cut.axes[0], dims[0].extent());
  Attrs attrs = dims_attrs(dims);
  attrs.set("axes", cut.axes);
  attrs.set("steps", cut.steps);
  return std::vector{graph.call(
      "slice_counted", {x, as_i64(graph, graph.input(1)), as_i64(graph, graph.input(2))}, attrs)};
}

Converted slice(Graph& graph, const OnnxNode& node) {
  bool by_attr = node.opset() <= 9;
  if (!by_attr && node.has_input(1) && node.has_input(2) &&
      !(is_constant(graph, node, 1) && is_constant(graph, node, 2)))
    return slice_counted(graph, node);
  auto list = [&](const char* name, size_t k) {
    return ints_attr_or_input(graph, node, name, 9, k);
  };
  BYOC_TRY(Ints starts, list("starts", 1));
  BYOC_TRY(Ints ends, list("ends", 2));
  BYOC_TRY(Ints axes, list("axes", 3));
  BYOC_TRY(Ints steps, by_attr ? Ints{} : list("steps", 4));
  Attrs attrs{{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}};
  return std::vector{graph.call("slice", {graph.input(0)}, attrs)};
}

// ---- size

Converted size(Graph& graph, const OnnxNode&) {
  const ValueId x = graph.input(0);
  const ValueId dims = graph.call("shape", {x});
  return std::vector{graph.call("prod", {dims}, {{"axes", Ints{0}}, {"keepdims", false}})};
}

constexpr Row kExtentsRows[] = {
    {"ConstantOfShape", 9, kNewest, constant_of_shape},
    {"Expand", 8, kNewest, expand},
    {"Reshape", 1, kNewest, reshape},
    {"Size", 1, kNewest, size},
    {"Slice", 1, kNewest, slice},
    {"Tile", 6, kNewest, tile},
};

}  // namespace

std::span<const Row> extents_rows() { return kExtentsRows; }

}  // namespace byoc::onnx_import
