// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/conv/flat.h"

#include <algorithm>

#include "plugins/llvm/tiling/access.h"
#include "plugins/llvm/topi/points.h"

namespace byoc::llvm_plugin::conv {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr size_t kMostKnobTiles = 32;                 // of a knob
constexpr int64_t kDepth = 2, kRow = 3, kColumn = 4;  // axes of an image [n, c, d, h, w]

/// Strides, dilations and pads along the axes of a volume.
struct Windows {
  Ints strides, dilations, begins, ends;
  explicit Windows(const Attrs& attrs)
      : strides(attrs.ints("strides")), dilations(attrs.ints("dilations")) {
    Ints pads = attrs.ints("pads");
    if (strides.empty()) strides = {1, 1, 1};
    if (dilations.empty()) dilations = {1, 1, 1};
    if (pads.empty()) pads = Ints(6, 0);
    begins.assign(pads.begin(), pads.begin() + 3), ends.assign(pads.begin() + 3, pads.end());
  }
  bool has_one_place(size_t d) const { return strides[d] == 1 && begins[d] == 0 && ends[d] == 0; }
};

bool is_flat(const te::Site& site) {
  if (site.op->name != "conv3d" || site.inputs[0]->dtype != DType::kF32) return false;
  if (!is_static(site.inputs[0]->shape) || !is_static(site.inputs[1]->shape)) return false;
  const Ints taps = static_extents(site.inputs[1]->shape);
  const Windows windows(*site.attrs);
  return site.attrs->i("group", 1) == 1 && taps[kRow] == 1 && taps[kColumn] == 1 &&
         windows.has_one_place(1) && windows.has_one_place(2);
}

Result<std::vector<Tensor>> compute_flat(te::Builder& builder, std::span<const Tensor> in,
                                         Types out, const Attrs& attrs) {
  const Windows windows(attrs);
  const Tensor weight = in[1];
  const Exprs y = te::extents_of(*out[0]), x = in[0].shape();
  const Expr width = x[kColumn], depth = x[kDepth];
  const int64_t begin = windows.begins[0], end = windows.ends[0];
  const Expr cells = *te::as_int(x[kRow]) * *te::as_int(width);
  auto cell = [&](const Exprs& at) {
    return in[0](at[0], at[1], at[2] - begin, floor_div(at[3], width), floor_mod(at[3], width));
  };
  Tensor padded;
  if (begin > 0 || end > 0) {
    const Exprs shape = {x[0], x[1], *te::as_int(depth) + begin + end, cells};
    padded = builder.compute("conv3d.pad", shape, [&](const Exprs& i) {
      const Expr is_inside = Expr(begin) <= i[2] && i[2] < depth + begin;
      return te::select(is_inside, cell(i), te::constant(DType::kF32, 0));
    });
  }
  const Tensor sums = builder.reduce(
      "conv3d.sums", {y[0], y[1], y[kDepth], cells}, {weight.shape()[1], weight.shape()[kDepth]},
      te::sum_of(DType::kF32), [&](const Exprs& i, const Exprs& r) {
        const Exprs at = {i[0], r[0], i[2] * windows.strides[0] + r[1] * windows.dilations[0],
                          i[3]};
        return (padded.is_empty() ? cell(at) : padded(at)) * weight(i[1], r[0], r[1], 0, 0);
      });
  return std::vector<Tensor>{builder.compute(
      "conv3d", y, [&](const Exprs& i) { return sums(i[0], i[1], i[2], i[3] * width + i[4]); })};
}

topi::Choices choices_of(int64_t outputs, int64_t vectors, const topi::Point& first,
                         int registers) {
  topi::Knob tiles{"tile", {}};
  std::vector<topi::Point> guesses = {first};
  for (const topi::RegisterTile& tile : topi::good_tiles(outputs, vectors, registers, 1.6)) {
    if (tiles.values.size() == kMostKnobTiles) break;
    tiles.values.push_back(topi::text_of(tile));
    guesses.push_back({{"tile", tiles.values.back()}});
  }
  return topi::complete({tiles}, guesses);
}

}  // namespace

void add_flat(const te::Site& site, Strategies& out) {
  if (!is_flat(site)) return;
  out.push_back({.name = kFlatCompute, .level = kPreferred, .compute = compute_flat});
}

// The cells of a tile are read by all outputs, tile by tile, before the next ones: they stay in the
// first cache.
std::optional<topi::TilingTemplate> flat_tiling(const te::Stage& anchor, const te::Target& target) {
  if (anchor.op != "conv3d" || anchor.compute != kFlatCompute) return std::nullopt;
  const int64_t lanes = target.lanes(4), outputs = topi::extent_at(anchor, 1);
  const int64_t vectors = topi::extent_at(anchor, 3) / lanes;
  if (vectors < 1) return std::nullopt;
  const topi::RegisterTile tile = topi::best_tile(outputs, vectors, target.vector_registers);
  const topi::Point first = {{"tile", topi::text_of(tile)}};
  auto at = [=](const topi::Point& point) {
    const topi::RegisterTile tile = topi::tile_at(point, outputs, vectors);
    topi::Tiling out;
    out.unrolled = {{1, tile.cells}};
    out.vectorized = {3, tile.vectors * lanes};
    out.panel = {{3, tile.vectors * lanes}, {1, 0}};
    return out;
  };
  const int registers = target.vector_registers;
  return topi::TilingTemplate{"conv3d_flat", first,
                              [=] { return choices_of(outputs, vectors, first, registers); }, at};
}

}  // namespace byoc::llvm_plugin::conv
