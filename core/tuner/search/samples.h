// SPDX-License-Identifier: Apache-2.0
#pragma once
// The measurements that the cost model learns from.
#include <map>

#include "core/tuner/search/features.h"

namespace byoc::tune {

/// Rows and their scores.
struct TrainingSet {
  Matrix rows;                ///< a row per sample
  std::vector<float> scores;  ///< see Samples::training_set
};

/// All measurements of all tasks. Samples are compared within their group alone, which is a task on
/// one machine.
class Samples {
 public:
  /// The most rows of a training set, so that the time of training has a bound.
  static constexpr size_t kMaxRows = 4096;
  /// The score of a failure. A point that is not even a 16th as fast as the best has the score -4.
  static constexpr float kFailed = -5;

  explicit Samples(const Features& features) : features_(&features) {}
  /// Adds a group without samples and returns its number.
  size_t add_group(Subject subject);
  /// Adds a sample, or gives the group's sample of the same point another time. Infinity: the
  /// point failed.
  void set(size_t group, const Point& point, double ns);
  size_t size() const { return size_; }  ///< samples of all groups
  /// Returns rows with the log2 of their speed as a share of the best of the group. Groups without
  /// any time are left out: they have no scale. Of more than kMaxRows samples, each group gives its
  /// share, spread evenly from its fastest to its slowest.
  TrainingSet training_set() const;

 private:
  struct Sample {
    double ns;
    Matrix row;
  };
  struct Group {
    Subject subject;
    std::map<Point, Sample> samples;
  };
  void append(const Group& group, size_t most, TrainingSet& out) const;

  const Features* features_;
  std::vector<Group> groups_;
  size_t size_ = 0;
};

}  // namespace byoc::tune
