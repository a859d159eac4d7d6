// SPDX-License-Identifier: Apache-2.0
// Chooses the tile, panels and chunks for the sums of a convolution.
#include "plugins/llvm/families/conv/tiling.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/tiling/tile.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::conv {
namespace {

using namespace topi;

// The limit of consecutive multiply-adds. In a longer body LLVM loads operands so early that
// sums are spilled.
constexpr int64_t kLongestBody = 256;
constexpr int64_t kMostTerms = 16;          // of a block, written out by default
constexpr int64_t kMostPairs = 2;           // of them: with more, LLVM spills sums
constexpr int64_t kMostTermsOfPoints = 64;  // written out at a point
constexpr int64_t kLongestOfPoints = 1024;  // multiply-adds at a point

/// A convolution as sums, and the columns of its window.
struct ConvSums : Sums {
  int64_t columns = 1;
  bool has_pairs = false;  // of i16, or of bytes
  int64_t terms() const { return block_bytes / 4; }
  int64_t body(const RegisterTile& tile) const {
    return terms() * tile.cells * tile.vectors * registers;
  }
};

std::optional<ConvSums> sums_of(const te::Stage& anchor, const te::Target& target) {
  const te::Compute& compute = std::get<te::Compute>(anchor.kind);
  std::vector<int64_t> y, terms;
  for (const te::Expr& extent : anchor.outputs[0].shape())
    y.push_back(te::as_int(extent).value_or(0));
  for (const te::Axis& axis : compute.reduce) terms.push_back(extent_of(axis));
  if (terms.size() < 2 || y.size() < 4) return std::nullopt;
  const bool is_pointwise = anchor.compute == "pointwise" || anchor.compute == kJoinedCompute;
  if (y.size() != (is_pointwise ? 4 : 5) || terms.size() != (is_pointwise ? 2 : 4))
    return std::nullopt;
  ConvSums out;
  out.n = y[0], out.o = y[1], out.units = y[2], out.cells = is_pointwise ? 1 : y[3];
  out.lanes = y.back(), out.c = terms[0], out.is_flat = is_pointwise, out.is_strided = true;
  out.taps = terms.back() * (is_pointwise ? 1 : terms[1] * terms[2]);
  out.registers = std::max<int64_t>(out.lanes / target.lanes(4), 1);
  out.block_bytes = terms.back() * 4;
  out.has_pairs = registers_of_products(compute) > 0;
  if (is_pointwise) return out;
  out.reach = terms[1], out.columns = terms[2];
  for (const te::Load* load : loads_of(compute)) {  // the image: the one that moves with rows
    if (load->tensor.rank() < 4 || stride_of(*load, compute.axes[1].var) != 0) continue;
    const int64_t width = te::as_int(load->tensor.shape()[3]).value_or(1);
    const auto row = stride_of(*load, compute.axes[2].var),
               tap = stride_of(*load, compute.reduce[1].var);
    if (row && tap && *tap > 0) out.step = *row / *tap;
    out.input_cells = width;
  }
  return out;
}

// The knob "unroll": 0 writes out no loop over terms, 1 that over a block's terms, 2 also that over
// the columns of the window. Code that is too long falls back to the one before.
int64_t unroll_at(const ConvSums& conv, const RegisterTile& tile, int64_t unroll) {
  if (unroll == 2) {
    const bool fits = !conv.is_flat && conv.terms() * conv.columns <= kMostTermsOfPoints &&
                      conv.body(tile) * conv.columns <= kLongestOfPoints;
    if (fits) return 2;
  }
  const bool fits = conv.terms() <= kMostTermsOfPoints && conv.body(tile) <= kLongestOfPoints;
  return unroll > 0 && fits ? 1 : 0;
}

Point point_of(const ConvSums& conv, const Plan& plan) {
  Point out = topi::point_of(static_cast<const Sums&>(conv), plan);
  const int64_t most = conv.has_pairs ? kMostPairs : kMostTerms;
  const bool is_short = conv.terms() <= most && conv.body(plan.tile) <= kLongestBody;
  out["unroll"] = cat(is_short ? 1 : 0);
  return out;
}

Choices choices_of(const ConvSums& conv, const te::Target& target) {
  Choices plans = plan_choices(conv, target);
  std::vector<int64_t> unroll = {0};
  if (conv.terms() <= kMostTermsOfPoints) unroll.push_back(1);
  if (!conv.is_flat && conv.columns > 1 && conv.terms() * conv.columns <= kMostTermsOfPoints)
    unroll.push_back(2);
  plans.knobs.push_back(knob_of("unroll", unroll));
  for (Point& guess : plans.guesses) guess = point_of(conv, plan_at(conv, guess));
  return complete(std::move(plans.knobs), plans.guesses);
}

Tiling tiling_at(const ConvSums& conv, const Point& point, const te::Target& target) {
  const Plan plan = shared_image_plan(conv, plan_at(conv, point), target);
  const size_t row = 2, column = conv.is_flat ? 2 : 3, lane = column + 1;
  Tiling out;
  // The shorter side is inside: its operands stay in registers while the longer one goes by.
  out.unrolled = {{column, plan.tile.cells}, {1, plan.tile.vectors}};
  if (plan.tile.cells < plan.tile.vectors) std::swap(out.unrolled[0], out.unrolled[1]);
  out.vectorized = {lane, conv.lanes};
  const int64_t unroll = unroll_at(conv, plan.tile, number_at(point, "unroll"));
  if (unroll == 2) out.unrolled_reduce = {2};
  if (unroll > 0) out.unrolled_reduce.push_back(conv.is_flat ? 1u : 3u);
  out.panel = {{1, plan.o_panel < conv.o ? plan.o_panel : 0},
               {row, plan.units < conv.units ? plan.units : 0}};
  if (!conv.is_flat) out.panel.push_back({column, 0});
  out.panel.push_back({lane, 0});
  if (plan.chunk < conv.c) out.chunk = {0, plan.chunk};
  return out;
}

}  // namespace

std::optional<topi::TilingTemplate> conv_tiling(const te::Stage& anchor, const te::Target& target) {
  const std::optional<ConvSums> conv = sums_of(anchor, target);
  if (!conv) return std::nullopt;
  return topi::TilingTemplate{
      "conv2d_nchwc", point_of(*conv, best_plan(*conv, target)),
      [conv = *conv, target] { return choices_of(conv, target); },
      [conv = *conv, target](const Point& point) { return tiling_at(conv, point, target); }};
}

}  // namespace byoc::llvm_plugin::conv
