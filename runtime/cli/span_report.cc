// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/span_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "byoc/base/file.h"
#include "byoc/base/json.h"

namespace byoc::cli {
namespace {

constexpr size_t kShown = 20;

std::string share(double part, double whole) {
  return whole > 0 ? format_fixed(100 * part / whole, 1) + " %" : "-";
}

std::string count(double calls) {
  return calls == std::floor(calls) ? cat(static_cast<uint64_t>(calls)) : format_fixed(calls, 1);
}

std::string format_of(const SpanRow& row) {
  std::string src(row.label.detail("src")), dst(row.label.detail("dst"));
  return src == dst ? src : cat(src, " -> ", dst);
}

std::string kind_of(const SpanRow& row) {
  return cat(row.is_reorder() ? "reorder " : "", row.label.detail("implementation"));
}

double sum_of(const std::vector<SpanRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const SpanRow& row) { return sum + row.run_ns(); });
}

std::string headline(const std::vector<SpanRow>& rows) {
  double calls = 0, reorders = 0, reorder_ns = 0;
  for (const SpanRow& row : rows) {
    calls += row.calls_per_run;
    if (!row.is_reorder()) continue;
    reorders += row.calls_per_run;
    reorder_ns += row.run_ns();
  }
  return cat("inside the kernels: ", count(calls), calls == 1 ? " primitive, " : " primitives, ",
             count(reorders), " of them ", reorders == 1 ? "a reorder" : "reorders", " (",
             share(reorder_ns, sum_of(rows)), " of ", format_time(sum_of(rows)), ")\n");
}

/// Sorts the slowest first; equal ones keep their order.
template <class T, class Time>
void sort_by_time(std::vector<T>& all, Time&& time) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const T& a, const T& b) { return time(a) > time(b); });
}

std::string kinds_table(const std::vector<SpanRow>& rows) {
  struct Kind {
    std::string name;
    double calls = 0, ns = 0;
  };
  std::map<std::string, Kind> by_name;
  for (const SpanRow& row : rows) {
    Kind& kind = by_name[kind_of(row)];
    kind.calls += row.calls_per_run;
    kind.ns += row.run_ns();
  }
  std::vector<Kind> kinds;
  for (auto& [name, kind] : by_name) kinds.push_back({name, kind.calls, kind.ns});
  sort_by_time(kinds, [](const Kind& kind) { return kind.ns; });
  std::vector<double> times;
  for (const Kind& kind : kinds) times.push_back(kind.ns);
  std::vector<std::string> texts = format_times(times);
  Table table({"implementation", ">calls", ">time", ">share"});
  for (size_t k = 0; k < std::min(kinds.size(), kShown); ++k)
    table.add({kinds[k].name.empty() ? "-" : kinds[k].name, count(kinds[k].calls), texts[k],
               share(kinds[k].ns, sum_of(rows))});
  return table.text();
}

std::string rows_table(std::vector<SpanRow> rows, bool all) {
  double sum = sum_of(rows), left = sum;
  sort_by_time(rows, [](const SpanRow& row) { return row.run_ns(); });
  size_t shown = all ? rows.size() : std::min(rows.size(), kShown);
  std::vector<double> times;
  for (size_t k = 0; k < shown; ++k) times.push_back(rows[k].run_ns());
  std::vector<std::string> texts = format_times(times);
  Table table({">step", "node", ">time", ">share", ">calls", "implementation", "formats"});
  for (size_t k = 0; k < shown; ++k) {
    left -= times[k];
    table.add({cat(rows[k].label.step), rows[k].label.name, texts[k], share(times[k], sum),
               count(rows[k].calls_per_run), kind_of(rows[k]), format_of(rows[k])});
  }
  if (shown == rows.size()) return table.text();
  return table.text() + cat("... and ", rows.size() - shown, " more, ",
                            format_time(std::max(left, 0.0)),
                            " together (-v or --json has them)\n");
}

Json event(std::string name, const char* category, size_t track, uint64_t begin, uint64_t end,
           uint64_t origin) {
  return {{"name", std::move(name)},
          {"cat", category},
          {"ph", "X"},
          {"pid", 1},
          {"tid", track},
          {"ts", static_cast<double>(begin - origin) / 1000},
          {"dur", static_cast<double>(end - begin) / 1000}};
}

Json track_name(size_t track, std::string name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 1},
          {"tid", track},
          {"args", {{"name", std::move(name)}}}};
}

}  // namespace

std::string span_text(const std::vector<SpanRow>& rows, bool all) {
  if (rows.empty()) return "";
  return headline(rows) + kinds_table(rows) + "\n" + rows_table(rows, all);
}

Json span_json(const std::vector<SpanRow>& rows) {
  Json out = Json::array();
  for (const SpanRow& row : rows) {
    Json details = Json::object();
    for (const auto& [key, value] : row.label.details) details[key] = value;
    out.push_back({{"step", row.label.step},
                   {"node", row.label.node < 0 ? Json() : Json(row.label.node)},
                   {"name", row.label.name},
                   {"is_reorder", row.is_reorder()},
                   {"calls_per_run", row.calls_per_run},
                   {"median_ns", row.median_ns},
                   {"min_ns", row.min_ns},
                   {"total_ns", row.total_ns},
                   {"details", std::move(details)}});
  }
  return out;
}

Json trace_json(const Session& session, const Context& context) {
  std::span<const StepProfile> profile = session.profile(context);
  uint64_t origin = profile.empty() ? 0 : profile[0].last_begin_ns;
  std::vector<ProfileRow> steps = step_rows(session);
  Json events = Json::array({track_name(0, "steps")});
  for (size_t k = 0; k < steps.size(); ++k) {
    const StepProfile& p = profile[k];
    if (p.runs == 0) continue;
    Json step =
        event(steps[k].symbol, "step", 0, p.last_begin_ns, p.last_begin_ns + p.last_ns, origin);
    step["args"] = {{"run_by", steps[k].runner},
                    {"implementation", steps[k].implementation},
                    {"nodes", steps[k].locs}};
    events.push_back(std::move(step));
  }
  const SpanLog& log = session.spans(context);
  size_t threads = 0;
  for (const SpanTime& time : log.times) {
    if (time.begin_ns < origin) continue;  // an earlier run's
    const SpanLabel& label = log.labels[time.label];
    Json span =
        event(label.name, "kernel", time.thread + size_t{1}, time.begin_ns, time.end_ns, origin);
    span["args"] = Json::object();
    for (const auto& [key, value] : label.details) span["args"][key] = value;
    events.push_back(std::move(span));
    threads = std::max(threads, time.thread + size_t{1});
  }
  for (size_t k = 0; k < threads; ++k)
    events.push_back(track_name(k + 1, cat("inside the kernels, thread ", k)));
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

Status write_trace(const std::string& path, const Session& session, const Context& context) {
  return write_file(path, trace_json(session, context).dump(1));
}

}  // namespace byoc::cli
