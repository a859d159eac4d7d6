// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs of the system as child processes: no shell, no temporary files, a time limit.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/base/status.h"
#include "core/process/end.h"

namespace byoc::process {

struct ProgramResult {
  End end;
  std::string out, err;  // the texts that it printed
};

/// Runs the program argv[0], which is searched on PATH, with `input` as its standard input, and
/// ends it when `limit` is over. The result has the way in which it ended. Errors: the files in
/// memory for its input and output cannot be made, written or read.
Result<ProgramResult> run_program(std::vector<std::string> argv, std::string_view input,
                                  std::chrono::seconds limit);

}  // namespace byoc::process
