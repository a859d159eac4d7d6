// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles and loads one function by the plugin, and runs it with several arrangements of its
// tensors in memory.
#include "core/conform/context/loaded_plugin.h"

namespace byoc::conform {

/// A run of a function with open sizes.
struct OpenRun {
  IRModule reference;              // the function with numbers
  std::vector<std::string> names;  // of the sizes, in the order of byoc_call.sizes
  std::vector<int64_t> sizes;
  std::string text;  // "L=3, N=5"
};
/// Returns the bytes of a kernel's workspace in a run, null for one of fixed sizes. A size that the
/// function lacks, and an expression without a value, give 0.
uint64_t workspace_bytes(const LoadedModule::Kernel& kernel, const OpenRun* run);

struct FunctionTest {
  std::string label;
  IRModule reference;  // `main` of ops alone
  IRModule compiled;   // the same, perhaps with composites
  std::vector<Domain> domains;
  std::string value_check;  // the check that fails on a wrong value
  bool is_exact = false;    // NaN and infinities of its results are determined element by element
  bool is_chain = false;    // of several ops, with a small result of larger values
  Special special = Special::kNans;  // the last kind that its operands may contain
  std::string point_json = {};       // of the function's knob space; empty: none
  bool is_plain = false;             // with compact, aligned tensors alone
  bool is_watched = false;           // run many times: for memory that runs keep, and their time
  std::vector<OpenRun> runs = {};    // of a function with open sizes, which is plain, in this order
};

/// A result for a check; an empty text is a pass.
struct Finding {
  std::string check, text;
  std::string cure = {};  // of this finding; empty: the check's
};
using ReportFinding = std::function<void(Finding)>;
/// Compiles and loads `main` of a module. Errors: kDeclined, and those of both, with the slot.
Result<LoadedModule> load_function(const LoadedPlugin& tested, const std::string& label,
                                   const IRModule& module, const std::string& point_json = {});

/// kDeclined: compile returned BYOC_DECLINED, so nothing was run.
enum class FunctionTestEnd { kDone, kDeclined };
FunctionTestEnd run_function_test(const LoadedPlugin& tested, const FunctionTest& test,
                                  uint64_t seed, const ReportFinding& report);

}  // namespace byoc::conform
