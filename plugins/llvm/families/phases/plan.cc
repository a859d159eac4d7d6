// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/phases/plan.h"

#include <algorithm>
#include <bit>

namespace byoc::llvm_plugin::phases {
namespace {

constexpr double kTileSlack = 1.03;         // cycles of a tile against the best
constexpr double kTileCycles = 12;          // to begin a tile and to store its sums
constexpr double kUnitCycles = 300;         // to begin a part
constexpr double kMovedCycles = 1;          // to move a sum to its place between other phases
constexpr double kPackedCycles = 3;         // to clear and to copy a vector of cells
constexpr double kBeyondPerByte = 0.0625;   // a line in four cycles from beyond the second cache
constexpr double kSecondPerByte = 0.03125;  // of a cell that a tile reads from the second cache
constexpr double kDirectCycles = 2;         // of a term by the definition, one element at a time

int64_t count_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

Cells cells_by_tap(const Geometry& g, size_t axis, int64_t rows) {
  Cells out{.is_by_tap = true};
  for (size_t d = kDims; d-- > 0;) {
    out.distance[d] = out.results;
    out.results *= d == axis ? rows : g.dims[d].results();
  }
  return out;
}

Cells cells_of(const Geometry& g, size_t axis, int64_t rows) {
  Cells out;
  int64_t distance = 1;
  for (size_t d = kDims; d-- > 0;) {
    const Dim& dim = g.dims[d];
    const int64_t results = d == axis ? rows : dim.results();
    out.distance[d] = distance;
    out.results += (results - 1) * distance;
    if (d <= axis) {
      out.first[d] = g.least[d];
      out.stored[d] = results + g.most[d] - g.least[d];
      distance *= out.stored[d];
      continue;
    }
    const int64_t before = std::max<int64_t>(0, -g.least[d]);
    const int64_t after = std::max<int64_t>(0, results - 1 + g.most[d] - (dim.in - 1));
    out.stored[d] = dim.in;
    out.margin += before * distance;
    distance *= std::max(dim.in + std::max(before, after), results);
  }
  return out;
}

// Returns the registers of a tile. Where there are many, LLVM has some to load the next terms
// before they are needed.
int registers_of(const te::Target& target) {
  return target.vector_registers < 32 ? target.vector_registers : target.vector_registers - 3;
}

// Returns the loads of a term per multiply-add. Cells are often in the second cache.
double loads_per_sum(const topi::RegisterTile& tile) {
  return static_cast<double>(tile.cells + 2 * tile.vectors) /
         static_cast<double>(tile.cells * tile.vectors);
}

// Returns a tile with about the fewest cycles, and few loads. Tiles have about as many rows each.
ClassPlan class_plan(const Class& of, const Plan& plan, const te::Target& target) {
  ClassPlan out;
  const int64_t rows = plan.outputs * of.phases();
  if (of.taps() == 0) return {{1, 1}, 0, 0};
  const std::vector<topi::RegisterTile> tiles =
      topi::good_tiles(rows, plan.vectors, registers_of(target), kTileSlack);
  out.tile = *std::ranges::min_element(tiles, {}, loads_per_sum);
  out.tiles = count_of(rows, out.tile.cells);
  out.tile.cells = count_of(rows, out.tiles);
  const int64_t across = count_of(plan.vectors, out.tile.vectors);
  out.tile.vectors = count_of(plan.vectors, across);
  return out;
}

// Returns the vectors that a part copies of a channel: parts of rows where they are by tap.
int64_t packed_vectors(const Geometry& g, const Plan& plan) {
  if (!plan.cells.is_by_tap) return count_of(plan.cells_per_channel(g), plan.lanes);
  const int64_t row = plan.cells.results / plan.cells.distance[kDims - 2];
  int64_t taps = 0;
  for (const Class& of : g.classes) taps += of.taps();
  return taps * row * (1 + count_of(plan.cells.distance[kDims - 2], plan.lanes));
}

double unit_cycles(const Geometry& g, const Plan& plan, const te::Target& target, size_t bytes) {
  const int64_t cells = plan.cells_per_channel(g) * g.c;
  const bool is_first = cells * static_cast<int64_t>(bytes) <= target.l1_bytes * 3 / 4;
  const double vector_cycles =
      is_first ? 0 : kSecondPerByte * static_cast<double>(plan.lanes) * static_cast<double>(bytes);
  double out = kUnitCycles + kPackedCycles * static_cast<double>(packed_vectors(g, plan) * g.c);
  double weights = 0, results = static_cast<double>(plan.outputs);
  for (size_t k = 0; k < g.classes.size(); ++k) {
    const topi::RegisterTile& tile = plan.classes[k].tile;
    const int64_t rows = plan.classes[k].tiles * tile.cells, terms = g.c * g.classes[k].taps();
    if (rows == 0) continue;
    weights += static_cast<double>(rows * terms) * static_cast<double>(bytes);
    const double waits = static_cast<double>(plan.classes[k].tiles * plan.vectors) *
                         std::max(0.0, vector_cycles - static_cast<double>(tile.cells) / 2);
    out += (topi::cycles_of_tiles(rows, plan.vectors, tile) + waits) * static_cast<double>(terms);
    out += kTileCycles *
           static_cast<double>(plan.classes[k].tiles * count_of(plan.vectors, tile.vectors));
  }
  for (size_t d = 0; d < kDims; ++d)
    results *= static_cast<double>(d == plan.axis ? plan.rows * g.dims[d].stride : g.dims[d].out);
  out += kMovedCycles * results;
  const auto kept = static_cast<double>(target.l2_bytes) / 2;
  const auto own = static_cast<double>(bytes) *
                   static_cast<double>(cells + plan.sum_rows * plan.vectors * plan.lanes);
  if (own > kept) out += kBeyondPerByte * 2 * (own - kept);
  if (weights > kept) out += kBeyondPerByte * weights;
  return out;
}

Plan plan_of(const Geometry& g, Plan out, bool is_by_tap, const te::Target& target, size_t bytes) {
  out.cells = is_by_tap ? cells_by_tap(g, out.axis, out.rows) : cells_of(g, out.axis, out.rows);
  const auto most = static_cast<uint64_t>(out.cells.results);
  out.lanes = std::min(target.lanes(bytes), static_cast<int64_t>(std::bit_ceil(most)));
  out.vectors = count_of(out.cells.results, out.lanes);
  for (const Class& of : g.classes) {
    ClassPlan next = class_plan(of, out, target);
    next.first = out.sum_rows;
    out.sum_rows += next.tiles * next.tile.cells;
    out.classes.push_back(next);
  }
  const int64_t units = out.units_of(g), threads = std::max<int64_t>(target.threads, 1);
  out.cycles = static_cast<double>(count_of(units, threads)) * unit_cycles(g, out, target, bytes);
  return out;
}

}  // namespace

int64_t Plan::parts_of(const Geometry& g) const { return count_of(g.dims[axis].results(), rows); }
int64_t Plan::panels_of(const Geometry& g) const { return g.o / outputs; }
int64_t Plan::units_of(const Geometry& g) const {
  return g.n * g.groups * panels_of(g) * parts_of(g);
}

// All cells are stored, and the last tap reads the whole last vector of results.
int64_t Plan::cells_per_channel(const Geometry& g) const {
  if (cells.is_by_tap) {
    int64_t most = 0;
    for (const Class& of : g.classes) most = std::max(most, of.taps());
    return most * vectors * lanes;
  }
  int64_t read = cells.margin + vectors * lanes, written = cells.margin + 1;
  for (size_t d = 0; d < kDims; ++d) {
    read += std::max<int64_t>(0, (g.most[d] - cells.first[d]) * cells.distance[d]);
    written += (cells.stored[d] - 1) * cells.distance[d];
  }
  return std::max(read, written);
}

Plan best_plan(const Geometry& g, const te::Target& target, size_t bytes) {
  constexpr int64_t kMostPanels = 1 << 16;  // that are tried
  size_t axis = 0;
  while (axis + 1 < kDims && g.dims[axis].results() == 1) ++axis;
  const int64_t results = g.dims[axis].results();
  Plan best;
  for (int64_t parts = 1; parts <= results; parts = std::max(parts + 1, parts * 5 / 4)) {
    const int64_t rows = count_of(results, parts);
    for (int64_t panels = 1; panels <= std::min(g.o, kMostPanels); ++panels) {
      if (g.o % panels != 0) continue;
      for (const bool is_by_tap : {false, true}) {
        const Plan split{.axis = axis, .rows = rows, .outputs = g.o / panels};
        Plan plan = plan_of(g, split, is_by_tap, target, bytes);
        if (best.classes.empty() || plan.cycles < best.cycles) best = std::move(plan);
      }
    }
  }
  return best;
}

double direct_cycles_of(const Geometry& g, const te::Target& target) {
  double terms = static_cast<double>(g.n * g.groups * g.o * g.c);
  for (const Dim& dim : g.dims) terms *= static_cast<double>(dim.out * dim.kernel);
  return kDirectCycles * terms / std::max<double>(target.threads, 1);
}

}  // namespace byoc::llvm_plugin::phases
