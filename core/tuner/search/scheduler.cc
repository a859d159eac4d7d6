// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/scheduler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace byoc::tune {
namespace {

// Returns the gains of the last kPatience rounds; fewer when there are fewer.
std::span<const double> last_gains(const Progress& task, size_t skipped) {
  const std::span gains(task.gains);
  const auto counted = gains.subspan(std::min(skipped, gains.size()));
  return counted.last(std::min(kPatience, counted.size()));
}

std::vector<double> usable_weights(std::span<const Progress> tasks) {
  std::vector<double> out;
  for (const Progress& task : tasks)
    out.push_back(std::isfinite(task.weight) && task.weight > 0 ? task.weight : 0);
  if (std::all_of(out.begin(), out.end(), [](double weight) { return weight == 0; }))
    out.assign(out.size(), 1);
  return out;
}

}  // namespace

bool is_ended(const Progress& task) {
  const auto gains = last_gains(task, 1);
  return task.is_exhausted ||
         (gains.size() == kPatience &&
          std::all_of(gains.begin(), gains.end(), [](double gain) { return gain < kLeastGain; }));
}

double expected_gain(const Progress& task) {
  constexpr double kFirstHope = 0.5, kHope = 0.1;  // of a task without a round; with one round
  if (task.rounds == 0) return kFirstHope;
  const auto gains = last_gains(task, 0);
  const double sum = std::accumulate(gains.begin(), gains.end(), 0.0);
  const double mean = gains.empty() ? 0 : sum / static_cast<double>(gains.size());
  return mean / 2 + kHope / static_cast<double>(task.rounds);
}

std::optional<size_t> pick_task(std::span<const Progress> tasks) {
  const std::vector<double> weights = usable_weights(tasks);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double ended = 0, greatest = -1, heaviest = kLeastShare * total;
  std::optional<size_t> best, first;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (is_ended(tasks[k])) {
      ended += weights[k];
      continue;
    }
    if (tasks[k].rounds == 0 && weights[k] > heaviest) heaviest = weights[k], first = k;
    const double saved = weights[k] * tasks[k].remaining * expected_gain(tasks[k]);
    if (saved > greatest) greatest = saved, best = k;
  }
  if (first) return first;
  if (ended >= kEnoughWeight * total) return std::nullopt;
  return best;
}

}  // namespace byoc::tune
