// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contents of a log per task, for byoc tune --list.
#include <nlohmann/json_fwd.hpp>

#include "byoc/tune/record.h"

namespace byoc::tune {

/// The records of one task on one machine with one number of threads.
struct LoggedTask {
  Record best;  ///< without a time when all points failed
  size_t points = 0, errors = 0;
};

struct LoggedTasks {
  std::string log;
  LogReport lines;
  std::vector<LoggedTask> tasks;  ///< by plugin, kind, text of the task, target, threads
};

/// Errors: those of read_log.
Result<LoggedTasks> read_tasks(const std::string& log);
std::string text_of(const LoggedTasks& logged);
nlohmann::ordered_json json_of(const LoggedTasks& logged);

}  // namespace byoc::tune
