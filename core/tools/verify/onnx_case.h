// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs one case of ONNX's backend tests: a folder with model.onnx and test_data_set_*.
#include <functional>

#include "byoc/compile.h"

namespace byoc::driver {

struct CaseResult {
  /// kFolded: under --strict, the outputs are right but the core computed all of them at compile
  /// time, so that no plugin ran. kNotRun: Ctrl-C came before the case was done.
  enum Verdict { kPassed, kFolded, kFailed, kUnsupported, kNotRun };
  Verdict verdict = kFailed;
  std::string reason;              // why the case did not pass
  std::vector<std::string> bound;  // inputs bound as constants: shapes, axes, ...
};

/// Returns the folders with a model.onnx, sorted: each of `folders` itself, or those in it at any
/// depth. Errors: kNotFound when one of them has none.
Result<std::vector<std::string>> find_cases(const std::vector<std::string>& folders);

/// Compiles the model and compares its outputs with every data set's as ONNX's own runner does
/// (relative 1e-3, absolute 1e-7). The verdict is kUnsupported when the importer or the plugins
/// refuse the model before anything runs. Inputs that the importer requires as constants (shapes,
/// axes) are bound to the data set's values. Dims that the model names as a size of `sizes` keep
/// those bounds, and the case is compiled for all of them; others have the stored extents.
CaseResult run_case(const std::string& folder, const BuildOptions& options,
                    const GivenShapes& sizes);

/// Called from time to time with the current case, its number, and the number of cases.
using CaseProgress = std::function<void(std::string_view folder, uint64_t done, uint64_t total)>;

/// Runs each case in a process of its own, `jobs` at a time. A crash and a timeout are failures.
/// SIGINT and SIGTERM end it, here and for the rest of the process; the cases left are kNotRun.
std::vector<CaseResult> run_cases_isolated(const std::vector<std::string>& folders,
                                           const BuildOptions& options, const GivenShapes& sizes,
                                           uint32_t jobs, uint32_t timeout_s,
                                           const CaseProgress& progress);

}  // namespace byoc::driver
