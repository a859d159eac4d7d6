// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposed convolutions by phases of the stride. Result q = stride * j + r along a dim, of phase
// r, reads cell j + base - m * step with tap first + m * period of the filter, m in [0, taps): all
// results of a phase have the same taps, which meet no zero between cells.
#include <array>
#include <optional>

#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::phases {

constexpr size_t kDims = 3;  // those that an op has fewer of come first, of one cell

/// One spatial dim.
struct Dim {
  int64_t in = 1, out = 1, stride = 1, kernel = 1, dilation = 1, pad = 0;
  /// The results of each phase, rounded up.
  int64_t results() const { return (out + stride - 1) / stride; }
};

/// Adjacent phases of a dim that read the same cells.
struct Range {
  int64_t first = 0, count = 1;
  int64_t taps = 0;             // 0: these results have no terms
  int64_t tap = 0, tap_up = 0;  // the first tap of the first phase, and from one phase to the next
  int64_t period = 1;           // from one tap to the next
  int64_t base = 0, step = 0;   // of the cells
};

/// A class: the phases of a range of each dim, computed as one product of matrices.
struct Class {
  std::array<Range, kDims> ranges;
  int64_t phases() const { return ranges[0].count * ranges[1].count * ranges[2].count; }
  int64_t taps() const { return ranges[0].taps * ranges[1].taps * ranges[2].taps; }
};

/// Returns the ranges of a dim, in order of the phases.
std::vector<Range> ranges_of(const Dim& dim);

struct Geometry {
  int64_t n = 1, groups = 1, c = 1, o = 1;  // channels of a group
  size_t spatial = 1;                       // dims of the op
  std::array<Dim, kDims> dims;
  std::vector<Class> classes;              // disjoint, all phases, those of the last dim in turns
  std::array<int64_t, kDims> least, most;  // cells that taps read, relative to j
  size_t last_classes() const { return ranges_of(dims[kDims - 1]).size(); }
  /// Returns the indices of a tensor of the op: two leading ones, then the op's dims.
  te::Exprs at(te::Expr first, te::Expr second, const std::array<te::Expr, kDims>& cells) const;
};

/// Returns the geometry of a transposed convolution of constant extents; nullopt for other calls,
/// and for those without terms or with too many classes.
std::optional<Geometry> geometry_of(const te::Site& site);

}  // namespace byoc::llvm_plugin::phases
