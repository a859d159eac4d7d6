// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/profile.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"

namespace byoc {
namespace {

uint64_t bytes_of_copy(const Step& step) {
  const Result<int64_t> bytes = size_bytes(step.types[0]);
  return bytes.ok() ? static_cast<uint64_t>(*bytes) : 0;
}

void describe_runner(const Executable& executable, const Step& step, ProfileRow& row) {
  if (step.module == Step::kHostExtern) {
    row.runner = "host";
    return;
  }
  if (step.module == Step::kDeviceCopy) {
    row.runner = "copy";
    row.implementation = cat(row.copied_bytes = bytes_of_copy(step), " bytes");
    return;
  }
  const ExternalModule& module = executable.modules[step.module];
  const ExternalFunction& function = module.functions[step.function];
  row.runner = module.plugin + ((module.flags & BYOC_MODULE_NATIVE) != 0 ? " native" : "");
  row.implementation = function.implementation;
  row.flops = function.flops;
}

}  // namespace

std::vector<ProfileRow> step_rows(const Session& session) {
  std::vector<ProfileRow> rows;
  for (const Step& step : session.program().steps) {
    ProfileRow row{.symbol = step.symbol, .locs = session.executable().locs(step)};
    describe_runner(session.executable(), step, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ProfileRow> profile_rows(const Session& session, const Context& context) {
  std::vector<ProfileRow> rows = step_rows(session);
  std::span<const StepProfile> profile = session.profile(context);
  BYOC_CHECK(profile.size() == rows.size(), rows.size(), " steps have ", profile.size(), " times");
  for (size_t k = 0; k < rows.size(); ++k) {
    rows[k].runs = profile[k].runs;
    rows[k].total_ns = profile[k].total_ns;
    rows[k].min_ns = profile[k].runs == 0 ? 0 : profile[k].min_ns;
  }
  return rows;
}

std::vector<SpanRow> span_rows(const Session& session, const Context& context) {
  const SpanLog& log = session.spans(context);
  std::vector<std::vector<double>> times(log.labels.size());
  for (const SpanTime& time : log.times) {
    BYOC_CHECK(time.label < times.size(), "label ", time.label, " of ", times.size());
    times[time.label].push_back(static_cast<double>(time.end_ns - time.begin_ns));
  }
  std::vector<SpanRow> rows;
  for (size_t k = 0; k < log.labels.size(); ++k) {
    std::vector<double>& ns = times[k];
    if (ns.empty()) continue;
    SpanRow row{.label = log.labels[k], .calls = ns.size()};
    uint64_t runs = session.profile(context)[row.label.step].runs;
    row.calls_per_run =
        static_cast<double>(row.calls) / static_cast<double>(std::max<uint64_t>(runs, 1));
    row.total_ns = static_cast<uint64_t>(std::accumulate(ns.begin(), ns.end(), 0.0));
    std::sort(ns.begin(), ns.end());
    row.median_ns = (ns[(ns.size() - 1) / 2] + ns[ns.size() / 2]) / 2;
    row.min_ns = ns.front();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace byoc
