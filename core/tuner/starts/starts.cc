// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/starts/starts.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include "byoc/base/check.h"
#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/tuner/search/grid.h"
#include "core/tuner/starts/ansor_line.h"
#include "core/tuner/starts/autotvm_line.h"
#include "core/tuner/starts/meta_line.h"

namespace byoc::tune {
namespace {

// A record of any format: its sums in the ways in which it can be read, and its knobs for a task.
struct Record {
  std::string format;
  double seconds = 0;
  std::vector<SumExtents> sums;
  /// Returns values for knobs of a space by the reading `k`, with names of decisions.
  std::function<Point(size_t k, const SumExtents&, const Space&, std::vector<std::string>& used,
                      std::vector<std::string>& unfit)>
      knobs;
};

Record record_of(AutotvmLine line) {
  Record out{"AutoTVM", line.seconds, {line.extents}, nullptr};
  out.knobs = [line = std::move(line)](size_t, const SumExtents& task, const Space& space,
                                       auto& used, auto& unfit) {
    const Point point = knobs_of(line, task, space, unfit);
    for (const auto& [name, parts] : line.choices)
      if (std::ranges::find(unfit, name) == unfit.end()) used.push_back(name);
    return point;
  };
  return out;
}

Record record_of(std::string format, TiledSum sum) {
  std::vector<Reading> readings = readings_of(sum);
  Record out{std::move(format), sum.seconds, {}, nullptr};
  for (const Reading& reading : readings) out.sums.push_back(reading.extents);
  out.knobs = [sum = std::move(sum), readings = std::move(readings)](
                  size_t k, const SumExtents& task, const Space& space, auto& used, auto& unfit) {
    BYOC_CHECK(k < readings.size(), "reading ", k, " of ", readings.size());
    return knobs_of(sum, readings[k], task, space, used, unfit);
  };
  return out;
}

// Returns the record of a line. Errors: the reason that it is of no use.
Result<Record> parse_record_line(std::string_view text) {
  const auto json = parse_json(text);
  if (json.ok() && json->is_object() && json->contains("i")) {
    BYOC_TRY(TiledSum sum, parse_ansor_line(*json));
    return record_of("auto_scheduler", std::move(sum));
  }
  if (json.ok() && is_meta_line(*json)) {
    BYOC_TRY(TiledSum sum, parse_meta_line(*json));
    return record_of("MetaSchedule", std::move(sum));
  }
  BYOC_TRY(AutotvmLine line, parse_autotvm_line(text));
  return record_of(std::move(line));
}

// The fastest points of each task.
class Collected {
 public:
  explicit Collected(std::span<const Space* const> spaces) : spaces_(spaces) {
    for (const Space* space : spaces) extents_.push_back(extents_of(*space));
  }

  // Returns the reason that the line is of no use; "": it was used.
  std::string take(std::string_view text) {
    const auto record = parse_record_line(text);
    if (!record.ok()) return record.status().message();
    if (out.format.empty()) out.format = record->format;
    if (record->sums.empty()) return "loops of another form";
    bool has_shape = false, is_used = false;
    for (size_t task = 0; task < spaces_.size(); ++task) {
      if (!extents_[task] || spaces_[task]->guesses.empty()) continue;
      const auto fits = std::ranges::find_if(
          record->sums, [&](const SumExtents& sum) { return is_same_shape(sum, *extents_[task]); });
      if (fits == record->sums.end()) continue;
      has_shape = true;
      const auto reading = static_cast<size_t>(fits - record->sums.begin());
      is_used |= take(task, *record, reading, !is_used);
    }
    if (is_used) return "";
    return has_shape ? "no knob fits" : "no task of this shape";
  }

  Starts finish(size_t most) {
    std::vector<Start> all;
    for (const auto& [place, seconds] : seconds_)
      all.push_back({place.first, place.second, seconds});
    std::stable_sort(all.begin(), all.end(), [](const Start& a, const Start& b) {
      return std::pair(a.task, a.seconds) < std::pair(b.task, b.seconds);
    });
    std::map<size_t, size_t> counts;
    for (Start& start : all)
      if (counts[start.task]++ < most) out.starts.push_back(std::move(start));
    return std::move(out);
  }

  Starts out;

 private:
  bool take(size_t task, const Record& record, size_t reading, bool counts) {
    std::vector<std::string> used, unfit;
    BYOC_CHECK(extents_[task] && reading < record.sums.size(), "reading ", reading, " of ",
               record.sums.size());
    const Space& space = *spaces_[task];
    const Point knobs = record.knobs(reading, *extents_[task], space, used, unfit);
    const Grid grid(space);
    const auto first = grid.genes(space.guesses.front());
    if (knobs.empty() || !first) return false;
    const Point point = grid.point(grid.nearest(knobs, *first));
    const auto [at, is_new] = seconds_.try_emplace({task, point}, record.seconds);
    at->second = std::min(at->second, record.seconds);
    if (!counts) return true;
    for (const std::string& name : used) ++out.choices_used[name];
    for (const std::string& name : unfit) ++out.choices_unfit[name];
    return true;
  }

  std::span<const Space* const> spaces_;
  std::vector<std::optional<SumExtents>> extents_;
  std::map<std::pair<size_t, Point>, double> seconds_;
};

std::string list_of(const std::map<std::string, size_t>& counts) {
  std::string out;
  for (const auto& [name, n] : counts) out += cat(out.empty() ? "" : ", ", n, " ", name);
  return out;
}

}  // namespace

Starts parse_starts(std::string_view log, std::span<const Space* const> spaces, size_t most) {
  Collected starts(spaces);
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ++starts.out.lines;
    const std::string reason = starts.take(line);
    if (reason.empty()) {
      ++starts.out.used;
    } else {
      ++starts.out.skipped[reason];
    }
  }
  return starts.finish(most);
}

Result<Starts> read_starts(const std::string& path, std::span<const Space* const> spaces,
                           size_t most) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  BYOC_TRY(const std::string log,
           read_file(is_folder ? cat(path, "/database_tuning_record.json") : path));
  return parse_starts(log, spaces, most);
}

std::string summary_of(const Starts& starts) {
  std::string out = cat(starts.format, starts.format.empty() ? "" : ": ", starts.used, " of ",
                        starts.lines, " lines used, ", starts.starts.size(), " starting points");
  if (!starts.skipped.empty()) out += cat("; skipped: ", list_of(starts.skipped));
  if (!starts.choices_used.empty()) out += cat("; choices used: ", list_of(starts.choices_used));
  if (!starts.choices_unfit.empty())
    out += cat("; without a knob: ", list_of(starts.choices_unfit));
  return out;
}

}  // namespace byoc::tune
