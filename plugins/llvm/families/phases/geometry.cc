// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/phases/geometry.h"

#include <algorithm>
#include <numeric>

namespace byoc::llvm_plugin::phases {
namespace {

constexpr size_t kMostClasses = 64;  // each has code of its own

// Returns the range of one phase.
Range phase_of(const Dim& dim, int64_t phase) {
  Range out{.first = phase};
  const int64_t common = std::gcd(dim.dilation, dim.stride);
  out.period = dim.stride / common, out.step = dim.dilation / common;
  while (out.tap < out.period && (phase + dim.pad - out.tap * dim.dilation) % dim.stride != 0)
    ++out.tap;
  if (out.tap == out.period || out.tap >= dim.kernel) return out;
  out.taps = (dim.kernel - 1 - out.tap) / out.period + 1;
  out.base = (phase + dim.pad - out.tap * dim.dilation) / dim.stride;
  return out;
}

// Adds a phase to the range before it. Returns false when it reads other cells.
bool join(Range& range, const Range& next) {
  if (range.taps != next.taps) return false;
  if (range.taps > 0) {
    const int64_t up = (next.tap - range.tap) / range.count;
    if (range.base != next.base || range.tap + up * range.count != next.tap) return false;
    if (range.count > 1 && up != range.tap_up) return false;
    range.tap_up = up;
  }
  ++range.count;
  return true;
}

bool is_transposed(const te::Site& site) {
  if (site.op->facts.family != OpFamily::kTransposedConvolution || !site.op->facts.is_plain)
    return false;
  return std::ranges::all_of(
      std::array{site.inputs[0], site.inputs[1], site.outputs[0]}, [](TypeId type) {
        if (!is_static(type->shape)) return false;
        return std::ranges::all_of(static_extents(type->shape), [](int64_t x) { return x > 0; });
      });
}

bool add_classes(Geometry& out) {
  std::array<std::vector<Range>, kDims> ranges;
  for (size_t d = 0; d < kDims; ++d) {
    ranges[d] = ranges_of(out.dims[d]);
    out.least[d] = INT64_MAX, out.most[d] = INT64_MIN;
    for (const Range& range : ranges[d]) {
      if (range.taps == 0) continue;
      out.least[d] = std::min(out.least[d], range.base - (range.taps - 1) * range.step);
      out.most[d] = std::max(out.most[d], range.base);
    }
    if (out.least[d] == INT64_MAX) return false;  // no terms
  }
  if (ranges[0].size() * ranges[1].size() * ranges[2].size() > kMostClasses) return false;
  for (const Range& a : ranges[0]) {
    for (const Range& b : ranges[1]) {
      for (const Range& c : ranges[2]) out.classes.push_back({{a, b, c}});
    }
  }
  return true;
}

}  // namespace

te::Exprs Geometry::at(te::Expr first, te::Expr second,
                       const std::array<te::Expr, kDims>& cells) const {
  te::Exprs out = {std::move(first), std::move(second)};
  out.insert(out.end(), cells.end() - static_cast<ptrdiff_t>(spatial), cells.end());
  return out;
}

// Phases that no result has are left out.
std::vector<Range> ranges_of(const Dim& dim) {
  std::vector<Range> out;
  for (int64_t phase = 0; phase < std::min(dim.stride, dim.out); ++phase) {
    const Range next = phase_of(dim, phase);
    if (out.empty() || !join(out.back(), next)) out.push_back(next);
  }
  return out;
}

std::optional<Geometry> geometry_of(const te::Site& site) {
  if (!is_transposed(site)) return std::nullopt;
  const Ints x = static_extents(site.inputs[0]->shape), w = static_extents(site.inputs[1]->shape);
  const Ints y = static_extents(site.outputs[0]->shape);
  Geometry out;
  out.spatial = x.size() - 2;
  out.n = x[0], out.groups = site.attrs->i("group", 1);
  out.c = x[1] / out.groups, out.o = w[1];
  const Ints strides = site.attrs->ints("strides"), dilations = site.attrs->ints("dilations");
  const Ints pads = site.attrs->ints("pads");
  for (size_t k = 0; k < out.spatial; ++k) {
    Dim& dim = out.dims[kDims - out.spatial + k];
    dim.in = x[2 + k], dim.out = y[2 + k], dim.kernel = w[2 + k];
    if (!strides.empty()) dim.stride = strides[k];
    if (!dilations.empty()) dim.dilation = dilations[k];
    if (!pads.empty()) dim.pad = pads[k];
  }
  return add_classes(out) ? std::optional(out) : std::nullopt;
}

}  // namespace byoc::llvm_plugin::phases
