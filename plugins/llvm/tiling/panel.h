// SPDX-License-Identifier: Apache-2.0
#pragma once
// The panel that a tile reads: the contiguous elements of an operand which all its terms read.
#include <optional>
#include <span>

#include "byoc/te/simplify.h"

namespace byoc::llvm_plugin::topi {

/// Loops, loads and lets inside of a statement.
struct Inside {
  std::vector<const te::For*> loops;  // of any kind
  std::vector<const te::For*> lanes;  // vectorized ones
  std::vector<te::Var> lets;
  std::vector<const te::Load*> loads;
  bool has_loops = false;  // that are neither vectorized nor written out
  int64_t written = 1;     // copies of the body that loops write out
};
Inside inside_of(const te::Stmt& stmt);
bool has_any(const te::Expr& x, const std::vector<te::Var>& vars);

/// Returns true for a loop from 0 on whose extent is a positive constant, and for one that also
/// runs in order.
bool is_counted(const te::For& loop);
bool is_counted_in_order(const te::For& loop);

/// The loop over the terms of a tile, and the loops over blocks of terms around it, outer first.
struct Terms {
  std::vector<const te::For*> blocks;
  const te::For* loop;
};
/// Returns those of the tiles in a statement.
std::vector<Terms> terms_in(const te::Stmt& stmt);

/// Returns `ranges` with those of a loop and of the loops inside of it.
te::Ranges with_loops(te::Ranges ranges, const Inside& inside, const te::For& terms);

/// The elements that a load reads while the loops around it run, as long as they are contiguous.
class Extent {
 public:
  Extent(te::Expr at, const Inside& inside);
  /// Adds a loop whose first iterations have been counted. Returns false when it leaves a gap.
  bool grow(const te::For& loop);
  bool is_whole() const { return is_known_ && inside_.empty(); }
  int64_t length() const { return length_; }
  const te::Expr& begin() const { return begin_; }

 private:
  void add(const te::For& loop);
  void grow_inside();

  te::Expr at_;
  te::Expr begin_;
  int64_t length_ = 1;
  bool is_known_ = true;
  std::vector<std::pair<int64_t, int64_t>> inside_;  // steps and extents that are not counted yet
};

/// A load in a tile: its elements, their offset, the number of the term in all loops over terms.
struct Reads {
  Extent panel;
  te::Expr at, term;
  int64_t count;  // of terms
  size_t blocks;  // loops over blocks that `count` includes
};
/// Returns what a load reads in the loop over terms, and in those of `around` that go on from
/// there, the last one first. nullopt: these elements have gaps.
std::optional<Reads> reads_of(const te::Load& load, const te::For& terms, const Inside& inside,
                              std::span<const te::For* const> around, const te::Ranges& ranges);

}  // namespace byoc::llvm_plugin::topi
