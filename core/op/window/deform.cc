// SPDX-License-Identifier: Apache-2.0
// deform_rows: the samples of a deformable convolution, which is then a product with the weight.
// Source: ONNX opsets 19 and 22, DeformConv; arXiv:1703.06211 and arXiv:1811.11168.
#include <limits>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/sample.h"
#include "core/op/kernel/window.h"

namespace byoc::op {
namespace {

constexpr const char* kOp = "deform_rows";

// x [n, c, spatial...]; rows [n, group, cells..., blocks / group * taps, c / blocks]. Channels of
// one block are in one group of the product and in one group of offsets.
struct DeformPlan {
  std::vector<Window> windows;
  int64_t taps = 1, offset_groups = 1, groups = 1, blocks = 1;
  size_t rank() const { return windows.size(); }
  int64_t blocks_of_row() const { return blocks / groups; }
  int64_t offset_group_of(int64_t block) const { return block / (blocks / offset_groups); }

  // Returns the indices of tap number `tap` in the kernel.
  std::vector<int64_t> tap_at(int64_t tap) const {
    std::vector<int64_t> at(rank());
    for (size_t d = rank(); d-- > 0; tap /= windows[d].kernel) at[d] = tap % windows[d].kernel;
    return at;
  }
};

Status misfit(std::string what, Types in) {
  return invalid(cat(kOp, ": ", what, " (x ", in[0], ", offset ", in[1], ")"))
      .with_slug("op-shape");
}

// Checks that `type` is [n, channels, cells...].
Status check_field(const char* name, TypeId type, Types in, int64_t channels, const Shape& y) {
  Shape expected = y;
  expected[1] = channels;
  if (type->shape == expected) return {};
  return misfit(cat(name, " is ", type, ", expected the shape ", expected), in);
}

Result<DeformPlan> read_plan(Types in, const Attrs& attrs) {
  const size_t rank = attrs.ints("kernel_shape").size();
  if (rank < 1 || rank > kMostSpatial)
    return invalid(cat(kOp, ": kernel_shape has ", rank, " entries, expected 1 to 3"));
  BYOC_TRY_STATUS(expect_rank(kOp, "x", in[0], rank + 2));
  DeformPlan plan{{}, 1, attrs.i("offset_group", 1), attrs.i("group", 1)};
  BYOC_TRY(plan.windows, read_windows(kOp, attrs, attrs.ints("kernel_shape")));
  for (const Window& window : plan.windows) {
    if (__builtin_mul_overflow(plan.taps, window.kernel, &plan.taps) || plan.taps >= int64_t{1}
                                                                                         << 31)
      return Status(Code::kOutOfRange, cat(kOp, ": the kernel has 2^31 cells or more"));
  }
  Dim c = in[0]->shape[1];
  const auto divides = [&](int64_t groups) {
    return groups >= 1 && c.is_static() && c.extent() % groups == 0;
  };
  if (!divides(plan.offset_groups))
    return misfit(cat("the channels do not divide into ", plan.offset_groups, " groups of offsets"),
                  in);
  if (!divides(plan.groups))
    return misfit(cat("the channels do not divide into ", plan.groups, " groups"), in);
  if (std::max(plan.groups, plan.offset_groups) >= int64_t{1} << 31)  // there are no channels
    return Status(Code::kOutOfRange, cat(kOp, ": there are 2^31 groups or more"));
  plan.blocks = std::lcm(plan.groups, plan.offset_groups);
  return plan;
}

Result<std::vector<TensorType>> infer_deform(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype(kOp, "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(kOp, in));
  BYOC_TRY(DeformPlan plan, read_plan(in, attrs));
  const int64_t rank = static_cast<int64_t>(plan.rank()), channels = in[0]->shape[1].extent();
  TensorType y{in[0]->dtype, {in[0]->shape[0], Dim(0)}};
  int64_t row = 0, offsets = 0;
  if (__builtin_mul_overflow(channels, plan.taps, &row) ||
      __builtin_mul_overflow(plan.offset_groups * rank, plan.taps, &offsets))
    return Status(Code::kOutOfRange, cat(kOp, ": the rows do not fit in 63 bits"));
  for (size_t d = 0; d < plan.rank(); ++d) {
    BYOC_TRY(Dim extent, window_extent(kOp, in[0]->shape[2 + d], plan.windows[d]));
    y.shape.push_back(extent);
  }
  BYOC_TRY_STATUS(check_field("offset", in[1], in, offsets, y.shape));
  if (in.size() > 2)
    BYOC_TRY_STATUS(check_field("mask", in[2], in, plan.offset_groups * plan.taps, y.shape));
  y.shape[1] = plan.groups;
  y.shape.push_back(plan.blocks_of_row() * plan.taps);
  y.shape.push_back(channels / plan.blocks);
  return one_result(std::move(y));
}

// Extents of one call.
struct DeformSizes {
  int64_t n, c, cells = 1, image = 1;
  std::vector<int64_t> x, y;  // spatial

  DeformSizes(const Shape& in, const Shape& out) : n(in[0].extent()), c(in[1].extent()) {
    BYOC_CHECK(in.size() + 2 == out.size(), "rank ", in.size(), " becomes rank ", out.size());
    for (size_t d = 2; d < in.size(); ++d) {
      x.push_back(in[d].extent()), y.push_back(out[d].extent());
      image *= x.back(), cells *= y.back();
    }
  }
};

// Fills the results of one channel and tap, which are `step` elements apart. `group` counts over
// images and groups of offsets.
template <class T>
void sample_tap(const DeformPlan& plan, const DeformSizes& size, const void* const* in,
                bool has_mask, const T* x, int64_t group, int64_t tap, T* y, int64_t step) {
  const auto rank = static_cast<int64_t>(plan.rank());
  const T* offset = in_as<T>(in, 1) + (group * plan.taps + tap) * rank * size.cells;
  const T* mask = has_mask ? in_as<T>(in, 2) + (group * plan.taps + tap) * size.cells : nullptr;
  const std::vector<int64_t> tap_at = plan.tap_at(tap);
  BYOC_CHECK(plan.rank() <= kMostSpatial && size.x.size() == plan.rank(), plan.rank(),
             " windows in ", size.x.size(), " dims");
  std::array<SampleTaps, kMostSpatial> taps;
  for (int64_t cell = 0; cell < size.cells; ++cell) {
    int64_t rest = cell;
    for (size_t d = plan.rank(); d-- > 0; rest /= size.y[d]) {
      const Window& w = plan.windows[d];
      int64_t corner = rest % size.y[d] * w.stride - w.pad_begin + tap_at[d] * w.dilation;
      double shift = static_cast<double>(offset[static_cast<int64_t>(d) * size.cells + cell]);
      taps[d] = linear_taps(static_cast<double>(corner) + shift, size.x[d]);
    }
    double value = sampled(x, std::span(size.x), taps);
    if (mask) value *= static_cast<double>(mask[cell]);
    y[cell * step] = static_cast<T>(value);
  }
}

Result<RefKernel> reference_deform(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(DeformPlan plan, read_plan(in, attrs));
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  DeformSizes size(in[0]->shape, out[0]->shape);
  const bool has_mask = in.size() > 2;
  return for_dtype(kOp, in[0]->dtype, FloatTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      const int64_t piece = size.c / plan.blocks, entries = plan.blocks_of_row() * plan.taps;
      for (int64_t channel = 0; channel < size.n * size.c; ++channel) {
        const int64_t image = channel / size.c, block = channel % size.c / piece;
        const int64_t offsets = image * plan.offset_groups + plan.offset_group_of(block);
        const int64_t group = image * plan.groups + block / plan.blocks_of_row();
        for (int64_t tap = 0; tap < plan.taps; ++tap) {
          const int64_t entry = block % plan.blocks_of_row() * plan.taps + tap;
          T* y = out_as<T>(to, 0) + (group * size.cells * entries + entry) * piece +
                 channel % size.c % piece;
          sample_tap(plan, size, from, has_mask, in_as<T>(from, 0) + channel * size.image, offsets,
                     tap, y, entries * piece);
        }
      }
    };
  });
}

// Where each tap of each cell samples, for all channels of an offset group: per dim the cell before
// the position, and per cell around the position its weight. [n, offset groups * taps, cells...]
struct DeformPlaces {
  std::vector<Tensor> cells, weights;
};

// Returns a weight in the type of the sums. One above 0 stays so: times an infinity it is no NaN.
Expr narrowed(DType computing, const Expr& weight) {
  const Expr value = te::cast(computing, weight);
  if (computing == DType::kF64) return value;
  const double least = std::numeric_limits<float>::denorm_min();
  return select(f64(0) < weight, max(value, te::constant(computing, least)), value);
}

// Cells are counted from the first of the zeros around an image (image_of). A position far outside
// is between the two zeros after the last cell.
DeformPlaces places_of(te::Builder& builder, const DeformPlan& plan, const Tensor& offset,
                       const Ints& x, const Exprs& shape, DType computing) {
  const auto rank = static_cast<int64_t>(plan.rank());
  DeformPlaces places;
  std::vector<Tensor> parts;
  int64_t inner = plan.taps;
  for (size_t d = 0; d < plan.rank(); ++d) {
    const Window& w = plan.windows[d];
    inner /= w.kernel;
    const int64_t below = inner;
    const Tensor position = builder.compute(cat("position", d), shape, [&](const Exprs& i) {
      const Expr tap = floor_mod(floor_div(i[1], below), w.kernel);
      const Expr corner = i[2 + d] * w.stride - w.pad_begin + tap * w.dilation;
      Exprs at = i;
      at[1] = i[1] * rank + static_cast<int64_t>(d);
      return te::cast(DType::kF64, corner) + te::cast(DType::kF64, widened(offset(at)));
    });
    const auto taps_at = [&](const Exprs& i) { return linear_taps(position(i), x[2 + d]); };
    places.cells.push_back(builder.compute(cat("cell", d), shape, [&](const Exprs& i) {
      const TapsExpr taps = taps_at(i);
      return select(taps.near, taps.cells[0] + 1, Expr(x[2 + d] + 1));
    }));
    parts.push_back(builder.compute(cat("part", d), shape, [&](const Exprs& i) {
      const TapsExpr taps = taps_at(i);
      return select(taps.near, taps.weights[1], f64(0));
    }));
  }
  for (size_t which = 0; which < size_t{1} << plan.rank(); ++which) {
    places.weights.push_back(builder.compute(cat("weight", which), shape, [&](const Exprs& i) {
      Expr weight;
      for (size_t d = 0; d < plan.rank(); ++d) {
        const Expr part = parts[d](i), own = (which >> d & 1) != 0 ? part : f64(1) - part;
        weight = weight.is_empty() ? own : weight * own;
      }
      return narrowed(computing, weight);
    }));
  }
  return places;
}

// Returns x with channels last, so that all channels of a cell are read together, between zeros:
// one before the first cell of each dim, and two after the last.
Tensor image_of(te::Builder& builder, const Tensor& x, const Ints& shape) {
  const size_t rank = shape.size() - 2;
  Exprs padded = {shape[0]};
  for (size_t d = 0; d < rank; ++d) padded.push_back(shape[2 + d] + 3);
  padded.push_back(shape[1]);
  return builder.compute("image", padded, [&](const Exprs& i) {
    Exprs at = {i[0], i[rank + 1]}, conditions;
    for (size_t d = 0; d < rank; ++d) {
      at.push_back(i[1 + d] - 1);
      conditions.push_back(is_within(at.back(), shape[2 + d]));
    }
    const Expr value = widened(x(at));
    return select(all_of(conditions), value, zero(value.dtype()));
  });
}

Result<Tensors> compute_deform(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  std::vector<TypeId> types;
  for (const Tensor& tensor : in)
    types.push_back(TensorType{tensor.dtype(), make_shape(extents(tensor))});
  BYOC_TRY(DeformPlan plan, read_plan(types, attrs));
  const Ints x = extents(in[0]);
  const Exprs shape = te::extents_of(*out[0]);
  const size_t rank = plan.rank();
  const int64_t piece = x[1] / plan.blocks;
  Exprs places_shape(shape.begin(), shape.begin() + static_cast<ptrdiff_t>(rank) + 2);
  places_shape[1] = plan.offset_groups * plan.taps;
  const DeformPlaces places =
      places_of(builder, plan, in[1], x, places_shape, computing_dtype(in[0].dtype()));
  const Tensor image = image_of(builder, in[0], x);
  return one(builder.compute(kOp, shape, [&](const Exprs& i) {
    BYOC_CHECK(i.size() == rank + 4, i.size(), " indices for ", rank, " windows");
    const Expr tap = floor_mod(i[rank + 2], plan.taps);
    const Expr block = i[1] * plan.blocks_of_row() + floor_div(i[rank + 2], plan.taps);
    Exprs at(i.begin(), i.begin() + static_cast<ptrdiff_t>(rank) + 2);
    at[1] = floor_div(block, plan.blocks / plan.offset_groups) * plan.taps + tap;
    Expr sum;
    for (size_t which = 0; which < places.weights.size(); ++which) {
      Exprs from = {i[0]};
      for (size_t d = 0; d < rank; ++d)
        from.push_back(places.cells[d](at) + static_cast<int64_t>(which >> d & 1));
      from.push_back(block * piece + i[rank + 3]);
      const Expr term = places.weights[which](at) * image(from);
      sum = sum.is_empty() ? term : sum + term;
    }
    if (in.size() > 2) sum = sum * widened(in[2](at));
    return converted_to(in[0].dtype(), sum);
  }));
}

}  // namespace

void add_deform_ops(OpRegistry& ops) {
  ops.add({.name = kOp,
           .doc = "The cells of x under each window of a convolution, each moved by its offset and "
                  "sampled linearly (0 outside of x), times the mask. A window is a row of b / "
                  "group blocks, which have k cells of c / b channels each; b is the least common "
                  "multiple of group and offset_group.",
           .inputs = {{"x", "float [n, c, spatial...], rank 3 to 5"},
                      {"offset",
                       "as x: [n, offset_group * k * dims, cells...], k: cells of the kernel"},
                      {"mask", "as x: [n, offset_group * k, cells...]; 1 when left out", true}},
           .outputs = {{"y", "[n, group, cells..., b / group * k, c / b]"}},
           .attrs = {{"kernel_shape", Ints{}, "one per spatial dim", AttrSpec::kRequired},
                     {"strides", Ints{}, "one per spatial dim; empty: all 1"},
                     {"pads", Ints{}, "begins, then ends; empty: all 0"},
                     {"dilations", Ints{}, "one per spatial dim; empty: all 1"},
                     {"offset_group", int64_t{1}, "groups of channels with offsets of their own"},
                     {"group", int64_t{1}, "groups of channels whose rows are apart"}},
           .infer = infer_deform,
           .reference = reference_deform,
           .compute = compute_deform,
           .flops = [](Types in, Types out, const Attrs&) {
             return std::ldexp(2.0, static_cast<int>(in[0]->shape.size()) - 2) * flop_count(out[0]);
           }});
}

}  // namespace byoc::op
