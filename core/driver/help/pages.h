// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tree of commands as completions of shells and as manual pages.
#include <span>
#include <string>
#include <vector>

#include "runtime/cli/command.h"

namespace byoc::driver {

/// Returns a script for bash: commands, options, and the values of those that name files or have a
/// few values.
std::string bash_completion(const cli::Command& root);
/// Returns the same for zsh, with the line of help of each.
std::string zsh_completion(const cli::Command& root);

struct ManualPage {
  std::string file, text;  // "byoc-run.1"; the page for man(1)
};
/// Returns a page for the program, one for each of its commands, and one for each of `programs`.
/// The command `byoc run` and the program `byoc-run` would have pages of one name, which man(1)
/// shows for both: they share a page.
std::vector<ManualPage> manual_pages(const cli::Command& root,
                                     std::span<const cli::Command> programs);

/// Returns the few values that an option has, as "auto always never"; "" when it has many.
std::string values_of(const cli::Option& option);

}  // namespace byoc::driver
