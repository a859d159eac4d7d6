// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/cli/command.h"

namespace byoc::cli {

/// Returns the help of one command. `path`: the names of the commands down to this one, "byoc run".
/// full: examples first, all options, exit codes; else usage and the command's own options, and
/// the names of those that it shares with others. `root` gives the options
/// that every command has.
std::string help_text(const Command& root, const Command& command, const std::string& path,
                      bool full);

bool is_positional(const Option& option);
/// Returns "-o", "--output" for "-o,--output".
std::vector<std::string> names_of(const Option& option);
/// Returns the groups of the options, the command's own ("") first.
std::vector<std::string> groups_of(const std::vector<Option>& options);

}  // namespace byoc::cli
