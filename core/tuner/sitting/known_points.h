// SPDX-License-Identifier: Apache-2.0
#pragma once
// The records of a log about the tasks of a sitting, and what the sitting adds to it.
#include <optional>

#include "byoc/tune/duels.h"
#include "core/tuner/batch/record_facts.h"

namespace byoc::tune {

class KnownPoints {
 public:
  struct Best {
    Point point;
    double ns = 0;
  };
  struct Seed {
    size_t task = 0;
    Record record;
  };
  /// Reads the records of the same target, threads and versions of plugins. Errors: as read_log.
  static Result<KnownPoints> read(const std::string& log, const std::vector<Task>& tasks,
                                  const RecordFacts& facts);
  /// Adds a record of the task. The best time of a point counts.
  void add(size_t task, const Record& record);
  /// Adds a record that the log lacks and the search is to learn from.
  void add_seed(size_t task, Record record);
  /// Returns whether the point was tried.
  bool has(size_t task, const Point& point) const { return points_[task].contains(point); }
  /// Returns the best time of a point; infinity when it failed or was not measured.
  double ns(size_t task, const Point& point) const;
  /// Returns the point that a history chooses: the one with the best time, the first by name of
  /// equal ones, unless it lost a duel.
  std::optional<Best> best(size_t task) const;
  size_t trials(size_t task) const { return points_[task].size(); }  ///< distinct points
  size_t errors(size_t task) const;                                  ///< points without a time
  size_t size() const;                                               ///< points of all tasks
  /// Returns the records of the log that the search learns from: each with its task, or with a task
  /// of the same kind.
  const std::vector<Seed>& seeds() const { return seeds_; }

 private:
  std::vector<std::map<Point, double>> points_;  // by task
  std::vector<Duels> duels_;                     // by task
  std::vector<Seed> seeds_;
};

}  // namespace byoc::tune
