// SPDX-License-Identifier: Apache-2.0
#pragma once
// The search for fast points of several tasks: which task comes next, and which of its points.
#include <deque>

#include "byoc/tune/record.h"
#include "core/tuner/search/cost_model.h"
#include "core/tuner/search/samples.h"
#include "core/tuner/search/task_search.h"

namespace byoc::tune {

/// A point to be measured.
struct Proposal {
  size_t task;  ///< the number of its space
  Point point;  ///< inside of the space
};

/// The numbers of a search.
struct SearchOptions {
  uint64_t seed = 1;          ///< of all random choices
  size_t trials = 1000;       ///< proposals of all tasks, at most
  size_t batch = 16;          ///< proposals of a round; at least 1
  size_t guesses = 8;         ///< of the plugin that are tried first, at most
  size_t transfers = 8;       ///< best points of other tasks of the kind that come next, at most
  double random_share = 0.1;  ///< 0 to 1, of a round's proposals after guesses and transfers
  CostModel model;            ///< without a trainer: best_model(seed)
  PointSearch search;         ///< chooses the points after the guesses; empty: TaskSearch's own
};

/// Proposes points and learns from their times. Deterministic: the same seed and the same calls in
/// the same order give the same proposals. Thread-compatible.
class TuningSearch {
 public:
  /// Keeps the spaces, which must outlive it. A weight is the time of all runs of the task in one
  /// run of the model, before tuning.
  TuningSearch(std::vector<const Space*> spaces, std::vector<double> weights,
               SearchOptions options = {});
  /// Adds a record from earlier, of the machine and the number of threads that are tuned for: of
  /// this task, so that its point is not proposed again; or of another one of the same kind, whose
  /// best point is then among the first proposals. Others, and points of this task that are outside
  /// of its space, are skipped. Call it before next.
  void seed(size_t task, const Record& known);
  /// Adds a point that is tried after the guesses and before others; the nearest point of the space
  /// if it is outside. Call it before next.
  void add_start(size_t task, const Point& point) { tasks_[task].add_start(point); }
  /// Returns at most n points of one task, none of which was returned before. Empty: the trials are
  /// used up, or enough tasks have ended (see pick_task), or n is 0. May be called while results
  /// are missing.
  std::vector<Proposal> next(size_t n);
  /// Adds the time of a point of the task's space; infinity: it failed. Another time of the same
  /// point replaces the earlier one.
  void add(size_t task, const Point& point, double best_ns);
  /// Returns the best time; infinity without one. Times of `seed` count.
  double best_ns(size_t task) const { return tasks_[task].best_ns(); }
  /// Returns the point with the best time; nullopt without one.
  std::optional<Point> best_point(size_t task) const;
  /// Returns the number of points of the task whose times came by add.
  size_t trials(size_t task) const { return tasks_[task].trials(); }
  /// Returns the name of the cost model, such as "xgboost 1.7.4".
  const std::string& cost_model() const { return model_.name; }
  /// Returns the first error of the cost model, such as lack of memory; ok: none. The search goes
  /// on without predictions.
  const Status& model_status() const { return failure_; }

 private:
  // A group of samples: first those of the tasks, in their order, then tasks of records alone.
  struct Donor {
    Subject subject;
    Point best;
    double best_ns;
  };
  void begin_round();
  void add_transfers(size_t task);
  void train();
  void set_failure(const Status& status);
  size_t group_of(const Record& record);
  void set_sample(size_t group, const Point& point, double ns);
  std::vector<float> score(size_t task, const std::vector<Genes>& points);

  std::vector<const Space*> spaces_;
  std::vector<double> weights_;
  SearchOptions options_;
  Features features_;
  Samples samples_;
  CostModel model_;
  Predictor predictor_;  // empty: too few samples, or the library failed
  Status failure_;
  std::vector<TaskSearch> tasks_;
  std::vector<Donor> donors_;
  std::map<std::string, size_t> groups_;  // by the text of the task
  std::deque<Proposal> queue_;
  size_t proposed_ = 0;
  bool is_trained_ = true;  // with all samples
};

}  // namespace byoc::tune
