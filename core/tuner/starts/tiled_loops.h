// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a sum as auto_scheduler and MetaSchedule tile them for CPUs: each loop over results
// in four parts, each loop over terms in two ("SSRSRS").
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/tuner/starts/task_sums.h"

namespace byoc::tune {

inline constexpr size_t kResultParts = 4, kTermParts = 2;

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
  double iterations() const;
};

/// The decisions of a record while it is read. Sums are by their stage or block.
template <class Name>
struct TiledSums {
  std::map<Name, TiledSum> sums;
  std::set<std::string> others;
  bool has_unroll = false, is_unrolled = false;

  /// Adds a loop in four parts to the results, and one in two to the terms. Returns false for
  /// another number of parts.
  bool add(const Name& name, const TiledLoop& loop) {
    TiledSum& sum = sums[name];
    if (loop.parts.size() == kResultParts) sum.results.push_back(loop);
    else if (loop.parts.size() == kTermParts) sum.terms.push_back(loop);
    return loop.parts.size() == kResultParts || loop.parts.size() == kTermParts;
  }

  /// Returns the sum with the most iterations, the first of equal ones, with the record's other
  /// decisions. Nothing when no sum has loops of both kinds.
  std::optional<TiledSum> largest() const {
    std::optional<TiledSum> best;
    double most = 0;
    for (const auto& [name, sum] : sums) {
      if (sum.results.empty() || sum.terms.empty() || sum.iterations() <= most) continue;
      most = sum.iterations(), best = sum;
    }
    if (!best) return best;
    best->has_unroll = has_unroll, best->is_unrolled = is_unrolled;
    best->others.assign(others.begin(), others.end());
    return best;
  }
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
