// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/log_report.h"

#include <set>
#include <tuple>

#include "byoc/base/json.h"
#include "byoc/te/target.h"
#include "runtime/cli/output.h"

namespace byoc::tune {
namespace {

using Place = std::tuple<std::string, std::string, std::string, std::string, uint32_t>;

/// The records of one task.
struct Gathered {
  LoggedTask task;
  std::set<Point> timed, failed;
};

std::string cpu_of(const std::string& target) {
  auto parsed = te::parse_target(target);
  return parsed.ok() ? parsed->cpu : "?";
}

}  // namespace

Result<LoggedTasks> read_tasks(const std::string& log) {
  LoggedTasks out{.log = log};
  std::map<Place, Gathered> all;
  BYOC_TRY(out.lines, read_log(log, [&](Record record) {
             Gathered& to =
                 all[{record.plugin, record.kind, record.task, record.target, record.threads}];
             (record.is_ok() ? to.timed : to.failed).insert(record.point);
             const bool is_first = to.timed.size() + to.failed.size() == 1;
             if (is_first || record.best_ns() < to.task.best.best_ns())
               to.task.best = std::move(record);
           }));
  for (auto& [place, gathered] : all) {
    for (const Point& point : gathered.timed) gathered.failed.erase(point);
    gathered.task.errors = gathered.failed.size();
    gathered.task.points = gathered.timed.size() + gathered.failed.size();
    out.tasks.push_back(std::move(gathered.task));
  }
  return out;
}

std::string text_of(const LoggedTasks& logged) {
  cli::Table table({"plugin", "kind", "machine", ">threads", ">best", ">GFLOP/s", ">points",
                    ">errors", "point"});
  for (const LoggedTask& task : logged.tasks) {
    const Record& best = task.best;
    const bool is_ok = best.is_ok();
    table.add({best.plugin, best.kind, cpu_of(best.target), cat(best.threads),
               is_ok ? cli::format_time(best.best_ns()) : "-",
               is_ok ? cli::format_fixed(best.flops / best.best_ns(), 1) : "-", cat(task.points),
               cat(task.errors), is_ok ? print(best.point) : best.error});
  }
  const LogReport& lines = logged.lines;
  std::string text =
      cat(table.text(), lines.records, " records of ", logged.tasks.size(), " tasks");
  if (lines.other_versions != 0)
    text += cat(", ", lines.other_versions, " of another version of the format");
  if (lines.torn != 0) text += ", the last line is incomplete";
  return text + "\n";
}

nlohmann::ordered_json json_of(const LoggedTasks& logged) {
  Json list = Json::array();
  for (const LoggedTask& task : logged.tasks) {
    const Record& best = task.best;
    list.push_back({{"key", best.key.hex()},
                    {"plugin", best.plugin},
                    {"kind", best.kind},
                    {"task", best.task},
                    {"target", best.target},
                    {"threads", best.threads},
                    {"best_ns", best.is_ok() ? Json(best.best_ns()) : Json()},
                    {"best", best.point},
                    {"error", best.error},
                    {"points", task.points},
                    {"errors", task.errors}});
  }
  return {{"log", logged.log},
          {"records", logged.lines.records},
          {"other_versions", logged.lines.other_versions},
          {"torn", logged.lines.torn},
          {"tasks", list}};
}

}  // namespace byoc::tune
