// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/samples.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::tune {

size_t Samples::add_group(Subject subject) {
  groups_.push_back({std::move(subject), {}});
  return groups_.size() - 1;
}

void Samples::set(size_t group, const Point& point, double ns) {
  BYOC_CHECK(group < groups_.size(), "group ", group, " of ", groups_.size());
  const auto [at, is_new] = groups_[group].samples.try_emplace(point);
  at->second.ns = ns;
  if (!is_new) return;
  features_->append(groups_[group].subject, point, at->second.row);
  ++size_;
}

TrainingSet Samples::training_set() const {
  TrainingSet out;
  out.rows.columns = features_->width();
  const size_t share = std::max<size_t>(2, kMaxRows / std::max<size_t>(1, groups_.size()));
  for (const Group& group : groups_)
    append(group, size_ <= kMaxRows ? group.samples.size() : share, out);
  return out;
}

void Samples::append(const Group& group, size_t most, TrainingSet& out) const {
  std::vector<const Sample*> order;
  for (const auto& [point, sample] : group.samples) order.push_back(&sample);
  std::stable_sort(order.begin(), order.end(),
                   [](const Sample* a, const Sample* b) { return a->ns < b->ns; });
  if (order.empty() || !std::isfinite(order.front()->ns)) return;
  const size_t n = std::min(most, order.size());
  for (size_t k = 0; k < n; ++k) {
    const Sample& sample = *order[k * order.size() / n];
    const double speed = std::log2(order.front()->ns / sample.ns);
    const float score = static_cast<float>(std::max(speed, kFailed + 1.0));
    out.scores.push_back(std::isfinite(sample.ns) ? score : kFailed);
    BYOC_CHECK(sample.row.cells.size() == out.rows.columns, "a sample of ", sample.row.cells.size(),
               " cells, not ", out.rows.columns);
    out.rows.cells.insert(out.rows.cells.end(), sample.row.cells.begin(), sample.row.cells.end());
  }
}

}  // namespace byoc::tune
