// SPDX-License-Identifier: Apache-2.0
#include "primitives/conv_loop.h"

#if defined(__x86_64__)
#include <algorithm>
#include <vector>

#include "primitives/loops.h"

// The steps of a tap, as assembly: g++ 12 keeps one of twelve sums in memory, and addresses, which
// costs up to half the speed. Distances fit a byte, which keeps the loop at 831 bytes.
#define BYOC_SPREAD(i, cell, reg) "vbroadcastss 4*" #i cell ", %%ymm" #reg "\n\t"
#define BYOC_WEIGHTS(i, block) "vmovups 32*" #i "-128" block ", %%ymm15\n\t"
#define BYOC_ADD(reg, sum) "vfmadd231ps %%ymm15, %%ymm" #reg ", %[" #sum "]\n\t"
#define BYOC_CELLS_1(i) BYOC_SPREAD(i, "(%[x])", 12)
#define BYOC_CELLS_2(i) BYOC_CELLS_1(i) BYOC_SPREAD(i, "(%[x],%[next])", 13)
#define BYOC_CELLS_3(i) BYOC_CELLS_2(i) BYOC_SPREAD(i, "(%[x],%[next],2)", 14)
#define BYOC_SUMS_1(o) BYOC_ADD(12, sum##o##0)
#define BYOC_SUMS_2(o) BYOC_SUMS_1(o) BYOC_ADD(13, sum##o##1)
#define BYOC_SUMS_3(o) BYOC_SUMS_2(o) BYOC_ADD(14, sum##o##2)
#define BYOC_CHANNEL(i, n)                                                                        \
  BYOC_CELLS_##n(i) BYOC_WEIGHTS(i, "(%[w])") BYOC_SUMS_##n(0) BYOC_WEIGHTS(i, "(%[w],%[block])") \
      BYOC_SUMS_##n(1) BYOC_WEIGHTS(i, "(%[w],%[block],2)") BYOC_SUMS_##n(2)                      \
          BYOC_WEIGHTS(i, "(%[w],%[block3])") BYOC_SUMS_##n(3)
#define BYOC_TAP(n)  \
  BYOC_CHANNEL(0, n) \
  BYOC_CHANNEL(1, n) \
  BYOC_CHANNEL(2, n) \
  BYOC_CHANNEL(3, n) BYOC_CHANNEL(4, n) BYOC_CHANNEL(5, n) BYOC_CHANNEL(6, n) BYOC_CHANNEL(7, n)
#define BYOC_IN_OUT(p)                                                    \
  [sum0##p] "+x"(sums[0][first + p]), [sum1##p] "+x"(sums[1][first + p]), \
      [sum2##p] "+x"(sums[2][first + p]), [sum3##p] "+x"(sums[3][first + p])
#define BYOC_IN                                                                          \
  [x] "R"(x), [next] "R"(s.next_cell), [w] "R"(w + kTap / 2), [block] "R"(s.next_block), \
      [block3] "R"(3 * s.next_block)
#define BYOC_CLOBBERED "xmm12", "xmm13", "xmm14", "xmm15", "memory"

namespace byoc::onednn {
namespace {

#define BYOC_AVX2 __attribute__((target("avx2,fma")))
#define BYOC_AVX2_INLINE inline __attribute__((always_inline, target("avx2,fma")))

constexpr int64_t kBlock = 8;       // channels
constexpr int64_t kTileBlocks = 4;  // blocks of results, held in registers
constexpr int64_t kTap = 64;        // weights of a tap, one block to another
constexpr int64_t kBytes = sizeof(float);
constexpr int64_t kMostRows = 32;  // rows of results that one task makes
using Lanes = float __attribute__((vector_size(32)));
using Unaligned = float __attribute__((vector_size(32), aligned(4)));

/// Distances in bytes.
struct Steps {
  int64_t next_cell;  // in the operand, from one result to the next
  int64_t next_tap, next_tap_row;
  int64_t next_block;  // in the weights, from one block of results to the next
  int64_t next_out_block;
};

const float* behind(const float* p, int64_t bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(p) + bytes);
}
float* behind(float* p, int64_t bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(p) + bytes);
}

template <size_t cells>
using Sums = Lanes[kTileBlocks][cells];

/// Adds one tap to `count` sums from `first` on.
template <size_t cells, size_t first, size_t count>
BYOC_AVX2_INLINE void add_tap(const Steps& s, const float* x, const float* w, Sums<cells>& sums) {
  if constexpr (count == 3)
    asm(BYOC_TAP(3) : BYOC_IN_OUT(0), BYOC_IN_OUT(1), BYOC_IN_OUT(2) : BYOC_IN : BYOC_CLOBBERED);
  if constexpr (count == 2)
    asm(BYOC_TAP(2) : BYOC_IN_OUT(0), BYOC_IN_OUT(1) : BYOC_IN : BYOC_CLOBBERED);
  if constexpr (count == 1) asm(BYOC_TAP(1) : BYOC_IN_OUT(0) : BYOC_IN : BYOC_CLOBBERED);
}

/// The taps of a group of cells that are inside the image for the same subset of its cells, which
/// may be empty.
struct Span {
  int64_t taps;
  int64_t x;              // bytes, from the group's first cell to that of the first tap
  uint32_t first, count;  // cells
};
/// Cells of a row of results that are summed at a time: either `repeats` groups of `cells`, one
/// after another and with all taps inside, or one group with some taps outside.
struct Group {
  int64_t column, cells, repeats;
  std::vector<Span> spans;  // the taps of a group at the edge, in order
};

/// The contribution of one block of the operand's channels to one row of results.
struct RowPart {
  Steps steps;
  int64_t tap_rows, taps;  // tap rows: those inside the image
  const float* x;          // the cell of the first tap row and of the first tap of column 0
  const float* w;
  float* y;
  const float* bias;  // or null
  bool from_result, has_relu;
};

/// Adds the result's earlier value at the end, where no sum waits for it. One branch serves all
/// sums: three branches for each would take a tenth of the time.
template <size_t cells>
BYOC_AVX2_INLINE void end(const RowPart& row, float* y, Sums<cells>& sums) {
  Unaligned* to[kTileBlocks];
#pragma GCC unroll 4
  for (int64_t o = 0; o < kTileBlocks; ++o)
    to[o] = reinterpret_cast<Unaligned*>(behind(y, o * row.steps.next_out_block));
  if (row.from_result) {
#pragma GCC unroll 4
    for (int64_t o = 0; o < kTileBlocks; ++o) {
#pragma GCC unroll 3
      for (size_t p = 0; p < cells; ++p) sums[o][p] += to[o][p];
    }
  }
  if (row.bias) {
#pragma GCC unroll 4
    for (int64_t o = 0; o < kTileBlocks; ++o) {
      const Lanes bias = reinterpret_cast<const Unaligned*>(row.bias)[o];
#pragma GCC unroll 3
      for (size_t p = 0; p < cells; ++p) sums[o][p] += bias;
    }
  }
  if (row.has_relu) {
#pragma GCC unroll 4
    for (int64_t o = 0; o < kTileBlocks; ++o) {  // keeps NaN
#pragma GCC unroll 3
      for (size_t p = 0; p < cells; ++p) sums[o][p] = sums[o][p] < 0 ? Lanes{} : sums[o][p];
    }
  }
#pragma GCC unroll 4
  for (int64_t o = 0; o < kTileBlocks; ++o) {
#pragma GCC unroll 3
    for (size_t p = 0; p < cells; ++p) to[o][p] = sums[o][p];
  }
}

/// Computes `count` groups of cells from `column` on; all their taps are inside.
template <size_t cells>
BYOC_AVX2 void add_inside(const RowPart& row, int64_t column, int64_t count) {
  const Steps s = row.steps;
  const float* cell = behind(row.x, column * s.next_cell);
  float* y = row.y + column * kBlock;
  for (; count > 0; --count, y += cells * kBlock, cell = behind(cell, cells * s.next_cell)) {
    Sums<cells> sums{};
    const float *x = cell, *w = row.w;
    for (int64_t r = row.tap_rows; r > 0; --r) {
      const float* tap = x;
      for (int64_t t = row.taps; t > 0; --t, tap = behind(tap, s.next_tap), w += kTap)
        add_tap<cells, 0, cells>(s, tap, w, sums);
      x = behind(x, s.next_tap_row);
    }
    end<cells>(row, y, sums);
  }
}

template <size_t cells>
BYOC_AVX2_INLINE void add_some(const Steps& s, size_t first, size_t count, const float* x,
                               const float* w, Sums<cells>& sums) {
  if (count == cells) return add_tap<cells, 0, cells>(s, x, w, sums);
  if constexpr (cells == 3) {
    if (count == 2 && first == 0) return add_tap<cells, 0, 2>(s, x, w, sums);
    if (count == 2) return add_tap<cells, 1, 2>(s, x, w, sums);
    if (count == 1 && first == 2) return add_tap<cells, 2, 1>(s, x, w, sums);
  }
  if constexpr (cells >= 2) {
    if (count == 1 && first == 0) return add_tap<cells, 0, 1>(s, x, w, sums);
    if (count == 1 && first == 1) return add_tap<cells, 1, 1>(s, x, w, sums);
  }
}

/// Computes one group of cells, some of whose taps are outside.
template <size_t cells>
BYOC_AVX2 void add_edge(const RowPart& row, const Group& group) {
  const Steps s = row.steps;
  float* y = row.y + group.column * kBlock;
  Sums<cells> sums{};
  const float *x = behind(row.x, group.column * s.next_cell), *w = row.w;
  for (int64_t r = row.tap_rows; r > 0; --r, x = behind(x, s.next_tap_row)) {
    for (const Span& span : group.spans) {
      const float* tap = behind(x, span.x);
      for (int64_t t = span.taps; t > 0; --t, tap = behind(tap, s.next_tap), w += kTap)
        add_some<cells>(s, span.first, span.count, tap, w, sums);
    }
  }
  end<cells>(row, y, sums);
}

template <size_t cells>
void add_group(const RowPart& row, const Group& group) {
  if (group.spans.empty()) return add_inside<cells>(row, group.column, group.repeats);
  add_edge<cells>(row, group);
}

void add_row(const RowPart& row, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    if (group.cells == 3) add_group<3>(row, group);
    if (group.cells == 2) add_group<2>(row, group);
    if (group.cells == 1) add_group<1>(row, group);
  }
}

int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : 0; }

/// Returns the number of cells from `column` on, `cells` at most, whose tap is left of `limit`.
int64_t cells_before(const ConvShape& c, int64_t column, int64_t tap, int64_t limit,
                     int64_t cells) {
  const int64_t at = column * c.stride_w - c.pad_w + tap * c.step_w;
  return std::min(ceil_div(limit - at, c.stride_w), cells);
}

std::vector<Span> find_spans(const ConvShape& c, int64_t column, int64_t cells) {
  std::vector<Span> spans;
  for (int64_t tap = 0; tap < c.kernel_w; ++tap) {
    const int64_t first = cells_before(c, column, tap, 0, cells);
    const int64_t last = std::max(first, cells_before(c, column, tap, c.in_w, cells));
    const auto count = static_cast<uint32_t>(last - first);
    const auto from = static_cast<uint32_t>(count > 0 ? first : 0);
    if (!spans.empty() && spans.back().first == from && spans.back().count == count) {
      ++spans.back().taps;
    } else {
      spans.push_back({1, (tap * c.step_w + from * c.stride_w) * kBlock * kBytes, from, count});
    }
  }
  return spans;
}

void add_cells(const ConvShape& c, int64_t cells, int64_t end, int64_t& column,
               std::vector<Group>& to) {
  for (; column + cells <= end; column += cells) {
    std::vector<Span> spans = find_spans(c, column, cells);
    bool is_inside = spans.size() == 1 && spans[0].count == cells;
    if (is_inside && !to.empty() && to.back().spans.empty() && to.back().cells == cells) {
      ++to.back().repeats;
    } else {
      to.push_back({column, cells, 1, is_inside ? std::vector<Span>() : std::move(spans)});
    }
  }
}

/// Splits a row into groups of three cells, and of two for the remainder: fewer than eight sums at
/// a time would wait for one another.
std::vector<Group> find_groups(const ConvShape& c) {
  const int64_t twos = c.out_w % 3 == 2 ? 1 : c.out_w % 3 == 1 && c.out_w > 1 ? 2 : 0;
  std::vector<Group> groups;
  int64_t column = 0;
  add_cells(c, 3, c.out_w - 2 * twos, column, groups);
  add_cells(c, 2, c.out_w, column, groups);
  add_cells(c, 1, c.out_w, column, groups);
  return groups;
}

/// The taps' rows of one row of results that are inside the image.
struct TapRows {
  int64_t first, last;
};
TapRows tap_rows(const ConvShape& c, int64_t out_row) {
  const int64_t begin = out_row * c.stride_h - c.pad_h;
  const int64_t first = begin < 0 ? (-begin + c.step_h - 1) / c.step_h : 0;
  const int64_t last = begin < c.in_h ? (c.in_h - begin + c.step_h - 1) / c.step_h : 0;
  return {std::min(first, c.kernel_h), std::min(last, c.kernel_h)};
}

struct Operands {
  const float *x, *w, *bias;
  float* y;
};

/// Prefetches this row's part of the next operand, which arrives while this block is computed.
void prefetch_part(const float* from, int64_t floats, int64_t part, int64_t parts) {
  constexpr int64_t kLine = 16;
  const int64_t lines = floats / kLine;
  for (int64_t k = lines * part / parts; k < lines * (part + 1) / parts; ++k)
    __builtin_prefetch(from + k * kLine, 0, 2);
}

/// Computes rows of results in four blocks of channels: the weights of a block of the operand's
/// channels stay in the first-level cache for all of them.
void add_rows(const ConvShape& c, const std::vector<Group>& groups, const Operands& all,
              int64_t image, int64_t tile, int64_t first_row, int64_t last_row) {
  const int64_t in_blocks = c.in_channels / kBlock, out_blocks = c.out_channels / kBlock;
  const int64_t in_plane = c.in_h * c.in_w * kBlock, out_plane = c.out_h * c.out_w * kBlock;
  const int64_t kernel = c.kernel_h * c.kernel_w * kTap;
  RowPart row{};
  row.steps = {c.stride_w * kBlock * kBytes, c.step_w * kBlock * kBytes,
               c.step_h * c.in_w * kBlock * kBytes, in_blocks * kernel * kBytes,
               out_plane * kBytes};
  row.taps = c.kernel_w;
  const float* weights = all.w + tile * kTileBlocks * in_blocks * kernel;
  float* out = all.y + (image * out_blocks + tile * kTileBlocks) * out_plane;
  for (int64_t block = 0; block < in_blocks; ++block) {
    const float* plane = all.x + (image * in_blocks + block) * in_plane;
    const bool is_first = block == 0;
    row.bias = is_first && all.bias ? all.bias + tile * kTileBlocks * kBlock : nullptr;
    row.from_result = !is_first || c.adds_to_result;
    row.has_relu = c.has_relu && block == in_blocks - 1;
    for (int64_t r = first_row; r < last_row; ++r) {
      const TapRows inside = tap_rows(c, r);
      const int64_t in_row = r * c.stride_h - c.pad_h + inside.first * c.step_h;
      row.tap_rows = std::max<int64_t>(inside.last - inside.first, 0);
      row.x = plane + (in_row * c.in_w - c.pad_w) * kBlock;
      row.w = weights + block * kernel + inside.first * c.kernel_w * kTap;
      row.y = out + r * c.out_w * kBlock;
      if (block + 1 < in_blocks) {
        for (int64_t o = 0; o < kTileBlocks; ++o)
          prefetch_part(weights + (o * in_blocks + block + 1) * kernel, kernel, r - first_row,
                        last_row - first_row);
      }
      add_row(row, groups);
    }
  }
}

/// Chooses the number of rows of a task so that every thread gets a few tasks.
void convolve(const ConvShape& c, const std::vector<Group>& groups, const Operands& all) {
  const int64_t tiles = c.out_channels / (kTileBlocks * kBlock);
  const int threads = loop_threads();
  const int64_t share = c.images * tiles * c.out_h / (4 * threads);
  const int64_t rows = std::clamp<int64_t>(share, 1, std::min(kMostRows, c.out_h));
  const int64_t parts = (c.out_h + rows - 1) / rows;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t task = 0; task < c.images * tiles * parts; ++task) {
    const int64_t first = task % parts * rows;
    add_rows(c, groups, all, task / parts / tiles, task / parts % tiles, first,
             std::min(first + rows, c.out_h));
  }
}

}  // namespace

std::optional<Loop> find_conv_loop(const ConvShape& c) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return std::nullopt;
  if (c.in_channels % kBlock != 0 || c.out_channels % (kTileBlocks * kBlock) != 0)
    return std::nullopt;
  BYOC_ONEDNN_CHECK(c.stride_h > 0 && c.stride_w > 0 && c.step_h > 0 && c.step_w > 0 &&
                        c.kernel_h > 0 && c.kernel_w > 0,
                    "oneDNN has accepted the convolution's attributes");
  return [c, groups = find_groups(c)](const void* const* in, void* to) {
    auto operand = [&](int k) { return static_cast<const float*>(in[k]); };
    convolve(c, groups,
             {operand(0), operand(1), c.has_bias ? operand(2) : nullptr, static_cast<float*>(to)});
  };
}

}  // namespace byoc::onednn

#else

namespace byoc::onednn {

std::optional<Loop> find_conv_loop(const ConvShape&) { return std::nullopt; }

}  // namespace byoc::onednn

#endif
