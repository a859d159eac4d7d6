// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole flow: an IRModule goes in, an Executable comes out.
#include "byoc/pass/pass.h"
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Optimisation levels: 0 no fusion, 1 folding and fusion, 2 layouts and in-place as well.
inline constexpr int kMinLevel = 0, kMaxLevel = 2;  ///< the range of BuildOptions::level

/// Options of the whole flow.
struct BuildOptions {
  std::shared_ptr<const PluginSet> plugins;  ///< null: none
  /// The plugins in order of priority. Of those with the flag DEFAULT the last one named is the
  /// default codegen. "auto" in the list: place_by_cost chooses by cost among the others, or among
  /// all without others. Empty: as {"auto"}, but when functions carry `compiler`, only the
  /// attribute's plugins, then the default codegen.
  std::vector<std::string> compilers;
  std::string default_codegen;  ///< --default; empty: chosen as above
  /// Other plugins, as `compilers`: the Executable has the model compiled by these, too, for when a
  /// device is gone at load. Empty: it has not.
  std::vector<std::string> fallback;
  int level = 2;            ///< kMinLevel to kMaxLevel
  bool strict = false;      ///< a function that its plugin declines is an error
  bool exact_sums = false;  ///< kernels that round differently from the direct sum are forbidden
  bool shared_weights = false;  ///< of several sizes: packed weights should not depend on them
  bool compile_only = false;    ///< no part of the result is loaded in this process
  const Cancellation* cancel = nullptr;        ///< null: cannot be cancelled
  uint32_t threads = 1;                        ///< workers of a run
  std::string target_json = "{}";              ///< the machine; {}: this one
  std::map<std::string, std::string> options;  ///< by name; see pass_options()
  std::vector<Instrument> instruments;         ///< called around every pass
  Report* report = nullptr;                    ///< null: no report
  /// Measurements that choose among a plugin's kernels (byoc/tune/history.h); null: only those of
  /// the thread's ApplyHistoryBest scopes, which come first.
  std::shared_ptr<const tune::History> history;
  /// A function that has choices and no record in a history is an error, slug "not-tuned".
  bool require_tuned = false;
  tune::HistoryReport* history_report = nullptr;  ///< null: choices are not reported
  /// Computes and schedules of the program's own, and the choice of them
  /// (byoc/translate/policies.h). Null: only those of the thread's ApplyPolicies scopes, which
  /// come first.
  std::shared_ptr<const te::Policies> policies;
};

/// Resolves the choice of plugins. Errors: slug "unknown-plugin", "no-default-codegen",
/// "unknown-level".
Result<PassContext> make_context(const IRModule& module, const BuildOptions& options);
/// Returns an error with the slug "symbolic-shape" when inputs of the entry have named sizes. Code
/// generation requires numbers; the help has the flags that set them.
Status check_static_inputs(const IRModule& module);
/// Runs the passes of docs/ARCHITECTURE.md ("The flow") up to and including partition_graph.
Result<IRModule> partition_for(IRModule module, const BuildOptions& options);
/// Runs the whole flow. Errors: slug "symbolic-shape" names inputs without static shapes;
/// kCancelled, slug "interrupted". Names and types that it interns are freed when it returns,
/// unless `report` or `instruments` may keep them; those of `module` are the caller's
/// (byoc/ir/intern.h).
Result<Executable> build(IRModule module, const BuildOptions& options);
/// Returns the data that a plugin receives of the function `name`, whose types are static.
CompileFunction compile_input(const IRModule& module, Symbol name);
/// Runs the last step alone, on a module whose entry function consists of planned externs.
Result<Executable> make_executable(const IRModule& planned);

}  // namespace byoc
