// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, by place or by index.
#include <algorithm>
#include <numeric>

#include "grow.h"

namespace byoc::fuzz {
namespace {

bool grow_concat(Grower& g) {
  Ref x = g.any();
  if (g.rank(x) == 0) return false;
  const size_t axis = g.pick(g.rank(x));
  std::vector<Ref> args = {x};
  for (int64_t k = g.between(0, 3); k > 0; --k) {
    auto there = g.find([&](const TensorType& t) {
      Shape a = t.shape, b = g.shape_of(x);
      if (t.dtype != g.type(x)->dtype || a.size() != b.size()) return false;
      a[axis] = b[axis];
      return a == b;
    });
    if (there && g.chance(0.6)) {
      args.push_back(*there);
      continue;
    }
    Shape shape = g.shape_of(x);
    shape[axis] = Dim(g.between(0, 4));
    args.push_back(g.weight(TensorType{g.type(x)->dtype, shape}));
  }
  std::swap(args[0], args[g.pick(args.size())]);
  auto signed_axis = static_cast<int64_t>(axis);
  if (g.chance(0.5)) signed_axis -= static_cast<int64_t>(g.rank(x));
  return g.call("concat", args, {{"axis", signed_axis}}).has_value();
}

bool grow_split(Grower& g) {
  Ref x = g.any();
  if (g.rank(x) == 0) return false;
  int64_t axis = random_axis(g, g.rank(x));
  int64_t left =
      g.dim(x, static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(g.rank(x)) : axis));
  Ints sizes;
  while (left > 0 && sizes.size() < 3) {
    sizes.push_back(g.between(g.chance(0.1) ? 0 : 1, left));
    left -= sizes.back();
  }
  sizes.push_back(left);
  return g.call("split", {x}, {{"axis", axis}, {"split", sizes}}).has_value();
}

bool grow_slice(Grower& g) {
  Ref x = g.any();
  Ints starts, ends, axes, steps;
  for (size_t k = 0; k < g.rank(x); ++k) {
    if (g.chance(0.4)) continue;
    int64_t n = g.dim(x, k);
    int64_t step = g.one_of<int64_t>({1, 1, 1, 2, 3, -1, -2});
    int64_t low = g.between(0, std::max<int64_t>(n - 1, 0)), high = g.between(low + 1, n + 2);
    starts.push_back(step > 0 ? low : std::min(high, n) - 1);
    ends.push_back(step > 0 ? high : low - 1 < 0 ? -n - 5 : low - 1);
    if (step > 0 && g.chance(0.3) && n > 0) starts.back() -= n;
    axes.push_back(static_cast<int64_t>(k));
    steps.push_back(step);
  }
  return g
      .call("slice", {x}, {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}})
      .has_value();
}

bool grow_pad(Grower& g) {
  Ref x = g.any();
  static const std::vector<std::string> kModes = {"constant", "constant", "reflect", "edge",
                                                  "wrap"};
  const std::string& mode = g.one_of(kModes);
  Ints pads(2 * g.rank(x));
  for (size_t k = 0; k < pads.size(); ++k) {
    int64_t n = g.dim(x, k % g.rank(x));
    if (g.chance(0.5)) continue;
    pads[k] = mode == "reflect" || mode == "wrap"
                  ? g.between(0, std::min<int64_t>(std::max<int64_t>(n - 1, 0), 3))
                  : g.between(-1, 3);
  }
  if (mode != "reflect" && g.chance(0.4)) {  // the same extents as other results have
    const int64_t cells = g.chance(0.5) ? 0 : g.between(1, 3);
    for (size_t k = 0; k < g.rank(x); ++k) pads[k + g.rank(x)] = cells - pads[k];
  }
  Attrs attrs{{"pads", pads}, {"mode", mode}};
  if (mode == "constant" && g.chance(0.5))
    attrs.set("value", static_cast<double>(g.between(-3, 3)));
  return g.call("pad", {x}, attrs).has_value();
}

bool grow_reshape(Grower& g) {
  Ref x = g.any();
  int64_t n = element_count(g.type(x));
  Ints shape;
  int64_t left = n;
  while (left > 1 && shape.size() < 5) {
    Ints divisors;
    for (int64_t d = 1; d <= std::min<int64_t>(left, 64); ++d) {
      if (left % d == 0) divisors.push_back(d);
    }
    shape.push_back(g.one_of(divisors));
    left /= shape.back();
  }
  if (left != 1 || shape.empty()) shape.push_back(n == 0 ? 0 : left);
  if (n != 0 && g.chance(0.3)) shape[g.pick(shape.size())] = -1;
  if (g.chance(0.3))
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(g.pick(shape.size() + 1)), 1);
  return g.call("reshape", {x}, {{"shape", shape}, {"allow_zero", n == 0}}).has_value();
}

bool grow_rearranged(Grower& g, const std::string& op) {
  Ref x = g.any();
  const auto r = static_cast<int64_t>(g.rank(x));
  if (op == "flatten") return g.call(op, {x}, {{"axis", g.between(-r, r)}}).has_value();
  if (op == "squeeze") {
    Ints axes;
    for (int64_t k = 0; k < r; ++k) {
      if (g.dim(x, static_cast<size_t>(k)) == 1 && g.chance(0.7))
        axes.push_back(g.chance(0.5) ? k : k - r);
    }
    return g.call(op, {x}, {{"axes", axes}}).has_value();
  }
  if (op == "unsqueeze") {
    Ints axes = {g.between(-r - 1, r)};
    if (g.chance(0.2) && r < 5) axes = {0, r + 1};
    return g.call(op, {x}, {{"axes", axes}}).has_value();
  }
  if (op == "transpose") {
    Ints perm(static_cast<size_t>(r));
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t k = perm.size(); k > 1; --k) std::swap(perm[k - 1], perm[g.pick(k)]);
    return g.call(op, {x}, g.chance(0.15) ? Attrs{} : Attrs{{"perm", perm}}).has_value();
  }
  if (op == "expand") {
    Ints shape = static_extents(g.shape_of(x));
    for (int64_t& d : shape) {
      if (d == 1 && g.chance(0.6)) d = g.between(1, 4);
    }
    if (g.chance(0.3)) shape.insert(shape.begin(), g.between(1, 3));
    return g.call(op, {x}, {{"shape", shape}}).has_value();
  }
  Ints repeats;
  for (int64_t k = 0; k < r; ++k) repeats.push_back(g.chance(0.03) ? 0 : g.between(1, 3));
  return g.call("tile", {x}, {{"repeats", repeats}}).has_value();
}

/// Returns a value of rank `low` or more with elements, or a new parameter.
Ref of_rank(Grower& g, size_t low, size_t high) {
  auto there = g.find([&](const TensorType& t) {
    return t.shape.size() >= low && t.shape.size() <= high && *num_elements(t.shape) > 0;
  });
  if (there && g.chance(0.8)) return *there;
  Shape shape = g.shape(low + g.pick(high - low + 1));
  for (Dim& dim : shape) {
    if (dim == Dim(0)) dim = Dim(2);
  }
  return g.parameter(TensorType{g.any_dtype(), shape});
}

/// Returns indices into an axis of `n`, some of them negative.
std::vector<double> random_indices(Grower& g, size_t count, int64_t n) {
  std::vector<double> out(count);
  for (double& index : out) index = static_cast<double>(g.between(g.chance(0.3) ? -n : 0, n - 1));
  return out;
}
DType index_dtype(Grower& g) { return g.chance(0.7) ? DType::kI64 : DType::kI32; }

bool grow_gather(Grower& g) {
  Ref x = of_rank(g, 1, 4);
  int64_t axis = random_axis(g, g.rank(x));
  int64_t n =
      g.dim(x, static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(g.rank(x)) : axis));
  Shape shape = g.shape(g.pick(3));
  auto count = static_cast<size_t>(*num_elements(shape));
  Ref indices = g.constant_ints(index_dtype(g), static_extents(shape), random_indices(g, count, n));
  return g.call("gather", {x, indices}, {{"axis", axis}}).has_value();
}

bool grow_gather_elements(Grower& g) {
  Ref x = of_rank(g, 1, 4);
  auto axis = static_cast<int64_t>(g.pick(g.rank(x)));
  Ints shape = static_extents(g.shape_of(x));
  for (int64_t& d : shape) d = g.between(1, d);
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  Ref indices = g.constant_ints(
      index_dtype(g), shape,
      random_indices(g, static_cast<size_t>(count), g.dim(x, static_cast<size_t>(axis))));
  return g.call("gather_elements", {x, indices}, {{"axis", axis}}).has_value();
}

/// Returns rows of indices into the first `k` dims of x; the rows differ when each names a cell
/// that is written.
Ref index_rows(Grower& g, Ref x, size_t first, size_t k, Ints shape, bool different) {
  size_t rows = 1;
  for (int64_t d : shape) rows *= static_cast<size_t>(d);
  int64_t cells = 1;
  for (size_t d = 0; d < k; ++d) cells *= g.dim(x, first + d);
  std::vector<int64_t> order(static_cast<size_t>(cells));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[g.pick(i)]);
  std::vector<double> values;
  for (size_t row = 0; row < rows; ++row) {
    int64_t cell = different ? order[row] : order[g.pick(order.size())];
    std::vector<double> index(k);
    for (size_t d = k; d-- > 0;) {
      int64_t n = g.dim(x, first + d);
      index[d] = static_cast<double>(cell % n - (g.chance(0.2) ? n : 0));
      cell /= n;
    }
    values.insert(values.end(), index.begin(), index.end());
  }
  shape.push_back(static_cast<int64_t>(k));
  return g.constant_ints(index_dtype(g), shape, values);
}

bool grow_gather_nd(Grower& g) {
  Ref x = of_rank(g, 1, 4);
  size_t batch = g.rank(x) > 1 && g.chance(0.3) ? 1 : 0;
  size_t k = 1 + g.pick(g.rank(x) - batch);
  Ints shape;
  if (batch) shape.push_back(g.dim(x, 0));
  if (g.chance(0.7)) shape.push_back(g.between(1, 4));
  Ref indices = index_rows(g, x, batch, k, shape, false);
  return g.call("gather_nd", {x, indices}, {{"batch_dims", static_cast<int64_t>(batch)}})
      .has_value();
}

std::string scatter_reduction(Grower& g) {
  return g.one_of<std::string>({"none", "none", "add", "mul", "max", "min"});
}

bool grow_scatter_nd(Grower& g) {
  Ref x = of_rank(g, 1, 4);
  size_t k = 1 + g.pick(g.rank(x));
  int64_t cells = 1;
  for (size_t d = 0; d < k; ++d) cells *= g.dim(x, d);
  int64_t rows = g.between(1, std::min<int64_t>(cells, 4));
  std::string reduction = scatter_reduction(g);
  Ref indices = index_rows(g, x, 0, k, {rows}, reduction == "none");
  Shape shape = g.shape_of(x);
  shape.erase(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(k));
  shape.insert(shape.begin(), Dim(rows));
  Ref updates = g.weight(TensorType{g.type(x)->dtype, shape});
  return g.call("scatter_nd", {x, indices, updates}, {{"reduction", reduction}}).has_value();
}

bool grow_scatter_elements(Grower& g) {
  Ref x = of_rank(g, 1, 3);
  size_t axis = g.pick(g.rank(x));
  Ints shape = static_extents(g.shape_of(x));
  for (int64_t& d : shape) d = g.between(1, std::min<int64_t>(d, 5));
  // A row along the axis has different indices, the same for all rows, so that no cell
  // is written twice.
  std::vector<double> row;
  int64_t n = g.dim(x, axis);
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[g.pick(i)]);
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  int64_t inner = 1;
  for (size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
  for (int64_t k = 0; k < count; ++k)
    row.push_back(static_cast<double>(order[static_cast<size_t>(k / inner % shape[axis])]));
  Ref indices = g.constant_ints(index_dtype(g), shape, row);
  Ref updates = g.weight(TensorType{g.type(x)->dtype, make_shape(shape)});
  return g
      .call("scatter_elements", {x, indices, updates},
            {{"axis", static_cast<int64_t>(axis)}, {"reduction", scatter_reduction(g)}})
      .has_value();
}

bool grow_one_hot(Grower& g) {
  int64_t depth = g.between(1, 6);
  Shape shape = g.shape(g.pick(3));
  auto count = static_cast<size_t>(*num_elements(shape));
  Ref indices =
      g.constant_ints(index_dtype(g), static_extents(shape), random_indices(g, count, depth));
  Ref values = g.weight(TensorType{g.any_dtype(), {Dim(2)}});
  int64_t axis = g.between(-1, static_cast<int64_t>(shape.size()));
  return g.call("one_hot", {indices, values}, {{"depth", depth}, {"axis", axis}}).has_value();
}

bool grow_matrix(Grower& g, const std::string& op) {
  Ref x = of_rank(g, 2, op == "eye_like" ? 2 : 4);
  Attrs attrs{{"k", g.between(-2, 2)}};
  if (op == "trilu") attrs.set("upper", g.chance(0.5));
  else if (g.chance(0.5)) attrs.set("dtype", g.any_dtype());
  return g.call(op, {x}, attrs).has_value();
}

bool grow_reverse_sequence(Grower& g) {
  Ref x = of_rank(g, 2, 4);
  int64_t batch = g.between(0, 1);
  int64_t n = g.dim(x, static_cast<size_t>(batch)), time = g.dim(x, static_cast<size_t>(1 - batch));
  std::vector<double> lengths;
  for (int64_t k = 0; k < n; ++k) lengths.push_back(static_cast<double>(g.between(1, time)));
  Ref values = g.constant_ints(DType::kI64, {n}, lengths);
  auto checked = g.call("check_range", {values}, {{"end", time + 1}, {"of", "test.lengths"}});
  if (!checked) return false;
  return g
      .call("reverse_sequence", {x, *checked}, {{"batch_axis", batch}, {"time_axis", 1 - batch}})
      .has_value();
}

bool grow_shape_of(Grower& g) {
  return g
      .call("shape", {g.any()},
            g.chance(0.5) ? Attrs{} : Attrs{{"start", g.between(-3, 3)}, {"end", g.between(-3, 5)}})
      .has_value();
}

bool grow_blocks(Grower& g, const std::string& op) {
  int64_t b = g.between(1, 3);
  Ref x = op == "depth_to_space"
              ? g.parameter(TensorType{g.any_dtype(),
                                       {Dim(g.between(1, 2)), Dim(b * b * g.between(1, 3)),
                                        Dim(g.between(1, 4)), Dim(g.between(1, 4))}})
              : g.parameter(TensorType{g.any_dtype(),
                                       {Dim(g.between(1, 2)), Dim(g.between(1, 3)),
                                        Dim(b * g.between(1, 3)), Dim(b * g.between(1, 3))}});
  Attrs attrs{{"blocksize", b}};
  if (op == "depth_to_space") attrs.set("mode", std::string(g.chance(0.5) ? "DCR" : "CRD"));
  return g.call(op, {x}, attrs).has_value();
}

bool grow_layout(Grower& g) {
  int64_t block = g.one_of<int64_t>({2, 4, 8});
  std::string blocked = cat("NCHW", block, "c");
  Ref x = g.parameter(TensorType{g.any_dtype(),
                                 {Dim(g.between(1, 2)), Dim(block * g.between(1, 3)),
                                  Dim(g.between(1, 4)), Dim(g.between(1, 4))}});
  auto y = g.call("layout_transform", {x},
                  {{"src_layout", std::string("NCHW")}, {"dst_layout", blocked}});
  if (y && g.chance(0.6))
    g.call("layout_transform", {*y},
           {{"src_layout", blocked}, {"dst_layout", std::string("NCHW")}});
  return y.has_value();
}

}  // namespace

std::vector<Family> shape_families() {
  std::vector<Family> out;
  auto add = [&](const char* op, double weight, Growth grow) {
    out.push_back({op, weight, std::move(grow), {op}});
  };
  for (const char* op : {"flatten", "squeeze", "unsqueeze", "transpose", "expand", "tile"})
    add(op, 1.6, [op](Grower& g) { return grow_rearranged(g, op); });
  for (const char* op : {"eye_like", "trilu"})
    add(op, 1.6, [op](Grower& g) { return grow_matrix(g, op); });
  for (const char* op : {"depth_to_space", "space_to_depth"})
    add(op, 1.6, [op](Grower& g) { return grow_blocks(g, op); });
  add("concat", 1.5, grow_concat);
  add("split", 1.6, grow_split);
  add("slice", 1.5, grow_slice);
  add("pad", 1.5, grow_pad);
  add("reshape", 1.6, grow_reshape);
  add("gather", 1.6, grow_gather);
  add("gather_elements", 1.6, grow_gather_elements);
  add("gather_nd", 1.6, grow_gather_nd);
  add("scatter_nd", 1.6, grow_scatter_nd);
  add("scatter_elements", 1.6, grow_scatter_elements);
  add("one_hot", 2.4, grow_one_hot);
  add("reverse_sequence", 1.6, grow_reverse_sequence);
  add("shape", 1.6, grow_shape_of);
  add("layout_transform", 1.6, grow_layout);
  return out;
}

}  // namespace byoc::fuzz
