// SPDX-License-Identifier: Apache-2.0
// resize as expressions. The cells that each output cell of a dim reads are a small stage of their
// own, in f64 as in the reference kernel; the result reads through these tables.
#include "byoc/base/check.h"
#include "core/op/kernel/resize.h"

namespace byoc::op {
namespace {

using te::UnaryOp;

// Returns AxisMap::position of an expression.
Expr position_of(const AxisMap& map, const Expr& y) {
  Expr at = te::cast(DType::kF64, y);
  double last = static_cast<double>(map.in - 1);
  const std::string& how = map.coordinates;
  if (how == "asymmetric") return at / f64(map.scale);
  if (how == "tf_half_pixel_for_nn") return (at + f64(0.5)) / f64(map.scale);
  if (how == "align_corners") return map.width <= 1 ? f64(0) : at * f64(last) / f64(map.width - 1);
  if (how == "pytorch_half_pixel" && map.width <= 1) return f64(-0.5);
  if (how == "half_pixel_symmetric") {
    double half = static_cast<double>(map.in) / 2;
    double shift = half - half * static_cast<double>(map.out) / map.width;
    return f64(shift) + (at + f64(0.5)) / f64(map.scale) - f64(0.5);
  }
  if (how != "tf_crop_and_resize") return (at + f64(0.5)) / f64(map.scale) - f64(0.5);
  double begin = map.roi_begin, end = map.roi_end;
  if (map.width <= 1) return f64((begin + end) * last / 2);
  return at * f64(end - begin) * f64(last) / f64(map.width - 1) + f64(begin * last);
}

Expr floor_of(const Expr& x) { return te::unary(UnaryOp::kFloor, x); }

Expr floor_cell_in(const AxisMap& map, const Expr& position) {
  Expr below = floor_of(position), end = f64(static_cast<double>(map.in + 4));
  Expr near = select(below < end, below, end);
  return te::cast(DType::kI64, select(below > f64(-4), near, f64(-4)));
}

Expr nearest_cell(const AxisMap& map, const Expr& position, const std::string& rounding) {
  Expr part = position - floor_of(position), up = part > f64(0.5);
  if (rounding == "round_prefer_ceil") up = part >= f64(0.5);
  if (rounding == "floor") up = te::int_constant(DType::kBool, 0);
  if (rounding == "ceil") up = part > f64(0);
  return clamped(floor_cell_in(map, position) + te::cast(DType::kI64, up), 0, map.in - 1);
}

// Returns true when output cells may lie outside of x, and get the extrapolation value.
bool crops(const AxisMap& map) { return map.coordinates == "tf_crop_and_resize"; }
Expr is_outside(const AxisMap& map, const Expr& y) {
  Expr at = position_of(map, y);
  return at < f64(0) || at > f64(static_cast<double>(map.in - 1));
}

using Cell = std::function<Expr(const Expr& y)>;

// Returns cells as y / factor or y * factor where that is exact; else from a table.
Cell nearest_cells(te::Builder& builder, const AxisMap& map, const std::string& rounding) {
  bool divides = map.in > 0 && map.out % map.in == 0,
       multiplies = map.out > 0 && map.in % map.out == 0;
  int64_t up = divides ? map.out / map.in : 1, down = multiplies ? map.in / map.out : 1;
  for (int64_t y = 0; y < map.out && (divides || multiplies); ++y) {
    int64_t cell = nearest_cell(map, map.position(y), rounding);
    divides = divides && cell == y / up;
    multiplies = multiplies && cell == y * down;
  }
  if (divides) return [up](const Expr& y) { return up == 1 ? y : floor_div(y, up); };
  if (multiplies) return [down](const Expr& y) { return y * down; };
  Tensor table = builder.compute("cells", {map.out}, [&](const Exprs& i) {
    return nearest_cell(map, position_of(map, i[0]), rounding);
  });
  return [table](const Expr& y) { return table(y); };
}

struct AxisTapsExpr {
  int64_t count;
  Tensor cells, weights;  // [out, count]; absent when count is 1
};

// Returns the position that taps are counted from: of linear ones at least 0, as in ONNX Runtime.
Expr tap_position(const AxisMap& map, const Expr& y, bool cubic, const Attrs& attrs) {
  const Expr at = position_of(map, y);
  if (cubic || attrs.b("exclude_outside", false)) return at;
  return select(at < f64(0), f64(0), at);
}

Exprs weights_of(const AxisMap& map, const Expr& y, const Expr& first, bool cubic,
                 const Attrs& attrs) {
  Expr at = tap_position(map, y, cubic, attrs), part = at - floor_of(at);
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
    const Expr is_edge = first >= Expr(map.in - 1);  // both read one cell
    for (Expr& weight : weights) weight = select(is_edge, f64(0.5), weight);
    return weights;
  }
  Expr total = f64(0);
  for (size_t k = 0; k < weights.size(); ++k) {
    Expr inside = is_within(first + static_cast<int64_t>(k), map.in);
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

AxisTapsExpr antialiased_taps(te::Builder& builder, const AxisMap& map, DType dtype,
                              const Attrs& attrs) {
  const bool cubic = attrs.s("mode", "nearest") == "cubic";
  const Antialias filter(map, cubic);
  auto cell_of = [&](const Exprs& i) {
    return floor_cell_in(map, position_of(map, i[0])) + filter.begin + i[1];
  };
  AxisTapsExpr taps{filter.count, {}, {}};
  taps.cells = builder.compute("cells", {map.out, filter.count},
                               [&](const Exprs& i) { return clamped(cell_of(i), 0, map.in - 1); });
  Tensor raw = builder.compute("kernel", {map.out, filter.count}, [&](const Exprs& i) {
    Expr distance = te::cast(DType::kF64, cell_of(i)) - position_of(map, i[0]);
    Expr weight = kernel_at(f64(filter.scale) * distance, cubic, attrs.f("cubic_coeff_a", -0.75));
    if (!attrs.b("exclude_outside", false)) return weight;
    return select(is_within(cell_of(i), map.in), weight, f64(0));
  });
  Tensor total = builder.reduce("total", {map.out}, {filter.count}, te::sum_of(DType::kF64),
                                [&](const Exprs& i, const Exprs& r) { return raw(i[0], r[0]); });
  taps.weights = builder.compute("weights", {map.out, filter.count}, [&](const Exprs& i) {
    return te::cast(dtype, raw(i[0], i[1]) / total(i[0]));
  });
  return taps;
}

AxisTapsExpr make_taps(te::Builder& builder, const AxisMap& map, DType dtype, const Attrs& attrs) {
  bool cubic = attrs.s("mode", "nearest") == "cubic";
  if (map.in == map.out && map.scale == 1 && !crops(map)) return {1, {}, {}};
  if (attrs.b("antialias", false)) return antialiased_taps(builder, map, dtype, attrs);
  AxisTapsExpr taps{cubic ? 4 : 2, {}, {}};
  auto first_of = [&](const Expr& y) {
    Expr cell = floor_cell_in(map, tap_position(map, y, cubic, attrs));
    return cubic ? cell - 1 : cell;
  };
  taps.cells = builder.compute("cells", {map.out, taps.count}, [&](const Exprs& i) {
    return clamped(first_of(i[0]) + i[1], 0, map.in - 1);
  });
  taps.weights = builder.compute("weights", {map.out, taps.count}, [&](const Exprs& i) {
    Exprs weights = weights_of(map, i[0], first_of(i[0]), cubic, attrs);
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
                    const std::vector<AxisMap>& maps, const Attrs& attrs) {
  BYOC_CHECK(maps.size() == x.rank(), maps.size(), " dims are resized of rank ", x.rank());
  DType dtype = computing_dtype(x.dtype());
  std::vector<AxisTapsExpr> taps;
  Exprs over;
  for (const AxisMap& map : maps) {
    taps.push_back(make_taps(builder, map, dtype, attrs));
    if (taps.back().count > 1) over.push_back(taps.back().count);
  }
  if (over.empty()) over.push_back(1);  // no dim changes
  return sum_over(builder, "resize", te::extents_of(*out[0]), over, dtype,
                  [&](const Exprs& i, const Exprs& r) {
                    Exprs at = i;
                    Expr weight;
                    for (size_t d = 0, next = 0; d < maps.size(); ++d) {
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
  TensorType type{x.dtype(), make_shape(extents(x))};
  bool is_nearest = attrs.s("mode", "nearest") == "nearest";
  std::vector<AxisMap> maps;
  for (size_t d = 0; d < x.rank(); ++d) maps.push_back(make_map(d, type, out[0], attrs));
  std::vector<Cell> cells;
  Tensor sums;
  for (const AxisMap& map : maps) {
    if (is_nearest)
      cells.push_back(nearest_cells(builder, map, attrs.s("nearest", "round_prefer_floor")));
  }
  if (!is_nearest) sums = interpolated(builder, x, out, maps, attrs);
  bool may_be_outside = std::any_of(maps.begin(), maps.end(), crops);
  if (!is_nearest && !may_be_outside) return one(stored_as(builder, "resize", x.dtype(), sums));
  return one(builder.compute("resize", te::extents_of(*out[0]), [&](const Exprs& i) {
    Exprs at = i;
    for (size_t d = 0; d < cells.size(); ++d) at[d] = cells[d](i[d]);
    Expr value = is_nearest ? x(at) : converted_to(x.dtype(), sums(i));
    for (size_t d = 0; may_be_outside && d < maps.size(); ++d)
      value = select(is_outside(maps[d], i[d]),
                     literal(x.dtype(), attrs.f("extrapolation_value", 0)), value);
    return value;
  }));
}

}  // namespace byoc::op
