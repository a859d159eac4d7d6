// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "exact/extrema.h"
#include "library/implementations.h"
#include "primitives/loops.h"

namespace byoc::onednn {

using dnnl::algorithm;

namespace {

// The window a pooling op slides; the right padding grows to what ceil_mode reaches into.
struct Window {
  Dims kernel, strides, dilations, begin, end;
  bool grew = false;
};

Window read_window(const Builder& b) {
  const sdk::Attrs& attrs = b.attrs();
  BYOC_ONEDNN_CHECK(b.type(0).rank() > 2 && b.out_type().rank() == b.type(0).rank(),
                    "pooling reads [n, c, spatial...]");
  size_t spatial = b.type(0).rank() - 2;
  Dims pads = attrs.ints("pads");
  if (pads.empty()) pads.assign(2 * spatial, 0);
  Window w{attrs.ints("kernel_shape"), attrs.ints("strides"), attrs.ints("dilations"),
           halves(pads, false), halves(pads, true)};
  if (w.strides.empty()) w.strides.assign(spatial, 1);
  if (w.dilations.empty()) w.dilations.assign(spatial, 1);
  BYOC_ONEDNN_CHECK(w.kernel.size() == spatial && w.strides.size() == spatial &&
                        w.dilations.size() == spatial && w.begin.size() == spatial,
                    "a window has as many dims as the image");
  for (size_t k = 0; k < spatial; ++k) {
    int64_t in = b.type(0).dims[k + 2], out = b.out_type().dims[k + 2];
    int64_t needed =
        (out - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1 - in - w.begin[k];
    if (needed > w.end[k]) {
      w.end[k] = needed;
      w.grew = true;
    }
  }
  return w;
}

/// Returns true when a window has no cell of an image with these dims: it lies in the pads.
bool has_empty_window(const Window& w, const Dims& in, const Dims& out) {
  for (size_t k = 0; k < w.kernel.size(); ++k) {
    for (int64_t cell = 0; cell < out[k + 2]; ++cell) {
      bool is_empty = true;
      for (int64_t tap = 0; tap < w.kernel[k] && is_empty; ++tap) {
        const int64_t at = cell * w.strides[k] + tap * w.dilations[k] - w.begin[k];
        is_empty = at < 0 || at >= in[k + 2];
      }
      if (is_empty) return true;
    }
  }
  return false;
}

PoolingForward::primitive_desc describe_pool(const Builder& b, algorithm how, const Window& w,
                                             const Desc& operand) {
  return describe<PoolingForward>(b.engine, user_scratchpad(), kInference, how, operand,
                                  any_desc(b.out_type().dims, b.data(0)), w.strides, w.kernel,
                                  minus_one(w.dilations), w.begin, w.end);
}

// On plain images oneDNN 2.6 has a loop that takes fifty times as long as its kernel for blocks.
Built pool_with(const Builder& b, algorithm how, const Window& w) {
  no_posts(b);
  auto pd = describe_pool(b, how, w, b.format(0));
  std::optional<Blocks> blocks = find_or_make_blocks(b, 0);
  if (blocks && !is_generated(pd.impl_info_str())) pd = describe_pool(b, how, w, blocks->desc);
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  return finish(pd, std::move(built));
}

}  // namespace

namespace {

// Images of h x w cells with `width` channels each: the blocks of a plane, or all channels of an
// image whose channels come last.
struct CellPool {
  int64_t planes, width, in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, step_h, step_w, pad_h, pad_w;
};

// The cells of a window that lie inside the image: from `first`, below `last`.
struct Cells {
  int64_t first, last;
};
inline Cells cells_of(int64_t begin, int64_t kernel, int64_t step, int64_t extent) {
  const int64_t outside = begin < 0 ? (-begin + step - 1) / step : 0;
  return {begin + outside * step, std::min(begin + kernel * step, extent)};
}

// Pools `lanes` channels at `x` over one window; NaN if a cell is. The loops over the lanes become
// vectors where they are inlined: g++ 12 divides vector types into scalars here, before it inlines,
// because the machine that this function itself is compiled for lacks them.
template <int lanes>
inline __attribute__((always_inline)) void pool_window(const CellPool& p, Cells top, Cells left,
                                                       const float* x, float* y) {
  float most[lanes];
  for (int k = 0; k < lanes; ++k) most[k] = -std::numeric_limits<float>::infinity();
  for (int64_t h = top.first; h < top.last; h += p.step_h) {
    const float* line = x + h * p.in_w * p.width;
    for (int64_t w = left.first; w < left.last; w += p.step_w) {
      const float* cell = line + w * p.width;
      for (int k = 0; k < lanes; ++k)
        most[k] = (cell[k] > most[k]) | (cell[k] != cell[k]) ? cell[k] : most[k];
    }
  }
  for (int k = 0; k < lanes; ++k) y[k] = most[k];
}

// Pools row `row` of one plane: sixteen channels at a time, then eight, then one.
inline __attribute__((always_inline)) void pool_row(const CellPool& p, int64_t row, const float* x,
                                                    float* y) {
  const Cells top = cells_of(row * p.stride_h - p.pad_h, p.kernel_h, p.step_h, p.in_h);
  for (int64_t column = 0; column < p.out_w; ++column, y += p.width) {
    const Cells left = cells_of(column * p.stride_w - p.pad_w, p.kernel_w, p.step_w, p.in_w);
    int64_t lane = 0;
    for (; lane + 16 <= p.width; lane += 16) pool_window<16>(p, top, left, x + lane, y + lane);
    for (; lane + 8 <= p.width; lane += 8) pool_window<8>(p, top, left, x + lane, y + lane);
    for (; lane < p.width; ++lane) pool_window<1>(p, top, left, x + lane, y + lane);
  }
}
using PoolRow = void (*)(const CellPool&, int64_t row, const float* x, float* y);
#if defined(__x86_64__)
__attribute__((target("avx512f,avx512vl"))) void pool_row_avx512(const CellPool& p, int64_t row,
                                                                 const float* x, float* y) {
  pool_row(p, row, x, y);
}
__attribute__((target("avx2"))) void pool_row_avx2(const CellPool& p, int64_t row, const float* x,
                                                   float* y) {
  pool_row(p, row, x, y);
}
#endif
void pool_row_anywhere(const CellPool& p, int64_t row, const float* x, float* y) {
  pool_row(p, row, x, y);
}
PoolRow pool_row_of_this_cpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) return pool_row_avx512;
  if (__builtin_cpu_supports("avx2")) return pool_row_avx2;
#endif
  return pool_row_anywhere;
}

// Max pooling by byoc's own loop, in blocks of channels or with channels last. It takes two thirds
// of the time of oneDNN 2.6's on AVX2 (the largest pool of SqueezeNet, one thread), and keeps NaN.
std::optional<Built> max_pool_of_cells(const Builder& b, const Window& w) {
  const Dims &in = b.type(0).dims, &out = b.out_type().dims;
  Built built;
  int64_t width = 0;
  if (has_channels_last(b, 0)) {
    width = in[1];
    built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, b.format(0))};
    built.out = channels_last(out);
  } else {
    std::optional<Blocks> blocks = find_or_make_blocks(b, 0);
    if (!blocks) return std::nullopt;
    width = blocks->size;
    built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, blocks->desc)};
    built.out = blocks->with_dims(out);
  }
  CellPool p{in[0] * in[1] / width,
             width,
             in[2],
             in[3],
             out[2],
             out[3],
             w.kernel[0],
             w.kernel[1],
             w.strides[0],
             w.strides[1],
             w.dilations[0],
             w.dilations[1],
             w.begin[0],
             w.begin[1]};
  built.loop = [p, pool = pool_row_of_this_cpu()](const void* const* from, void* to) {
    const int threads = loop_threads();
    const int64_t in_plane = p.in_h * p.in_w * p.width, out_row = p.out_w * p.width;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t row = 0; row < p.planes * p.out_h; ++row) {
      pool(p, row % p.out_h, static_cast<const float*>(from[0]) + row / p.out_h * in_plane,
           static_cast<float*>(to) + row * out_row);
    }
  };
  built.implementation = kOwnLoop;
  return built;
}

}  // namespace

namespace {

// An image and its strides, of which the memory holds nothing else.
struct Image {
  Dims dims, strides;
  int64_t cells() const {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t planes() const { return dims[0] * dims[1]; }
  int64_t plane_at(int64_t plane) const {
    return plane / dims[1] * strides[0] + plane % dims[1] * strides[1];
  }
};
std::optional<Image> dense_image(const Desc& desc, const Dims& dims) {
  std::optional<Dims> strides = plain_strides_of(desc);
  if (!strides) return std::nullopt;
  Image image{dims, *std::move(strides)};
  int64_t last = 0;
  for (size_t d = 0; d < dims.size(); ++d) last += (dims[d] - 1) * image.strides[d];
  if (last + 1 != image.cells()) return std::nullopt;
  return image;
}

// The greatest cell of the window that gives cell `cell` of a plane of `out`.
float greatest(const Window& w, const Image& in, const Image& out, const float* plane,
               int64_t cell) {
  const size_t rank = w.kernel.size();
  int64_t taps = 1;
  for (int64_t extent : w.kernel) taps *= extent;
  float most = -std::numeric_limits<float>::infinity();
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t place = 0, rest_tap = tap, rest_cell = cell;
    bool is_inside = true;
    for (size_t d = rank; d-- > 0;) {
      const int64_t at = rest_cell % out.dims[d + 2] * w.strides[d] +
                         rest_tap % w.kernel[d] * w.dilations[d] - w.begin[d];
      is_inside = is_inside && at >= 0 && at < in.dims[d + 2];
      place += at * in.strides[d + 2];
      rest_tap /= w.kernel[d];
      rest_cell /= out.dims[d + 2];
    }
    if (is_inside) most = extreme(true, plane[place], most);
  }
  return most;
}

int64_t place_in_plane(const Image& image, int64_t cell) {
  int64_t place = 0;
  for (size_t d = image.dims.size(); d-- > 2; cell /= image.dims[d])
    place += cell % image.dims[d] * image.strides[d];
  return place;
}

// oneDNN drops NaN, and takes -infinity for the lowest finite number: all again where the operand
// has one, and where a window is empty.
Loop max_pool_again(const Image& in, const Image& out, const Window& w) {
  return [=, always = has_empty_window(w, in.dims, out.dims)](const void* const* operands,
                                                              void* result) {
    auto* x = static_cast<const float*>(operands[0]);
    auto* y = static_cast<float*>(result);
    if (!always && !has_special(x, in.cells())) return;
    const int64_t cells = out.planes() == 0 ? 0 : out.cells() / out.planes();
    for (int64_t plane = 0; plane < out.planes(); ++plane) {
      const float* from = x + in.plane_at(plane);
      float* to = y + out.plane_at(plane);
      for (int64_t cell = 0; cell < cells; ++cell)
        to[place_in_plane(out, cell)] = greatest(w, in, out, from, cell);
    }
  };
}

PoolingForward::primitive_desc describe_max_pool(const Builder& b, const Window& w,
                                                 const Desc& from, const Desc& to) {
  return describe<PoolingForward>(b.engine, user_scratchpad(), kInference, algorithm::pooling_max,
                                  from, to, w.strides, w.kernel, minus_one(w.dilations), w.begin,
                                  w.end);
}

// Runs oneDNN's kernel in the layouts of `own`, a loop, and that loop after it only where the
// operand has NaN or infinities, or a window is empty. Returns `own` where oneDNN has only a
// reference kernel.
Built primitive_before_loop(const Builder& b, const Window& w, Built own) {
  auto pd = describe_max_pool(b, w, own.inputs[0].want, own.out);
  if (is_reference(pd.impl_info_str())) return own;
  const bool always = has_empty_window(w, b.type(0).dims, b.out_type().dims);
  own.loop = [always, cells = b.type(0).elements(), loop = std::move(own.loop)](
                 const void* const* operands, void* result) {
    if (always || has_special(static_cast<const float*>(operands[0]), cells))
      loop(operands, result);
  };
  own.inputs[0].index = DNNL_ARG_SRC;
  return finish(pd, std::move(own));
}

Built max_pool_with(const Builder& b, const Window& w) {
  no_posts(b);
  if (b.out_type().dtype != sdk::DType::kF32) return pool_with(b, algorithm::pooling_max, w);
  if (std::optional<Built> built = max_pool_of_cells(b, w)) {
    if (b.choices.max_pool != "primitive") return *std::move(built);
    return primitive_before_loop(b, w, *std::move(built));
  }
  // In the operand's layout, when the loop after the primitive can read it there.
  const Dims &in = b.type(0).dims, &out = b.out_type().dims;
  auto pd = describe_max_pool(b, w, b.format(0), any_desc(out, b.data(0)));
  std::optional<Image> from = dense_image(b.format(0), in), to = dense_image(pd.dst_desc(), out);
  if (!from || !to) {
    const Desc plain_in = plain_desc(b.type(0)), plain_out = plain_desc(b.out_type());
    pd = describe_max_pool(b, w, plain_in, plain_out);
    from = dense_image(plain_in, in);
    to = dense_image(plain_out, out);
  }
  BYOC_ONEDNN_CHECK(from && to, "plain images are dense");
  Built built;
  built.inputs = {b.as_it_is(DNNL_ARG_SRC, 0, pd.src_desc())};
  built.out = pd.dst_desc();
  built.loop = max_pool_again(*from, *to, w);
  return finish(pd, std::move(built));
}

}  // namespace

Built build_max_pool(const Builder& b) { return max_pool_with(b, read_window(b)); }

Built build_average_pool(const Builder& b) {
  Window w = read_window(b);
  bool include = b.attrs().b("count_include_pad", false);
  if (include && w.grew)
    throw Refusal{"ceil_mode with count_include_pad counts cells that oneDNN does not"};
  return pool_with(
      b, include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding,
      w);
}

namespace {

Window whole_plane(const Builder& b) {
  BYOC_ONEDNN_CHECK(b.type(0).rank() >= 2, "pooling reads [n, c, spatial...]");
  Dims spatial(b.type(0).dims.begin() + 2, b.type(0).dims.end()), zeros(spatial.size(), 0),
      ones(spatial.size(), 1);
  return {spatial, ones, ones, zeros, zeros};
}

}  // namespace

Built build_global_max_pool(const Builder& b) { return max_pool_with(b, whole_plane(b)); }

Built build_global_average_pool(const Builder& b) {
  return pool_with(b, algorithm::pooling_avg_exclude_padding, whole_plane(b));
}

}  // namespace byoc::onednn
