// SPDX-License-Identifier: Apache-2.0
#include "core/tools/measure/rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace byoc::driver {
namespace {

double bytes_of_type(const TensorSpec& type) {
  auto bytes = size_bytes(type);
  return bytes.ok() ? static_cast<double>(*bytes) : 0;
}

/// Returns the bytes of a step's inputs, outputs and constants; a tensor that is read twice counts
/// as one.
double bytes_of(const Executable& executable, const Step& step) {
  double sum = 0;
  std::set<std::tuple<Place::Kind, uint32_t, uint64_t>> seen;
  for (size_t k = 0; k < step.args.size(); ++k) {
    const Place& place = step.args[k];
    bool is_new = k >= step.n_in || seen.insert({place.kind, place.index, place.offset}).second;
    if (is_new) sum += bytes_of_type(step.types[k]);
  }
  if (!step.is_compiled()) return sum;
  for (const ExternalConstant& constant :
       executable.modules[step.module].functions[step.function].constants)
    sum += bytes_of_type(constant.type);
  return sum;
}

}  // namespace

const measure::Samples& samples_of(const measure::TimedSession& timed, size_t step) {
  static const measure::Samples kNone;
  return step < timed.steps.size() ? timed.steps[step] : kNone;
}

std::vector<Row> rows_of(const measure::TimedSession& timed) {
  std::vector<Row> rows;
  const Session& session = timed.session();
  for (ProfileRow& step : step_rows(session)) {
    const measure::Samples& samples = samples_of(timed, rows.size());
    double bytes = bytes_of(session.executable(), session.program().steps[rows.size()]);
    bool known = step.runner != "host";
    std::optional<double> flops = known ? std::optional(step.flops) : std::nullopt;
    rows.push_back({std::move(step), measure::spread_of(samples.ns), bytes, flops});
  }
  return rows;
}

double sum_of_medians(const std::vector<Row>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const Row& row) { return sum + row.spread.median; });
}

std::vector<RowSum> sums_of(const std::vector<Row>& rows,
                            const std::function<std::string(const ProfileRow&)>& name) {
  std::map<std::string, RowSum> by_name;
  for (const Row& row : rows) {
    RowSum& sum = by_name.try_emplace(name(row.step), RowSum{.work = {.flops = 0.0}}).first->second;
    ++sum.regions;
    sum.work.ns += row.spread.median;
    sum.work.bytes += row.bytes;
    if (sum.work.flops && row.flops) *sum.work.flops += *row.flops;
    else sum.work.flops.reset();
  }
  std::vector<RowSum> sums;
  sums.reserve(by_name.size());
  for (auto& [key, sum] : by_name) sums.push_back(sum), sums.back().name = key;
  std::stable_sort(sums.begin(), sums.end(),
                   [](auto& a, auto& b) { return a.work.ns > b.work.ns; });
  return sums;
}

std::string short_words(const std::string& text) {
  constexpr size_t kMost = 40;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

std::vector<RowSum> sums_by_kernel(const std::vector<Row>& rows) {
  return sums_of(rows, [](const ProfileRow& step) {
    return cat(step.runner, ": ", short_words(step.implementation));
  });
}

std::vector<RowSum> sums_by_runner(const std::vector<Row>& rows) {
  return sums_of(rows, [](const ProfileRow& step) { return step.runner; });
}

Work work_of(const Session& session, double ns) {
  Work work{.flops = 0.0, .ns = ns};
  for (const Step& step : session.program().steps)
    work.bytes += bytes_of(session.executable(), step);
  for (const ProfileRow& row : step_rows(session)) {
    if (row.runner == "host") work.flops.reset();
    else if (work.flops) *work.flops += row.flops;
  }
  return work;
}

}  // namespace byoc::driver
