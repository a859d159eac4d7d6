// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command lines as data: a tree of commands with options, parsed in one place, so that exit codes,
// help and messages are the same everywhere.
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::cli {

enum Exit : int { kDone = 0, kFailed = 1, kUsage = 2, kBug = 3, kInterrupted = 130 };

/// The variable that receives an option's value. A bool is a flag; a vector may be given several
/// times; the value of an optional may be left out, and then reads as "-": --json or --json=FILE.
using Target = std::variant<bool*, std::string*, int*, uint32_t*, uint64_t*, double*,
                            std::vector<std::string>*, std::optional<std::string>*>;

struct Option {
  std::string names;  // "-o,--output"; "MODEL" for a positional
  std::string value;  // "FILE" in the help; empty for flags
  std::string doc;    // one line, shown in both helps
  Target to;
  bool required = false;
  std::string group = {};  // a heading that several commands share; "": the command's own options
};

struct Example {
  std::string line, what;
};

/// Options that every command of the program has.
struct CommonOptions {
  std::optional<std::string> json;  // "-": stdout
  std::string color = "auto";
  bool quiet = false, verbose = false;
};

struct Command {
  std::string name, about;        // about: one line, no full stop
  std::vector<Example> examples;  // shown first in --help; at least one
  std::vector<Option> options;    // positionals in their order
  std::vector<Command> commands;
  std::string notes;  // the end of --help
  /// Does the command's work. A Status is printed as the command's error, exit code 1, or 2 when
  /// its slug is "usage"; a number is the exit code of a command that has printed its findings.
  std::function<Result<int>()> run;
};

/// Adds --json[=FILE], --color, -q, -v. Options of the root may be given before or
/// after the command.
void add_common_options(Command& root, CommonOptions& common);

/// Gives the options from `begin` on a heading.
void set_group(Command& command, size_t begin, const std::string& group);

/// Parses, prints help (-h short, --help full), runs, prints errors on stderr (with --json also as
/// the one JSON value on stdout), and returns the exit code. Names are never abbreviated; a
/// misspelt one gets a suggestion.
int run_command_line(const Command& root, const CommonOptions& common, int argc,
                     const char* const* argv);

/// Returns the error for wrong use that is found after parsing; exit code 2.
inline Status usage_error(std::string message) {
  return invalid(std::move(message)).with_slug("usage");
}

}  // namespace byoc::cli
