// SPDX-License-Identifier: Apache-2.0
// Estimates the cost of sums, in cycles, and finds the cheapest of some hundred ways to split them.
// The constants were fitted to Zen 3 (bench_llvm_kernels), those of tiles and chunks to whole
// networks on Zen 5, where a tile begins with rows and weights in the second cache; sources of the
// cache figures: AMD and Intel optimisation manuals. Only the order of the candidates matters.
#include "plugins/llvm/tiling/cost_model.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "byoc/base/check.h"
#include "plugins/llvm/tiling/caches.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr double kL2PerByte = 0.025;      // cycles that a byte from the second cache adds
constexpr double kL2InRow = 0.008;        // for one of many that are read in a row, as weights are
constexpr double kMemoryPerByte = 0.06;   // for one from memory
constexpr double kRowsPerByte = 0.012;    // for one of rows that are prefetched, once more
constexpr double kAwaitedWeights = 3.5;   // times that for weights that tiles wait for
constexpr double kFetchedWeights = 0.17;  // and for those that they prefetch while they compute
constexpr double kPieceCycles = 40;       // for each separate piece of memory
constexpr double kTileCycles = 400;       // to begin a tile after a long one
constexpr double kWindow = 256;           // operations of a tile that overlap with the next tile's
constexpr double kChunkVector = 10.0;     // to add a vector of a chunk's sums to those before
constexpr double kChunkRowVector = 8.0;   // the same in a row of a matrix
constexpr double kConflictCycles = 0.5;   // for an element of a row whose line was evicted
constexpr double kPanelCycles = 300;      // for a thread to take a panel
constexpr int64_t kFollowedPanels = 16;   // of a thread, whose order is followed
constexpr double kLeastShared = 20'000;   // cycles of sums that all threads share
constexpr double kLeastGain = 0.97;       // by which other panels are cheaper
constexpr int64_t kImagePartsPerThread = 4;  // of an image
constexpr double kEven = 1.04;               // equal shares: the most of a thread by the average
constexpr double kPassVector = 2.0;          // to read, finish and write one in a pass of its own

// The cost of filling a panel of `o` vectors and `units` with tiles of one kind.
struct Fill {
  double cycles = 0, tiles = 0, sums = 0;  // cycles of one term; sums: vectors
};

Fill filled(const Sums& sums, const RegisterTile& tile, int64_t o, int64_t units,
            int64_t l1_bytes) {
  Fill out;
  const int64_t cells = sums.is_flat ? units : sums.cells;
  const int64_t times = sums.is_flat ? 1 : units;
  for (auto [vectors, v_count] :
       {std::pair(tile.vectors, o / tile.vectors), std::pair(o % tile.vectors, int64_t{1})}) {
    if (vectors == 0) continue;
    for (auto [width, c_count] :
         {std::pair(tile.cells, cells / tile.cells), std::pair(cells % tile.cells, int64_t{1})}) {
      if (width == 0) continue;
      const auto count = static_cast<double>(v_count * c_count * times);
      out.cycles += count * cycles_per_term(width, vectors * sums.registers);
      if (has_conflicts(width, sums.row_bytes, l1_bytes))
        out.cycles += count * kConflictCycles * static_cast<double>(width);
      out.tiles += count;
      out.sums += count * static_cast<double>(width * vectors * sums.registers);
    }
  }
  return out;
}

class Cost {
 public:
  Cost(const Sums& sums, const te::Target& target) : sums_(sums), target_(target) {
    BYOC_CHECK(sums.n > 0 && sums.o > 0 && sums.units > 0 && sums.cells > 0, "sums of ", sums.n,
               " x ", sums.o, " x ", sums.units, " x ", sums.cells);
    BYOC_CHECK(sums.c > 0 && sums.taps > 0 && sums.registers > 0, "sums of ", sums.c, " x ",
               sums.taps, " terms in ", sums.registers, " registers");
  }
  double operator()(const Plan& plan) const {
    BYOC_CHECK(plan.o_panel > 0 && plan.units > 0 && plan.chunk > 0, "a panel of ", plan.o_panel,
               " x ", plan.units, ", ", plan.chunk, " blocks of terms at once");
    const int64_t o_parts = parts(sums_.o, plan.o_panel), u_parts = parts(sums_.units, plan.units);
    const Panels panels = panels_of(plan);
    double total = panels.total() + memory_cycles(plan, o_parts, u_parts);
    total *= static_cast<double>(sums_.n);
    return target_.threads > 1 ? total * idle_share(panels) : total;
  }
  /// Returns the cycles of all panels, without those of reading from memory.
  double panel_cycles(const Plan& plan) const {
    return panels_of(plan).total() * static_cast<double>(sums_.n);
  }

 private:
  using Sizes = std::vector<std::pair<int64_t, int64_t>>;  // size, count
  /// The panels of an image, row by row: a row has one size of o.
  struct Panels {
    Sizes o, units;
    std::vector<double> cycles;  // of a panel, for each size of o by each of units
    int64_t count() const {
      int64_t rows = 0, columns = 0;
      for (const auto& one : o) rows += one.second;
      for (const auto& one : units) columns += one.second;
      return rows * columns;
    }
    double total() const {
      double out = 0;
      for (size_t r = 0; r < o.size(); ++r) {
        for (size_t u = 0; u < units.size(); ++u)
          out += static_cast<double>(o[r].second * units[u].second) * cycles[r * units.size() + u];
      }
      return out;
    }
    std::vector<double> in_order() const {
      std::vector<double> out;
      for (size_t r = 0; r < o.size(); ++r) {
        for (int64_t k = 0; k < o[r].second; ++k) {
          for (size_t u = 0; u < units.size(); ++u)
            out.insert(out.end(), static_cast<size_t>(units[u].second),
                       cycles[r * units.size() + u]);
        }
      }
      return out;
    }
  };
  static int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
  static Sizes sizes(int64_t whole, int64_t part) {
    Sizes out = {{part, whole / part}};
    if (whole % part != 0) out.emplace_back(whole % part, 1);
    return out;
  }
  Panels panels_of(const Plan& plan) const {
    BYOC_CHECK(plan.tile.cells > 0 && plan.tile.vectors > 0, "a tile of ", plan.tile.cells, " x ",
               plan.tile.vectors);
    Panels out{sizes(sums_.o, plan.o_panel), sizes(sums_.units, plan.units), {}};
    for (const auto& o : out.o) {
      for (const auto& units : out.units) out.cycles.push_back(panel(plan, o.first, units.first));
    }
    return out;
  }

  // Returns the time of the slowest thread as a multiple of an equal share of the work. Each thread
  // takes the next panel when it has finished one; many panels count as equal ones.
  double idle_share(const Panels& panels) const {
    const int64_t threads = target_.threads, count = panels.count() * sums_.n;
    if (count > kFollowedPanels * threads)
      return static_cast<double>(parts(count, threads) * threads) / static_cast<double>(count);
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    for (int64_t t = 0; t < threads; ++t) ends.push(0);
    double last = 0;
    for (int64_t n = 0; n < sums_.n; ++n) {
      for (double cycles : panels.in_order()) {
        const double end = ends.top() + cycles + kPanelCycles;
        ends.pop();
        ends.push(end);
        last = std::max(last, end);
      }
    }
    return last * static_cast<double>(threads) / (panels.total() * static_cast<double>(sums_.n));
  }

  double panel(const Plan& plan, int64_t o, int64_t units) const {
    const Fill fill = filled(sums_, plan.tile, o, units, target_.l1_bytes);
    const auto chunks = static_cast<double>(sums_.c / plan.chunk);
    double total = fill.cycles * static_cast<double>(sums_.c * sums_.taps);
    total += fill.tiles * chunks * cycles_to_begin(plan);
    if (plan.chunk < sums_.c) total += fill.sums * (chunks * chunk_cycles() + kPassVector);
    // Weights of a tile are read once for a panel. When they do not stay in the first cache, they
    // are read again for each tile beside it.
    const int64_t weights = sums_.weight_bytes(std::min(plan.tile.vectors, o), plan.chunk);
    const int64_t input = sums_.input_bytes(units, plan.chunk);
    const auto o_tiles = static_cast<double>(parts(o, plan.tile.vectors));
    const bool stays = weights <= target_.l1_bytes * 3 / 8;
    total += kL2InRow * chunks * (stays ? o_tiles : fill.tiles) * static_cast<double>(weights);
    // A panel's input is read again too, for the next channels.
    const int64_t sums = plan.chunk < sums_.c ? o * units * sum_bytes() : 0;
    const int64_t in_use = input + 2 * weights + sums;
    if (in_use > target_.l2_bytes / 2)
      total += (sums_.row_bytes > 0 ? kRowsPerByte : kMemoryPerByte) * chunks * (o_tiles - 1) *
               static_cast<double>(input);
    else if (input + weights > target_.l1_bytes * 3 / 4)
      total += l2_cycles() * chunks * o_tiles * static_cast<double>(input);
    return total;
  }

  // Returns the cycles in which a tile waits for its first rows and weights. The processor begins a
  // tile while it computes as many operations of the one before as it keeps in flight.
  double cycles_to_begin(const Plan& plan) const {
    const auto vectors = static_cast<double>(plan.tile.vectors * sums_.registers);
    const double operations = static_cast<double>(plan.chunk * sums_.taps) * vectors *
                              static_cast<double>(plan.tile.cells + 1);
    return kTileCycles * std::max(0.0, 1 - kWindow / operations);
  }

  // Returns the cost of reading from memory, which all panels of an image do at least once. In a
  // strided image the cells of a panel are adjacent and those of the next block are not, so the
  // hardware does not prefetch them.
  double memory_cycles(const Plan& plan, int64_t o_parts, int64_t u_parts) const {
    const int64_t l2 = target_.l2_bytes / 2;
    const int64_t input = sums_.input_bytes(sums_.units, sums_.c);
    const int64_t weights = sums_.weight_bytes(sums_.o, sums_.c);
    const int64_t kept_weights = sums_.weight_bytes(plan.o_panel, sums_.c);
    const int64_t sums = plan.chunk < sums_.c ? plan.o_panel * plan.units * sum_bytes() : 0;
    const bool keeps_weights = kept_weights + sums_.input_bytes(plan.units, sums_.c) + sums <= l2;
    const bool keeps_input = input + sums_.weight_bytes(plan.o_panel, plan.chunk) + sums <= l2;
    const int64_t threads = target_.threads;  // each reads what it needs
    const int64_t weight_times = keeps_weights ? std::min(threads, u_parts) : u_parts,
                  input_times = keeps_input ? std::min(threads, o_parts) : o_parts;
    const double pieces =
        sums_.is_strided ? static_cast<double>(sums_.c * u_parts * input_times) : 0;
    const double read = static_cast<double>(weights * weight_times) * wait_for_weights(plan) +
                        static_cast<double>(input * input_times);
    return kMemoryPerByte * read + kPieceCycles * pieces;
  }
  // Returns the cycles that a byte of weights takes as a multiple of those of other memory. Tiles
  // of pixels prefetch the next blocks of weights (tiling/prefetch.h) while all pixels of an image
  // need these. In other orders, tiles of the first pixels read all weights and wait for them,
  // which takes little where these are few.
  double wait_for_weights(const Plan& plan) const {
    const bool are_few = sums_.weight_bytes(sums_.o, sums_.c) <= target_.l2_bytes / 4;
    if (are_few || !sums_.is_strided || !sums_.is_flat) return 1;
    const bool reads_once =  // each thread for its pixels
        plan.chunk == sums_.c && parts(sums_.units, plan.units) <= target_.threads;
    const bool prefetches = plan.units > plan.tile.cells && plan.o_panel > plan.tile.vectors;
    return reads_once && prefetches ? kFetchedWeights : kAwaitedWeights;
  }
  double l2_cycles() const { return sums_.is_strided ? kL2PerByte : kL2InRow; }
  // Sums of neighbouring rows of a matrix are far apart.
  double chunk_cycles() const { return sums_.is_strided ? kChunkVector : kChunkRowVector; }
  int64_t sum_bytes() const { return sums_.lanes * 4 * (sums_.is_flat ? 1 : sums_.cells); }

  const Sums& sums_;
  const te::Target& target_;
};

// Returns the whole, and fractions of it rounded up to a multiple of `step`.
std::vector<int64_t> fractions(int64_t whole, int64_t step) {
  BYOC_CHECK(whole > 0 && step > 0, "fractions of ", whole, " by ", step);
  std::vector<int64_t> out = {whole};
  for (int64_t k : {2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
    const int64_t part = ((whole + k - 1) / k + step - 1) / step * step;
    if (part < out.back()) out.push_back(part);
  }
  if (step < out.back()) out.push_back(step);
  return out;
}

std::vector<int64_t> chunks_of(int64_t blocks) {
  std::vector<int64_t> out;
  for (int64_t chunk = blocks; chunk > 0; --chunk) {
    if (blocks % chunk == 0 && blocks / chunk <= 64) out.push_back(chunk);
  }
  return out;
}

// Returns the tile of one block of sums with the fewest cycles: rows that fit the registers,
// without a short tile at the end.
RegisterTile best_rows(const Sums& sums, const te::Target& target) {
  const int64_t cells = sums.is_flat ? sums.units : sums.cells;
  BYOC_CHECK(cells > 0 && sums.registers > 0, "a tile of ", cells, " cells in ", sums.registers,
             " registers each");
  const int64_t registers = (target.vector_registers - 1) / sums.registers - 1;
  const int64_t most = std::clamp<int64_t>(std::min<int64_t>(registers, 14), 1, cells);
  RegisterTile best;
  double least = INFINITY;
  for (int64_t rows = most; rows > most / 2; --rows) {
    const Fill fill = filled(sums, {rows, 1}, 1, sums.units, target.l1_bytes);
    const double cycles =
        fill.cycles + fill.tiles * kTileCycles / static_cast<double>(sums.c * sums.taps);
    if (cycles <= least) least = cycles, best = {rows, 1};  // of equal ones the most even
  }
  return best;
}

std::vector<RegisterTile> tiles_for(const Sums& sums, const te::Target& target) {
  const int64_t cells = sums.is_flat ? sums.units : sums.cells;
  const int registers = target.vector_registers / static_cast<int>(sums.registers);
  if (sums.may_join_blocks) return good_tiles(cells, sums.o, registers);
  return {best_rows(sums, target)};
}

template <class F>
void for_each_panels(const Sums& sums, const RegisterTile& tile, F&& f) {
  for (int64_t o_panel : fractions(sums.o, tile.vectors)) {
    for (int64_t units : fractions(sums.units, sums.is_flat ? tile.cells : 1)) f(o_panel, units);
  }
}

template <class F>
void for_each_plan(const Sums& sums, const te::Target& target, F&& f) {
  const Cost cost(sums, target);
  for (const RegisterTile& tile : tiles_for(sums, target)) {
    for_each_panels(sums, tile, [&](int64_t o_panel, int64_t units) {
      for (int64_t chunk : chunks_of(sums.c)) {
        const Plan plan{tile, chunk, o_panel, units};
        f(plan, cost(plan));
      }
    });
  }
}

}  // namespace

Plan best_plan(const Sums& sums, const te::Target& target) {
  Plan best;
  double least = INFINITY;
  for_each_plan(sums, target, [&](const Plan& plan, double cost) {
    if (cost < least) least = cost, best = plan;
  });
  BYOC_CHECK(best.chunk > 0, "no plan of sums has a cost that is a number");
  return best;
}

namespace {

// Returns the tile, and smaller ones of which each thread gets as many along one side.
std::vector<RegisterTile> shared_tiles(const Sums& sums, const RegisterTile& tile,
                                       int64_t threads) {
  auto even = [&](int64_t whole, int64_t part) {
    BYOC_CHECK(part > 0 && threads > 0, "parts of ", part, " for ", threads, " threads");
    const int64_t tiles = (whole + part - 1) / part;
    const int64_t shared = (tiles + threads - 1) / threads * threads;
    return std::clamp<int64_t>((whole + shared - 1) / shared, 1, part);
  };
  return {tile,
          {tile.cells, even(sums.o, tile.vectors)},
          {even(sums.is_flat ? sums.units : sums.cells, tile.cells), tile.vectors}};
}

}  // namespace

Plan shared_plan(const Sums& sums, const Plan& plan, const te::Target& target) {
  const Cost cost(sums, target);
  if (target.threads <= 1 || cost.panel_cycles(plan) < kLeastShared) return plan;
  Plan best = plan;
  double least = cost(plan) * kLeastGain;
  for (const RegisterTile& tile : shared_tiles(sums, plan.tile, target.threads)) {
    for_each_panels(sums, tile, [&](int64_t o_panel, int64_t units) {
      const Plan other{tile, plan.chunk, o_panel, units};
      const double cycles = cost(other);
      if (cycles < least) least = cycles, best = other;
    });
  }
  return best;
}

namespace {

// Returns true when panels of so many units, dealt out in order, are about as much for each thread.
bool is_even(const Sums& sums, int64_t units, int64_t threads) {
  BYOC_CHECK(units > 0 && threads > 0, "panels of ", units, " units for ", threads, " threads");
  const int64_t panels = (sums.units + units - 1) / units;
  const int64_t most = (panels + threads - 1) / threads * units;
  return panels >= threads &&
         static_cast<double>(most * threads) <= kEven * static_cast<double>(sums.units);
}

}  // namespace

Plan shared_image_plan(const Sums& sums, const Plan& plan, const te::Target& target) {
  const int64_t threads = target.threads, step = sums.is_flat ? plan.tile.cells : 1;
  const bool has_few_weights = sums.weight_bytes(sums.o, sums.c) <= target.l2_bytes / 4;
  const bool is_long = Cost(sums, target).panel_cycles(plan) >= kLeastShared;
  if (threads > 1 && sums.n == 1 && has_few_weights && is_long) {
    for (int64_t parts = kImagePartsPerThread * threads; parts >= threads; parts -= threads) {
      const int64_t units = (sums.units + parts * step - 1) / (parts * step) * step;
      if (is_even(sums, units, threads)) return {plan.tile, plan.chunk, sums.o, units};
    }
  }
  return shared_plan(sums, plan, target);
}

Plan plan_of_shared_columns(const Sums& sums, const Plan& plan, const te::Target& target) {
  const int64_t threads = target.threads;
  const int64_t tiles = (sums.o + plan.tile.vectors - 1) / plan.tile.vectors;
  if (threads <= 1 || tiles < threads) return plan;
  const int64_t share = (tiles + threads - 1) / threads * plan.tile.vectors;
  return {plan.tile, plan.chunk, std::min(plan.o_panel, share), plan.units};
}

std::vector<Plan> ranked_plans(const Sums& sums, const te::Target& target) {
  std::vector<std::pair<double, Plan>> all;
  for_each_plan(sums, target, [&](const Plan& plan, double cost) { all.emplace_back(cost, plan); });
  std::ranges::stable_sort(all, {}, &std::pair<double, Plan>::first);
  std::vector<Plan> out;
  for (const auto& [cost, plan] : all) out.push_back(plan);
  return out;
}

}  // namespace byoc::llvm_plugin::topi
