// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a sum as auto_scheduler and MetaSchedule tile them for CPUs: each loop over results
// in four parts, each loop over terms in two ("SSRSRS").
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/tuner/starts/task_sums.h"

namespace byoc::tune {

/// The parts of one loop, outer first; their product is its extent.
struct TiledLoop {
  std::vector<int64_t> parts;
  double extent() const;
};

/// A record with its loops in their order.
struct TiledSum {
  std::vector<TiledLoop> results, terms;
  bool is_unrolled = false;  ///< loops are written out up to some number of iterations
  bool has_unroll = false;   ///< the record decides about it
  /// Other decisions, by name: no knob fits them.
  std::vector<std::string> others;
  double seconds = 0;
};

/// A reading of the loops: which of them are rows and columns of the sum.
struct Reading {
  SumExtents extents;
  std::vector<size_t> rows;  ///< indices of loops over results whose inner parts are rows of a tile
  std::vector<size_t> columns;  ///< likewise columns; several when channels are in blocks
};
/// Returns the ways to read the loops: as a product [rows, columns], also of batches; as a
/// convolution with images [n, c, h, w], [n, h, w, c], or with channels in blocks
/// [n, c, h, w, block]. Terms are [c, kh, kw] or [kh, kw, c], in blocks [c, kh, kw, block].
std::vector<Reading> readings_of(const TiledSum& sum);

/// Returns values for knobs of the space: `tile` is the innermost parts, `o_panels` the outermost
/// part of the columns, `unroll` whether loops are unrolled. `used` and `unfit` get the names of
/// decisions with and without a knob.
Point knobs_of(const TiledSum& sum, const Reading& reading, const SumExtents& task,
               const Space& space, std::vector<std::string>& used, std::vector<std::string>& unfit);

}  // namespace byoc::tune
