// SPDX-License-Identifier: Apache-2.0
#pragma once
// Walks the windows of a pooling op over one to three spatial dims.
#include <array>

#include "core/op/kernel/expression.h"
#include "core/op/kernel/kernel.h"
#include "core/op/kernel/window.h"

namespace byoc::op {

/// The taps first .. last - 1 of a window that starts at input cell `start` (which may lie
/// in the padding).
struct Taps {
  int64_t start = 0, first = 0, last = 0;
};

struct PoolAxis {
  int64_t in = 1, out = 1;
  Window window;
  /// Returns the taps of output cell y that fall into [0, in).
  Taps inside(int64_t y) const { return within(y, 0, in); }
  /// Returns those that fall into the padded input: all, except where ceil_mode lets a window
  /// extend beyond it.
  Taps padded(int64_t y) const { return within(y, -window.pad_begin, in + window.pad_end); }

 private:
  Taps within(int64_t y, int64_t begin, int64_t end) const {
    int64_t start = y * window.stride - window.pad_begin, d = window.dilation;
    int64_t first = start >= begin ? 0 : (begin - start + d - 1) / d;
    int64_t last = start >= end ? 0 : std::min(window.kernel, (end - start + d - 1) / d);
    return {start, first, std::max(first, last)};
  }
};

/// The plan of x [planes, in...] -> y [planes, out...]; the last axes are the spatial dims, missing
/// ones have extent 1.
struct PoolPlan {
  int64_t planes = 0;
  std::array<PoolAxis, 3> axes;

  int64_t in_cells() const { return axes[0].in * axes[1].in * axes[2].in; }

  /// Calls window(plane, taps of the three axes) for every output cell, in order.
  template <class OnWindow>
  void for_windows(OnWindow&& window) const {
    for (int64_t plane = 0; plane < planes; ++plane) {
      for (int64_t d = 0; d < axes[0].out; ++d) {
        for (int64_t h = 0; h < axes[1].out; ++h) {
          for (int64_t w = 0; w < axes[2].out; ++w) window(plane, std::array{d, h, w});
        }
      }
    }
  }

  /// Calls tap(number of the input cell within its plane) for every tap inside of the
  /// input, in order.
  template <class OnTap>
  void for_taps(const std::array<int64_t, 3>& y, OnTap&& tap) const {
    const auto& [d, h, w] = axes;
    Taps taps_d = d.inside(y[0]), taps_h = h.inside(y[1]), taps_w = w.inside(y[2]);
    for (int64_t kd = taps_d.first; kd < taps_d.last; ++kd) {
      int64_t at_d = taps_d.start + kd * d.window.dilation;
      for (int64_t kh = taps_h.first; kh < taps_h.last; ++kh) {
        int64_t row = (at_d * h.in + taps_h.start + kh * h.window.dilation) * w.in + taps_w.start;
        for (int64_t kw = taps_w.first; kw < taps_w.last; ++kw) tap(row + kw * w.window.dilation);
      }
    }
  }
};

/// Returns the windows of a pool, one per spatial dim. Errors: those of inference.
Result<std::vector<Window>> pool_windows(std::string_view op, Types in, const Attrs& attrs);
/// Returns the plan of a window pool. Errors: those of inference.
Result<PoolPlan> make_pool_plan(std::string_view op, Types in, Types out, const Attrs& attrs);

// pool_compute.cc: the same as expressions.
Result<Tensors> compute_max_pool(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_average_pool(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_lp_pool(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_global_average_pool(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_global_max_pool(te::Builder&, Inputs in, Types out, const Attrs&);
Result<Tensors> compute_global_lp_pool(te::Builder&, Inputs in, Types out, const Attrs&);

}  // namespace byoc::op
