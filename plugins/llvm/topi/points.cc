// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/topi/points.h"

#include <algorithm>
#include <charconv>

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr double kRowTileSlack = 1.6;  // cycles of a tile against those of the best
constexpr size_t kMostRowTiles = 32;
constexpr int64_t kMostParts = 16;
constexpr int64_t kLeastWeights = 4096;  // bytes of a chunk of one block's weights
constexpr size_t kPlans = 8;
constexpr int64_t kMostWritten = 512;  // multiply-adds of a tile whose taps are written out

int64_t count_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

// Returns the numbers of parts of `whole` that make different parts, at most 16.
std::vector<int64_t> counts_of(int64_t whole) {
  std::vector<int64_t> out;
  for (int64_t count : {1, 2, 3, 4, 6, 8, 12, 16}) {
    const int64_t part = count_of(whole, count);
    if (out.empty() || part < count_of(whole, out.back())) out.push_back(count);
  }
  return out;
}

// Returns the numbers of parts that are at most `most` bytes with the terms of the smallest chunk.
// A part that is at most `enough` bytes with all terms is not divided further.
template <class F>
std::vector<int64_t> useful_counts(int64_t whole, int64_t enough, int64_t most, F&& bytes_of) {
  std::vector<int64_t> out;
  for (int64_t count : counts_of(whole)) {
    const auto [least, all] = bytes_of(count_of(whole, count));
    if (least <= most || count == 1) out.push_back(count);
    if (all <= enough) break;
  }
  return out;
}

std::vector<int64_t> chunk_counts(const Sums& sums) {
  std::vector<int64_t> out;
  for (int64_t count = 1; count <= std::min(sums.c, kMostParts); ++count) {
    const bool is_useful = sums.weight_bytes(1, sums.c / count) >= kLeastWeights;
    if (sums.c % count == 0 && (count == 1 || is_useful)) out.push_back(count);
  }
  return out;
}

bool are_similar(const Plan& a, const Plan& b) {
  int differences = a.tile.cells != b.tile.cells || a.tile.vectors != b.tile.vectors;
  differences += a.chunk != b.chunk;
  differences += a.o_panel != b.o_panel;
  differences += a.units != b.units;
  return differences < 2;
}

// Returns plans of which any two differ in two knobs at least, best first.
std::vector<Point> different_plans(const Sums& sums, const te::Target& target) {
  std::vector<Plan> plans;
  for (const Plan& plan : ranked_plans(sums, target)) {
    const bool is_new =
        std::ranges::none_of(plans, [&](const Plan& other) { return are_similar(plan, other); });
    if (is_new) plans.push_back(plan);
    if (plans.size() == kPlans) break;
  }
  std::vector<Point> out;
  for (const Plan& plan : plans) out.push_back(point_of(sums, plan));
  return out;
}

std::vector<RegisterTile> tiles_of(const Sums& sums, const te::Target& target) {
  const int64_t cells = sums.is_flat ? sums.units : sums.cells;
  const int registers = target.vector_registers / static_cast<int>(sums.registers);
  std::vector<RegisterTile> out =
      good_tiles(cells, sums.may_join_blocks ? sums.o : 1, std::max(registers, 1), kRowTileSlack);
  if (out.size() > kMostRowTiles) out.resize(kMostRowTiles);
  return out;
}

constexpr std::pair<Taps, const char*> kTaps[] = {
    {Taps::kLoop, "loop"}, {Taps::kAroundCells, "around_cells"}, {Taps::kInCells, "in_cells"}};

Point point_of(const RowTiling& tiling) {
  Point out = {{"tile", text_of({tiling.cells, tiling.vectors})},
               {"row_parts", cat(tiling.row_parts)}};
  for (const auto& [taps, name] : kTaps) {
    if (taps == tiling.taps) out["taps"] = std::string(name);
  }
  return out;
}

RowTiling rows_at(RowTiling tiling, const RowShape& shape, const Point& point, int64_t threads) {
  const RegisterTile tile = tile_at(point, shape.w, shape.blocks);
  tiling.cells = tile.cells, tiling.vectors = tile.vectors;
  while (shape.blocks % tiling.vectors != 0) --tiling.vectors;
  tiling.row_parts = std::min(number_at(point, "row_parts"), shape.h);
  while (shape.h % tiling.row_parts != 0) --tiling.row_parts;
  const int64_t others = shape.n * (shape.blocks / tiling.vectors);
  tiling.has_parts_outside = threads > 1;
  if (threads > 1) tiling.row_parts = shared_row_parts(others, shape.h, tiling.row_parts, threads);
  for (const auto& [taps, name] : kTaps) {
    if (point.at("taps") == name) tiling.taps = taps;
  }
  return tiling;
}

Choices row_choices(const RowShape& shape, const RowTiling& first, const te::Target& target) {
  Knob tiles{"tile", {}}, taps{"taps", {"loop"}};
  int64_t largest = 1;
  for (int64_t vectors = 1; vectors <= std::min<int64_t>(shape.blocks, 4); ++vectors) {
    if (shape.blocks % vectors != 0) continue;
    for (int64_t most = 1; most * vectors + vectors + 1 <= target.vector_registers; ++most) {
      const int64_t cells = even_tile(shape.w, most);
      if (cells * vectors < 4 && cells < shape.w && vectors < 4) continue;  // few sums wait
      tiles.values.push_back(text_of({cells, vectors}));
      largest = std::max(largest, cells * vectors);
    }
  }
  if (largest * shape.columns <= kMostWritten)
    taps.values.insert(taps.values.end(), {"around_cells", "in_cells"});
  std::vector<int64_t> parts;
  for (int64_t count = 1; count <= std::min(shape.h, kMostParts); ++count) {
    if (shape.h % count == 0) parts.push_back(count);
  }
  std::vector<Point> guesses = {point_of(first)};
  for (const auto& [kind, name] : kTaps) {
    if (std::ranges::find(taps.values, name) == taps.values.end()) continue;
    for (int64_t most : {4, 8, 12}) {
      RowTiling other = first;
      other.cells = even_tile(shape.w, most), other.vectors = 1, other.taps = kind;
      guesses.push_back(point_of(other));
    }
  }
  return complete({tiles, taps, knob_of("row_parts", parts)}, guesses);
}

}  // namespace

std::string text_of(const RegisterTile& tile) { return cat(tile.cells, "x", tile.vectors); }

RegisterTile tile_at(const Point& point, int64_t cells, int64_t vectors) {
  const std::string& text = point.find("tile")->second;
  RegisterTile out;
  const char* end = text.data() + text.size();
  auto first = std::from_chars(text.data(), end, out.cells);
  BYOC_CHECK(first.ec == std::errc() && first.ptr != end, "a tile is ", text);
  auto second = std::from_chars(first.ptr + 1, end, out.vectors);
  BYOC_CHECK(second.ec == std::errc() && second.ptr == end, "a tile is ", text);
  return {std::min(out.cells, cells), std::min(out.vectors, vectors)};
}

int64_t part_of(int64_t whole, int64_t count, int64_t step) {
  if (count <= 1) return whole;
  return std::min(whole, count_of(count_of(whole, count), step) * step);
}

Point point_of(const Sums& sums, const Plan& plan) {
  return {{"tile", text_of(plan.tile)},
          {"o_panels", cat(count_of(sums.o, plan.o_panel))},
          {"unit_panels", cat(count_of(sums.units, plan.units))},
          {"chunks", cat(sums.c / plan.chunk)}};
}

Plan plan_at(const Sums& sums, const Point& point) {
  const int64_t cells = sums.is_flat ? sums.units : sums.cells;
  Plan out;
  out.tile = tile_at(point, cells, sums.may_join_blocks ? sums.o : 1);
  out.o_panel = part_of(sums.o, number_at(point, "o_panels"), out.tile.vectors);
  out.units =
      part_of(sums.units, number_at(point, "unit_panels"), sums.is_flat ? out.tile.cells : 1);
  int64_t chunks = std::min(number_at(point, "chunks"), sums.c);
  while (sums.c % chunks != 0) --chunks;
  out.chunk = sums.c / chunks;
  return out;
}

Choices plan_choices(const Sums& sums, const te::Target& target) {
  Knob tiles{"tile", {}};
  for (const RegisterTile& tile : tiles_of(sums, target)) tiles.values.push_back(text_of(tile));
  const std::vector<int64_t> chunks = chunk_counts(sums);
  const int64_t least = sums.c / chunks.back();  // blocks of terms of the smallest chunk
  const bool is_shared = target.threads > 1;     // parts for all threads, however small they are
  const int64_t enough = is_shared ? 0 : target.l1_bytes / 4;
  auto o_panels = useful_counts(sums.o, enough, target.l2_bytes, [&](int64_t part) {
    return std::pair(sums.weight_bytes(part, least), sums.weight_bytes(part, sums.c));
  });
  auto unit_panels = useful_counts(sums.units, enough, target.l2_bytes, [&](int64_t part) {
    return std::pair(sums.input_bytes(part, least), sums.input_bytes(part, sums.c));
  });
  return complete({tiles, knob_of("o_panels", o_panels), knob_of("unit_panels", unit_panels),
                   knob_of("chunks", chunks)},
                  different_plans(sums, target));
}

Template row_template(std::string kind, const te::Dag& dag, const AnchorDag& what,
                      const RowShape& shape, RowTiling first, const te::Target& target) {
  first.row_parts = usual_row_parts(shape.n * (shape.blocks / first.vectors), shape.h);
  Template out{std::move(kind), point_of(first), {}, {}};
  out.choices = [=] { return row_choices(shape, first, target); };
  out.at = [&dag, what, shape, first, threads = int64_t{target.threads}](const Point& point) {
    return tile_rows(dag, what, rows_at(first, shape, point, threads));
  };
  return out;
}

}  // namespace byoc::llvm_plugin::topi
