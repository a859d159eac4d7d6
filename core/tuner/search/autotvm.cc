// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/search/autotvm.h"

#include <algorithm>

#include "byoc/base/file.h"
#include "core/tuner/search/autotvm_line.h"
#include "core/tuner/search/grid.h"

namespace byoc::tune {
namespace {

// The fastest points of each task.
class Starts {
 public:
  explicit Starts(std::span<const Space* const> spaces) : spaces_(spaces) {
    for (const Space* space : spaces) extents_.push_back(extents_of(*space));
  }

  // Returns the reason that the line is of no use; "": it was used.
  std::string take(std::string_view text) {
    const auto line = parse_autotvm_line(text);
    if (!line.ok()) return line.status().message();
    bool has_shape = false, is_used = false;
    for (size_t task = 0; task < spaces_.size(); ++task) {
      if (!extents_[task] || spaces_[task]->guesses.empty()) continue;
      if (!is_same_shape(line->extents, *extents_[task])) continue;
      has_shape = true;
      is_used |= take(task, *line, !is_used);
    }
    if (is_used) return "";
    return has_shape ? "no knob fits" : "no task of this shape";
  }

  AutotvmStarts finish(size_t most) {
    std::vector<AutotvmStart> all;
    for (const auto& [place, seconds] : seconds_)
      all.push_back({place.first, place.second, seconds});
    std::stable_sort(all.begin(), all.end(), [](const AutotvmStart& a, const AutotvmStart& b) {
      return std::pair(a.task, a.seconds) < std::pair(b.task, b.seconds);
    });
    std::map<size_t, size_t> counts;
    for (AutotvmStart& start : all)
      if (counts[start.task]++ < most) out.starts.push_back(std::move(start));
    return std::move(out);
  }

  AutotvmStarts out;

 private:
  bool take(size_t task, const AutotvmLine& line, bool counts) {
    std::vector<std::string> unfit;
    const Space& space = *spaces_[task];
    const Point knobs = knobs_of(line, *extents_[task], space, unfit);
    const Grid grid(space);
    const auto first = grid.genes(space.guesses.front());
    if (knobs.empty() || !first) return false;
    const Point point = grid.point(grid.nearest(knobs, *first));
    const auto [at, is_new] = seconds_.try_emplace({task, point}, line.seconds);
    at->second = std::min(at->second, line.seconds);
    for (const auto& [name, parts] : counts ? line.choices : decltype(line.choices)()) {
      const bool is_unfit = std::find(unfit.begin(), unfit.end(), name) != unfit.end();
      ++(is_unfit ? out.choices_unfit : out.choices_used)[name];
    }
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

AutotvmStarts parse_autotvm(std::string_view log, std::span<const Space* const> spaces,
                            size_t most) {
  Starts starts(spaces);
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

Result<AutotvmStarts> read_autotvm(const std::string& path, std::span<const Space* const> spaces,
                                   size_t most) {
  BYOC_TRY(const std::string log, read_file(path));
  return parse_autotvm(log, spaces, most);
}

std::string summary_of(const AutotvmStarts& starts) {
  std::string out = cat(starts.used, " of ", starts.lines, " lines used, ", starts.starts.size(),
                        " starting points");
  if (!starts.skipped.empty()) out += cat("; skipped: ", list_of(starts.skipped));
  if (!starts.choices_used.empty()) out += cat("; choices used: ", list_of(starts.choices_used));
  if (!starts.choices_unfit.empty())
    out += cat("; without a knob: ", list_of(starts.choices_unfit));
  return out;
}

}  // namespace byoc::tune
