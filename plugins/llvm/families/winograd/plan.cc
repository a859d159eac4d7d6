// SPDX-License-Identifier: Apache-2.0
// Estimates cycles: arithmetic and reading overlap, so that the longer one counts. Only the order
// of costs matters. Targets with 32 registers have the sum of both, with constants that were fitted
// to Zen 5 (bench_llvm_kernels): the model was measured on none of them.
#include "plugins/llvm/families/winograd/plan.h"

#include <algorithm>

#include "plugins/llvm/families/winograd/transforms.h"
#include "plugins/llvm/tiling/caches.h"

namespace byoc::llvm_plugin::winograd {
namespace {

constexpr double kTileSlack = 1.6;           // cycles of a register tile against the best
constexpr double kTileCycles = 12;           // to begin a register tile
constexpr int64_t kSharedCache = 24 << 20;   // bytes that filters may use of the third cache
constexpr double kTransformPerVector = 2.2;  // cycles per vector of products that is made or read
constexpr double kVectorOfResult = 2;        // cycles to finish and to store a vector
constexpr double kDirectShare = 0.85;        // of the peak that direct convolutions reach
constexpr int64_t kLineBytes = 64;

// Targets with 32 registers have these.
constexpr double kL2PerByte = 0.008;          // cycles that a byte of filters adds, read in a row
constexpr double kL3PerByteOfLane = 0.00625;  // for filters that do not stay there
constexpr double kMemoryPerByte = 0.11;       // for those that stay in no cache
constexpr int64_t kStreams = 6;               // places that the hardware fetches ahead from at once
constexpr double kMoreStreams = 0.18;         // of the time to read filters, for each place more
constexpr double kSpillPerByte = 0.04;        // for a byte of a batch that leaves the second cache

int64_t count_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

bool is_fitted(const te::Target& target) { return target.vector_registers > 16; }

// Returns the bytes of filters that are evicted from the second cache, which keeps three eighths of
// its size for them, before they are read again: about twice the rest.
int64_t evicted_of(int64_t bytes, const te::Target& target) {
  return std::clamp<int64_t>(2 * bytes - target.l2_bytes * 3 / 4, 0, bytes);
}

// Returns the cycles to read filters. From beyond the second cache, hardware fetches ahead in as
// many places as a tile has blocks of results, and products of shorter vectors take longer, so that
// they wait less for it.
double fitted_filter_cycles(int64_t bytes, int64_t vectors, const te::Target& target) {
  const int64_t evicted = evicted_of(bytes, target);
  const double per_byte =
      bytes <= kSharedCache ? kL3PerByteOfLane * target.lanes(4) : kMemoryPerByte;
  const double places = static_cast<double>(std::min<int64_t>(vectors, 4));
  const double missed = static_cast<double>(std::max<int64_t>(vectors - kStreams, 0));
  return (kL2PerByte * static_cast<double>(bytes - evicted) +
          per_byte * static_cast<double>(evicted) * (1 + 4 / places) / 2) *
         (1 + kMoreStreams * missed);
}

// Returns how many tiles are divided into register tiles: a row of open images, a batch of others.
int64_t tiles_in_turn(const Shape& shape, int64_t rows) {
  return shape.is_open ? shape.tiles_across : rows * shape.tiles_across;
}

double fitted_batch_cycles(const Shape& shape, const te::Target& target,
                           const topi::RegisterTile& tile, int64_t rows) {
  const int64_t registers = std::max<int64_t>(shape.o_block / target.lanes(4), 1);
  const int64_t tiles = tiles_in_turn(shape, rows), turns = shape.is_open ? rows : 1;
  double out = 0;
  for (auto [vectors, v_count] : {std::pair(tile.vectors, shape.o_blocks / tile.vectors),
                                  std::pair(shape.o_blocks % tile.vectors, int64_t{1})}) {
    for (auto [cells, c_count] :
         {std::pair(tile.cells, tiles / tile.cells), std::pair(tiles % tile.cells, int64_t{1})}) {
      if (vectors == 0 || cells == 0) continue;
      const double terms =
          topi::cycles_per_term(cells, vectors * registers) * static_cast<double>(shape.c);
      out += static_cast<double>(v_count * c_count * turns) * (terms + kTileCycles);
    }
  }
  out = out * static_cast<double>(shape.products) +
        fitted_filter_cycles(shape.filter_bytes(), tile.vectors, target);
  const int64_t bytes = rows * shape.row_bytes(), kept = target.l2_bytes * 3 / 4;
  return bytes > kept ? out + kSpillPerByte * static_cast<double>(2 * (bytes - kept)) : out;
}

// Returns the cycles to read a byte of filters for the first tiles of a batch.
double cycles_per_byte(int64_t bytes, const te::Target& target) {
  const topi::ReadRates rates = topi::read_rates(target);
  const double share = static_cast<double>(evicted_of(bytes, target)) / static_cast<double>(bytes);
  return (1 - share) / rates.l2 + share / (bytes <= kSharedCache ? rates.l3 : rates.memory);
}

// Returns the cycles of the products of `rows` rows of tiles. The first register tile of a panel
// brings its filters, the others find them in the first cache, or in the second one.
double product_cycles(const Shape& shape, const te::Target& target, const topi::RegisterTile& tile,
                      int64_t rows) {
  const int64_t tiles = tiles_in_turn(shape, rows), turns = shape.is_open ? rows : 1;
  const int64_t registers = std::max<int64_t>(shape.o_block / target.lanes(4), 1);
  const double per_byte = cycles_per_byte(shape.filter_bytes(), target);
  const double per_byte_of_l2 = 1 / topi::read_rates(target).l2;
  double out = 0;
  for (auto [vectors, v_count] : {std::pair(tile.vectors, shape.o_blocks / tile.vectors),
                                  std::pair(shape.o_blocks % tile.vectors, int64_t{1})}) {
    const int64_t panel = vectors * shape.o_block * shape.c * 4;
    const bool stays = panel <= target.l1_bytes * 3 / 8;
    const double first = per_byte * static_cast<double>(panel);
    const double again = stays ? 0 : per_byte_of_l2 * static_cast<double>(panel);
    double of_panel = 0;
    bool is_first = true;
    for (auto [cells, c_count] :
         {std::pair(tile.cells, tiles / tile.cells), std::pair(tiles % tile.cells, int64_t{1})}) {
      if (vectors == 0 || cells == 0 || c_count == 0) continue;
      // many equal tiles: the next one begins before the last additions of one are over
      const double of_term =
          topi::cycles_per_term(cells, vectors * registers, topi::kMultiplyAddCycles);
      const double terms = of_term * static_cast<double>(shape.c);
      of_panel += static_cast<double>(c_count * turns) * (std::max(terms, again) + kTileCycles);
      if (is_first) of_panel += std::max(terms, first) - std::max(terms, again);
      is_first = false;
    }
    out += static_cast<double>(v_count) * of_panel;
  }
  return out * static_cast<double>(shape.products);
}

// Returns the cycles in which the first cache brings and evicts a line for each vector of a
// transform, where its matrices begin in the same sets: one vector goes to each of them, or is
// read, before the next one of a line does.
double conflict_cycles(const Shape& shape, const te::Target& target, int64_t tiles) {
  const auto lanes = static_cast<double>(std::min(target.lanes(4), shape.o_block));
  double channels = 0;
  for (int64_t side : {shape.c, shape.o()}) {
    if (topi::has_conflicts(shape.products, side * tiles * 4, target.l1_bytes))
      channels += static_cast<double>(side);
  }
  return channels * static_cast<double>(shape.products * tiles) / lanes * 2 * kLineBytes /
         topi::read_rates(target).l2;
}

double batch_cycles(const Shape& shape, const te::Target& target, const topi::RegisterTile& tile,
                    int64_t rows) {
  if (is_fitted(target)) return fitted_batch_cycles(shape, target, tile, rows);
  const int64_t tiles = rows * shape.tiles_across;
  double out = product_cycles(shape, target, tile, rows) + conflict_cycles(shape, target, tiles);
  // what leaves the second cache is read again
  const int64_t bytes = rows * shape.row_bytes(), kept = target.l2_bytes * 3 / 4;
  if (bytes > kept) out += static_cast<double>(2 * (bytes - kept)) / topi::read_rates(target).l3;
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
  // A register less: operands are loaded before the multiply-adds that read them are over.
  const int64_t registers = (target.vector_registers - (is_fitted(target) ? 0 : 1)) /
                            std::max<int64_t>(shape.o_block / target.lanes(4), 1);
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
  const int64_t bytes = o * taps * 4;
  if (is_fitted(target))
    return vectors * cells / 2 / kDirectShare + fitted_filter_cycles(bytes, 4, target);
  return std::max(vectors * cells / 2 / kDirectShare,
                  cycles_per_byte(bytes, target) * static_cast<double>(bytes));
}

}  // namespace byoc::llvm_plugin::winograd
