// SPDX-License-Identifier: Apache-2.0
#pragma once
// Golden tests: text in, passes, text out. A case is one file:
//   // pass: annotate_target=a,merge_compiler_regions         why: may follow here
//   // plugin: a ops=relu,add refuse=tanh                     a test plugin and its options; any
//   //                                                        number of lines, also none
//   // option: costs=none                                     an option of the passes, likewise
//   // why: what a reader should see in it
//   fn main(...) { ... }
//   // ---- expect                                            or  // ---- error
//   fn main(...) { ... }                                      text that must occur in the error
// "pass:" alone runs nothing: the case is about the text form itself.
#include <functional>
#include <vector>

#include "byoc/text/text.h"

namespace byoc {

struct GoldenPlugin {
  std::string id;
  std::map<std::string, std::string> options;
};
struct GoldenCase {
  std::string passes, input, expected;
  std::vector<GoldenPlugin> plugins;
  std::map<std::string, std::string> options;  // of the passes
  bool expects_error = false;
};
Result<GoldenCase> parse_golden(std::string_view text);

/// Runs the comma-separated passes on a module.
using RunPasses = std::function<Result<IRModule>(IRModule, const std::string& passes)>;
/// Checks that the passes turn input into expected, that they change nothing when run again, and
/// that the result prints and parses back equal. The message holds the actual result.
Status check_golden(const GoldenCase& golden, const OpRegistry& ops, const RunPasses& run);
/// Returns all *.ir under `folder`, relative to it, sorted.
std::vector<std::string> golden_files(const std::string& folder);

}  // namespace byoc
