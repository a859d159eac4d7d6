// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members that all records of one machine have in common.
#include "byoc/compile.h"
#include "byoc/tune/record.h"
#include "byoc/tune/task.h"

namespace byoc::tune {

struct RecordFacts {
  std::string target;                           ///< as Record::target
  uint32_t threads = 1;                         ///< as Record::threads
  std::map<std::string, std::string> versions;  ///< by plugin
  std::string worker, machine;                  ///< as in Record
  /// Returns those of this process and machine. Errors: the target or a plugin is unknown.
  static Result<RecordFacts> of(const std::vector<Task>& tasks, const BuildOptions& build);
};

/// Returns a record of a point without its times.
Record record_of(const Task& task, const Point& point, const RecordFacts& facts);

}  // namespace byoc::tune
