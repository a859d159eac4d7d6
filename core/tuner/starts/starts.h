// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starting points from logs of other tuners: AutoTVM 0.2 (autotvm_line.h), auto_scheduler 0.6
// (ansor_line.h) and MetaSchedule (meta_line.h). Their kernels are other code, so that times choose
// among their points and mean nothing else here.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "byoc/tune/space.h"

namespace byoc::tune {

/// A point to begin with.
struct Start {
  size_t task;     ///< the number of its space
  Point point;     ///< inside of the space
  double seconds;  ///< of a run, where the log was made
  friend bool operator==(const Start&, const Start&) = default;
};

/// The points of a log, and the rest of it.
struct Starts {
  std::string format;                     ///< "AutoTVM", "auto_scheduler", "MetaSchedule"; "": none
  std::vector<Start> starts;              ///< by task, then the fastest first
  size_t lines = 0;                       ///< of the log, without empty ones
  size_t used = 0;                        ///< lines that gave a point; equal points count each time
  std::map<std::string, size_t> skipped;  ///< lines that gave none, by reason
  std::map<std::string, size_t> choices_used;   ///< of used lines, by their name in the log
  std::map<std::string, size_t> choices_unfit;  ///< of used lines, those that no knob fits
};

/// Reads the text of a log. Lines may have different formats; `format` is that of the first one. Of
/// equal points the fastest is kept, and of a task the `most` fastest. Records match tasks by the
/// extents in the tasks' texts (task_sums.h). No line is an error.
Starts parse_starts(std::string_view log, std::span<const Space* const> spaces, size_t most = 4);
/// Reads a file, or database_tuning_record.json of a folder that MetaSchedule wrote. Errors: those
/// of read_file.
Result<Starts> read_starts(const std::string& path, std::span<const Space* const> spaces,
                           size_t most = 4);
/// Returns lines such as "2 of 5 lines used; 3 skipped: 2 other template, 1 no task of this shape".
std::string summary_of(const Starts& starts);

}  // namespace byoc::tune
