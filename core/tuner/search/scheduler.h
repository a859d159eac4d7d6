// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses the task that gets the next round of trials.
#include <optional>
#include <span>
#include <vector>

namespace byoc::tune {

/// The state of one task.
struct Progress {
  double weight = 0;          ///< of all runs of the task, before tuning
  double remaining = 1;       ///< the best time as a share of the time before tuning
  size_t rounds = 0;          ///< rounds that were begun, here or in an earlier sitting
  std::vector<double> gains;  ///< per measured round, the share of the time that it saved
  bool is_exhausted = false;  ///< no point is left
};

/// The least gain of a round that counts as one.
inline constexpr double kLeastGain = 0.01;
/// The number of rounds in a row without a gain that end a task.
inline constexpr size_t kPatience = 3;
/// The share of the weight whose tasks have ended that ends the search.
inline constexpr double kEnoughWeight = 0.95;

/// The share of the weight from which a task gets a round before any other gets a second one.
inline constexpr double kLeastShare = 0.01;

/// Returns true when no point is left, or when the last kPatience rounds, of which the first round
/// of the task is none, gained less than kLeastGain each.
bool is_ended(const Progress& task);
/// Returns the share of the task's time that the next round is expected to save: the mean of its
/// last gains, and hope that falls with the number of rounds. A task without a round has the
/// greatest hope.
double expected_gain(const Progress& task);
/// Returns the heaviest task without a round whose share is more than kLeastShare, so that each of
/// these gets a record even in a short sitting; then the task whose next round is expected to save
/// the most time, the first one of equals. nullopt: kEnoughWeight of the weight has ended. Weights
/// that are no positive numbers are 0; when all are, tasks have equal weights.
std::optional<size_t> pick_task(std::span<const Progress> tasks);

}  // namespace byoc::tune
