// SPDX-License-Identifier: Apache-2.0
// The constants were fitted to Zen 5 (bench_llvm_kernels); only the order of costs matters.
#include "plugins/llvm/families/winograd/plan.h"

#include <algorithm>

#include "plugins/llvm/families/winograd/transforms.h"

namespace byoc::llvm_plugin::winograd {
namespace {

constexpr double kTileSlack = 1.6;            // cycles of a register tile against the best
constexpr double kTileCycles = 12;            // to begin a register tile
constexpr double kL2PerByte = 0.008;          // cycles that a byte of filters adds, read in a row
constexpr double kL3PerByteOfLane = 0.00625;  // for filters that do not stay there
constexpr double kMemoryPerByte = 0.11;       // for those that stay in no cache
constexpr int64_t kSharedCache = 24 << 20;    // bytes that filters may use of the third cache
constexpr int64_t kStreams = 6;               // places that the hardware fetches ahead from at once
constexpr double kMoreStreams = 0.18;         // of the time to read filters, for each place more
constexpr double kSpillPerByte = 0.04;        // for a byte of a batch that leaves the second cache
constexpr double kTransformPerVector = 2.2;   // cycles per vector of products that is made or read
constexpr double kVectorOfResult = 2;         // cycles to finish and to store a vector
constexpr double kDirectShare = 0.85;         // of the peak that direct convolutions reach

int64_t count_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

// Returns the cycles to read filters. The second cache keeps three eighths of its size for them; of
// more filters about twice the rest is evicted before it is read again. From beyond that cache, the
// hardware fetches ahead in as many places as a tile has blocks of results, and products of shorter
// vectors take longer, so that they wait less for it.
double filter_cycles(int64_t bytes, int64_t vectors, const te::Target& target) {
  const int64_t evicted = std::clamp<int64_t>(2 * bytes - target.l2_bytes * 3 / 4, 0, bytes);
  const double per_byte =
      bytes <= kSharedCache ? kL3PerByteOfLane * target.lanes(4) : kMemoryPerByte;
  const double places = static_cast<double>(std::min<int64_t>(vectors, 4));
  const double missed = static_cast<double>(std::max<int64_t>(vectors - kStreams, 0));
  return (kL2PerByte * static_cast<double>(bytes - evicted) +
          per_byte * static_cast<double>(evicted) * (1 + 4 / places) / 2) *
         (1 + kMoreStreams * missed);
}

// Returns the cycles of the products of `tiles` tiles.
double product_cycles(const Shape& shape, const te::Target& target, const topi::RegisterTile& tile,
                      int64_t tiles) {
  const int64_t registers = std::max<int64_t>(shape.o_block / target.lanes(4), 1);
  double out = 0;
  for (auto [vectors, v_count] : {std::pair(tile.vectors, shape.o_blocks / tile.vectors),
                                  std::pair(shape.o_blocks % tile.vectors, int64_t{1})}) {
    for (auto [cells, c_count] :
         {std::pair(tile.cells, tiles / tile.cells), std::pair(tiles % tile.cells, int64_t{1})}) {
      if (vectors == 0 || cells == 0) continue;
      const double terms =
          topi::cycles_per_term(cells, vectors * registers) * static_cast<double>(shape.c);
      out += static_cast<double>(v_count * c_count) * (terms + kTileCycles);
    }
  }
  return out * static_cast<double>(shape.products);
}

double batch_cycles(const Shape& shape, const te::Target& target, const topi::RegisterTile& tile,
                    int64_t rows) {
  double out = shape.is_open ? static_cast<double>(rows) *
                                   product_cycles(shape, target, tile, shape.tiles_across)
                             : product_cycles(shape, target, tile, rows * shape.tiles_across);
  out += filter_cycles(shape.filter_bytes(), tile.vectors, target);
  const int64_t bytes = rows * shape.row_bytes(), kept = target.l2_bytes * 3 / 4;
  if (bytes > kept) out += kSpillPerByte * static_cast<double>(2 * (bytes - kept));
  return out;
}

double plan_cycles(const Shape& shape, const te::Target& target, const Plan& plan) {
  const int64_t whole = count_of(shape.tiles_down, plan.rows);
  double out = static_cast<double>(whole) * batch_cycles(shape, target, plan.tile, plan.rows);
  const int64_t batches = shape.n * whole, threads = target.threads;
  if (threads > 1 && batches > 1)  // the last round keeps some of them idle
    out *= static_cast<double>(count_of(batches, threads) * threads) / static_cast<double>(batches);
  return out;
}

double transform_cycles(const Shape& shape, const te::Target& target) {
  const auto lanes = static_cast<double>(std::min(target.lanes(4), shape.o_block));
  const auto tiles = static_cast<double>(shape.tiles_down * shape.tiles_across);
  const auto channels = static_cast<double>(shape.c + shape.o());
  const auto results = static_cast<double>(shape.tile_rows * shape.tile_columns * shape.o());
  return tiles / lanes *
         (kTransformPerVector * channels * static_cast<double>(shape.products) +
          kVectorOfResult * results);
}

}  // namespace

Shape shape_of(const Conv& conv, const Tile& tile) {
  Shape out;
  out.n = conv.n, out.c = conv.c_blocks * conv.c_block;
  out.o_blocks = conv.o_blocks, out.o_block = conv.o_block;
  const Transforms down = transforms_of(tile.rows, conv.rows, conv.stride);
  const Transforms across = transforms_of(tile.columns, conv.columns, conv.stride);
  out.products = down.products() * across.products();
  if (conv.is_plain) {  // of all phases of a point
    out.c *= conv.stride * conv.stride;
    out.products = down.points() * across.points();
  }
  out.tile_rows = tile.rows, out.tile_columns = tile.columns, out.result_rows = conv.oh;
  out.tiles_down = count_of(conv.oh, tile.rows), out.tiles_across = count_of(conv.ow, tile.columns);
  out.is_open = conv.is_open;
  return out;
}

// Returns the rows of the largest batch of open images: there are several for the numbers that
// plans are made for, so that larger images have no larger ones.
int64_t most_open_rows(const Shape& shape) { return count_of(shape.tiles_down, 2); }

// A register tile of open images is not the whole of a row, which may be longer than planned for.
int64_t most_cells(const Shape& shape, int64_t rows) {
  return shape.is_open ? std::max<int64_t>(shape.tiles_across - 1, 1) : rows * shape.tiles_across;
}

// Returns whether batches of so many rows of tiles have no shorter last one, whose code would have
// all stages a second time.
bool are_batches_even(const Shape& shape, int64_t rows) {
  if (shape.is_open) return rows <= most_open_rows(shape);
  return rows == shape.tiles_down || shape.result_rows % (rows * shape.tile_rows) == 0;
}

// An image of a height that no smaller batches divide is one batch.
int64_t rows_of_batch(const Shape& shape, int64_t rows) {
  if (shape.is_open) return std::min(rows, most_open_rows(shape));
  if (rows >= shape.tiles_down) return shape.tiles_down;
  while (rows > 0 && !are_batches_even(shape, rows)) --rows;
  return rows > 0 ? rows : shape.tiles_down;
}

// Returns the cycles of a tile, of open images on average over several sizes: a plan that is good
// for the largest alone would have too few tiles in a batch of others.
double cycles_of_tile(const Shape& shape, const te::Target& target, const Plan& plan) {
  double out = 0;
  for (int64_t eighths : shape.is_open ? std::vector<int64_t>{8, 5, 4} : std::vector<int64_t>{8}) {
    Shape one = shape;
    one.tiles_down = count_of(shape.tiles_down * eighths, 8);
    one.tiles_across = count_of(shape.tiles_across * eighths, 8);
    const Plan own{std::min(plan.rows, one.tiles_down), plan.tile};
    out += plan_cycles(one, target, own) / static_cast<double>(one.tiles_down * one.tiles_across);
  }
  return out;
}

std::vector<Plan> ranked_plans(const Shape& shape, const te::Target& target) {
  const int64_t registers =
      target.vector_registers / std::max<int64_t>(shape.o_block / target.lanes(4), 1);
  std::vector<std::pair<double, Plan>> all;
  for (int64_t rows = 1; rows <= shape.tiles_down; ++rows) {
    if (!are_batches_even(shape, rows)) continue;
    const int64_t tiles = most_cells(shape, rows);
    for (const topi::RegisterTile& tile :
         topi::good_tiles(tiles, shape.o_blocks, static_cast<int>(registers), kTileSlack)) {
      if (shape.o_blocks % tile.vectors != 0) continue;
      const Plan plan{rows, tile};
      all.emplace_back(cycles_of_tile(shape, target, plan), plan);
    }
  }
  if (all.empty()) all.emplace_back(0, Plan{shape.tiles_down, {}});  // blocks fill the registers
  std::ranges::stable_sort(all, {}, &std::pair<double, Plan>::first);
  std::vector<Plan> out;
  for (const auto& [cycles, plan] : all) out.push_back(plan);
  return out;
}

double cycles_of(const Shape& shape, const te::Target& target) {
  const Plan plan = ranked_plans(shape, target).front();
  return static_cast<double>(shape.n) *
         (plan_cycles(shape, target, plan) + transform_cycles(shape, target));
}

double direct_cycles_of(const Conv& conv, const te::Target& target) {
  const auto lanes = static_cast<double>(std::min(target.lanes(4), conv.o_block));
  const int64_t c = conv.c_blocks * conv.c_block, o = conv.o_blocks * conv.o_block;
  const int64_t taps = c * conv.rows * conv.columns;
  const auto vectors = static_cast<double>(o * taps) / lanes;
  const auto cells = static_cast<double>(conv.n * conv.oh * conv.ow);
  return vectors * cells / 2 / kDirectShare + filter_cycles(o * taps * 4, 4, target);
}

}  // namespace byoc::llvm_plugin::winograd
