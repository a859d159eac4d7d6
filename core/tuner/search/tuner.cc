// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/tuner.h"

#include <algorithm>
#include <cmath>

#include "byoc/base/check.h"

namespace byoc::tune {
namespace {

constexpr size_t kLeastSamples = 8;  // that a model is trained on

// Differences in size, in powers of two.
double distance(const Subject& a, const Subject& b) {
  return std::abs(std::log2(1 + a.flops) - std::log2(1 + b.flops)) +
         std::abs(std::log2(1 + a.bytes) - std::log2(1 + b.bytes));
}

}  // namespace

TuningSearch::TuningSearch(std::vector<const Space*> spaces, std::vector<double> weights,
                           SearchOptions options)
    : spaces_(std::move(spaces)),
      weights_(std::move(weights)),
      options_(std::move(options)),
      features_(spaces_),
      samples_(features_),
      model_(options_.model.train ? options_.model : best_model(options_.seed)) {
  BYOC_CHECK(spaces_.size() == weights_.size(), spaces_.size(), " spaces, ", weights_.size(),
             " weights");
  BYOC_CHECK(options_.batch > 0, "rounds without proposals");
  RoundOptions rounds;
  rounds.guesses = options_.guesses;
  rounds.random_share = options_.random_share;
  Random random(options_.seed);
  for (size_t k = 0; k < spaces_.size(); ++k) {
    const Space& space = *spaces_[k];
    tasks_.emplace_back(space, rounds, random.next());
    donors_.push_back({{space.kind, space.flops, space.bytes, &space}, {}, kFailed});
    samples_.add_group(donors_.back().subject);
    groups_.try_emplace(space.task, k);
  }
}

size_t TuningSearch::group_of(const Record& record) {
  const auto [at, is_new] = groups_.try_emplace(record.task, donors_.size());
  if (is_new) {
    donors_.push_back({{record.kind, record.flops, record.bytes, nullptr}, {}, kFailed});
    samples_.add_group(donors_.back().subject);
  }
  return at->second;
}

void TuningSearch::set_sample(size_t group, const Point& point, double ns) {
  BYOC_CHECK(group < donors_.size(), "group ", group, " of ", donors_.size());
  if (!(ns > 0)) ns = kFailed;
  samples_.set(group, point, ns);
  is_trained_ = false;
  Donor& donor = donors_[group];
  if (group < tasks_.size()) {
    donor.best_ns = tasks_[group].best_ns();
    donor.best = best_point(group).value_or(Point());
  } else if (ns < donor.best_ns) {
    donor.best_ns = ns, donor.best = point;
  }
}

void TuningSearch::seed(size_t task, const Record& known) {
  BYOC_CHECK(task < tasks_.size(), "task ", task, " of ", tasks_.size());
  const double ns = known.is_ok() ? known.best_ns() : kFailed;
  if (known.task == spaces_[task]->task) {
    const auto genes = tasks_[task].grid().genes(known.point);
    if (!genes) return;
    tasks_[task].add_known(*genes, ns);
    set_sample(task, known.point, ns);
  } else if (known.kind == spaces_[task]->kind) {
    const size_t group = group_of(known);
    if (group < tasks_.size() && !tasks_[group].grid().genes(known.point)) return;
    set_sample(group, known.point, ns);
  }
}

std::vector<Proposal> TuningSearch::next(size_t n) {
  if (queue_.empty() && n > 0) begin_round();
  std::vector<Proposal> out;
  for (; out.size() < n && !queue_.empty(); queue_.pop_front())
    out.push_back(std::move(queue_.front()));
  return out;
}

void TuningSearch::begin_round() {
  train();
  while (queue_.empty() && proposed_ < options_.trials) {
    std::vector<Progress> progress;
    for (size_t k = 0; k < tasks_.size(); ++k) {
      progress.push_back(tasks_[k].progress());
      progress.back().weight = weights_[k];
      progress.back().rounds += (tasks_[k].known() + options_.batch - 1) / options_.batch;
    }
    const auto task = pick_task(progress);
    if (!task) return;
    BYOC_CHECK(*task < tasks_.size(), "task ", *task, " of ", tasks_.size());
    if (progress[*task].rounds == 0) add_transfers(*task);
    const Score score = [&](const std::vector<Genes>& points) {
      return this->score(*task, points);
    };
    const size_t n = std::min(options_.batch, options_.trials - proposed_);
    TaskSearch& search = tasks_[*task];
    for (const Genes& genes : options_.search
                                  ? search.begin_round(n, options_.search)
                                  : search.begin_round(n, predictor_ ? &score : nullptr))
      queue_.push_back({*task, tasks_[*task].grid().point(genes)});
    proposed_ += queue_.size();
  }
}

void TuningSearch::add_transfers(size_t task) {
  const Subject& subject = donors_[task].subject;
  std::vector<std::pair<double, size_t>> order;
  for (size_t k = 0; k < donors_.size(); ++k) {
    if (k != task && donors_[k].subject.kind == subject.kind && donors_[k].best_ns < kFailed)
      order.emplace_back(distance(donors_[k].subject, subject), k);
  }
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), options_.transfers));
  for (const auto& [far, k] : order) tasks_[task].add_start(donors_[k].best);
}

void TuningSearch::train() {
  if (is_trained_) return;
  is_trained_ = true;
  const TrainingSet set = samples_.training_set();
  predictor_ = {};
  if (set.scores.size() < kLeastSamples) return;
  BYOC_CHECK(set.rows.rows() == set.scores.size(), set.scores.size(), " scores of ",
             set.rows.rows(), " rows");
  auto trained = model_.train(set.rows, set.scores);
  if (!trained.ok()) return set_failure(trained.status());
  predictor_ = *std::move(trained);
}

void TuningSearch::set_failure(const Status& status) {
  if (failure_.ok()) failure_ = status;
}

std::vector<float> TuningSearch::score(size_t task, const std::vector<Genes>& points) {
  Matrix rows;
  rows.columns = features_.width();
  rows.cells.reserve(points.size() * rows.columns);
  for (const Genes& genes : points)
    features_.append(donors_[task].subject, tasks_[task].grid().point(genes), rows);
  BYOC_CHECK(rows.rows() == points.size(), points.size(), " points have ", rows.rows(), " rows");
  auto scores = predictor_(rows);
  if (scores.ok()) return *std::move(scores);
  set_failure(scores.status());
  return std::vector<float>(points.size());  // all alike
}

void TuningSearch::add(size_t task, const Point& point, double best_ns) {
  BYOC_CHECK(task < tasks_.size(), "task ", task, " of ", tasks_.size());
  const auto genes = tasks_[task].grid().genes(point);
  BYOC_CHECK(genes.has_value(), print(point), " is outside of the space of task ", task);
  tasks_[task].add(*genes, best_ns);
  set_sample(task, point, best_ns);
}

std::optional<Point> TuningSearch::best_point(size_t task) const {
  BYOC_CHECK(task < tasks_.size(), "task ", task, " of ", tasks_.size());
  const Genes& best = tasks_[task].best();
  if (tasks_[task].best_ns() == kFailed) return std::nullopt;
  return tasks_[task].grid().point(best);
}

}  // namespace byoc::tune
