// SPDX-License-Identifier: Apache-2.0
// resize: nearest, linear and cubic interpolation over any dims, with ONNX's coordinate rules.
// Source: ONNX opsets 13 and 19, Resize, and its reference implementation (its output width is the
// unrounded extent * scale where scales are given, which matters for align_corners).
#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/kernel/resize.h"

namespace byoc::op {
AxisMap make_map(size_t d, TypeId x, TypeId y, const Attrs& attrs) {
  BYOC_CHECK(d < x->shape.size() && d < y->shape.size(), "dim ", d, " of ", x, " and ", y);
  const auto number = [](Dim dim) { return dim.is_static() ? dim.extent() : 0; };
  AxisMap map{.in = number(x->shape[d]),
              .out = number(y->shape[d]),
              .coordinates = attrs.s("coordinates", "half_pixel")};
  Floats scales = attrs.floats("scales"), roi = attrs.floats("roi");
  map.scale =
      scales.empty() ? static_cast<double>(map.out) / static_cast<double>(map.in) : scales[d];
  map.width = map.scale * static_cast<double>(map.in);
  if (map.coordinates == "tf_crop_and_resize")  // other rules may come with a list of any length
    map.roi_begin = roi[d], map.roi_end = roi[x->shape.size() + d];
  return map;
}

// Returns the input cell that a position is rounded to.
int64_t nearest_cell(const AxisMap& map, double position, const std::string& rounding) {
  BYOC_CHECK(map.in > 0, "the nearest one of ", map.in, " cells");
  double part = position - std::floor(position);
  bool up = part > 0.5;
  if (rounding == "round_prefer_ceil") up = part >= 0.5;
  if (rounding == "floor") up = false;
  if (rounding == "ceil") up = part > 0;
  return std::clamp<int64_t>(map.floor_cell(position) + up, 0, map.in - 1);
}

namespace {

constexpr std::string_view kResizeModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kCoordinates[] = {
    "half_pixel",           "pytorch_half_pixel", "align_corners",       "asymmetric",
    "tf_half_pixel_for_nn", "tf_crop_and_resize", "half_pixel_symmetric"};
constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};

// A cell of the result has about four taps, divided by the scale.
constexpr double kLeastSmoothScale = 0x1p-31;

Status one_of(const Attrs& attrs, const char* name, std::span<const std::string_view> words,
              TypeId x) {
  std::string word = attrs.s(name, words[0]);
  if (std::find(words.begin(), words.end(), word) != words.end()) return {};
  return invalid(cat("resize: ", name, " is \"", word, "\" (x ", x, ")"));
}

// Returns the extents that are given: sizes that were open have become the attribute `shape`.
Ints sizes_of(const Attrs& attrs) { return attrs.ints(attrs.has("shape") ? "shape" : "sizes"); }

Status check_attrs(TypeId x, const Attrs& attrs) {
  BYOC_TRY_STATUS(one_of(attrs, "mode", kResizeModes, x));
  BYOC_TRY_STATUS(one_of(attrs, "coordinates", kCoordinates, x));
  BYOC_TRY_STATUS(one_of(attrs, "nearest", kNearest, x));
  bool is_nearest = attrs.s("mode", "nearest") == "nearest";
  if (is_nearest && attrs.b("antialias", false))
    return invalid(cat("resize: antialias requires the mode linear or cubic (x ", x, ")"));
  if (!is_nearest) BYOC_TRY_STATUS(expect_dtype("resize", "x", x, dtypes_of(FloatTypes{})));
  Ints sizes = sizes_of(attrs);
  Floats scales = attrs.floats("scales"), roi = attrs.floats("roi");
  size_t rank = x->shape.size();
  if (sizes.empty() && scales.empty() && !attrs.has(kOpenShapeAttr) && rank > 0)
    return shape_error("resize: neither sizes nor scales are given", x);
  if (!sizes.empty() && sizes.size() != rank)
    return shape_error(cat("resize: sizes has ", sizes.size(), " entries, expected ", rank), x);
  if (!scales.empty() && scales.size() != rank)
    return shape_error(cat("resize: scales has ", scales.size(), " entries, expected ", rank), x);
  for (double scale : scales) {
    if (attrs.b("antialias", false) && !(scale >= kLeastSmoothScale))
      return shape_error(cat("resize: antialias with a scale of ", scale), x);
  }
  bool crops = attrs.s("coordinates", "half_pixel") == "tf_crop_and_resize";
  if (crops && roi.size() != 2 * rank)
    return shape_error(cat("resize: roi has ", roi.size(), " entries, expected ", 2 * rank), x);
  return {};
}

// Returns floor(in * scale) of an open extent, where the scale is a whole number of 64ths and f32
// holds every product exactly.
Result<Dim> open_scaled_extent(Dim in, double scale, size_t d, TypeId x) {
  constexpr int64_t kParts = 64, kExact = int64_t{1} << 24;
  const double parts = scale * kParts;
  const bool is_exact = parts == std::floor(parts) && parts < kExact && !in.is_counted() &&
                        in.max() <= kExact && static_cast<double>(in.max()) * parts <= kExact;
  if (!is_exact) {
    return invalid(cat("resize: dim ", d, " must be known (x ", x, ")"))
        .with_slug("symbolic-shape");
  }
  int64_t times = static_cast<int64_t>(parts), divisor = kParts;
  for (; times % 2 == 0 && divisor > 1; divisor /= 2) times /= 2;
  BYOC_TRY(const Dim product, dim_product(in, Dim(times)));
  return dim_quotient(product, divisor);
}

// Returns floor(in * scale) in f32, the precision that scales have in models.
Result<Dim> scaled_extent(Dim in, double scale, size_t d, TypeId x) {
  if (!(scale > 0))
    return shape_error(cat("resize: scale ", scale, " of dim ", d, " is not positive"), x);
  if (scale == 1) return in;
  if (!in.is_static()) return open_scaled_extent(in, scale, d, x);
  float extent = std::floor(static_cast<float>(in.extent()) * static_cast<float>(scale));
  if (extent < 0x1p62f) return Dim(static_cast<int64_t>(extent));
  return Status(Code::kOutOfRange,
                cat("resize: dim ", d, " times ", scale, " does not fit in 63 bits (x ", x, ")"));
}

// Infers extents of which some are open, as are some of x.
Result<std::vector<TensorType>> infer_open_sizes(TypeId x, const Attrs& attrs) {
  BYOC_TRY(Shape shape, open_shape_of(attrs));
  if (shape.size() != x->shape.size())
    return shape_error(cat("resize: ", kOpenShapeAttr, " has ", shape.size(), " dims"), x);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].max() > 0 && x->shape[d].min() == 0 && shape[d] != x->shape[d])
      return shape_error(cat("resize: dim ", d, " may have no cells"), x);
  }
  return one_result({x->dtype, std::move(shape)});
}

Result<std::vector<TensorType>> infer_resize(Types in, const Attrs& attrs) {
  TypeId x = in[0];
  BYOC_TRY_STATUS(check_attrs(x, attrs));
  Ints sizes = sizes_of(attrs);
  Floats scales = attrs.floats("scales");
  if (attrs.has(kOpenShapeAttr)) return infer_open_sizes(x, attrs);
  TensorType y = *x;
  for (size_t d = 0; d < y.shape.size(); ++d) {
    if (sizes.empty()) {
      BYOC_TRY(y.shape[d], scaled_extent(y.shape[d], scales[d], d, x));
    } else {
      if (sizes[d] < 0) return shape_error(cat("resize: sizes holds ", sizes[d]), x);
      if (!y.shape[d].is_static())
        return invalid(cat("resize: dim ", d, " must be known (x ", x, ")"))
            .with_slug("symbolic-shape");
      y.shape[d] = sizes[d];
    }
    if (y.shape[d] != Dim(0) && x->shape[d] == Dim(0))
      return shape_error(cat("resize: dim ", d, " has no cells"), x);
  }
  return one_result(std::move(y));
}

RefKernel nearest_kernel(TypeId x, TypeId y, const Attrs& attrs) {
  std::vector<int64_t> strides = row_major_strides(static_extents(x->shape));
  std::vector<std::vector<int64_t>> tables(strides.size());
  std::string rounding = attrs.s("nearest", "round_prefer_floor");
  for (size_t d = 0; d < tables.size(); ++d) {
    AxisMap map = make_map(d, x, y, attrs);
    for (int64_t k = 0; k < map.out; ++k) {
      double at = map.position(k);
      tables[d].push_back(map.is_outside(at) ? -1 : nearest_cell(map, at, rounding) * strides[d]);
    }
  }
  return table_kernel(x->dtype, tables, bits_of(x->dtype, attrs.f("extrapolation_value", 0)));
}

// The cells (as offsets) and weights of each output cell of one dim; `count` of them each.
struct AxisTaps {
  size_t count = 1;
  std::vector<int64_t> offsets;
  std::vector<double> weights;
  std::vector<bool> outside;  // the output cell gets the extrapolation value
};

std::vector<double> tap_weights(double part, bool cubic, double a) {
  if (!cubic) return {1 - part, part};
  auto near = [a](double t) { return ((a + 2) * t - (a + 3)) * t * t + 1; };
  auto far = [a](double t) { return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a; };
  return {far(1 + part), near(part), near(1 - part), far(2 - part)};
}

// Returns the interpolation's kernel at a distance from its centre.
double kernel_at(double distance, bool cubic, double a) {
  double t = std::fabs(distance);
  if (!cubic) return std::max(1 - t, 0.0);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// Makes the taps of an antialiased dim. Their weights are divided by the sum.
AxisTaps antialiased_taps(const AxisMap& map, int64_t stride, const Attrs& attrs) {
  bool cubic = attrs.s("mode", "nearest") == "cubic", exclude = attrs.b("exclude_outside", false);
  const Antialias filter(map, cubic);
  AxisTaps taps{.count = static_cast<size_t>(filter.count)};
  for (int64_t y = 0; y < map.out; ++y) {
    const double at = map.position(y);
    taps.outside.push_back(map.is_outside(at));
    double total = 0;
    for (int64_t k = 0; k < filter.count; ++k) {
      int64_t cell = map.floor_cell(at) + filter.begin + k,
              inside = std::clamp<int64_t>(cell, 0, map.in - 1);
      double weight = kernel_at(filter.scale * (static_cast<double>(cell) - at), cubic,
                                attrs.f("cubic_coeff_a", -0.75));
      if (exclude && cell != inside) weight = 0;
      total += weight;
      taps.offsets.push_back(inside * stride);
      taps.weights.push_back(weight);
    }
    for (size_t k = taps.weights.size() - taps.count; k < taps.weights.size(); ++k)
      taps.weights[k] /= total;
  }
  return taps;
}

AxisTaps make_taps(const AxisMap& map, int64_t stride, const Attrs& attrs) {
  bool is_kept = map.in == map.out && map.scale == 1 && map.coordinates != "tf_crop_and_resize";
  if (attrs.b("antialias", false) && !is_kept) return antialiased_taps(map, stride, attrs);
  bool cubic = attrs.s("mode", "nearest") == "cubic", exclude = attrs.b("exclude_outside", false);
  AxisTaps taps{.count = cubic ? size_t{4} : size_t{2}};
  if (is_kept) taps.count = 1;
  for (int64_t y = 0; y < map.out; ++y) {
    double at = map.position(y);
    taps.outside.push_back(map.is_outside(at));
    if (taps.count == 2 && !exclude) at = std::max(at, 0.0);  // as in ONNX Runtime
    const double part = at - std::floor(at);
    std::vector<double> weights = taps.count == 1
                                      ? std::vector<double>{1}
                                      : tap_weights(part, cubic, attrs.f("cubic_coeff_a", -0.75));
    int64_t first = taps.count == 1 ? y : map.floor_cell(at) - (cubic ? 1 : 0);
    const bool is_edge = taps.count == 2 && first >= map.in - 1;
    if (is_edge && !exclude) weights = {0.5, 0.5};  // of one cell
    double total = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      int64_t cell = first + static_cast<int64_t>(k),
              inside = std::clamp<int64_t>(cell, 0, map.in - 1);
      if (exclude && cell != inside) weights[k] = 0;
      total += weights[k];
      taps.offsets.push_back(inside * stride);
    }
    BYOC_CHECK(weights.size() == taps.count, weights.size(), " weights of ", taps.count, " taps");
    for (double weight : weights) taps.weights.push_back(exclude ? weight / total : weight);
  }
  return taps;
}

// f32 for f32, as in ONNX Runtime: values of quantised images are often next to ties of the
// integers after them, where the roundings of the sum decide.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, float>, float, double>;

// Sums over all combinations of taps of the dims, the last dim innermost.
template <class T>
Sum<T> interpolate(const T* x, const std::vector<AxisTaps>& dims,
                   const std::array<size_t, kMaxRank>& y) {
  std::array<size_t, kMaxRank> tap{};
  Sum<T> sum = 0;
  for (bool more = true; more;) {
    Sum<T> weight = 1;
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      size_t at = y[d] * dims[d].count + tap[d];
      weight *= static_cast<Sum<T>>(dims[d].weights[at]);
      offset += dims[d].offsets[at];
    }
    sum += weight * static_cast<Sum<T>>(x[offset]);
    more = false;
    for (size_t d = dims.size(); d-- > 0 && !more;) {
      more = ++tap[d] < dims[d].count;
      if (!more) tap[d] = 0;
    }
  }
  return sum;
}

template <class T>
RefKernel interpolating_kernel(std::vector<AxisTaps> dims, std::vector<int64_t> extents,
                               double extrapolation) {
  BYOC_CHECK(dims.size() == extents.size() && dims.size() <= kMaxRank, dims.size(),
             " dims of taps for rank ", extents.size());
  return [=](const void* const* in, void* const* out) {
    T* to = out_as<T>(out, 0);
    std::array<size_t, kMaxRank> y{};
    for (bool more = true; more;) {
      bool outside = false;
      for (size_t d = 0; d < dims.size(); ++d) outside = outside || dims[d].outside[y[d]];
      *to++ = static_cast<T>(outside ? extrapolation : interpolate(in_as<T>(in, 0), dims, y));
      more = false;
      for (size_t d = dims.size(); d-- > 0 && !more;) {
        more = ++y[d] < static_cast<size_t>(extents[d]);
        if (!more) y[d] = 0;
      }
    }
  };
}

Result<RefKernel> reference_resize(Types in, Types out, const Attrs& attrs) {
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  for (size_t d = 0; d < out[0]->shape.size(); ++d)
    BYOC_TRY_STATUS(check_table("resize", out[0], d));
  if (attrs.s("mode", "nearest") == "nearest") return nearest_kernel(in[0], out[0], attrs);
  std::vector<int64_t> strides = row_major_strides(static_extents(in[0]->shape));
  std::vector<AxisTaps> dims;
  for (size_t d = 0; d < strides.size(); ++d)
    dims.push_back(make_taps(make_map(d, in[0], out[0], attrs), strides[d], attrs));
  return for_dtype("resize", in[0]->dtype, FloatTypes{}, [&]<class T>() {
    return interpolating_kernel<T>(dims, static_extents(out[0]->shape),
                                   attrs.f("extrapolation_value", 0));
  });
}

// Counts a multiply-add per tap of the dims that change.
double flops_resize(Types in, Types out, const Attrs& attrs) {
  std::string mode = attrs.s("mode", "nearest");
  double per_output = mode == "nearest" ? 0 : 2;
  for (size_t d = 0; d < in[0]->shape.size(); ++d) {
    if (in[0]->shape[d] != out[0]->shape[d]) per_output *= mode == "cubic" ? 4 : 2;
  }
  return per_output * flop_count(out[0]);
}

}  // namespace

void add_resize_ops(OpRegistry& ops) {
  ops.add({.name = "resize",
           .doc = "x sampled on another grid. One of sizes and scales is given, or both: then "
                  "sizes are the extents "
                  "and scales place the cells.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "nearest: any type; linear, cubic: float"}},
           .attrs =
               {{"sizes", Ints{}, "extents of all dims"},
                {"shape", Ints{}, "the same, of dims that were open", AttrSpec::kOptional},
                open_shape_attr(),
                {"scales", Floats{}, "of all dims; extents are floor(in * scale)"},
                {"mode", "nearest", "nearest, linear or cubic"},
                {"coordinates", "half_pixel",
                 "half_pixel, pytorch_half_pixel, half_pixel_symmetric, align_corners, asymmetric, "
                 "tf_half_pixel_for_nn or tf_crop_and_resize, as ONNX's "
                 "coordinate_transformation_mode"},
                {"nearest", "round_prefer_floor",
                 "round_prefer_floor, round_prefer_ceil, floor or ceil"},
                {"cubic_coeff_a", -0.75, "of the cubic kernel"},
                {"exclude_outside", false,
                 "taps outside of x have no weight, instead of the edge cell's value"},
                {"antialias", false,
                 "linear, cubic: where x is shrunk, its kernel is widened by as much"},
                {"roi", Floats{}, "tf_crop_and_resize: begins, then ends, as parts of x"},
                {"extrapolation_value", 0.0, "tf_crop_and_resize: of cells outside of x"}},
           .infer = infer_resize,
           .reference = reference_resize,
           .compute = with_open_sizes(compute_resize),
           .flops = flops_resize,
           .facts = {.family = OpFamily::kResize}});
}

}  // namespace byoc::op
