// SPDX-License-Identifier: Apache-2.0
// resize as expressions. The cells that each output cell of a dim reads are a small stage of their
// own, in f64 as in the reference kernel; the result reads through these tables.
#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "core/op/kernel/resize.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

// A dim whose extents may be open: then the map has zeros, and the expressions have sizes.
struct ResizeAxis {
  AxisMap map;
  bool is_open;
  bool is_given;                   // its size is, and not its scale
  Expr scale;                      // in f64
  Expr in, out, last;              // cells, and the last cell of x
  Expr end, width, between, half;  // in f64: the last cell, out before rounding, that - 1, in / 2
};

Expr cell_as_f64(const Expr& x) { return te::cast(DType::kF64, x); }

ResizeAxis resize_axis_of(const AxisMap& map, const Expr& in, const Expr& out, bool is_given) {
  ResizeAxis axis{.map = map,
                  .is_open = !as_int(in) || !as_int(out),
                  .is_given = is_given,
                  .in = in,
                  .out = out};
  if (!axis.is_open) {
    const double cells = static_cast<double>(map.in);
    axis.scale = f64(map.scale);
    axis.last = map.in - 1;
    axis.end = f64(static_cast<double>(map.in - 1));
    axis.width = f64(map.width), axis.between = f64(map.width - 1), axis.half = f64(cells / 2);
    return axis;
  }
  const Expr cells = cell_as_f64(in);
  if (is_given && te::structural_equal(in, out)) axis.map.scale = 1;
  axis.scale = is_given ? cell_as_f64(out) / cells : f64(map.scale);
  axis.last = in - 1;
  axis.end = cell_as_f64(axis.last);
  axis.width = is_given ? cell_as_f64(out) : axis.scale * cells;
  axis.between = axis.width - f64(1);
  axis.half = cells / f64(2);
  return axis;
}

// Returns `one` where the result has at most one cell before rounding.
Expr of_width(const ResizeAxis& axis, const Expr& one, const Expr& other) {
  if (!axis.is_open) return axis.map.width <= 1 ? one : other;
  return select(axis.width <= f64(1), one, other);
}

// Returns AxisMap::position of an expression. Dims that are cropped are not open.
Expr position_of(const ResizeAxis& axis, const Expr& y) {
  const AxisMap& map = axis.map;
  Expr at = te::cast(DType::kF64, y);
  const std::string& how = map.coordinates;
  const Expr centre = (at + f64(0.5)) / axis.scale;
  if (how == "asymmetric") return at / axis.scale;
  if (how == "tf_half_pixel_for_nn") return centre;
  if (how == "align_corners") return of_width(axis, f64(0), at * axis.end / axis.between);
  if (how == "pytorch_half_pixel") return of_width(axis, f64(-0.5), centre - f64(0.5));
  if (how == "half_pixel_symmetric") {
    const double half = static_cast<double>(map.in) / 2;
    const Expr shift = axis.is_open ? axis.half - axis.half * cell_as_f64(axis.out) / axis.width
                                    : f64(half - half * static_cast<double>(map.out) / map.width);
    return shift + centre - f64(0.5);
  }
  if (how != "tf_crop_and_resize") return centre - f64(0.5);
  double begin = map.roi_begin, end = map.roi_end, last = static_cast<double>(map.in - 1);
  if (map.width <= 1) return f64((begin + end) * last / 2);
  return at * f64(end - begin) * f64(last) / f64(map.width - 1) + f64(begin * last);
}

Expr floor_of(const Expr& x) { return te::unary(UnaryOp::kFloor, x); }

Expr floor_cell_in(const ResizeAxis& axis, const Expr& position) {
  Expr below = floor_of(position);
  Expr end = axis.is_open ? cell_as_f64(axis.in + 4) : f64(static_cast<double>(axis.map.in + 4));
  Expr near = select(below < end, below, end);
  return te::cast(DType::kI64, select(below > f64(-4), near, f64(-4)));
}

Expr cell_within(const ResizeAxis& axis, const Expr& cell) { return min(max(cell, 0), axis.last); }
Expr is_cell_of(const ResizeAxis& axis, const Expr& cell) {
  return Expr(0) <= cell && cell < axis.in;
}

Expr nearest_cell(const ResizeAxis& axis, const Expr& position, const std::string& rounding) {
  Expr part = position - floor_of(position), up = part > f64(0.5);
  if (rounding == "round_prefer_ceil") up = part >= f64(0.5);
  if (rounding == "floor") up = te::int_constant(DType::kBool, 0);
  if (rounding == "ceil") up = part > f64(0);
  return cell_within(axis, floor_cell_in(axis, position) + te::cast(DType::kI64, up));
}

// Returns true when output cells may lie outside of x, and get the extrapolation value.
bool crops(const AxisMap& map) { return map.coordinates == "tf_crop_and_resize"; }
Expr is_outside(const ResizeAxis& axis, const Expr& y) {
  Expr at = position_of(axis, y);
  return at < f64(0) || at > axis.end;
}

using Cell = std::function<Expr(const Expr& y)>;

// Returns the map of an open dim at a size that a whole scale, or one over a whole number, has many
// cells at. Its cells lie as those of any other size do.
AxisMap map_of_samples(const ResizeAxis& axis) {
  constexpr int64_t kCells = 1024;
  AxisMap map = axis.map;
  const double more = map.scale * kCells;
  const bool is_alike = map.coordinates != "half_pixel_symmetric" &&
                        map.coordinates != "align_corners" && map.scale != 1 &&
                        more == std::floor(more) && more <= kCells * kCells;
  if (!axis.is_open || axis.is_given || !is_alike) return map;
  map.in = kCells, map.out = static_cast<int64_t>(more), map.width = more;
  return map;
}

// Returns cells as y / factor or y * factor where that is exact, which a try of each cell of the
// result shows; else, and for more cells than kMostTried, from a table.
Cell nearest_cells(te::Builder& builder, const ResizeAxis& axis, const std::string& rounding) {
  constexpr int64_t kMostTried = 1 << 22;
  const AxisMap map = map_of_samples(axis);
  if (axis.is_open && map.scale == 1 && !crops(map)) return [](const Expr& y) { return y; };
  if (axis.is_given && !axis.is_open && map.in == map.out && !crops(map))
    return [](const Expr& y) { return y; };
  const bool is_tried = !axis.is_given && map.out <= kMostTried;
  bool divides = is_tried && map.in > 0 && map.out % map.in == 0,
       multiplies = is_tried && map.out > 0 && map.in % map.out == 0;
  int64_t up = divides ? map.out / map.in : 1, down = multiplies ? map.in / map.out : 1;
  for (int64_t y = 0; y < map.out && (divides || multiplies); ++y) {
    int64_t cell = nearest_cell(map, map.position(y), rounding);
    divides = divides && cell == y / up;
    multiplies = multiplies && cell == y * down;
  }
  if (divides) return [up](const Expr& y) { return up == 1 ? y : floor_div(y, up); };
  if (multiplies) return [down](const Expr& y) { return y * down; };
  Tensor table = builder.compute("cells", {axis.out}, [&](const Exprs& i) {
    return nearest_cell(axis, position_of(axis, i[0]), rounding);
  });
  return [table](const Expr& y) { return table(y); };
}

struct AxisTapsExpr {
  int64_t count;
  Tensor cells, weights;  // [out, count]; absent when count is 1
};

// Returns the position that taps are counted from: of linear ones at least 0, as in ONNX Runtime.
Expr tap_position(const ResizeAxis& axis, const Expr& y, bool cubic, const Attrs& attrs) {
  const Expr at = position_of(axis, y);
  if (cubic || attrs.b("exclude_outside", false)) return at;
  return select(at < f64(0), f64(0), at);
}

Exprs weights_of(const ResizeAxis& axis, const Expr& y, const Expr& first, bool cubic,
                 const Attrs& attrs) {
  Expr at = tap_position(axis, y, cubic, attrs), part = at - floor_of(at);
  Exprs weights = {f64(1) - part, part};
  if (cubic) {
    double a = attrs.f("cubic_coeff_a", -0.75);
    auto near = [a](const Expr& t) { return (f64(a + 2) * t - f64(a + 3)) * t * t + f64(1); };
    auto far = [a](const Expr& t) {
      return ((f64(a) * t - f64(5 * a)) * t + f64(8 * a)) * t - f64(4 * a);
    };
    weights = {far(f64(1) + part), near(part), near(f64(1) - part), far(f64(2) - part)};
  }
  if (!attrs.b("exclude_outside", false)) {
    if (cubic) return weights;
    const Expr is_edge = first >= axis.last;  // both read one cell
    for (Expr& weight : weights) weight = select(is_edge, f64(0.5), weight);
    return weights;
  }
  Expr total = f64(0);
  for (size_t k = 0; k < weights.size(); ++k) {
    Expr inside = is_cell_of(axis, first + static_cast<int64_t>(k));
    weights[k] = select(inside, weights[k], f64(0));
    total = total + weights[k];
  }
  for (Expr& weight : weights) weight = weight / total;
  return weights;
}

// Returns the interpolation's kernel at a distance from its centre.
Expr kernel_at(const Expr& distance, bool cubic, double a) {
  Expr t = te::unary(UnaryOp::kAbs, distance), none = f64(0);
  if (!cubic) return select(t < f64(1), f64(1) - t, none);
  Expr near = (f64(a + 2) * t - f64(a + 3)) * t * t + f64(1);
  Expr far = ((f64(a) * t - f64(5 * a)) * t + f64(8 * a)) * t - f64(4 * a);
  return select(t <= f64(1), near, select(t < f64(2), far, none));
}

AxisTapsExpr antialiased_taps(te::Builder& builder, const ResizeAxis& axis, DType dtype,
                              const Attrs& attrs) {
  const bool cubic = attrs.s("mode", "nearest") == "cubic";
  const Antialias filter(axis.map, cubic);
  auto cell_of = [&](const Exprs& i) {
    return floor_cell_in(axis, position_of(axis, i[0])) + filter.begin + i[1];
  };
  AxisTapsExpr taps{filter.count, {}, {}};
  taps.cells = builder.compute("cells", {axis.out, filter.count},
                               [&](const Exprs& i) { return cell_within(axis, cell_of(i)); });
  Tensor raw = builder.compute("kernel", {axis.out, filter.count}, [&](const Exprs& i) {
    Expr distance = te::cast(DType::kF64, cell_of(i)) - position_of(axis, i[0]);
    Expr weight = kernel_at(f64(filter.scale) * distance, cubic, attrs.f("cubic_coeff_a", -0.75));
    if (!attrs.b("exclude_outside", false)) return weight;
    return select(is_cell_of(axis, cell_of(i)), weight, f64(0));
  });
  Tensor total = builder.reduce("total", {axis.out}, {filter.count}, te::sum_of(DType::kF64),
                                [&](const Exprs& i, const Exprs& r) { return raw(i[0], r[0]); });
  taps.weights = builder.compute("weights", {axis.out, filter.count}, [&](const Exprs& i) {
    return te::cast(dtype, raw(i[0], i[1]) / total(i[0]));
  });
  return taps;
}

AxisTapsExpr make_taps(te::Builder& builder, const ResizeAxis& axis, DType dtype,
                       const Attrs& attrs) {
  bool cubic = attrs.s("mode", "nearest") == "cubic";
  if (axis.map.in == axis.map.out && axis.map.scale == 1 && !crops(axis.map)) return {1, {}, {}};
  if (attrs.b("antialias", false)) return antialiased_taps(builder, axis, dtype, attrs);
  AxisTapsExpr taps{cubic ? 4 : 2, {}, {}};
  auto first_of = [&](const Expr& y) {
    Expr cell = floor_cell_in(axis, tap_position(axis, y, cubic, attrs));
    return cubic ? cell - 1 : cell;
  };
  taps.cells = builder.compute("cells", {axis.out, taps.count}, [&](const Exprs& i) {
    return cell_within(axis, first_of(i[0]) + i[1]);
  });
  taps.weights = builder.compute("weights", {axis.out, taps.count}, [&](const Exprs& i) {
    Exprs weights = weights_of(axis, i[0], first_of(i[0]), cubic, attrs);
    BYOC_CHECK(weights.size() == static_cast<size_t>(taps.count), weights.size(), " weights of ",
               taps.count, " taps");
    Expr weight = weights.back();
    for (size_t k = weights.size() - 1; k-- > 0;)
      weight = select(i[1] == static_cast<int64_t>(k), weights[k], weight);
    return te::cast(dtype, weight);
  });
  return taps;
}

Tensor interpolated(te::Builder& builder, const Tensor& x, Types out,
                    const std::vector<ResizeAxis>& axes, const Attrs& attrs) {
  BYOC_CHECK(axes.size() == x.rank(), axes.size(), " dims are resized of rank ", x.rank());
  DType dtype = computing_dtype(x.dtype());
  std::vector<AxisTapsExpr> taps;
  Exprs over;
  for (const ResizeAxis& axis : axes) {
    taps.push_back(make_taps(builder, axis, dtype, attrs));
    if (taps.back().count > 1) over.push_back(taps.back().count);
  }
  if (over.empty()) over.push_back(1);  // no dim changes
  return sum_over(builder, "resize", te::extents_of(*out[0]), over, dtype,
                  [&](const Exprs& i, const Exprs& r) {
                    Exprs at = i;
                    Expr weight;
                    for (size_t d = 0, next = 0; d < axes.size(); ++d) {
                      if (taps[d].count == 1) continue;
                      BYOC_CHECK(next < r.size(), "tap ", next, " of ", r.size());
                      Expr tap = r[next++], factor = taps[d].weights(i[d], tap);
                      at[d] = taps[d].cells(i[d], tap);
                      weight = weight.is_empty() ? factor : weight * factor;
                    }
                    Expr value = widened(x(at));
                    return weight.is_empty() ? value : weight * value;
                  });
}

}  // namespace

Result<Tensors> compute_resize(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  const Tensor& x = in[0];
  const TensorType type = type_of(x);
  bool is_nearest = attrs.s("mode", "nearest") == "nearest";
  const Exprs to = te::extents_of(*out[0]);
  const bool has_scales = !attrs.floats("scales").empty();
  Shape given(x.rank());
  if (attrs.has(kOpenShapeAttr)) {
    BYOC_TRY(given, open_shape_of(attrs));
  }
  std::vector<ResizeAxis> axes;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool is_given = !given[d].is_static() && !has_scales;
    axes.push_back(resize_axis_of(make_map(d, type, out[0], attrs), x.shape()[d], to[d], is_given));
    const bool needs_scale = !has_scales && !is_given;
    if (axes[d].is_open && (needs_scale || crops(axes[d].map)))
      return needs_number("resize", type.shape[d]);
  }
  std::vector<Cell> cells;
  Tensor sums;
  for (const ResizeAxis& axis : axes) {
    if (is_nearest)
      cells.push_back(nearest_cells(builder, axis, attrs.s("nearest", "round_prefer_floor")));
  }
  if (!is_nearest) sums = interpolated(builder, x, out, axes, attrs);
  bool may_be_outside = std::ranges::any_of(axes, crops, &ResizeAxis::map);
  if (!is_nearest && !may_be_outside) return one(stored_as(builder, "resize", x.dtype(), sums));
  return one(builder.compute("resize", to, [&](const Exprs& i) {
    Exprs at = i;
    for (size_t d = 0; d < cells.size(); ++d) at[d] = cells[d](i[d]);
    Expr value = is_nearest ? x(at) : converted_to(x.dtype(), sums(i));
    for (size_t d = 0; may_be_outside && d < axes.size(); ++d)
      value = select(is_outside(axes[d], i[d]),
                     literal(x.dtype(), attrs.f("extrapolation_value", 0)), value);
    return value;
  }));
}

}  // namespace byoc::op
