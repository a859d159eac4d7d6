// SPDX-License-Identifier: Apache-2.0
// col2im: blocks of columns added up to an image. Source: ONNX opset 18, Col2Im; torch.nn.Fold.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/window.h"

namespace byoc::op {
namespace {

constexpr size_t kMostDims = kMaxRank - 2;

// An image of `extents`, and the windows that were read from it: `blocks` of them per dim.
struct Columns {
  std::vector<Window> windows;
  Ints extents, blocks;
  int64_t taps = 1, all_blocks = 1, image = 1;
};

Result<int64_t> product(const Ints& list, const char* what) {
  int64_t all = 1;
  for (int64_t value : list) {
    if (__builtin_mul_overflow(all, value, &all))
      return Status(Code::kOutOfRange,
                    cat("col2im: the cells of ", what, " do not fit in 63 bits"));
  }
  return all;
}

Result<Columns> read_columns(const Attrs& attrs) {
  Columns columns{{}, attrs.ints("image_shape"), {}};
  Ints block = attrs.ints("block_shape");
  if (block.empty() || block.size() > kMostDims || columns.extents.size() != block.size())
    return invalid(cat("col2im: image_shape has ", columns.extents.size(),
                       " entries and block_shape ", block.size(), ", expected equally many, 1 to ",
                       kMostDims));
  BYOC_TRY(columns.windows, read_windows("col2im", attrs, block));
  for (size_t d = 0; d < block.size(); ++d) {
    int64_t extent = columns.extents[d];
    if (extent < 0 || extent >= int64_t{1} << 31)
      return invalid(cat("col2im: image_shape holds ", extent));
    BYOC_TRY(Dim blocks, window_extent("col2im", extent, columns.windows[d]));
    columns.blocks.push_back(blocks.extent());
  }
  BYOC_TRY(columns.taps, product(block, "a block"));
  BYOC_TRY(columns.all_blocks, product(columns.blocks, "the blocks"));
  BYOC_TRY(columns.image, product(columns.extents, "the image"));
  return columns;
}

Result<std::vector<TensorType>> infer_col2im(Types in, const Attrs& attrs) {
  BYOC_TRY(Columns columns, read_columns(attrs));
  BYOC_TRY_STATUS(expect_dtype("col2im", "x", in[0], dtypes_of(NumericTypes{})));
  BYOC_TRY_STATUS(expect_rank("col2im", "x", in[0], 3));
  const Shape& x = in[0]->shape;
  if (!x[1].is_static() || x[1].extent() % columns.taps != 0 || x[2] != Dim(columns.all_blocks))
    return invalid(cat("col2im: x must be [n, c * ", columns.taps, ", ", columns.all_blocks,
                       "] for these blocks (x ", in[0], ")"))
        .with_slug("op-shape");
  Shape y = {x[0], x[1].extent() / columns.taps};
  for (int64_t extent : columns.extents) y.push_back(extent);
  return one_result({in[0]->dtype, std::move(y)});
}

// Returns the block whose tap `tap` of one dim is at `cell`; -1 when there is none.
int64_t block_at(const Window& w, int64_t cell, int64_t tap, int64_t blocks) {
  int64_t begin = cell + w.pad_begin - tap * w.dilation;
  if (begin < 0 || begin % w.stride != 0 || begin / w.stride >= blocks) return -1;
  return begin / w.stride;
}

// Sums the taps that are at the cell `flat` of the image; x is one channel of columns.
template <class T>
Sum<T> sum_at(const Columns& columns, const T* x, int64_t flat) {
  const size_t rank = columns.windows.size();
  Sum<T> sum = 0;
  for (int64_t tap = 0; tap < columns.taps; ++tap) {
    int64_t cells = flat, taps = tap, block = 0, step = 1;
    for (size_t d = rank; d-- > 0 && block >= 0;) {
      const Window& w = columns.windows[d];
      int64_t at = block_at(w, cells % columns.extents[d], taps % w.kernel, columns.blocks[d]);
      block = at < 0 ? -1 : block + at * step;
      step *= columns.blocks[d], cells /= columns.extents[d], taps /= w.kernel;
    }
    if (block >= 0) sum += static_cast<Sum<T>>(Compute<T>(x[tap * columns.all_blocks + block]));
  }
  return sum;
}

Result<RefKernel> reference_col2im(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(Columns columns, read_columns(attrs));
  BYOC_CHECK(columns.blocks.size() == columns.windows.size() && columns.taps > 0,
             columns.blocks.size(), " dims of blocks for ", columns.windows.size(), " windows");
  const int64_t channels = in[0]->shape[0].extent() * (in[0]->shape[1].extent() / columns.taps);
  return for_dtype("col2im", in[0]->dtype, NumericTypes{}, [&]<class T>() -> RefKernel {
    return [=](const void* const* from, void* const* to) {
      for (int64_t c = 0; c < channels; ++c) {
        const T* x = in_as<T>(from, 0) + c * columns.taps * columns.all_blocks;
        T* y = out_as<T>(to, 0) + c * columns.image;
        for (int64_t k = 0; k < columns.image; ++k)
          y[k] = static_cast<T>(static_cast<Compute<T>>(sum_at(columns, x, k)));
      }
    };
  });
}

// The taps of a dim that may be at a cell: tap * dilation - cell must be a multiple of the stride.
// Of cells that are multiples of `common` these are first(cell) + k * step.
struct TapsOfCell {
  int64_t common, step, inverse, count;
  explicit TapsOfCell(const Window& w) {
    common = std::gcd(w.stride, w.dilation), step = w.stride / common, inverse = 0;
    for (int64_t k = 1; k < step && inverse == 0; ++k)
      inverse = w.dilation / common % step * k % step == 1 ? k : 0;
    count = (w.kernel + step - 1) / step;
  }
  Expr first(const Expr& cell) const {
    return step == 1 ? Expr(0) : floor_mod(floor_div(cell, common) * inverse, step);
  }
};

// The block and its tap that tap r of a cell is, and the condition that there is such a block; the
// condition is empty where all cells have it.
struct Place {
  Expr tap, block;
  Exprs conditions = {};
};
Place place_of(const Window& w, int64_t extent, int64_t blocks, const Expr& i, const Expr& r) {
  const TapsOfCell taps(w);
  const Expr cell = i + w.pad_begin;
  Place out{taps.first(cell) + r * taps.step, floor_div(cell, w.stride) - r};
  if (w.dilation > 1) out.block = floor_div(cell - out.tap * w.dilation, w.stride);
  if (taps.common > 1) out.conditions.push_back(floor_mod(cell, taps.common) == Expr(0));
  if (w.kernel % taps.step != 0) {
    out.conditions.push_back(out.tap < Expr(w.kernel));
    out.tap = te::min(out.tap, w.kernel - 1);
  }
  const int64_t last = (w.pad_begin + extent - 1) / w.stride;  // block of the last cell's first tap
  if (w.dilation == 1 && taps.count == 1 && last < blocks) return out;
  out.conditions.push_back(is_within(out.block, blocks));
  out.block = clamped(out.block, 0, blocks - 1);
  return out;
}

// Returns the element of x that tap r adds to the cell i; 0 where there is none.
Expr term_of(const Columns& columns, const Tensor& x, const Exprs& i, const Exprs& r) {
  Expr tap = 0, block = 0;
  Exprs conditions;
  for (size_t d = 0; d < columns.windows.size(); ++d) {
    const Window& w = columns.windows[d];
    Place place = place_of(w, columns.extents[d], columns.blocks[d], i[2 + d], r[d]);
    std::ranges::move(place.conditions, std::back_inserter(conditions));
    tap = tap * w.kernel + place.tap;
    block = block * columns.blocks[d] + place.block;
  }
  const Expr value = widened(x(i[0], i[1] * columns.taps + tap, block));
  if (conditions.empty()) return value;
  return select(all_of(conditions), value, zero(value.dtype()));
}

Result<Tensors> compute_col2im(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Columns columns, read_columns(attrs));
  const size_t rank = columns.windows.size();
  BYOC_CHECK(in[0].rank() == 3 && out[0]->shape.size() == rank + 2, "columns of rank ",
             in[0].rank(), " become ", out[0]);
  Ints counts;
  for (const Window& w : columns.windows) counts.push_back(TapsOfCell(w).count);
  DType dtype = in[0].dtype();
  if (std::ranges::all_of(counts, [](int64_t count) { return count == 1; })) {
    return one(builder.compute("col2im", te::extents_of(*out[0]), [&](const Exprs& i) {
      return te::cast(dtype, term_of(columns, in[0], i, Exprs(rank, Expr(0))));
    }));
  }
  Tensor sums =
      sum_over(builder, "col2im", te::extents_of(*out[0]), as_exprs(counts), dtype,
               [&](const Exprs& i, const Exprs& r) { return term_of(columns, in[0], i, r); });
  return one(stored_as(builder, "col2im", dtype, sums));
}

}  // namespace

void add_col2im_ops(OpRegistry& ops) {
  ops.add({.name = "col2im",
           .doc = "The image whose windows are the columns of x; values of overlapping windows add "
                  "up, integers wrap around.",
           .kind = FusionKind::kReduction,
           .inputs = {{"x", "any number [n, c * k, l], k: cells of a block, l: blocks"}},
           .outputs = {{"y", "[n, c, image_shape...]"}},
           .attrs = {{"image_shape", Ints{}, "extents of the image", AttrSpec::kRequired},
                     {"block_shape", Ints{}, "extents of a window", AttrSpec::kRequired},
                     {"strides", Ints{}, "one per dim; empty: all 1"},
                     {"pads", Ints{}, "begins, then ends; empty: all 0"},
                     {"dilations", Ints{}, "one per dim; empty: all 1"}},
           .infer = infer_col2im,
           .reference = reference_col2im,
           .compute = with_open_sizes(compute_col2im),
           .flops = [](Types in, Types, const Attrs&) { return flop_count(in[0]); }});
}

}  // namespace byoc::op
