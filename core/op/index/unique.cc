// SPDX-License-Identifier: Apache-2.0
// The distinct elements of a tensor, or its distinct slices along an axis.
#include <algorithm>
#include <numeric>

#include "byoc/op/registry.h"
#include "core/op/index/order.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

// x as outer x extent x inner elements: the slices are along the middle.
Result<AxisView> slices_of(TypeId x, const Attrs& attrs) {
  if (!attrs.has("axis")) return AxisView{1, count(x), 1};
  BYOC_TRY(size_t axis, normal_axis("unique", attrs.i("axis"), x));
  return around_axis(x, axis);
}

Result<std::vector<TensorType>> types_of(TypeId x, const Attrs& attrs, Dim slices, Dim n) {
  TensorType y{x->dtype, {n}};
  if (attrs.has("axis")) {
    BYOC_TRY(size_t axis, normal_axis("unique", attrs.i("axis"), x));
    y.shape = x->shape;
    y.shape[axis] = n;
  }
  const TensorType per_value{DType::kI64, {n}}, per_slice{DType::kI64, {slices}};
  return std::vector{std::move(y), per_value, per_slice, per_value};
}

Result<std::vector<TensorType>> infer_unique(Types in, const Attrs& attrs) {
  if (attrs.has("axis")) {
    BYOC_TRY(size_t axis, normal_axis("unique", attrs.i("axis"), in[0]));
    const Dim slices = in[0]->shape[axis];
    BYOC_TRY(int64_t most, most_of("unique", slices, in[0]));
    BYOC_TRY(Dim n, counted_dim("unique", attrs, most));
    return types_of(in[0], attrs, slices, n);
  }
  BYOC_TRY(int64_t most, most_elements("unique", in[0]));
  BYOC_TRY(Dim n, counted_dim("unique", attrs, most));
  if (is_static(in[0]->shape)) return types_of(in[0], attrs, Dim(most), n);
  if (in[0]->shape.size() == 1) return types_of(in[0], attrs, in[0]->shape[0], n);
  return invalid(cat("unique: without an axis, the dims of x must be known (x ", in[0], ")"))
      .with_slug("symbolic-shape");
}

// A total order in which NaN equals itself and is the greatest.
template <class T>
int compare(T a, T b) {
  if (a < b) return -1;
  if (b < a) return 1;
  if constexpr (is_half<T> || std::is_floating_point_v<T>) return (a != a) - (b != b);
  return 0;
}

template <class T>
int compare_slices(const T* x, const AxisView& view, int64_t a, int64_t b) {
  for (int64_t o = 0; o < view.outer; ++o, x += view.extent * view.inner) {
    for (int64_t i = 0; i < view.inner; ++i) {
      if (int c = compare(x[a * view.inner + i], x[b * view.inner + i])) return c;
    }
  }
  return 0;
}

// The groups of equal slices, in the order of the results.
struct Groups {
  std::vector<int64_t> first, sizes;  // per group: its first slice, the number of its slices
  std::vector<int64_t> of_slice;      // per slice: its group
};

// Appends slice k to the last group, or to a new one.
void append(Groups& groups, int64_t k, bool is_new) {
  if (is_new) {
    groups.first.push_back(k);  // slices come in a stable order
    groups.sizes.push_back(0);
  }
  ++groups.sizes.back();
  groups.of_slice[static_cast<size_t>(k)] = static_cast<int64_t>(groups.first.size()) - 1;
}

template <class T>
Groups sorted_elements(const T* x, int64_t n) {
  std::vector<Keyed<KeyOf<T>>> items(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) items[static_cast<size_t>(k)] = {order_key(x[k]), k};
  sort_by_key(items);
  Groups out;
  out.of_slice.resize(items.size());
  for (size_t k = 0; k < items.size(); ++k)
    append(out, items[k].place, k == 0 || items[k - 1].key != items[k].key);
  return out;
}

template <class T>
Groups sorted_slices(const T* x, const AxisView& view) {
  std::vector<int64_t> order(static_cast<size_t>(view.extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return compare_slices(x, view, a, b) < 0; });
  Groups out;
  out.of_slice.resize(order.size());
  for (size_t k = 0; k < order.size(); ++k)
    append(out, order[k], k == 0 || compare_slices(x, view, order[k - 1], order[k]) != 0);
  return out;
}

template <class T>
Groups group_slices(const T* x, const AxisView& view, bool sorted) {
  const bool is_flat = view.outer == 1 && view.inner == 1;
  Groups out = is_flat ? sorted_elements(x, view.extent) : sorted_slices(x, view);
  if (sorted) return out;
  std::vector<size_t> by_first(out.first.size()), place(out.first.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  std::sort(by_first.begin(), by_first.end(),
            [&](size_t a, size_t b) { return out.first[a] < out.first[b]; });
  Groups moved = out;
  for (size_t k = 0; k < by_first.size(); ++k) {
    moved.first[k] = out.first[by_first[k]];
    moved.sizes[k] = out.sizes[by_first[k]];
    place[by_first[k]] = k;
  }
  for (int64_t& group : moved.of_slice)
    group = static_cast<int64_t>(place[static_cast<size_t>(group)]);
  return moved;
}

using Grouping = std::function<Groups(const void*)>;

Result<Grouping> grouping_of(TypeId x, const Attrs& attrs) {
  BYOC_TRY(AxisView view, slices_of(x, attrs));
  const bool sorted = attrs.b("sorted", true);
  return for_dtype<Grouping>("unique", x->dtype, AllTypes{}, [&]<class T>() -> Grouping {
    return [view, sorted](const void* data) {
      return group_slices(static_cast<const T*>(data), view, sorted);
    };
  });
}

Result<std::vector<TensorType>> sizes_unique(Types in, const void* const* data,
                                             const Attrs& attrs) {
  BYOC_TRY(AxisView view, slices_of(in[0], attrs));
  BYOC_TRY(Grouping grouping, grouping_of(in[0], attrs));
  const auto n = static_cast<int64_t>(grouping(data[0]).first.size());
  return types_of(in[0], attrs, Dim(view.extent), Dim(n));
}

Result<RefKernel> reference_unique(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(AxisView view, slices_of(in[0], attrs));
  BYOC_TRY(Grouping grouping, grouping_of(in[0], attrs));
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      const Groups groups = grouping(from[0]);
      const U* x = in_as<U>(from, 0);
      U* y = out_as<U>(to, 0);
      for (int64_t o = 0; o < view.outer; ++o, x += view.extent * view.inner) {
        for (int64_t slice : groups.first) y = std::copy_n(x + slice * view.inner, view.inner, y);
      }
      std::copy(groups.first.begin(), groups.first.end(), out_as<int64_t>(to, 1));
      std::copy(groups.of_slice.begin(), groups.of_slice.end(), out_as<int64_t>(to, 2));
      std::copy(groups.sizes.begin(), groups.sizes.end(), out_as<int64_t>(to, 3));
    };
  });
}

}  // namespace

void add_unique_ops(OpRegistry& ops) {
  ops.add({.name = "unique",
           .doc = "The distinct slices of x along `axis`, or its distinct elements without one, "
                  "sorted or in the order of their first occurrence. NaN equals NaN and is the "
                  "greatest. Each run counts them.",
           .inputs = {{"x", "any type"}},
           .outputs = {{"y", "the slices or elements"},
                       {"indices", "i64 [?size], the first occurrence of each"},
                       {"inverse", "i64, per slice or element of x: its place in y"},
                       {"counts", "i64 [?size], the number of occurrences"}},
           .attrs = {{"axis", int64_t{0}, "in [-rank, rank)", AttrSpec::kOptional},
                     {"sorted", true, "false: in the order of first occurrence"},
                     size_attr()},
           .infer = infer_unique,
           .reference = reference_unique,
           .flops = no_flops,
           .sizes = sizes_unique});
}

}  // namespace byoc::op
