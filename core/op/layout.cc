// Blocked layouts: channels in blocks as the innermost dim, so that code generators load vectors of
// them. Types stay plain: NCHW8c of [n, c, h, w] is a tensor [n, c / 8, h, w, 8].
#include <cctype>

#include "core/op/families.h"
#include "core/op/kernel.h"
#include "core/op/move.h"
#include "core/op/window.h"

namespace byoc::op {
namespace {

constexpr int64_t kMaxBlock = 64;

// "NCHW8c": the letters of the dims in order, then the blocked dim's in lower case with its factor.
struct Layout {
  std::string dims;
  char blocked = 0;  // upper case; 0: none
  int64_t block = 1;
};

Result<Layout> parse_layout(const std::string& text) {
  Layout out;
  size_t k = 0;
  while (k < text.size() && text[k] >= 'A' && text[k] <= 'Z' &&
         out.dims.find(text[k]) == std::string::npos)
    out.dims += text[k++];
  int64_t block = 0;
  while (k < text.size() && text[k] >= '0' && text[k] <= '9' && block <= kMaxBlock)
    block = 10 * block + (text[k++] - '0');
  if (k < text.size() && block >= 1 && block <= kMaxBlock) {
    out.block = block;
    out.blocked = static_cast<char>(std::toupper(static_cast<unsigned char>(text[k++])));
  }
  bool is_known = out.blocked == 0 || out.dims.find(out.blocked) != std::string::npos;
  if (k == text.size() && !out.dims.empty() && is_known) return out;
  return invalid(cat("layout_transform: \"", text,
                     "\" is no layout; expected letters of dims, then one factor of at most ",
                     kMaxBlock, " with its dim in lower case, as in NCHW8c"));
}

struct Transform {
  Layout from, to;
  bool packs() const { return to.blocked != 0; }
  const Layout& packed() const { return packs() ? to : from; }
  size_t axis() const { return packed().dims.find(packed().blocked); }
};

Result<Transform> read_transform(const Attrs& attrs) {
  Transform out;
  BYOC_TRY(out.from, parse_layout(attrs.s("src_layout")));
  BYOC_TRY(out.to, parse_layout(attrs.s("dst_layout")));
  bool one_is_plain = (out.from.blocked == 0) != (out.to.blocked == 0);
  if (out.from.dims == out.to.dims && one_is_plain) return out;
  return invalid(cat("layout_transform: from ", attrs.s("src_layout"), " to ",
                     attrs.s("dst_layout"), "; expected the same dims, blocked on one side alone"));
}

Result<std::vector<TensorType>> infer_layout_transform(Types in, const Attrs& attrs) {
  BYOC_TRY(Transform t, read_transform(attrs));
  BYOC_TRY_STATUS(
      expect_rank("layout_transform", "x", in[0], t.from.dims.size() + (t.packs() ? 0 : 1)));
  TensorType y = *in[0];
  Dim dim = y.shape[t.axis()];
  const int64_t block = t.packed().block;
  if (!dim.is_static())
    return invalid(cat("layout_transform: the blocked dim must be known (x ", in[0], ")"))
        .with_slug("symbolic-shape");
  if (t.packs()) {
    if (dim.extent() % block != 0)
      return shape_error(cat("layout_transform: an extent of ", dim.extent(),
                             " does not divide into blocks of ", block),
                         in[0]);
    y.shape[t.axis()] = dim.extent() / block;
    y.shape.push_back(block);
    return one_result(std::move(y));
  }
  if (y.shape.back() != Dim(block))
    return shape_error(cat("layout_transform: the last dim is not ", block), in[0]);
  y.shape.pop_back();
  int64_t extent = 0;
  if (__builtin_mul_overflow(dim.extent(), block, &extent))
    return Status(Code::kOutOfRange, "layout_transform: an extent does not fit in 63 bits");
  y.shape[t.axis()] = extent;
  return one_result(std::move(y));
}

// The plain tensor with the blocked dim as two, [outer, block, inner], and the packed one are
// permutations of each other.
Result<RefKernel> reference_layout_transform(Types in, Types out, const Attrs& attrs) {
  BYOC_TRY(Transform t, read_transform(attrs));
  TypeId plain = t.packs() ? in[0] : out[0];
  AxisView view = around_axis(plain, t.axis());
  const int64_t block = t.packed().block, blocks = view.extent / block;
  if (t.packs())
    return strided_kernel(plain->dtype, {view.outer, blocks, view.inner, block},
                          {view.extent * view.inner, block * view.inner, 1, view.inner});
  return strided_kernel(plain->dtype, {view.outer, blocks, block, view.inner},
                        {view.extent * view.inner, block * view.inner, 1, block});
}

OpDef layout_transform() {
  return {
      .name = "layout_transform",
      .doc =
          "x in another layout, as NCHW and NCHW8c: of the dim in lower case blocks stand "
          "innermost, [n, c, h, w] -> [n, c / 8, h, w, 8], or back.",
      .kind = FusionKind::kInjective,
      .inputs = {{"x", "any type, of the source's rank"}},
      .attrs = {{"src_layout", std::string(), "layout of x", AttrSpec::kRequired},
                {"dst_layout", std::string(), "of y; one of both has no block",
                 AttrSpec::kRequired}},
      .infer = infer_layout_transform,
      .reference = reference_layout_transform,
      .flops = no_flops,
  };
}

// x is [n, c, h, w] or [n, c / b, h, w, b].
struct PackedConv {
  int64_t n, c, h, w, in_block;
  int64_t o, out_block, group, group_c, group_o;
  Window row, column;
  int64_t oh = 0, ow = 0;
};

Result<PackedConv> read_packed_conv(Types in, const Attrs& attrs) {
  constexpr std::string_view kOp = "conv2d_nchwc";
  BYOC_TRY_STATUS(expect_dtype(kOp, "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(kOp, in));
  BYOC_TRY_STATUS(expect_rank(kOp, "weight", in[1], 4));
  if (in[0]->shape.size() != 4) BYOC_TRY_STATUS(expect_rank(kOp, "x", in[0], 5));
  if (!is_static(in[0]->shape) || !is_static(in[1]->shape))
    return invalid(cat(kOp, ": all extents must be known (x ", in[0], ", weight ", in[1], ")"))
        .with_slug("symbolic-shape");
  Ints x = static_extents(in[0]->shape), w = static_extents(in[1]->shape);
  if (x.size() == 4) x.push_back(1);
  PackedConv out{x[0], 0, x[2], x[3], x[4], w[0], attrs.i("block"), attrs.i("group", 1),
                 w[1], 0, {},   {}};
  if (__builtin_mul_overflow(x[1], x[4], &out.c) || out.group < 1 || out.out_block < 1 ||
      out.out_block > kMaxBlock || out.o % out.group != 0 || out.o % out.out_block != 0 ||
      out.c % out.group != 0 || out.c / out.group != out.group_c)
    return shape_error(cat(kOp, ": group ", out.group, ", block ", out.out_block, " and weight ",
                           in[1], " do not fit"),
                       in[0]);
  out.group_o = out.o / out.group;
  const int64_t kernel[] = {w[2], w[3]};
  BYOC_TRY(std::vector<Window> windows, read_windows(kOp, attrs, kernel));
  out.row = windows[0], out.column = windows[1];
  BYOC_TRY(Dim oh, window_extent(kOp, x[2], out.row));
  BYOC_TRY(Dim ow, window_extent(kOp, x[3], out.column));
  out.oh = oh.extent(), out.ow = ow.extent();
  return out;
}

Result<std::vector<TensorType>> infer_conv2d_nchwc(Types in, const Attrs& attrs) {
  BYOC_TRY(PackedConv c, read_packed_conv(in, attrs));
  return one_result({in[0]->dtype, {c.n, c.o / c.out_block, c.oh, c.ow, c.out_block}});
}

// One output element, summed in f64.
template <class T>
T packed_conv_at(const PackedConv& p, const T* x, const T* weight, int64_t o, int64_t oh,
                 int64_t ow) {
  double sum = 0;
  const int64_t first_c = o / p.group_o * p.group_c;
  for (int64_t k = 0; k < p.group_c; ++k) {
    const int64_t c = first_c + k;
    const T* plane = x + c / p.in_block * p.h * p.w * p.in_block + c % p.in_block;
    const T* taps = weight + (o * p.group_c + k) * p.row.kernel * p.column.kernel;
    for (int64_t kh = 0; kh < p.row.kernel; ++kh) {
      const int64_t h = oh * p.row.stride + kh * p.row.dilation - p.row.pad_begin;
      if (h < 0 || h >= p.h) continue;
      for (int64_t kw = 0; kw < p.column.kernel; ++kw) {
        const int64_t w = ow * p.column.stride + kw * p.column.dilation - p.column.pad_begin;
        if (w < 0 || w >= p.w) continue;
        sum += static_cast<double>(plane[(h * p.w + w) * p.in_block]) *
               static_cast<double>(taps[kh * p.column.kernel + kw]);
      }
    }
  }
  return static_cast<T>(sum);
}

template <class T>
void packed_conv(const PackedConv& p, const T* x, const T* weight, T* y) {
  for (int64_t n = 0; n < p.n; ++n, x += p.c * p.h * p.w) {
    for (int64_t block = 0; block < p.o / p.out_block; ++block) {
      for (int64_t oh = 0; oh < p.oh; ++oh) {
        for (int64_t ow = 0; ow < p.ow; ++ow) {
          for (int64_t k = 0; k < p.out_block; ++k)
            *y++ = packed_conv_at(p, x, weight, block * p.out_block + k, oh, ow);
        }
      }
    }
  }
}

Result<RefKernel> reference_conv2d_nchwc(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(PackedConv conv, read_packed_conv(in, attrs));
  return for_dtype("conv2d_nchwc", in[0]->dtype, FloatTypes{}, [&]<class T>() -> Result<RefKernel> {
    return RefKernel([conv](const void* const* from, void* const* to) {
      packed_conv(conv, in_as<T>(from, 0), in_as<T>(from, 1), out_as<T>(to, 0));
    });
  });
}

OpDef conv2d_nchwc() {
  return {
      .name = "conv2d_nchwc",
      .doc = "conv2d whose result has its channels in blocks, innermost; x may have, too.",
      .kind = FusionKind::kAnchor,
      .inputs = {{"x", "float [n, c, h, w] or [n, c / b, h, w, b]"},
                 {"weight", "as x: [o, c / group, kh, kw]"}},
      .outputs = {{"y", "[n, o / block, h, w, block]"}},
      .attrs = {{"block", int64_t{8}, "channels of y that stand together; divides o"},
                {"strides", Ints{1, 1}, "one per spatial dim, at least 1"},
                {"pads", Ints{0, 0, 0, 0}, "begins, then ends, at least 0"},
                {"dilations", Ints{1, 1}, "one per spatial dim, at least 1"},
                {"group", int64_t{1}, "divides the channels of x and y"}},
      .infer = infer_conv2d_nchwc,
      .reference = reference_conv2d_nchwc,
      .flops =
          [](Types in, Types out, const Attrs&) {
            Ints w = static_extents(in[1]->shape);
            return 2 * flop_count(out[0]) * static_cast<double>(w[1] * w[2] * w[3]);
          },
  };
}

}  // namespace

void add_layout_ops(OpRegistry& ops) {
  ops.add(layout_transform());
  ops.add(conv2d_nchwc());
}

}  // namespace byoc::op
