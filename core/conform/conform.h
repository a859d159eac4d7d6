// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conformance kit: one check for each promise of a plugin (byoc/plugin/abi.h). The plugin's
// code is loaded only in child processes with a time limit, so that a crash, a hang or an exit is a
// finding and never ends the kit.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "byoc/base/status.h"
#include "byoc/ir/module.h"

namespace byoc::conform {

enum class Outcome { kPass, kFail, kSkip };
struct Answer {
  Outcome outcome = Outcome::kPass;
  std::string reason;                 // of the outcome; with kPass a note, may be empty
  std::vector<std::string> findings;  // with kFail: all of them; the reason has the first
  std::string cure = {};              // of this failure; empty: the check's
};
Answer pass(std::string note = "");
Answer fail(std::string reason);
Answer skip(std::string reason);
/// Passes when there are no findings; otherwise fails with the first and the number of the others.
Answer judged_by(std::vector<std::string> findings, std::string note = "");

/// kCore has the checks that a plugin must pass before it is used; kFull tries more shapes, dtypes
/// and instances.
enum class Level { kCore, kFull };

/// A model of the plugin's author: functions of the plugin in it are compared with the reference.
struct Example {
  std::string name;  // of the file
  IRModule module;   // with shapes that are numbers
};

struct Options {
  std::string path;        // of the plugin, absolute
  std::string registered;  // in place of a path: the id of a plugin of register_plugin
  /// --plugin-option ID.NAME=VALUE, by id; other ids than the plugin's are an error.
  std::map<std::string, std::map<std::string, std::string>> options;
  Level level = Level::kCore;
  uint32_t timeout_s = 10;                          // seconds, for one call into the plugin
  std::map<std::string, uint32_t> timeouts_s = {};  // of slots that have another: {"compile", 60}
  uint64_t seed = 1;
  std::vector<Example> examples = {};
  /// Called from time to time while children run, with the current work and how much of it is done
  /// (0 of 0: unknown).
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> progress;
};

/// Returns the slots that may have a time limit of their own; "open" includes loading the library.
std::vector<std::string_view> timed_slots();

class CheckContext;
struct Check {
  int group;
  std::string_view name, about;
  std::string_view needs;  // names of checks that must have passed first, with spaces between
  Answer (*run)(CheckContext&);
  std::string_view cure;  // for the author of a plugin that fails
};
/// Returns the table of checks, in the order of groups.
std::span<const Check> all_checks();
struct Group {
  int number;
  std::string_view name;
};
std::span<const Group> all_groups();

/// Counts the instances of one op, and lists the dtypes that were compared with the reference.
struct OpCoverage {
  uint64_t accepted = 0, refused = 0;  // instances: an op on operands of certain types
  std::vector<std::string> dtypes;     // of the accepted ones
};

struct Finished {
  const Check* check;
  Answer answer;
  double wall_ns = 0;
};
struct Outcomes {
  std::string id, version;  // when the manifest could be read
  std::vector<Finished> checks;
  std::map<std::string, OpCoverage> ops;  // of group 5
  std::vector<std::string> not_covered;   // ops that the kit has no sample for
  std::vector<std::string> not_run;       // patterns of which no kernel was run in group 5
};
/// Returns true when this process has registered a plugin of that id.
bool is_registered(std::string_view id);

/// Runs the checks of `groups` in the order of the table, and before each the checks that it needs;
/// one of another group that failed follows, as the reason why others were skipped. Calls
/// `finished` after each check. Those of a plugin's file are skipped for a registered plugin, and
/// its children are copies of this process: register it before other threads are started. Errors:
/// kCancelled after Ctrl-C; slug "usage" for options of another plugin than the checked one.
Result<Outcomes> run_checks(const Options& options, std::span<const int> groups,
                            const std::function<void(const Finished&)>& finished);

}  // namespace byoc::conform
