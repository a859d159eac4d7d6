// SPDX-License-Identifier: Apache-2.0
#pragma once
// One case of ONNX's backend tests: a folder with model.onnx and test_data_set_*.
#include "byoc/compile.h"

namespace byoc::driver {

struct CaseResult {
  /// kFolded: under --strict, the outputs are right but the core computed all of them at compile
  /// time, so that no plugin ran.
  enum Verdict { kPassed, kFolded, kFailed, kUnsupported };
  Verdict verdict = kFailed;
  std::string reason;              // of what did not pass
  std::vector<std::string> bound;  // inputs taken as constants: shapes, axes, ...
};

/// Folders with a model.onnx: each of `folders` itself, or those in it at any depth. Sorted.
/// Errors: kNotFound when one of them holds none.
Result<std::vector<std::string>> find_cases(const std::vector<std::string>& folders);

/// Compiles the model and compares its outputs with every data set's as ONNX's own runner does
/// (relative 1e-3, absolute 1e-7). "Unsupported" is what the importer or the plugins say before
/// anything runs. Where the importer wants operands as constants (shapes, axes) that the case gives
/// as inputs, they are bound to the data set's values.
CaseResult run_case(const std::string& folder, const BuildOptions& options);

/// The same in a process of its own each, `jobs` at a time: a crash and a timeout are failures.
/// `done` hears of each case as it ends.
std::vector<CaseResult> run_cases_isolated(const std::vector<std::string>& folders,
                                           const BuildOptions& options, uint32_t jobs,
                                           uint32_t timeout_s);

}  // namespace byoc::driver
