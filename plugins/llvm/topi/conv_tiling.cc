// A model of what a convolution costs, in cycles, and the cheapest of some hundred ways to part it.
// Its constants were fitted to Zen 3 (bench_llvm_kernels); sources of the cache figures: AMD and
// Intel optimisation manuals. Only the order of the candidates matters.
#include "plugins/llvm/topi/conv_tiling.h"

#include <algorithm>
#include <cmath>

#include "plugins/llvm/topi/access.h"
#include "plugins/llvm/topi/register_tile.h"

namespace byoc::llvm_plugin::topi {
namespace {

constexpr double kL2PerByte = 0.025;     // cycles that a byte from the second cache adds
constexpr double kMemoryPerByte = 0.06;  // one from behind it
constexpr double kPieceCycles = 40;      // for a piece of memory that stands elsewhere
constexpr double kTileCycles = 30;       // to begin a tile
constexpr double kChunkVector = 2.0;     // to add a vector of a chunk's sums to those before
constexpr double kPassVector = 2.0;      // to read, finish and write one in a pass of its own

// The images are `units` of `cells` pixels: rows, or for pointwise ones single pixels.
struct Conv {
  int64_t n, o, units, cells, lanes;  // o: blocks of lanes
  int64_t c, taps;                    // blocks of channels; terms of one
  int64_t vector_bytes, block_bytes;  // of `lanes` results; of the channels of one block in a pixel
  int64_t kernel_rows = 1, row_step = 1, input_cells = 1;  // input_cells: of one input row
  bool is_pointwise = false;
  int64_t input_bytes(int64_t panel_units, int64_t blocks) const {
    return ((panel_units - 1) * row_step + kernel_rows) * input_cells * blocks * block_bytes;
  }
  int64_t weight_bytes(int64_t vectors, int64_t blocks) const {
    return vectors * blocks * taps * vector_bytes;
  }
};

struct Plan {
  RegisterTile tile;
  int64_t chunk = 0;               // blocks of channels; all of them: not chunked
  int64_t o_panel = 0, units = 0;  // of a panel
};

// What tiles of one kind cost to fill a panel of `o` vectors and `units`.
struct Fill {
  double cycles = 0, tiles = 0, sums = 0;  // cycles of one term; sums: vectors
};

Fill filled(const Conv& conv, const RegisterTile& tile, int64_t o, int64_t units) {
  Fill out;
  const int64_t cells = conv.is_pointwise ? units : conv.cells;
  const int64_t times = conv.is_pointwise ? 1 : units;
  for (auto [vectors, v_count] :
       {std::pair(tile.vectors, o / tile.vectors), std::pair(o % tile.vectors, int64_t{1})}) {
    if (vectors == 0) continue;
    for (auto [width, c_count] :
         {std::pair(tile.cells, cells / tile.cells), std::pair(cells % tile.cells, int64_t{1})}) {
      if (width == 0) continue;
      const auto count = static_cast<double>(v_count * c_count * times);
      out.cycles += count * cycles_per_term(width, vectors);
      out.tiles += count;
      out.sums += count * static_cast<double>(width * vectors);
    }
  }
  return out;
}

class Cost {
 public:
  Cost(const Conv& conv, const te::Target& target) : conv_(conv), target_(target) {}
  double operator()(const Plan& plan) const {
    const int64_t o_parts = parts(conv_.o, plan.o_panel), u_parts = parts(conv_.units, plan.units);
    double total = 0;
    for (auto [o, o_count] : sizes(conv_.o, plan.o_panel)) {
      for (auto [units, u_count] : sizes(conv_.units, plan.units))
        total += static_cast<double>(o_count * u_count) * panel(plan, o, units);
    }
    total += memory_cycles(plan, o_parts, u_parts);
    total *= static_cast<double>(conv_.n);
    const int64_t panels = conv_.n * o_parts * u_parts, threads = target_.threads;
    if (threads > 1)  // the last round keeps some of them idle
      total *= static_cast<double>(parts(panels, threads) * threads) / static_cast<double>(panels);
    return total;
  }

 private:
  using Sizes = std::vector<std::pair<int64_t, int64_t>>;  // size, count
  static int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
  static Sizes sizes(int64_t whole, int64_t part) {
    Sizes out = {{part, whole / part}};
    if (whole % part != 0) out.emplace_back(whole % part, 1);
    return out;
  }

  double panel(const Plan& plan, int64_t o, int64_t units) const {
    const Fill fill = filled(conv_, plan.tile, o, units);
    const auto chunks = static_cast<double>(conv_.c / plan.chunk);
    double total = fill.cycles * static_cast<double>(conv_.c * conv_.taps);
    total += fill.tiles * chunks * kTileCycles;
    if (plan.chunk < conv_.c) total += fill.sums * (chunks * kChunkVector + kPassVector);
    // Weights of a tile that do not stay in the first cache come again for the next.
    const int64_t weights = conv_.weight_bytes(std::min(plan.tile.vectors, o), plan.chunk);
    const int64_t input = conv_.input_bytes(units, plan.chunk);
    if (weights > target_.l1_bytes * 3 / 8)
      total += kL2PerByte * fill.tiles * chunks * static_cast<double>(weights);
    // So does a panel's input, for the next channels.
    const auto o_tiles = static_cast<double>(parts(o, plan.tile.vectors));
    const int64_t sums = plan.chunk < conv_.c ? o * units * sum_bytes() : 0;
    const int64_t in_use = input + 2 * weights + sums;
    if (in_use > target_.l2_bytes * 3 / 4)
      total += kMemoryPerByte * chunks * (o_tiles - 1) * static_cast<double>(input);
    else if (input + weights > target_.l1_bytes * 3 / 4)
      total += kL2PerByte * chunks * o_tiles * static_cast<double>(input);
    return total;
  }

  // What all panels of an image read from behind the second cache, at least once. The pixels of a
  // panel stand side by side, those of the next block of channels elsewhere: nothing fetches them
  // ahead.
  double memory_cycles(const Plan& plan, int64_t o_parts, int64_t u_parts) const {
    const int64_t l2 = target_.l2_bytes * 3 / 4;
    const int64_t input = conv_.input_bytes(conv_.units, conv_.c);
    const int64_t weights = conv_.weight_bytes(conv_.o, conv_.c);
    const int64_t kept_weights = conv_.weight_bytes(plan.o_panel, conv_.c);
    const int64_t sums = plan.chunk < conv_.c ? plan.o_panel * plan.units * sum_bytes() : 0;
    const bool keeps_weights = kept_weights + conv_.input_bytes(plan.units, conv_.c) + sums <= l2;
    const bool keeps_input = input + conv_.weight_bytes(plan.o_panel, plan.chunk) + sums <= l2;
    const int64_t weight_times = keeps_weights ? 1 : u_parts,
                  input_times = keeps_input ? 1 : o_parts;
    return kMemoryPerByte * static_cast<double>(weights * weight_times + input * input_times) +
           kPieceCycles * static_cast<double>(conv_.c * u_parts * input_times);
  }
  int64_t sum_bytes() const { return conv_.vector_bytes * (conv_.is_pointwise ? 1 : conv_.cells); }

  const Conv& conv_;
  const te::Target& target_;
};

std::optional<Conv> conv_of(const te::Stage& anchor, const te::Target& target) {
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  std::vector<int64_t> y, terms;
  for (const te::Expr& extent : anchor.outputs[0].shape())
    y.push_back(te::as_int(extent).value_or(0));
  for (const te::Axis& axis : compute.reduce) terms.push_back(extent_of(axis));
  if (terms.size() < 2 || y.size() < 4) return std::nullopt;
  const bool is_pointwise = y.size() == 4 && terms.size() == 2;
  if (!is_pointwise && (y.size() != 5 || terms.size() != 4)) return std::nullopt;
  if (y.back() != target.lanes(4)) return std::nullopt;
  Conv out{};
  out.n = y[0], out.o = y[1], out.units = y[2], out.cells = is_pointwise ? 1 : y[3];
  out.lanes = y.back(), out.c = terms[0], out.is_pointwise = is_pointwise;
  out.taps = terms.back() * (is_pointwise ? 1 : terms[1] * terms[2]);
  out.vector_bytes = out.lanes * 4, out.block_bytes = terms.back() * 4;
  out.kernel_rows = out.row_step = out.input_cells = 1;
  if (is_pointwise) return out;
  out.kernel_rows = terms[1];
  for (const te::Load* load : loads_of(compute)) {  // the image: the one that moves with rows
    if (load->tensor.rank() < 4 || stride_of(*load, compute.axes[1].var) != 0) continue;
    const int64_t width = te::as_int(load->tensor.shape()[3]).value_or(1);
    const auto row = stride_of(*load, compute.axes[2].var),
               tap = stride_of(*load, compute.reduce[1].var);
    if (row && tap && *tap > 0) out.row_step = *row / *tap;
    out.input_cells = width;
  }
  return out;
}

// The whole, and fractions of it rounded up to a multiple of `step`.
std::vector<int64_t> fractions(int64_t whole, int64_t step) {
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

Plan best_plan(const Conv& conv, const te::Target& target) {
  const Cost cost(conv, target);
  Plan best;
  double least = INFINITY;
  const int64_t cells = conv.is_pointwise ? conv.units : conv.cells;
  for (const RegisterTile& tile : good_tiles(cells, conv.o, target.vector_registers)) {
    for (int64_t o_panel : fractions(conv.o, tile.vectors)) {
      for (int64_t units : fractions(conv.units, conv.is_pointwise ? tile.cells : 1)) {
        for (int64_t chunk : chunks_of(conv.c)) {
          const Plan plan{tile, chunk, o_panel, units};
          if (const double total = cost(plan); total < least) least = total, best = plan;
        }
      }
    }
  }
  return best;
}

}  // namespace

std::optional<Tiling> conv_tiling(const te::Stage& anchor, const te::Target& target) {
  const std::optional<Conv> conv = conv_of(anchor, target);
  if (!conv) return std::nullopt;
  const Plan plan = best_plan(*conv, target);
  const size_t row = 2, column = conv->is_pointwise ? 2 : 3, lane = column + 1;
  Tiling out;
  // The shorter side inside: its operands stay in registers while the longer one goes by.
  out.unrolled = {{column, plan.tile.cells}, {1, plan.tile.vectors}};
  if (plan.tile.cells < plan.tile.vectors) std::swap(out.unrolled[0], out.unrolled[1]);
  out.vectorized = {lane, conv->lanes};
  if (conv->block_bytes <= 16 * 4) out.unrolled_reduce = {conv->is_pointwise ? 1u : 3u};
  out.panel = {{1, plan.o_panel < conv->o ? plan.o_panel : 0},
               {row, plan.units < conv->units ? plan.units : 0}};
  if (!conv->is_pointwise) out.panel.push_back({column, 0});
  out.panel.push_back({lane, 0});
  if (plan.chunk < conv->c) out.chunk = {0, plan.chunk};
  return out;
}

}  // namespace byoc::llvm_plugin::topi
