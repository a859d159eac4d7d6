// SPDX-License-Identifier: Apache-2.0
#include "core/op/kernel/util.h"

#include <algorithm>
#include <cstring>

#include "byoc/base/check.h"

namespace byoc::op {

void print_to(std::string& out, DTypes dtypes) {
  const char* between = "";
  for (int k = 0; k < kDTypeCount; ++k) {
    if (!dtypes.has(static_cast<DType>(k))) continue;
    out += cat(between, static_cast<DType>(k));
    between = " ";
  }
}

Status expect_dtype(std::string_view op, std::string_view input, TypeId type, DTypes allowed) {
  if (allowed.has(type->dtype)) return {};
  return invalid(cat(op, ": ", input, " is ", type, ", expects one of ", allowed))
      .with_slug("op-dtype");
}

Status expect_same_dtype(std::string_view op, Types inputs) {
  for (size_t k = 1; k < inputs.size(); ++k) {
    if (inputs[k]->dtype == inputs[0]->dtype) continue;
    return invalid(cat(op, ": inputs 0 and ", k, " are ", inputs[0], " and ", inputs[k],
                       ", expects one dtype"))
        .with_slug("op-dtype");
  }
  return {};
}

Status expect_rank(std::string_view op, std::string_view input, TypeId type, size_t rank) {
  if (type->shape.size() == rank) return {};
  return invalid(cat(op, ": ", input, " has rank ", type->shape.size(), ", expects ", rank, " (",
                     input, " ", type, ")"))
      .with_slug("op-shape");
}

namespace {
Status no_broadcast(std::string_view op, Types inputs, Dim a, Dim b) {
  std::string types;
  for (TypeId type : inputs) types += cat(types.empty() ? "" : ", ", type);
  const char* why = a.is_static() && b.is_static() ? "" : " before their sizes are known";
  return invalid(cat(op, ": dims ", a, " and ", b, " do not broadcast", why, " (", types, ")"))
      .with_slug("op-shape");
}

// Returns the dim that two different ones broadcast to, if one is counted and the other is not
// named: a run finds that they are equal, or that one is 1. Its name has both in order.
std::optional<Dim> counted_broadcast(Dim a, Dim b) {
  if (!a.is_counted() && !b.is_counted()) return std::nullopt;
  if (a.is_static() || b.is_static()) {
    const Dim counted = a.is_static() ? b : a;
    return counted.is_counted() ? std::optional(a.is_static() ? a : b) : std::nullopt;
  }
  if (!a.is_counted() || !b.is_counted()) return std::nullopt;
  if (b.name() < a.name()) std::swap(a, b);
  return Dim::counted(cat(a.name(), "~", b.name()), std::max(a.max(), b.max()));
}
}  // namespace

Result<Shape> broadcast_shapes(std::string_view op, Types inputs) {
  Shape shape;
  for (TypeId input : inputs) {
    const Shape& given = input->shape;
    if (given.size() > shape.size())
      shape.insert(shape.begin(), given.size() - shape.size(), Dim(1));
    size_t shift = shape.size() - given.size();
    for (size_t d = 0; d < given.size(); ++d) {
      Dim& dim = shape[d + shift];
      if (dim == given[d] || given[d] == Dim(1)) continue;
      if (dim == Dim(1)) {
        dim = given[d];
        continue;
      }
      const std::optional<Dim> both = counted_broadcast(dim, given[d]);
      if (!both) return no_broadcast(op, inputs, dim, given[d]);
      dim = *both;
    }
  }
  return shape;
}

Result<size_t> normal_axis(std::string_view op, int64_t axis, TypeId type) {
  auto rank = static_cast<int64_t>(type->shape.size());
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return invalid(cat(op, ": axis ", axis, " is outside [", -rank, ", ", rank, ") (x ", type, ")"))
      .with_slug("op-axis");
}

Result<std::vector<size_t>> normal_axes(std::string_view op, const Ints& axes, TypeId type) {
  std::vector<size_t> normal;
  for (int64_t axis : axes) {
    BYOC_TRY(size_t at, normal_axis(op, axis, type));
    normal.push_back(at);
  }
  std::sort(normal.begin(), normal.end());
  auto twice = std::adjacent_find(normal.begin(), normal.end());
  if (twice == normal.end()) return normal;
  return invalid(cat(op, ": axis ", *twice, " is named twice (x ", type, ")")).with_slug("op-axis");
}

AxisView around_axis(TypeId type, size_t axis) {
  AxisView view;
  const Shape& shape = type->shape;
  BYOC_CHECK(axis < shape.size(), "axis ", axis, " of ", type);
  for (size_t d = 0; d < axis; ++d) view.outer *= shape[d].extent();
  view.extent = shape[axis].extent();
  for (size_t d = axis + 1; d < shape.size(); ++d) view.inner *= shape[d].extent();
  return view;
}

int64_t count(TypeId type) {
  auto elements = num_elements(type->shape);
  BYOC_CHECK(elements.ok(), "a kernel is prepared for ", type);
  return *elements;
}

double flop_count(TypeId type) { return static_cast<double>(count(type)); }

InferFn same_as_input(std::string op, DTypes allowed) {
  return
      [op = std::move(op), allowed](Types inputs, const Attrs&) -> Result<std::vector<TensorType>> {
        BYOC_TRY_STATUS(expect_dtype(op, "x", inputs[0], allowed));
        return one_result(*inputs[0]);
      };
}

RefKernel copy_kernel(TypeId type) {
  size_t bytes = static_cast<size_t>(count(type)) * dtype_size(type->dtype);
  return [bytes](const void* const* in, void* const* out) {
    if (bytes) std::memcpy(out[0], in[0], bytes);
  };
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size());
  int64_t step = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = step;
    step *= extents[d];
  }
  return strides;
}

std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  BYOC_CHECK(from.size() <= to.size(), "rank ", from.size(), " is broadcast to rank ", to.size());
  std::vector<int64_t> own = row_major_strides(static_extents(from));
  std::vector<int64_t> strides(to.size(), 0);
  size_t shift = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != Dim(1)) strides[d + shift] = own[d];
  }
  return strides;
}

template <size_t N>
Walk<N>::Walk(const std::vector<int64_t>& space, const std::array<std::vector<int64_t>, N>& steps) {
  for (const auto& of_tensor : steps)
    BYOC_CHECK(of_tensor.size() >= space.size(), of_tensor.size(), " strides for ", space.size(),
               " dims");
  for (size_t d = 0; d < space.size(); ++d) {
    is_empty_ = is_empty_ || space[d] == 0;
    if (space[d] == 1) continue;
    Steps step;
    for (size_t k = 0; k < N; ++k) step[k] = steps[k][d];
    bool merges = !extents_.empty();
    for (size_t k = 0; merges && k < N; ++k) merges = steps_.back()[k] == step[k] * space[d];
    if (merges) {
      extents_.back() *= space[d];
      steps_.back() = step;
    } else {
      extents_.push_back(space[d]);
      steps_.push_back(step);
    }
  }
  if (extents_.empty()) return;
  row_length_ = extents_.back();
  row_step_ = steps_.back();
  extents_.pop_back();
  steps_.pop_back();
}

template <size_t N>
bool Walk<N>::advance(Cursor& cursor) const {
  for (size_t d = extents_.size(); d-- > 0;) {
    bool wraps = ++cursor.index[d] == extents_[d];
    int64_t by = wraps ? 1 - extents_[d] : 1;
    for (size_t k = 0; k < N; ++k) cursor.at[k] += steps_[d][k] * by;
    if (!wraps) return true;
    cursor.index[d] = 0;
  }
  return false;
}

template class Walk<1>;
template class Walk<2>;
template class Walk<3>;

}  // namespace byoc::op
