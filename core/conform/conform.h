// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conformance kit: what a plugin promises (plugin/abi.h), each promise as one check. Whatever
// loads the plugin's code happens in a child process with a time limit, so that a crash, a hang or
// an exit is a finding and never the end of the kit.
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "byoc/base/status.h"

namespace byoc::conform {

enum class Outcome { kPass, kFail, kSkip };
struct Answer {
  Outcome outcome = Outcome::kPass;
  std::string reason;                 // what was found; with kPass a note, may be empty
  std::vector<std::string> findings;  // with kFail: all of them, the reason tells the first
};
Answer pass(std::string note = "");
Answer fail(std::string reason);
Answer skip(std::string reason);
/// A pass when there are none; else the first, and how many more.
Answer judged_by(std::vector<std::string> findings, std::string note = "");

/// Core is what a plugin must hold before it is used; full tries more shapes, dtypes and instances.
enum class Level { kCore, kFull };

struct Options {
  std::string path;  // of the plugin, absolute
  /// --plugin-option ID.NAME=VALUE, by id; other ids than the plugin's are an error.
  std::map<std::string, std::map<std::string, std::string>> options;
  Level level = Level::kCore;
  uint32_t timeout_s = 10;  // of one call into the plugin
  uint64_t seed = 1;
  /// Called now and then while children run: what is done, how much of it (0 of 0: unknown).
  std::function<void(std::string_view what, uint64_t done, uint64_t total)> progress;
};

class CheckContext;
struct Check {
  int group;
  std::string_view name, about;
  std::string_view needs;  // names of checks that must have passed first, with spaces between
  Answer (*run)(CheckContext&);
};
/// The table, in order of groups.
std::span<const Check> all_checks();
struct Group {
  int number;
  std::string_view name;
};
std::span<const Group> all_groups();

/// Which dtypes of which op were compared with the reference.
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
};
/// Runs the checks of `groups` in the order of the table; what they need of others is found out on
/// the way. `finished` hears of each as it ends. Errors: kCancelled after Ctrl-C, slug "usage" for
/// options of another plugin.
Result<Outcomes> run_checks(const Options& options, std::span<const int> groups,
                            const std::function<void(const Finished&)>& finished);

}  // namespace byoc::conform
