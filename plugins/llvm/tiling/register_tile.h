// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiles of sums in vector registers, `cells` times `vectors`: for each term, each sum takes one
// multiply-add of a cell's value, in all lanes, with a vector of weights.
#include <cstdint>
#include <vector>

namespace byoc::llvm_plugin::topi {

struct RegisterTile {
  int64_t cells = 1, vectors = 1;
};

/// Cycles from a multiply-add to one that waits for it: of the processor, and with usual losses of
/// the code around it.
inline constexpr double kMultiplyAddCycles = 4, kWaitCycles = 4.6;

/// Returns the cycles for one term: two multiply-adds a cycle, each waits for the one before it,
/// two loads a cycle. Source: Zen 3 and Skylake, Agner Fog's instruction tables; other AVX2
/// machines differ little.
double cycles_per_term(int64_t cells, int64_t vectors, double latency = kWaitCycles);

/// Returns those of all tiles of `cells` by `vectors` vectors. Tiles at both ends may be smaller.
double cycles_of_tiles(int64_t cells, int64_t vectors, const RegisterTile& tile);

/// Returns the tile with the fewest cycles for rows of `cells` by `vectors` vectors, whole vectors
/// a tile. The registers hold the sums, the vectors of one term and a cell.
RegisterTile best_tile(int64_t cells, int64_t vectors, int registers);

/// Returns the tiles of at most `slack` times the cycles of the best, best first. Tiles at both
/// ends may be smaller. The registers hold the sums, the shorter side's operands of a term, and one
/// of the longer side's. A single cell has no more sums at once than hide the latency.
std::vector<RegisterTile> good_tiles(int64_t cells, int64_t vectors, int registers,
                                     double slack = 1.1);

}  // namespace byoc::llvm_plugin::topi
