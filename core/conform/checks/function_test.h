#pragma once
// One function compiled and loaded by the plugin, and run in memory of several arrangements.
#include "core/conform/context/loaded_plugin.h"
#include "core/conform/process/memory.h"

namespace byoc::conform {

struct Trial {
  std::string label;
  IRModule reference;  // `main` of ops alone
  IRModule compiled;   // the same, perhaps with composites
  std::vector<Domain> domains;
  std::string value_check;  // the check that a wrong value belongs to
  bool is_exact = false;    // NaN and infinities of its results are determined element by element
  Special special = Special::kNans;  // the most that may stand in its operands
};

/// What a trial tells: which check it is about, and what was found, if anything.
using Tell = std::function<void(std::string_view check, const std::string& finding)>;
enum class TrialEnd { kDone, kDeclined };
TrialEnd run_trial(const Subject& subject, const Trial& trial, uint64_t seed, const Tell& tell);

}  // namespace byoc::conform
