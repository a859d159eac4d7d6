// SPDX-License-Identifier: Apache-2.0
// slice, and reverse_sequence.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/counted.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/index.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/move.h"

namespace byoc::op {
namespace {

// The cells start, start + step, ... of one dim.
struct Range {
  int64_t start = 0, count = 0, step = 1;
};

// Clamps a range: starts and ends count from the end when negative and are clamped to the
// dim, as in numpy.
Range clamp_range(int64_t n, int64_t start, int64_t end, int64_t step) {
  BYOC_CHECK(step != 0 && n >= 0, "a step of ", step, " through ", n, " cells");
  if (start < 0) start += n;
  if (end < 0) end += n;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, n);
    end = std::clamp<int64_t>(end, 0, n);
    return {start, end <= start ? 0 : (end - start - 1) / step + 1, step};
  }
  start = std::min(start, n - 1);
  end = std::max<int64_t>(end, -1);
  return {start, start <= end ? 0 : (start - end - 1) / -step + 1, step};
}

struct SliceDims {
  std::vector<size_t> axes;
  Ints starts, ends, steps;  // one per axis
};

Result<SliceDims> read_slice(TypeId x, const Attrs& attrs) {
  SliceDims s{{}, attrs.ints("starts"), attrs.ints("ends"), attrs.ints("steps")};
  Ints axes = attrs.ints("axes");
  if (axes.empty()) {
    for (size_t d = 0; d < s.starts.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (s.steps.empty()) s.steps.assign(axes.size(), 1);
  if (s.starts.size() != axes.size() || s.ends.size() != axes.size() ||
      s.steps.size() != axes.size()) {
    return shape_error(
        cat("slice: ", s.starts.size(), " starts, ", s.ends.size(), " ends, ", axes.size(),
            " axes and ", s.steps.size(), " steps, expected equally many"),
        x);
  }
  BYOC_TRY_STATUS(normal_axes("slice", axes, x).status());
  for (size_t k = 0; k < axes.size(); ++k) {
    BYOC_TRY(size_t axis, normal_axis("slice", axes[k], x));
    s.axes.push_back(axis);
    if (s.steps[k] == 0 || s.steps[k] == INT64_MIN)
      return shape_error(cat("slice: a step is ", s.steps[k]), x);
  }
  return s;
}

bool takes_all(Dim dim, int64_t start, int64_t end, int64_t step) {
  return start == 0 && step == 1 && end >= dim.max();
}

// Returns the most cells that a slice has of any extent from 0 to `most`. The count grows with the
// extent where start and end count from the same side. Else it falls when they pass each other:
// x[-2:5] has min(n, 2, 5) cells at most.
int64_t most_cells(int64_t most, int64_t start, int64_t end, int64_t step) {
  if ((start < 0) == (end < 0) || (step > 0) != (start < 0))
    return clamp_range(most, start, end, step).count;
  const int64_t from_start = step > 0 ? (start < -most ? most : -start) : std::min(start, most) + 1;
  const int64_t from_end = step > 0 ? end : -(end + 1);
  const int64_t cells = std::min({most, from_start, from_end});
  return cells <= 0 ? 0 : (cells - 1) / std::abs(step) + 1;
}

// Returns the dim of a slice of a counted one, with the least bound that holds for all its extents.
Dim counted_range(Dim dim, int64_t start, int64_t end, int64_t step) {
  const int64_t most = most_cells(dim.max(), start, end, step);
  if (most == 0) return Dim(0);
  return Dim::counted(cat(dim.name(), "[", start, ":", end, ":", step, "]"), most);
}

// Returns a - b, and 0 where b is larger.
Result<Dim> natural_difference(Dim a, Dim b) {
  BYOC_TRY(Dim larger, dim_max(a, b));
  return dim_difference(larger, b);
}

// Returns the position `at` of an open dim as clamp_range does.
Result<Dim> open_position(Dim dim, int64_t at) {
  if (at >= 0) return dim_min(dim, Dim(at));
  return natural_difference(dim, Dim(at == INT64_MIN ? INT64_MAX : -at));
}

// Returns how many cells are from the position `start` of a dim to `last`, which is at most the
// dim. The text has the dim once where it can: else texts double with each slice of a slice.
Result<Dim> cells_before(Dim last, Dim dim, int64_t start) {
  if (start >= 0) return natural_difference(last, Dim(start));  // none where the dim is shorter
  if (last == dim) return dim_min(dim, Dim(start == INT64_MIN ? INT64_MAX : -start));
  BYOC_TRY(Dim first, open_position(dim, start));
  return natural_difference(last, first);
}

// Returns the dim of a slice of an open one.
Result<Dim> open_range(Dim dim, int64_t start, int64_t end, int64_t step) {
  if (step < 0) {
    const bool is_whole = step == -1 && (start == -1 || start >= dim.max() - 1) && end < 0 &&
                          (end == INT64_MIN || -end > dim.max());
    if (is_whole) return dim;
    return invalid(cat("slice: dim ", dim, " must be known for a step of ", step))
        .with_slug("symbolic-shape");
  }
  BYOC_TRY(Dim last, open_position(dim, end));
  BYOC_TRY(Dim cells, cells_before(last, dim, start));
  return dim_ceil_quotient(cells, step);
}

// Returns the type of a slice whose dims are given: from its starts on, within x.
Result<std::vector<TensorType>> open_slice(TypeId x, const SliceDims& s, const Attrs& attrs) {
  BYOC_TRY(Shape shape, open_shape_of(attrs));
  if (shape.size() != x->shape.size())
    return shape_error(cat("slice: ", kOpenShapeAttr, " has ", shape.size(), " dims"), x);
  for (size_t k = 0; k < s.axes.size(); ++k) {
    const Dim whole = x->shape[s.axes[k]];
    if (s.starts[k] < 0 || s.steps[k] != 1)
      return shape_error(cat("slice: ", kOpenShapeAttr, " is for starts from 0 and steps of 1"), x);
    BYOC_TRY(Dim end, dim_sum(shape[s.axes[k]], Dim(s.starts[k])));
    const bool fits = end == whole || (end.max() != Dim::kUnbounded && end.max() <= whole.min());
    if (!fits) return shape_error(cat("slice: dim ", s.axes[k], " has no ", end, " cells"), x);
  }
  return one_result({x->dtype, std::move(shape)});
}

Result<std::vector<TensorType>> infer_slice(Types in, const Attrs& attrs) {
  BYOC_TRY(SliceDims s, read_slice(in[0], attrs));
  TensorType y = *in[0];
  if (attrs.has(kOpenShapeAttr)) return open_slice(in[0], s, attrs);
  for (size_t k = 0; k < s.axes.size(); ++k) {
    Dim& dim = y.shape[s.axes[k]];
    if (takes_all(dim, s.starts[k], s.ends[k], s.steps[k])) continue;
    if (dim.is_counted()) {
      dim = counted_range(dim, s.starts[k], s.ends[k], s.steps[k]);
      continue;
    }
    if (!dim.is_static()) {
      BYOC_TRY(dim, open_range(dim, s.starts[k], s.ends[k], s.steps[k]));
      continue;
    }
    dim = clamp_range(dim.extent(), s.starts[k], s.ends[k], s.steps[k]).count;
  }
  return one_result(std::move(y));
}

Result<RefKernel> reference_slice(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(SliceDims s, read_slice(in[0], attrs));
  std::vector<int64_t> strides = row_major_strides(static_extents(in[0]->shape));
  int64_t offset = 0;
  if (count(out[0]) == 0) return RefKernel([](const void* const*, void* const*) {});
  for (size_t k = 0; k < s.axes.size(); ++k) {
    int64_t& stride = strides[s.axes[k]];
    Range range = clamp_range(in[0]->shape[s.axes[k]].extent(), s.starts[k], s.ends[k], s.steps[k]);
    if (attrs.has(kOpenShapeAttr)) range.count = out[0]->shape[s.axes[k]].extent();
    offset += range.start * stride;
    stride = range.count == 1 ? 0 : stride * range.step;  // a single cell may have any step
  }
  return strided_kernel(in[0]->dtype, static_extents(out[0]->shape), strides, offset);
}

Result<IndexFn> slice_index(Types in, const TensorType&, const Attrs& attrs) {
  BYOC_TRY(SliceDims s, read_slice(in[0], attrs));
  std::vector<Range> ranges(in[0]->shape.size());
  for (size_t k = 0; k < s.axes.size(); ++k) {
    const Dim dim = in[0]->shape[s.axes[k]];
    if (is_open(dim) && takes_all(dim, s.starts[k], s.ends[k], s.steps[k])) continue;
    const bool begins = s.starts[k] >= 0 && s.starts[k] <= dim.min() && s.steps[k] > 0;
    if (is_open(dim) && !begins) return needs_number("slice", dim);
    if (is_open(dim)) {
      ranges[s.axes[k]] = {s.starts[k], 0, s.steps[k]};
      continue;
    }
    ranges[s.axes[k]] = clamp_range(dim.extent(), s.starts[k], s.ends[k], s.steps[k]);
  }
  return IndexFn([ranges = std::move(ranges)](const Exprs& at) {
    Exprs x;
    BYOC_CHECK(at.size() == ranges.size(), at.size(), " indices of ", ranges.size(), " ranges");
    for (size_t d = 0; d < at.size(); ++d) {
      Expr cell = ranges[d].step == 1 ? at[d] : at[d] * ranges[d].step;
      x.push_back(ranges[d].start == 0 ? cell : cell + ranges[d].start);
    }
    return x;
  });
}

// ---- reverse_sequence

Result<std::vector<TensorType>> infer_reverse_sequence(Types in, const Attrs& attrs) {
  TypeId x = in[0], lengths = in[1];
  int64_t batch = attrs.i("batch_axis", 1), time = attrs.i("time_axis", 0);
  if (x->shape.size() < 2)
    return shape_error(
        cat("reverse_sequence: x has rank ", x->shape.size(), ", expects at least 2"), x);
  if (std::min(batch, time) != 0 || std::max(batch, time) != 1) {
    return shape_error(
        cat("reverse_sequence: batch_axis ", batch, " and time_axis ", time, " are not 0 and 1"),
        x);
  }
  BYOC_TRY_STATUS(expect_dtype("reverse_sequence", "lengths", lengths, {DType::kI64}));
  if (lengths->shape != Shape{x->shape[static_cast<size_t>(batch)]}) {
    return invalid(cat("reverse_sequence: expects one length per entry of dim ", batch, " (x ", x,
                       ", lengths ", lengths, ")"))
        .with_slug("op-shape");
  }
  return one_result(*x);
}

size_t time_axis(const Attrs& attrs) { return attrs.i("time_axis", 0) == 0 ? 0 : 1; }

Result<RefKernel> reference_reverse_sequence(Types in, Types, const Attrs& attrs) {
  const bool time_first = time_axis(attrs) == 0;
  AxisView rows = around_axis(in[0], 1);
  int64_t times = time_first ? rows.outer : rows.extent,
          batches = time_first ? rows.extent : rows.outer;
  int64_t time_step = time_first ? batches : 1, batch_step = time_first ? 1 : times;
  return for_width(in[0]->dtype, [&]<class U>() -> RefKernel {
    return [=, inner = rows.inner](const void* const* from, void* const* to) {
      for (int64_t b = 0; b < batches; ++b) {
        const int64_t length = in_as<int64_t>(from, 1)[b];
        for (int64_t t = 0; t < times; ++t) {
          int64_t source = t < length ? length - 1 - t : t;
          std::copy_n(in_as<U>(from, 0) + (b * batch_step + source * time_step) * inner, inner,
                      out_as<U>(to, 0) + (b * batch_step + t * time_step) * inner);
        }
      }
    };
  });
}

Result<ValueCheck> check_reverse_sequence(Types in, const Attrs& attrs) {
  const int64_t times = in[0]->shape[time_axis(attrs)].extent();
  return index_check("reverse_sequence.lengths", in[1], 1, {lengths_up_to(times)});
}

Result<Tensors> compute_reverse_sequence(te::Builder& builder, Inputs in, Types,
                                         const Attrs& attrs) {
  const size_t time = time_axis(attrs);
  BYOC_CHECK(in[0].rank() >= 2, "sequences in a tensor of rank ", in[0].rank());
  const CheckedIndices lengths(builder, "reverse_sequence.lengths", in[1],
                               {lengths_up_to(extents(in[0])[time])});
  return one(builder.compute("reverse_sequence", in[0].shape(), [&](const Exprs& i) {
    const Expr length = lengths({i[1 - time]});
    Exprs from = i;
    from[time] = select(i[time] < length, length - 1 - i[time], i[time]);
    return in[0](from);
  }));
}

}  // namespace

void add_slice_ops(OpRegistry& ops) {
  ops.add({.name = "slice",
           .doc = "Cells start, start + step, ... before end of each axis, by numpy's rules: "
                  "negative numbers "
                  "count from the end, all are clamped.",
           .kind = FusionKind::kInjective,
           .inputs = {{"x", "any type"}},
           .attrs = {{"starts", Ints{}, "one per axis", AttrSpec::kRequired},
                     {"ends", Ints{}, "one per axis, exclusive", AttrSpec::kRequired},
                     {"axes", Ints{}, "in [-rank, rank); empty: the first ones"},
                     {"steps", Ints{}, "one per axis, not 0; empty: all 1"},
                     open_shape_attr()},
           .infer = infer_slice,
           .reference = reference_slice,
           .compute = with_open_sizes(move_compute("slice", slice_index)),
           .flops = no_flops});
  ops.add(
      {.name = "reverse_sequence",
       .doc = "The first lengths[b] entries along time_axis in reverse order, for each entry b of "
              "batch_axis. A length outside of 0 to the extent is an error of the run.",
       .kind = FusionKind::kOpaque,
       .inputs = {{"x", "any type, rank >= 2"}, {"lengths", "i64, one per batch entry"}},
       .attrs = {{"batch_axis", int64_t{1}, "0 or 1"}, {"time_axis", int64_t{0}, "the other one"}},
       .infer = infer_reverse_sequence,
       .reference = reference_reverse_sequence,
       .compute = compute_reverse_sequence,
       .flops = no_flops,
       .check = check_reverse_sequence});
}

}  // namespace byoc::op
