// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/tiling/register_tile.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr double kLoad = 0.6;  // two a cycle, with occasional conflicts
constexpr auto kMostOfOneCell = static_cast<int64_t>(2 * kWaitCycles);  // two begin in a cycle

double cycles_of_row(int64_t cells, int64_t width, int64_t vectors) {
  double out = static_cast<double>(cells / width) * cycles_per_term(width, vectors);
  if (cells % width != 0) out += cycles_per_term(cells % width, vectors);
  return out;
}

}  // namespace

double cycles_per_term(int64_t cells, int64_t vectors, double latency) {
  return std::max({static_cast<double>(cells * vectors) / 2, latency,
                   kLoad * static_cast<double>(cells + vectors)});
}

double cycles_of_tiles(int64_t cells, int64_t vectors, const RegisterTile& tile) {
  BYOC_CHECK(tile.cells > 0 && tile.vectors > 0, "a tile of ", tile.cells, " x ", tile.vectors);
  const double row = cycles_of_row(cells, tile.cells, tile.vectors);
  const double whole = row * static_cast<double>(vectors / tile.vectors);
  const int64_t rest = vectors % tile.vectors;
  return rest == 0 ? whole : whole + cycles_of_row(cells, tile.cells, rest);
}

RegisterTile best_tile(int64_t cells, int64_t vectors, int registers) {
  RegisterTile best;
  double least = INFINITY;
  for (int64_t v = 1; v <= std::min<int64_t>(vectors, registers); ++v) {
    if (vectors % v != 0) continue;
    for (int64_t c = 1; c <= cells && c * v + v + 1 <= registers; ++c) {
      const double total = cycles_of_row(cells, c, v) * static_cast<double>(vectors / v);
      if (total < least) least = total, best = {c, v};
    }
  }
  return best;
}

std::vector<RegisterTile> good_tiles(int64_t cells, int64_t vectors, int registers, double slack) {
  BYOC_CHECK(slack >= 1, "tiles of at most ", slack, " times the least cost");
  std::vector<std::pair<double, RegisterTile>> all;
  // One cell reads each weight once, at the speed of its cache: more sums than hide the latency
  // only read from more places at once, and the hardware follows few of them.
  const int64_t most = cells == 1 ? std::min(vectors, kMostOfOneCell) : vectors;
  for (int64_t v = 1; v <= most && v + 2 <= registers; ++v) {
    for (int64_t c = 1; c <= cells && c * v + std::min(c, v) + 1 <= registers; ++c)
      all.emplace_back(cycles_of_tiles(cells, vectors, {c, v}), RegisterTile{c, v});
  }
  if (all.empty()) return {RegisterTile()};  // blocks that fill the registers
  std::ranges::stable_sort(all, {}, &std::pair<double, RegisterTile>::first);
  std::vector<RegisterTile> out;
  for (const auto& [total, tile] : all) {
    if (total <= slack * all[0].first) out.push_back(tile);
  }
  return out;
}

}  // namespace byoc::llvm_plugin::topi
