// SPDX-License-Identifier: Apache-2.0
// col2im: blocks of columns added up to an image. Source: ONNX opset 18, Col2Im; torch.nn.Fold.
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

Result<Tensors> compute_col2im(te::Builder& builder, Inputs in, Types out, const Attrs& attrs) {
  BYOC_TRY(Columns columns, read_columns(attrs));
  const size_t rank = columns.windows.size();
  BYOC_CHECK(in[0].rank() == 3 && out[0]->shape.size() == rank + 2, "columns of rank ",
             in[0].rank(), " become ", out[0]);
  Exprs taps;
  for (const Window& w : columns.windows) taps.push_back(w.kernel);
  DType dtype = in[0].dtype();
  Tensor sums = sum_over(
      builder, "col2im", te::extents_of(*out[0]), taps, dtype, [&](const Exprs& i, const Exprs& r) {
        Expr tap = 0, block = 0, inside;
        for (size_t d = 0; d < rank; ++d) {
          const Window& w = columns.windows[d];
          Expr begin = i[2 + d] + w.pad_begin - r[d] * w.dilation, at = floor_div(begin, w.stride);
          Expr fits = is_within(at, columns.blocks[d]) && floor_mod(begin, w.stride) == Expr(0);
          inside = inside.is_empty() ? fits : inside && fits;
          tap = tap * w.kernel + r[d];
          block = block * columns.blocks[d] + clamped(at, 0, columns.blocks[d] - 1);
        }
        Expr value = widened(in[0](i[0], i[1] * columns.taps + tap, block));
        return select(inside, value, zero(value.dtype()));
      });
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
           .compute = compute_col2im,
           .flops = [](Types in, Types, const Attrs&) { return flop_count(in[0]); }});
}

}  // namespace byoc::op
