// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/pool/windows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "byoc/base/check.h"

namespace byoc::llvm_plugin::pool {
namespace {

using te::Expr;
using te::Exprs;
using te::Tensor;

constexpr int64_t kMostTaps = 16;   // that are written out
constexpr double kStored = 3;       // cycles of a vector of two loads, a step and a store
constexpr double kTap = 1.5;        // cycles of a vector of a load and a step
constexpr double kSharedTap = 0.8;  // of a step, where cells of a row share their loads

int64_t product(const Ints& extents, size_t first, size_t last) {
  int64_t out = 1;
  for (size_t d = first; d < last; ++d) out *= extents[d];
  return out;
}

/// The cells from which windows along an axis are joined: those of `level` cells each, at offsets.
struct Pieces {
  int64_t largest = 1;          // cells of the largest level; 1: single taps
  std::vector<int64_t> levels;  // per piece
  std::vector<int64_t> taps;    // per piece: its first tap
};

// Single taps of windows that hardly overlap, powers of two of others: a maximum may count cells
// twice, a sum may not.
Pieces pieces_of(const Axis& axis, bool is_max) {
  Pieces out;
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(axis.kernel)));
  const auto levels = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(power)));
  const bool is_sparse = axis.kernel * axis.out <= (levels + 1) * axis.reach();
  if (axis.kernel <= 3 || (axis.kernel <= kMostTaps && is_sparse)) {
    for (int64_t k = 0; k < axis.kernel; ++k) out.levels.push_back(1), out.taps.push_back(k);
    return out;
  }
  out.largest = power;
  if (is_max) {
    out.levels = {power, power};
    out.taps = {0, axis.kernel - power};
    if (axis.kernel == power) out.levels.pop_back(), out.taps.pop_back();
    return out;
  }
  int64_t at = 0;
  for (int64_t level = power; level > 0; level /= 2) {
    if ((axis.kernel & level) == 0) continue;
    out.levels.push_back(level);
    out.taps.push_back(at);
    at += level;
  }
  return out;
}

Exprs joined(Exprs a, const Exprs& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Exprs numbers(const Ints& extents) { return {extents.begin(), extents.end()}; }

/// An image, as the values of its cells, and as a stage where there is one.
struct Image {
  std::function<Expr(const Exprs& plane, const Exprs& cell)> at;
  Ints extents;
  bool is_stored = true;
};

/// Makes the stages.
class Axes {
 public:
  Axes(te::Builder& builder, const Windows& windows, Exprs planes)
      : builder_(builder), windows_(windows), planes_(std::move(planes)) {}

  Image pooled(const Image& x, size_t d);

 private:
  Expr step(const Expr& a, const Expr& b) const {
    if (!windows_.is_max) return a + b;
    if (!is_float(windows_.state)) return te::max(b, a);
    return te::select(te::unary(te::UnaryOp::kIsNan, b), b, te::max(b, a));
  }
  Expr none() const {
    return windows_.is_max ? te::max_of(windows_.state).identity[0]
                           : te::constant(windows_.state, 0);
  }
  Image padded(const Image& x, size_t d);
  Image doubled(const Image& x, size_t d, int64_t cells);

  te::Builder& builder_;
  const Windows& windows_;
  Exprs planes_;  // the extents of n and c
};

// Returns the image with the cells around it that windows along axis `d` read, as a stage.
Image Axes::padded(const Image& x, size_t d) {
  const Axis& axis = windows_.axes[d];
  if (!axis.is_padded() && x.is_stored) return x;
  Image out{{}, x.extents, true};
  if (axis.is_padded()) out.extents[d] = axis.reach();
  const Tensor stage =
      builder_.compute("cells", joined(planes_, numbers(out.extents)), [&](const Exprs& i) {
        const Exprs plane(i.begin(), i.begin() + 2);
        Exprs cell(i.begin() + 2, i.end());
        const Expr at = cell[d] - axis.pad;
        if (!axis.is_padded()) return x.at(plane, cell);
        cell[d] = at;
        Expr inside = at < axis.in;
        if (axis.pad > 0) inside = Expr(0) <= at && inside;
        return te::select(inside, x.at(plane, cell), none());
      });
  out.at = [stage](const Exprs& plane, const Exprs& cell) { return stage(joined(plane, cell)); };
  return out;
}

// Returns a stage of the windows of `cells` cells along axis `d`, made of windows of half as many.
Image Axes::doubled(const Image& x, size_t d, int64_t cells) {
  const int64_t shift = cells / 2 * windows_.axes[d].dilation;
  Image out{{}, x.extents, true};
  out.extents[d] -= shift;
  const Tensor stage = builder_.compute(
      cat("of_", cells), joined(planes_, numbers(out.extents)), [&](const Exprs& i) {
        const Exprs plane(i.begin(), i.begin() + 2), cell(i.begin() + 2, i.end());
        Exprs next = cell;
        next[d] = cell[d] + shift;
        return step(x.at(plane, cell), x.at(plane, next));
      });
  out.at = [stage](const Exprs& plane, const Exprs& cell) { return stage(joined(plane, cell)); };
  return out;
}

Image Axes::pooled(const Image& x, size_t d) {
  const Axis& axis = windows_.axes[d];
  const Pieces pieces = pieces_of(axis, windows_.is_max);
  std::map<int64_t, Image> levels;
  levels[1] = padded(x, d);
  for (int64_t cells = 2; cells <= pieces.largest; cells *= 2)
    levels[cells] = doubled(levels[cells / 2], d, cells);
  Image out{{}, levels[1].extents, false};
  out.extents[d] = axis.out;
  out.at = [=, this](const Exprs& plane, const Exprs& cell) {
    Expr all;
    for (size_t k = 0; k < pieces.taps.size(); ++k) {
      Exprs at = cell;
      at[d] = cell[d] * axis.stride + pieces.taps[k] * axis.dilation;
      const Expr value = levels.at(pieces.levels[k]).at(plane, at);
      all = k == 0 ? value : step(all, value);
    }
    return all;
  };
  return out;
}

// Returns the taps of window `y` in [begin, end).
Expr taps_in(const Axis& axis, const Expr& y, int64_t begin, int64_t end) {
  const Expr start = y * axis.stride - axis.pad;
  auto below = [&](int64_t cell) {
    const Expr count = te::floor_div(Expr(cell + axis.dilation - 1) - start, axis.dilation);
    return te::min(te::max(count, Expr(0)), Expr(axis.kernel));
  };
  return below(end) - below(begin);
}

// Returns the cells of window `cell` that a mean divides by.
Expr count_of(const Windows& windows, const Exprs& cell) {
  int64_t known = 1;
  Expr out;
  for (size_t d = 0; d < windows.axes.size(); ++d) {
    const Axis& axis = windows.axes[d];
    const int64_t begin = windows.counts_pad ? -axis.pad : 0;
    const int64_t end = axis.in + (windows.counts_pad ? axis.pad_end : 0);
    if (-axis.pad >= begin && axis.reach() - axis.pad <= end) {
      known *= axis.kernel;
      continue;
    }
    const Expr taps = taps_in(axis, cell[d], begin, end);
    out = out.is_empty() ? taps : out * taps;
  }
  return out.is_empty() ? Expr(known) : out * known;
}

Expr mean_of(const Windows& windows, const Expr& sum, const Exprs& cell) {
  const Expr count = count_of(windows, cell);
  if (auto known = te::as_int(count))
    return sum / te::constant(windows.state, static_cast<double>(*known));
  return te::select(count == Expr(0), te::constant(windows.state, 0),
                    sum / te::cast(windows.state, count));
}

Ints list(const Attrs& attrs, const char* name, size_t count, int64_t fallback) {
  Ints out = attrs.ints(name);
  return out.empty() ? Ints(count, fallback) : out;
}

}  // namespace

std::optional<Windows> windows_of(const te::Site& site) {
  const bool is_max = site.op->name == "max_pool";
  if ((!is_max && site.op->name != "average_pool") || site.outputs.size() != 1 ||
      site.inputs[0]->dtype == DType::kBool || !is_static(site.inputs[0]->shape))
    return std::nullopt;
  const Ints x = static_extents(site.inputs[0]->shape), y = static_extents(site.outputs[0]->shape);
  if (std::ranges::count(y, 0) + std::ranges::count(x, 0) > 0) return std::nullopt;
  Windows out{.is_max = is_max, .counts_pad = site.attrs->b("count_include_pad", false)};
  out.dtype = out.state = site.inputs[0]->dtype;
  if (out.dtype == DType::kF16 || out.dtype == DType::kBF16) out.state = DType::kF32;
  out.lanes = site.target->lanes(dtype_size(out.state));
  out.planes = x[0] * x[1];
  const size_t rank = x.size() - 2;
  const Ints kernel = site.attrs->ints("kernel_shape"),
             strides = list(*site.attrs, "strides", rank, 1);
  const Ints dilations = list(*site.attrs, "dilations", rank, 1);
  const Ints pads = list(*site.attrs, "pads", 2 * rank, 0);
  BYOC_CHECK(kernel.size() == rank && strides.size() == rank && dilations.size() == rank &&
                 pads.size() == 2 * rank,
             site.op->name, " of rank ", x.size());
  for (size_t d = 0; d < rank; ++d)
    out.axes.push_back(
        {x[2 + d], y[2 + d], kernel[d], strides[d], dilations[d], pads[d], pads[rank + d]});
  return out.lanes < 2 ? std::nullopt : std::optional(std::move(out));
}

namespace {

// Returns the cycles of a vector of taps. Elements that are neither adjacent nor every second one
// of a row are loaded one by one.
double tap_of(const Windows& windows, const Axis& last) {
  return last.stride > 2 ? static_cast<double>(windows.lanes) : kTap;
}

}  // namespace

double direct_cycles_of(const Windows& windows) {
  double taps = static_cast<double>(windows.planes) / static_cast<double>(windows.lanes);
  for (const Axis& axis : windows.axes) taps *= static_cast<double>(axis.kernel * axis.out);
  const size_t rank = windows.axes.size();
  const bool is_blocked = rank > 2 && windows.axes.back().kernel == 1 &&
                          windows.axes.back().out <= windows.lanes &&
                          windows.axes[rank - 2].kernel <= kMostPoolColumns;
  return taps * (is_blocked ? kSharedTap : tap_of(windows, windows.axes.back()));
}

double cycles_of(const Windows& windows) {
  Ints extents;
  for (const Axis& axis : windows.axes) extents.push_back(axis.in);
  double out = 0;
  bool is_stored = true;
  for (size_t d = 0; d < windows.axes.size(); ++d) {
    const Axis& axis = windows.axes[d];
    if (axis.kernel == 1 && axis.stride == 1 && !axis.is_padded()) continue;
    if (axis.is_padded()) extents[d] = axis.reach();
    const auto cells = static_cast<double>(product(extents, 0, extents.size()));
    const Pieces pieces = pieces_of(axis, windows.is_max);
    const auto levels = std::log2(static_cast<double>(pieces.largest));
    out += (levels + (axis.is_padded() || !is_stored ? 1 : 0)) * cells * kStored;
    extents[d] = axis.out;
    const bool is_row = product(extents, d + 1, extents.size()) == 1;
    const double tap = is_row ? tap_of(windows, axis) : kTap;
    out += static_cast<double>(product(extents, 0, extents.size())) *
           static_cast<double>(pieces.taps.size()) * tap;
    is_stored = false;
  }
  return out * static_cast<double>(windows.planes) / static_cast<double>(windows.lanes);
}

ComputeFn by_axis(const Windows& windows) {
  return with_open_sizes([windows](te::Builder& builder, std::span<const Tensor> in, Types out,
                                   const Attrs&) -> Result<std::vector<Tensor>> {
    const Tensor& x = in[0];
    const bool has_numbers =
        std::all_of(x.shape().begin() + 2, x.shape().end(),
                    [](const Expr& extent) { return te::as_int(extent).has_value(); });
    if (!has_numbers)
      return unimplemented("windows axis by axis need the extents of planes as numbers")
          .with_slug("symbolic-shape");
    Axes axes(builder, windows, {x.shape()[0], x.shape()[1]});
    Image image{[&](const Exprs& plane, const Exprs& cell) {
                  return te::cast(windows.state, x(joined(plane, cell)));
                },
                {},
                true};
    for (const Axis& axis : windows.axes) image.extents.push_back(axis.in);
    for (size_t d = 0; d < windows.axes.size(); ++d) {
      const Axis& axis = windows.axes[d];
      if (axis.kernel > 1 || axis.stride > 1 || axis.is_padded()) image = axes.pooled(image, d);
    }
    const char* name = windows.is_max ? "max_pool" : "average_pool";
    return std::vector<Tensor>{builder.compute(name, te::extents_of(*out[0]), [&](const Exprs& i) {
      const Exprs plane(i.begin(), i.begin() + 2), cell(i.begin() + 2, i.end());
      const Expr value = image.at(plane, cell);
      return te::cast(windows.dtype, windows.is_max ? value : mean_of(windows, value, cell));
    })};
  });
}

}  // namespace byoc::llvm_plugin::pool
