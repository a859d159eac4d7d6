// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions of output cells of resize in the input, shared by the reference kernel and the compute.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/op/kernel/expression.h"

namespace byoc::op {

// Maps output cells of one dim to positions in the input.
struct AxisMap {
  int64_t in = 0, out = 0;
  double scale = 1, width = 0;  // width: out before rounding
  double roi_begin = 0, roi_end = 1;
  std::string coordinates;

  double position(int64_t y) const {
    double at = static_cast<double>(y), last = static_cast<double>(in - 1);
    if (coordinates == "asymmetric") return at / scale;
    if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
    if (coordinates == "align_corners") return width <= 1 ? 0 : at * last / (width - 1);
    if (coordinates == "pytorch_half_pixel" && width <= 1) return -0.5;
    if (coordinates == "half_pixel_symmetric") {
      double half = static_cast<double>(in) / 2;
      return half - half * static_cast<double>(out) / width + (at + 0.5) / scale - 0.5;
    }
    if (coordinates != "tf_crop_and_resize") return (at + 0.5) / scale - 0.5;
    if (width <= 1) return (roi_begin + roi_end) * last / 2;
    return at * (roi_end - roi_begin) * last / (width - 1) + roi_begin * last;
  }
  /// Returns the cell at or below a position, no further than four cells from the input.
  int64_t floor_cell(double position) const {
    double below = std::floor(position);
    if (!(below > -4)) return -4;
    return below < static_cast<double>(in + 4) ? static_cast<int64_t>(below) : in + 4;
  }
  bool is_outside(double position) const {
    return coordinates == "tf_crop_and_resize" &&
           (position < 0 || position > static_cast<double>(in - 1));
  }
};

/// The taps of an antialiased dim: the kernel of the interpolation, widened where x is shrunk.
struct Antialias {
  double scale;   // at most 1: of distances between cells
  int64_t begin;  // the first tap, counted from the cell at or below the position
  int64_t count;  // taps
  Antialias(const AxisMap& map, bool cubic)
      : scale(map.scale > 0 ? std::min(map.scale, 1.0) : 1),
        begin(static_cast<int64_t>(std::floor((cubic ? -2 : -1) / scale)) + 1),
        count(2 - 2 * begin) {}
};

AxisMap make_map(size_t d, TypeId x, TypeId y, const Attrs& attrs);
/// Returns the input cell that a position is rounded to.
int64_t nearest_cell(const AxisMap& map, double position, const std::string& rounding);

/// resize_compute.cc: the same as expressions.
Result<Tensors> compute_resize(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
