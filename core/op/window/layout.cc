// SPDX-License-Identifier: Apache-2.0
// Blocked layouts: channels in blocks as the innermost dim, so that code generators load vectors of
// them. Types stay plain: NCHW8c of [n, c, h, w] is a tensor [n, c / 8, h, w, 8].
#include <algorithm>
#include <cctype>

#include "byoc/base/check.h"
#include "byoc/op/registry.h"
#include "core/op/kernel/conv_kernel.h"
#include "core/op/kernel/move.h"
#include "core/op/kernel/window.h"

namespace byoc::op {
namespace {

constexpr int64_t kMaxBlock = 64;

// The dims of "NCHW8c": their letters in order, then the blocked dim's in lower case
// with its factor.
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
};

Result<Transform> read_transform(const Attrs& attrs) {
  Transform out;
  BYOC_TRY(out.from, parse_layout(attrs.s("src_layout")));
  BYOC_TRY(out.to, parse_layout(attrs.s("dst_layout")));
  bool one_is_plain = (out.from.blocked == 0) != (out.to.blocked == 0);
  if (one_is_plain && std::ranges::is_permutation(out.from.dims, out.to.dims)) return out;
  return invalid(cat("layout_transform: from ", attrs.s("src_layout"), " to ",
                     attrs.s("dst_layout"), "; expected the same dims, blocked on one side alone"));
}

// Returns the dims of `x` in the order of the result's letters.
Shape permuted(const Transform& t, TypeId x) {
  Shape out;
  for (char letter : t.to.dims) {
    const size_t d = t.from.dims.find(letter);
    BYOC_CHECK(d < x->shape.size(), "layout ", t.from.dims, " has no dim ", letter, " in ", x);
    out.push_back(x->shape[d]);
  }
  return out;
}

Result<std::vector<TensorType>> infer_layout_transform(Types in, const Attrs& attrs) {
  BYOC_TRY(Transform t, read_transform(attrs));
  BYOC_TRY_STATUS(
      expect_rank("layout_transform", "x", in[0], t.from.dims.size() + (t.packs() ? 0 : 1)));
  Shape shape = permuted(t, in[0]);
  Dim& dim = shape[t.to.dims.find(t.packed().blocked)];
  const int64_t block = t.packed().block;
  if (!dim.is_static())
    return invalid(cat("layout_transform: the blocked dim must be known (x ", in[0], ")"))
        .with_slug("symbolic-shape");
  if (t.packs()) {
    if (dim.extent() % block != 0)
      return shape_error(cat("layout_transform: an extent of ", dim.extent(),
                             " does not divide into blocks of ", block),
                         in[0]);
    dim = dim.extent() / block;
    shape.push_back(block);
    return one_result({in[0]->dtype, shape});
  }
  if (in[0]->shape.back() != Dim(block))
    return shape_error(cat("layout_transform: the last dim is not ", block), in[0]);
  int64_t extent = 0;
  if (__builtin_mul_overflow(dim.extent(), block, &extent))
    return Status(Code::kOutOfRange, "layout_transform: an extent does not fit in 63 bits");
  dim = extent;
  return one_result({in[0]->dtype, shape});
}

// Walks over y in its order. A dim that is blocked in x is two loops of y, and the other way round.
Result<RefKernel> reference_layout_transform(Types in, Types, const Attrs& attrs) {
  BYOC_TRY(Transform t, read_transform(attrs));
  const int64_t block = t.packed().block;
  Ints x = static_extents(in[0]->shape), step(x.size(), 1);
  BYOC_CHECK(x.size() == t.from.dims.size() + (t.packs() ? 0 : 1), in[0], " in the layout ",
             t.from.dims);
  for (size_t d = x.size(); d-- > 1;) step[d - 1] = step[d] * x[d];
  Ints extents, strides;
  int64_t blocked_step = 1;
  for (char letter : t.to.dims) {
    const size_t d = t.from.dims.find(letter);
    const bool is_blocked = letter == t.packed().blocked;
    extents.push_back(is_blocked && t.packs() ? x[d] / block : x[d]);
    strides.push_back(is_blocked && t.packs() ? step[d] * block : step[d]);
    if (is_blocked && !t.packs()) extents.push_back(block), strides.push_back(1);
    if (is_blocked) blocked_step = step[d];
  }
  if (t.packs()) extents.push_back(block), strides.push_back(blocked_step);
  return strided_kernel(in[0]->dtype, extents, strides);
}

Result<IndexFn> layout_index(Types, const TensorType&, const Attrs& attrs) {
  BYOC_TRY(Transform t, read_transform(attrs));
  return IndexFn([t](const Exprs& y) {
    const int64_t block = t.packed().block;
    Exprs x;
    for (char letter : t.from.dims) {
      BYOC_CHECK(t.to.dims.find(letter) < y.size(), "layout ", t.to.dims, " has no dim ", letter);
      Expr at = y[t.to.dims.find(letter)];
      if (letter == t.packed().blocked)
        at = t.packs() ? at * block + y.back() : floor_div(at, block);
      x.push_back(at);
    }
    if (!t.packs()) x.push_back(floor_mod(y[t.to.dims.find(t.packed().blocked)], block));
    return x;
  });
}

OpDef layout_transform() {
  return {
      .name = "layout_transform",
      .doc =
          "x in another layout, as NCHW and NCHW8c: blocks of the dim in lower case are "
          "innermost, [n, c, h, w] -> [n, c / 8, h, w, 8], or back; dims may change places.",
      .kind = FusionKind::kInjective,
      .inputs = {{"x", "any type, of the source's rank"}},
      .attrs = {{"src_layout", std::string(), "layout of x", AttrSpec::kRequired},
                {"dst_layout", std::string(), "layout of y; one of both has no block",
                 AttrSpec::kRequired}},
      .infer = infer_layout_transform,
      .reference = reference_layout_transform,
      .compute = with_open_sizes(move_compute("layout_transform", layout_index)),
      .flops = no_flops,
      .facts = {.family = OpFamily::kLayoutTransform},
  };
}

// The shapes: x is [n, c, h, w] or [n, c / b, h, w, b]; weight is [o / bo, c / group / bi,
// kh, kw, bi, bo].
struct PackedConv {
  int64_t n, c, h, w, x_block;  // n, h, w: 0 where they are open
  int64_t o, out_block, group, group_c, in_block;
  Window row, column;
  Dim rows = 0, columns = 0;  // of y
  int64_t oh = 0, ow = 0;     // the same, 0 where they are open
  int64_t group_o() const { return o / group; }
};

int64_t number_or_0(Dim dim) { return dim.is_static() ? dim.extent() : 0; }

Result<PackedConv> read_packed_conv(Types in, const Attrs& attrs) {
  constexpr std::string_view kOp = "conv2d_nchwc";
  BYOC_TRY_STATUS(expect_dtype(kOp, "x", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(kOp, in));
  BYOC_TRY_STATUS(expect_rank(kOp, "weight", in[1], 6));
  if (in[0]->shape.size() != 4) BYOC_TRY_STATUS(expect_rank(kOp, "x", in[0], 5));
  const Shape& image = in[0]->shape;
  const bool has_blocks = image.size() == 5;
  if (!image[1].is_static() || (has_blocks && !image[4].is_static()) || !is_static(in[1]->shape))
    return invalid(cat(kOp, ": channels and the weight's shape must be known (x ", in[0],
                       ", weight ", in[1], ")"))
        .with_slug("symbolic-shape");
  Ints x, w = static_extents(in[1]->shape);
  for (Dim dim : image) x.push_back(number_or_0(dim));
  if (x.size() == 4) x.push_back(1);
  PackedConv out{x[0], 0, x[2], x[3], x[4], 0, w[5], attrs.i("group", 1), 0, w[4], {}, {}};
  if (__builtin_mul_overflow(x[1], x[4], &out.c) || __builtin_mul_overflow(w[0], w[5], &out.o) ||
      __builtin_mul_overflow(w[1], w[4], &out.group_c) || out.group < 1 || out.o % out.group != 0 ||
      out.c % out.group != 0 || out.c / out.group != out.group_c)
    return shape_error(cat(kOp, ": group ", out.group, " and weight ", in[1], " do not fit"),
                       in[0]);
  if (out.out_block == 0)
    return shape_error(cat(kOp, ": weight ", in[1], " has blocks of no channels"), in[0]);
  const int64_t kernel[] = {w[2], w[3]};
  BYOC_TRY(std::vector<Window> windows, read_windows(kOp, attrs, kernel));
  BYOC_CHECK(windows.size() == 2, windows.size(), " windows of an image");
  out.row = windows[0], out.column = windows[1];
  BYOC_TRY(out.rows, window_extent(kOp, image[2], out.row));
  BYOC_TRY(out.columns, window_extent(kOp, image[3], out.column));
  out.oh = number_or_0(out.rows), out.ow = number_or_0(out.columns);
  return out;
}

Result<std::vector<TensorType>> infer_conv2d_nchwc(Types in, const Attrs& attrs) {
  BYOC_TRY(PackedConv c, read_packed_conv(in, attrs));
  return one_result(
      {in[0]->dtype, {in[0]->shape[0], c.o / c.out_block, c.rows, c.columns, c.out_block}});
}

// Computes one output element, summed in f64.
template <class T>
T packed_conv_at(const PackedConv& p, const T* x, const T* weight, int64_t o, int64_t oh,
                 int64_t ow) {
  double sum = 0;
  const int64_t first_c = o / p.group_o() * p.group_c, taps = p.row.kernel * p.column.kernel;
  const int64_t tile = p.in_block * p.out_block;  // weights of one tap
  weight += o / p.out_block * p.group_c * taps * p.out_block + o % p.out_block;
  for (int64_t k = 0; k < p.group_c; ++k) {
    const int64_t c = first_c + k;
    const T* plane = x + c / p.x_block * p.h * p.w * p.x_block + c % p.x_block;
    const T* at = weight + k / p.in_block * taps * tile + k % p.in_block * p.out_block;
    for (int64_t kh = 0; kh < p.row.kernel; ++kh) {
      const int64_t h = oh * p.row.stride + kh * p.row.dilation - p.row.pad_begin;
      if (h < 0 || h >= p.h) continue;
      for (int64_t kw = 0; kw < p.column.kernel; ++kw) {
        const int64_t w = ow * p.column.stride + kw * p.column.dilation - p.column.pad_begin;
        if (w < 0 || w >= p.w) continue;
        sum += static_cast<double>(plane[(h * p.w + w) * p.x_block]) *
               static_cast<double>(at[(kh * p.column.kernel + kw) * tile]);
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

// Sums over the weight's [c / group / i, kh, kw, i].
Result<Tensors> compute_conv2d_nchwc(te::Builder& builder, Inputs in, Types out,
                                     const Attrs& attrs) {
  TypeId types[] = {type_of(in[0]), type_of(in[1])};
  BYOC_TRY(PackedConv p, read_packed_conv(types, attrs));
  Tensor x = padded(builder, in[0], {p.row, p.column}), weight = in[1];
  auto term = [&](const Exprs& i, const Exprs& r) {
    Expr h = i[2] * p.row.stride + r[1] * p.row.dilation;
    Expr w = i[3] * p.column.stride + r[2] * p.column.dilation;
    Expr block = r[0], lane = r[3];
    if (p.group != 1 || p.in_block != p.x_block) {
      Expr c = r[0] * p.in_block + r[3];
      if (p.group != 1) c = floor_div(i[1] * p.out_block + i[4], p.group_o()) * p.group_c + c;
      block = floor_div(c, p.x_block), lane = floor_mod(c, p.x_block);
    }
    Expr cell = x.rank() == 4 ? x(i[0], block, h, w) : x(i[0], block, h, w, lane);
    return widened(cell) * widened(weight(i[1], r[0], r[1], r[2], r[3], i[4]));
  };
  Exprs over(weight.shape().begin() + 1, weight.shape().end() - 1);
  Tensor y = sum_over(builder, "conv2d_nchwc", te::extents_of(*out[0]), over, x.dtype(), term);
  return one(stored_as(builder, "conv2d_nchwc", x.dtype(), y));
}

OpDef conv2d_nchwc() {
  return {
      .name = "conv2d_nchwc",
      .doc = "conv2d with weight and result in blocks of channels, and x too, or plain.",
      .kind = FusionKind::kAnchor,
      .inputs = {{"x", "float [n, c, h, w] or [n, c / b, h, w, b]"},
                 {"weight", "as x: [o / b, c / group / i, kh, kw, i, b]"}},
      .outputs = {{"y", "[n, o / b, h, w, b]"}},
      .attrs = {{"strides", Ints{1, 1}, "one per spatial dim, at least 1"},
                {"pads", Ints{0, 0, 0, 0}, "begins, then ends, at least 0"},
                {"dilations", Ints{1, 1}, "one per spatial dim, at least 1"},
                {"group", int64_t{1}, "divides the channels of x and y"}},
      .infer = infer_conv2d_nchwc,
      .reference = reference_conv2d_nchwc,
      .compute = with_open_sizes(compute_conv2d_nchwc),
      .flops =
          [](Types in, Types out, const Attrs&) {
            Ints w = static_extents(in[1]->shape);
            return 2 * flop_count(out[0]) * static_cast<double>(w[1] * w[2] * w[3] * w[4]);
          },
      .facts = {.family = OpFamily::kConvolution, .weight = 1},
  };
}

// The shapes: a [..., m, k], b [n / block, k, block].
struct PackedMatmul {
  int64_t m = 1, k = 0, blocks = 0, block = 1;
};

Result<PackedMatmul> read_packed_matmul(Types in) {
  constexpr std::string_view kOp = "matmul_packed";
  BYOC_TRY_STATUS(expect_dtype(kOp, "a", in[0], dtypes_of(FloatTypes{})));
  BYOC_TRY_STATUS(expect_same_dtype(kOp, in));
  BYOC_TRY_STATUS(expect_rank(kOp, "b", in[1], 3));
  if (in[0]->shape.size() < 2) BYOC_TRY_STATUS(expect_rank(kOp, "a", in[0], 2));
  if (!is_static(in[0]->shape) || !is_static(in[1]->shape))
    return invalid(cat(kOp, ": all extents must be known (a ", in[0], ", b ", in[1], ")"))
        .with_slug("symbolic-shape");
  Ints a = static_extents(in[0]->shape), b = static_extents(in[1]->shape);
  PackedMatmul out{1, a.back(), b[0], b[2]};
  for (size_t d = 0; d + 1 < a.size(); ++d) out.m *= a[d];
  if (out.k == b[1]) return out;
  return shape_error(cat(kOp, ": b expects rows of ", b[1], " elements (b ", in[1], ")"), in[0]);
}

Result<std::vector<TensorType>> infer_matmul_packed(Types in, const Attrs&) {
  BYOC_TRY(PackedMatmul p, read_packed_matmul(in));
  TensorType y = *in[0];
  int64_t n = 0;
  if (__builtin_mul_overflow(p.blocks, p.block, &n))
    return Status(Code::kOutOfRange, "matmul_packed: an extent does not fit in 63 bits");
  y.shape.back() = n;
  return one_result(std::move(y));
}

template <class T>
void packed_matmul(const PackedMatmul& p, const T* a, const T* b, T* y) {
  for (int64_t m = 0; m < p.m; ++m, a += p.k) {
    for (int64_t n = 0; n < p.blocks * p.block; ++n) {
      const T* column = b + n / p.block * p.k * p.block + n % p.block;
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += static_cast<double>(a[k]) * static_cast<double>(column[k * p.block]);
      *y++ = static_cast<T>(sum);
    }
  }
}

Result<Tensors> compute_matmul_packed(te::Builder& builder, Inputs in, Types out, const Attrs&) {
  const Tensor &a = in[0], &b = in[1];
  int64_t block = extents(b)[2];
  auto term = [&](const Exprs& i, const Exprs& k) {
    Exprs at_a = i;
    at_a.back() = k[0];
    Expr column = b(floor_div(i.back(), block), k[0], floor_mod(i.back(), block));
    return widened(a(at_a)) * widened(column);
  };
  Tensor y = sum_over(builder, "matmul_packed", te::extents_of(*out[0]), {a.shape().back()},
                      a.dtype(), term);
  return one(stored_as(builder, "matmul_packed", a.dtype(), y));
}

OpDef matmul_packed() {
  return {
      .name = "matmul_packed",
      .doc = "matmul with b's columns in blocks: y = a times b.",
      .kind = FusionKind::kAnchor,
      .inputs = {{"a", "float [..., m, k]"}, {"b", "as a: [n / block, k, block]"}},
      .outputs = {{"y", "[..., m, n]"}},
      .infer = infer_matmul_packed,
      .reference = [](Types in, Types, const Attrs&) -> Result<RefKernel> {
        BYOC_TRY(PackedMatmul p, read_packed_matmul(in));
        return for_dtype(
            "matmul_packed", in[0]->dtype, FloatTypes{}, [&]<class T>() -> Result<RefKernel> {
              return RefKernel([p](const void* const* from, void* const* to) {
                packed_matmul(p, in_as<T>(from, 0), in_as<T>(from, 1), out_as<T>(to, 0));
              });
            });
      },
      .compute = compute_matmul_packed,
      .flops =
          [](Types in, Types out, const Attrs&) {
            return 2 * flop_count(out[0]) * static_cast<double>(in[0]->shape.back().extent());
          },
      .facts = {.family = OpFamily::kProduct, .weight = 1},
  };
}

}  // namespace

void add_layout_ops(OpRegistry& ops) {
  ops.add(layout_transform());
  ops.add(conv2d_nchwc());
  ops.add(matmul_packed());
}

}  // namespace byoc::op
