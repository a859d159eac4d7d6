// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search in the space of one task.
#include <deque>
#include <limits>
#include <map>
#include "byoc/tune/search.h"
#include "core/tuner/search/evolution.h"
#include "core/tuner/search/scheduler.h"

namespace byoc::tune {

/// The time of a point that failed, in ns; also the best time before any point was measured.
inline constexpr double kFailed = std::numeric_limits<double>::infinity();

/// The numbers of a search in one space.
struct RoundOptions {
  size_t guesses = 8;         ///< of the plugin, at most
  double random_share = 0.1;  ///< 0 to 1, of the points of a round after the starts
  double near_share = 0.4;    ///< of the others, that differ from the best point in one knob
  EvolutionOptions evolution;
};

/// The points of one space that were tried, and the choice of the next ones. Keeps a reference to
/// the space. Thread-compatible.
class TaskSearch {
 public:
  TaskSearch(const Space& space, const RoundOptions& options, uint64_t seed);
  const Grid& grid() const { return grid_; }
  /// Adds a point to be tried before others, after the plugin's guesses. Points outside of the
  /// space are changed to the nearest one inside.
  void add_start(const Point& point);
  /// Returns at most n points that no round had: guesses and other starts first, then points with
  /// the best scores, and random ones. Without scores: neighbours of the best point, and random
  /// ones. Empty: no point is left.
  std::vector<Genes> begin_round(size_t n, const Score* score);
  /// Returns at most n points that no round had: starts, or without any those of `search`.
  std::vector<Genes> begin_round(size_t n, const PointSearch& search);
  /// Adds the result of a point of a round. Infinity: it failed. Another result of a point replaces
  /// the earlier one.
  void add(const Genes& genes, double ns);
  /// Adds a result that was there before the search.
  void add_known(const Genes& genes, double ns);
  double best_ns() const { return best_ns_; }  ///< infinity without a time
  const Genes& best() const { return best_; }  ///< empty without a time
  size_t trials() const { return trials_; }    ///< points whose result came by add
  size_t known() const { return known_; }      ///< points whose result came by add_known
  /// Returns the state for the scheduler, without weight.
  const Progress& progress() const { return progress_; }

 private:
  void take_starts(size_t n, std::vector<Genes>& out);
  void take_scored(size_t n, const Score& score, std::vector<Genes>& out);
  void take_neighbours(size_t n, std::vector<Genes>& out);
  void take_random(size_t n, std::vector<Genes>& out);
  bool take(Genes genes, std::vector<Genes>& out);
  void set_result(const Genes& genes, double ns);
  void note_round(const std::vector<Genes>& points);
  void end_round();
  std::vector<Genes> fastest(size_t n) const;

  Grid grid_;
  RoundOptions options_;
  Random random_;
  std::deque<Genes> starts_;
  GenesSet visited_;                 // tried, or to be tried by a round that was begun
  std::map<Genes, double> results_;  // in ns
  Genes best_, first_;               // the fastest; the plugin's first guess
  double best_ns_, before_ns_;       // before_ns_: the best when the last round ended
  std::deque<size_t> open_;          // results that are missing, per round
  size_t trials_ = 0, known_ = 0;
  Progress progress_;
};

}  // namespace byoc::tune
