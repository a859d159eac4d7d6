// SPDX-License-Identifier: Apache-2.0
// Ops whose result has the extents that operands hold, up to bounds: expand_counted,
// reshape_counted, slice_counted. as_counted gives values of different extents one type, for the
// branches of an if.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/shape/reshape.h"

namespace byoc::op {
namespace {

// Returns the attributes that give a dim per entry: a name and a bound, or a number.
std::vector<AttrSpec> dims_attrs(const char* per) {
  return {{"dims", Strings{}, cat("one per ", per, ": the name of a counted dim; empty: a number"),
           AttrSpec::kRequired},
          {"most", Ints{}, cat("one per ", per, ": the bound of a counted dim, or the number"),
           AttrSpec::kRequired}};
}

// Returns the dims that these attributes describe.
Result<Shape> dims_of(std::string_view op, const Attrs& attrs) {
  const Strings names = attrs.strings("dims");
  const Ints most = attrs.ints("most");
  if (names.size() != most.size())
    return invalid(cat(op, ": ", names.size(), " dims and ", most.size(), " bounds"));
  Shape out;
  for (size_t k = 0; k < names.size(); ++k) {
    if (most[k] < 0) return invalid(cat(op, ": most holds ", most[k]));
    if (most[k] == Dim::kUnbounded) return too_large(names[k]);
    out.push_back(names[k].empty() || most[k] == 0 ? Dim(most[k])
                                                   : Dim::counted(names[k], most[k]));
  }
  return out;
}

// Checks the dims of a run against those of the type.
Status check_extents(std::string_view op, const Shape& now, const Shape& bounds) {
  const bool fits =
      std::equal(now.begin(), now.end(), bounds.begin(), bounds.end(),
                 [](Dim a, Dim b) { return b.is_counted() ? a.extent() <= b.max() : a == b; });
  if (fits) return {};
  return Status(Code::kOutOfRange,
                cat(op, ": its result has shape ", now, ", possible is ", bounds))
      .with_slug("counted-dims");
}

// Returns an error of inference as an error of the run, whose operands cause it.
template <class T>
Result<T> of_run(Result<T> result) {
  if (result.ok()) return result;
  return Status(Code::kOutOfRange, result.status().message()).with_slug("counted-dims");
}

// ---- as_counted

Result<std::vector<TensorType>> infer_as_counted(Types in, const Attrs& attrs) {
  BYOC_TRY(Shape dims, dims_of("as_counted", attrs));
  if (dims.size() != in[0]->shape.size())
    return shape_error(cat("as_counted: ", dims.size(), " dims"), in[0]);
  for (size_t d = 0; d < dims.size(); ++d) {
    const Dim have = in[0]->shape[d];
    if (!have.is_static()) continue;  // each run checks it
    if (dims[d].is_static() ? have == dims[d] : have.extent() <= dims[d].max()) continue;
    return shape_error(cat("as_counted: dim ", d, " is not ", dims[d]), in[0]);
  }
  return one_result({in[0]->dtype, std::move(dims)});
}

Result<std::vector<TensorType>> sizes_as_counted(Types in, const void* const*, const Attrs& attrs) {
  BYOC_TRY(Shape dims, dims_of("as_counted", attrs));
  if (check_extents("as_counted", in[0]->shape, dims).ok()) return one_result(*in[0]);
  return Status(Code::kFailedPrecondition,
                cat("a value has shape ", in[0]->shape, " in this run, possible is ", dims,
                    "; where a loop has made it, compile the model with a larger --shape "
                    "max_iterations=N"))
      .with_slug("counted-dims");
}

// ---- expand_counted

// Returns the dims of the result. -1 is the dim of x, aligned at the last one.
Result<Shape> expand_dims(TypeId x, const Attrs& attrs) {
  Ints most = attrs.ints("most");
  const size_t rank = x->shape.size();
  std::vector<size_t> of_x;
  for (size_t k = 0; k < most.size(); ++k) {
    if (most[k] != -1 || k + rank < most.size()) continue;
    of_x.push_back(k);
    most[k] = 1;
  }
  Attrs numbers = attrs;
  numbers.set("most", most);
  BYOC_TRY(Shape dims, dims_of("expand_counted", numbers));
  BYOC_CHECK(dims.size() == most.size(), dims.size(), " dims for ", most.size(), " bounds");
  for (size_t k : of_x) dims[k] = x->shape[k + rank - most.size()];
  return dims;
}

Result<std::vector<TensorType>> infer_expand_counted(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("expand_counted", "shape", in[1], {DType::kI64}));
  BYOC_TRY_STATUS(expect_rank("expand_counted", "shape", in[1], 1));
  BYOC_TRY(Shape dims, expand_dims(in[0], attrs));
  if (dims.size() < in[0]->shape.size())
    return shape_error(cat("expand_counted: the result has ", dims.size(), " dims"), in[0]);
  return one_result({in[0]->dtype, std::move(dims)});
}

Result<std::vector<TensorType>> sizes_expand_counted(Types in, const void* const* data,
                                                     const Attrs& attrs) {
  const int64_t* shape = in_as<int64_t>(data, 1);
  Shape target;
  for (int64_t k = 0; k < count(in[1]); ++k) {
    if (shape[k] < 0)
      return Status(Code::kOutOfRange, cat("expand_counted: shape holds ", shape[k]));
    target.emplace_back(shape[k]);
  }
  TypeId both[] = {in[0], TensorType{in[0]->dtype, target}};
  BYOC_TRY(Shape now, of_run(broadcast_shapes("expand_counted", both)));
  BYOC_TRY(Shape dims, expand_dims(in[0], attrs));
  BYOC_TRY_STATUS(check_extents("expand_counted", now, dims));
  return one_result({in[0]->dtype, std::move(now)});
}

// The bounds may not broadcast: their kernel is prepared to find unsupported types, and never run.
Result<RefKernel> reference_expand_counted(Types in, Types out, const Attrs&) {
  return strided_kernel(in[0]->dtype, static_extents(out[0]->shape),
                        broadcast_strides(in[0]->shape, out[0]->shape));
}

// ---- reshape_counted

Result<std::vector<TensorType>> infer_reshape_counted(Types in, const Attrs& attrs) {
  BYOC_TRY_STATUS(expect_dtype("reshape_counted", "shape", in[1], {DType::kI64}));
  const auto entries = static_cast<int64_t>(attrs.ints("shape").size());
  if (in[1]->shape != Shape{entries})
    return invalid(cat("reshape_counted: expects a shape of ", entries, " entries, it is ", in[1]))
        .with_slug("op-shape");
  return infer_reshape(in.first(1), attrs);
}

// Reshapes by the elements. They must give the dims that the attribute gives.
Result<std::vector<TensorType>> sizes_reshape_counted(Types in, const void* const* data,
                                                      const Attrs& attrs) {
  const int64_t* shape = in_as<int64_t>(data, 1);
  const Attrs given{{"shape", Ints(shape, shape + count(in[1]))},
                    {"allow_zero", attrs.b("allow_zero", false)}};
  BYOC_TRY(std::vector<TensorType> types, of_run(infer_reshape(in.first(1), given)));
  BYOC_TRY(std::vector<TensorType> expected, of_run(infer_reshape(in.first(1), attrs)));
  BYOC_TRY_STATUS(check_extents("reshape_counted", types[0].shape, expected[0].shape));
  return types;
}

// ---- slice_counted

struct CountedRange {
  int64_t start = 0, count = 0, step = 1;
};

// Returns the cells start, start + step, ... before `end`, by numpy's rules.
CountedRange range_in(int64_t extent, int64_t start, int64_t end, int64_t step) {
  BYOC_CHECK(step != 0 && extent >= 0, "a step of ", step, " through ", extent, " cells");
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  auto placed = [&](int64_t at) { return std::clamp(at < 0 ? at + extent : at, low, high); };
  start = placed(start);
  end = placed(end);
  const int64_t distance = step > 0 ? end - start : start - end;
  const int64_t stride = step > 0 ? step : -step;
  return {start, distance <= 0 ? 0 : (distance - 1) / stride + 1, step};
}

struct SliceAxes {
  std::vector<size_t> axes;
  Ints steps;
};

Result<SliceAxes> slice_axes(TypeId x, const Attrs& attrs) {
  SliceAxes out{{}, attrs.ints("steps")};
  const Ints axes = attrs.ints("axes");
  BYOC_TRY_STATUS(normal_axes("slice_counted", axes, x).status());
  if (axes.size() != out.steps.size())
    return shape_error(
        cat("slice_counted: ", axes.size(), " axes and ", out.steps.size(), " steps"), x);
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis("slice_counted", axes[k], x));
    out.axes.push_back(axis);
    if (out.steps[k] == 0 || out.steps[k] == INT64_MIN)
      return shape_error(cat("slice_counted: a step is ", out.steps[k]), x);
  }
  return out;
}

Result<std::vector<TensorType>> infer_slice_counted(Types in, const Attrs& attrs) {
  BYOC_TRY(SliceAxes slice, slice_axes(in[0], attrs));
  BYOC_TRY(Shape dims, dims_of("slice_counted", attrs));
  if (dims.size() != slice.axes.size())
    return shape_error(
        cat("slice_counted: ", slice.axes.size(), " axes and ", dims.size(), " dims"), in[0]);
  const auto entries = static_cast<int64_t>(slice.axes.size());
  for (size_t k = 1; k < 3; ++k) {
    BYOC_TRY_STATUS(
        expect_dtype("slice_counted", k == 1 ? "starts" : "ends", in[k], {DType::kI64}));
    if (in[k]->shape != Shape{entries})
      return invalid(cat("slice_counted: expects a start and an end per axis, ", entries,
                         "; one operand is ", in[k]))
          .with_slug("op-shape");
  }
  TensorType y = *in[0];
  for (size_t k = 0; k < slice.axes.size(); ++k) y.shape[slice.axes[k]] = dims[k];
  return one_result(std::move(y));
}

std::vector<CountedRange> ranges_of(const SliceAxes& slice, const std::vector<int64_t>& extents,
                                    const void* const* data) {
  std::vector<CountedRange> out;
  BYOC_CHECK(slice.steps.size() == slice.axes.size(), slice.steps.size(), " steps for ",
             slice.axes.size(), " axes");
  for (size_t k = 0; k < slice.axes.size(); ++k)
    out.push_back(range_in(extents[slice.axes[k]], in_as<int64_t>(data, 1)[k],
                           in_as<int64_t>(data, 2)[k], slice.steps[k]));
  return out;
}

Result<std::vector<TensorType>> sizes_slice_counted(Types in, const void* const* data,
                                                    const Attrs& attrs) {
  BYOC_TRY(SliceAxes slice, slice_axes(in[0], attrs));
  BYOC_TRY(std::vector<TensorType> largest, infer_slice_counted(in, attrs));
  TensorType y = *in[0];
  const std::vector<CountedRange> ranges = ranges_of(slice, static_extents(y.shape), data);
  for (size_t k = 0; k < ranges.size(); ++k) y.shape[slice.axes[k]] = ranges[k].count;
  BYOC_TRY_STATUS(check_extents("slice_counted", y.shape, largest[0].shape));
  return one_result(std::move(y));
}

// Finds the cells in each run, as they depend on elements.
Result<RefKernel> reference_slice_counted(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(SliceAxes slice, slice_axes(in[0], attrs));
  const std::vector<int64_t> from = static_extents(in[0]->shape),
                             to = static_extents(out[0]->shape);
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  return RefKernel([=, dtype = in[0]->dtype](const void* const* data, void* const* results) {
    std::vector<int64_t> strides = row_major_strides(from);
    int64_t offset = 0;
    const std::vector<CountedRange> ranges = ranges_of(slice, from, data);
    for (size_t k = 0; k < ranges.size(); ++k) {
      int64_t& stride = strides[slice.axes[k]];
      offset += ranges[k].start * stride;
      stride = ranges[k].count == 1 ? 0 : stride * ranges[k].step;  // a single cell: any step
    }
    strided_kernel(dtype, to, strides, offset)(data, results);
  });
}

std::vector<AttrSpec> with(std::vector<AttrSpec> first, std::vector<AttrSpec> more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace

void add_counted_ops(OpRegistry& ops) {
  ops.add({.name = "as_counted",
           .doc = "x as a value whose dims are counted, within their bounds, so that values of "
                  "different extents have one type.",
           .inputs = {{"x", "any type"}},
           .attrs = dims_attrs("dim"),
           .infer = infer_as_counted,
           .reference = [](Types in, Types, const Attrs&) -> Result<RefKernel> {
             return copy_kernel(in[0]);
           },
           .flops = no_flops,
           .sizes = sizes_as_counted});
  ops.add({.name = "expand_counted",
           .doc = "x broadcast together with the shape that an operand holds. Each run counts.",
           .inputs = {{"x", "any type"}, {"shape", "i64 [n]"}},
           .attrs = dims_attrs("dim of the result (-1: the dim of x)"),
           .infer = infer_expand_counted,
           .reference = reference_expand_counted,
           .flops = no_flops,
           .sizes = sizes_expand_counted});
  ops.add({.name = "reshape_counted",
           .doc = "reshape by a target that an operand holds, too; each run checks that both give "
                  "the same dims.",
           .inputs = {{"x", "any type"}, {"shape", "i64 [n]: as the attribute"}},
           .attrs = {{"shape", Ints{}, "as that of reshape", AttrSpec::kRequired},
                     {"allow_zero", false, "0 is an extent of 0"}},
           .infer = infer_reshape_counted,
           .reference = [](Types in, Types, const Attrs&) -> Result<RefKernel> {
             return copy_kernel(in[0]);
           },
           .flops = no_flops,
           .sizes = sizes_reshape_counted});
  ops.add({.name = "slice_counted",
           .doc = "Cells start, start + step, ... before end of each axis, as slice has them; "
                  "starts and ends are operands. Each run counts.",
           .inputs = {{"x", "any type"},
                      {"starts", "i64, one per axis"},
                      {"ends", "i64, one per axis, exclusive"}},
           .attrs = with({{"axes", Ints{}, "in [-rank, rank)", AttrSpec::kRequired},
                          {"steps", Ints{}, "one per axis, not 0", AttrSpec::kRequired}},
                         dims_attrs("axis")),
           .infer = infer_slice_counted,
           .reference = reference_slice_counted,
           .flops = no_flops,
           .sizes = sizes_slice_counted});
}

}  // namespace byoc::op
