// SPDX-License-Identifier: Apache-2.0
// How well the order of points by a model agrees with the order of their measured times.
//   bench_cost_model MODEL LOG
// Each task of MODEL with enough records in LOG is held out once: the tuner's model learns from the
// records of all other tasks and ranks the points of this one. The analytic order is the plugin's
// own: its estimate for a value of a knob, where it gives one, then the distance to the nearest of
// its guesses, which its analytic model chose. Prints Spearman's rank correlation of both.
#include <cmath>
#include <cstdio>

#include "bench/support/models.h"
#include "byoc/base/check.h"
#include "byoc/base/rank_correlation.h"
#include "byoc/tune/record.h"
#include "byoc/tune/task.h"
#include "core/tuner/search/cost_model.h"
#include "core/tuner/search/samples.h"

namespace byoc::bench {
namespace {

using tune::Point;
constexpr size_t kLeast = 24;  // points of a task that is held out

template <class T>
T must(Result<T> result) {
  BYOC_CHECK(result.ok(), result.status().to_string());
  return *std::move(result);
}

/// A task with the shortest measured time of each point.
struct Measured {
  tune::Task task;
  std::map<Point, double> ns;
};

std::vector<Measured> measured_tasks(const char* model, const char* log) {
  BuildOptions options;
  options.plugins = bench_plugins();
  options.compilers = {"llvm"};
  std::vector<Measured> out;
  std::map<ContentKey, size_t> index;
  LoadedModel loaded = load_bench_model({"model", model, ""});
  for (tune::Task& task : must(tune::extract_tasks(std::move(loaded.module), options))) {
    index.emplace(task.key, out.size());
    out.push_back({std::move(task), {}});
  }
  must(tune::read_log(log, [&](const tune::Record& record) {
    const auto at = index.find(record.key);
    if (at == index.end() || !record.is_ok()) return;
    if (!tune::contains(out[at->second].task.space, record.point)) return;
    const double ns = record.best_ns();
    auto [point, is_new] = out[at->second].ns.emplace(record.point, ns);
    if (!is_new) point->second = std::min(point->second, ns);
  }));
  std::erase_if(out, [](const Measured& one) { return one.ns.empty(); });
  return out;
}

/// Returns the numbers in a knob's value, such as 6 and 2 in "6x2"; empty when it is none.
std::vector<double> numbers_in(const std::string& value) {
  std::vector<double> out;
  for (size_t at = 0; at < value.size(); ++at) {
    size_t used = 0;
    if (!std::isdigit(static_cast<unsigned char>(value[at]))) return {};
    out.push_back(std::stod(value.substr(at), &used));
    at += used;
    if (at < value.size() && value[at] != 'x') return {};
  }
  return out;
}

double distance(const std::string& a, const std::string& b) {
  if (a == b) return 0;
  const std::vector<double> x = numbers_in(a), y = numbers_in(b);
  if (x.empty() || x.size() != y.size()) return 1;
  double out = 0;
  for (size_t k = 0; k < x.size(); ++k) out += std::abs(std::log2((x[k] + 1) / (y[k] + 1)));
  return out;
}

/// Returns a number that is greater for points that the plugin expects to be faster.
double analytic_score(const tune::Space& space, const Point& point) {
  double cost = 1;
  for (const auto& [knob, costs] : space.cost_ns) {
    const auto at = costs.find(point.at(knob));
    if (at != costs.end()) cost *= at->second;
  }
  double nearest = INFINITY;
  for (const Point& guess : space.guesses) {
    double far = 0;
    for (const auto& [knob, value] : guess) far += distance(value, point.at(knob));
    nearest = std::min(nearest, far);
  }
  return -cost * (1 + 0.1 * nearest);  // a factor of two of one number: a tenth of the time
}

struct Agreement {
  double boosted = 0, analytic = 0;
};

Agreement agreement(const std::vector<Measured>& all, size_t held_out) {
  std::vector<const tune::Space*> spaces;
  for (const Measured& one : all) spaces.push_back(&one.task.space);
  const tune::Features features(spaces);
  tune::Samples samples(features);
  tune::Matrix rows;
  std::vector<double> speeds, guesses;
  for (size_t k = 0; k < all.size(); ++k) {
    const tune::Space& space = *spaces[k];
    const tune::Subject subject{space.kind, space.flops, space.bytes, &space};
    const size_t group = samples.add_group(subject);
    for (const auto& [point, ns] : all[k].ns) {
      if (k != held_out) {
        samples.set(group, point, ns);
        continue;
      }
      features.append(subject, point, rows);
      speeds.push_back(1 / ns);
      guesses.push_back(analytic_score(space, point));
    }
  }
  const tune::TrainingSet set = samples.training_set();
  const auto predictor = must(tune::best_model(1).train(set.rows, set.scores));
  const std::vector<float> scores = must(predictor(rows));
  return {rank_correlation(speeds, std::vector<double>(scores.begin(), scores.end())),
          rank_correlation(speeds, guesses)};
}

int run(const char* model, const char* log) {
  const std::vector<Measured> all = measured_tasks(model, log);
  std::printf("%s, each task held out\n%-28s %7s %8s %8s\n", tune::best_model(1).name.c_str(),
              "task", "points", "model", "analytic");
  Agreement mean;
  double tasks = 0;
  for (size_t k = 0; k < all.size(); ++k) {
    if (all[k].ns.size() < kLeast) continue;
    const Agreement one = agreement(all, k);
    std::printf("%-28s %7zu %8.2f %8.2f\n", all[k].task.space.kind.c_str(), all[k].ns.size(),
                one.boosted, one.analytic);
    mean.boosted += one.boosted, mean.analytic += one.analytic, ++tasks;
  }
  if (tasks == 0) {
    std::fprintf(stderr, "no task of the model has %zu points in the log\n", kLeast);
    return 1;
  }
  std::printf("%-28s %7s %8.2f %8.2f\n", "mean", "", mean.boosted / tasks, mean.analytic / tasks);
  return 0;
}

}  // namespace
}  // namespace byoc::bench

int main(int argc, char** argv) {
  if (argc == 3) return byoc::bench::run(argv[1], argv[2]);
  std::fprintf(stderr, "usage: bench_cost_model MODEL LOG\n");
  return 2;
}
