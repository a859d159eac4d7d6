// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pass is a function from module to module. It is deterministic, and a second run changes
// nothing more.
#include <any>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/ir/module.h"
#include "byoc/op/registry.h"

namespace byoc::tune {
class History;
class HistoryReport;
}  // namespace byoc::tune
namespace byoc::te {
struct Policies;
}  // namespace byoc::te

namespace byoc {

/// The remarks of plugins about the user's ops, gathered while passes run; for `explain` and
/// reports. Passes write it and never read it.
struct Report {
  /// A remark for users about some ops.
  struct Remark {
    /// The kinds of remarks.
    enum Kind {
      kRefused,    // judge refused it
      kNoPattern,  ///< no pattern of the plugin fits the op; judge was not called
      kCovered,    // judge accepts the op alone, but a composite of another plugin contains it
      kSlow,       // judge accepted it, but as slow
      kDeclined,   // compile declined an op that judge accepted; it went to `plugin`'s successor
      kNote        // anything else a user should hear
    };
    Kind kind = kRefused;      ///< the kind of remark
    std::string plugin;        ///< the source of the remark
    std::string op;            ///< "conv2d", or a composite's name
    std::vector<Symbol> locs;  ///< the user's ops it is about
    std::string reason;        ///< a sentence without a final stop
  };
  std::vector<Remark> remarks;  ///< in the order they were made
  /// Weights in forms that are larger than the model's and take less time, as choose_computes chose
  /// them. Times are estimates of a run in ns.
  struct Weights {
    double model_bytes = 0;                ///< of the model's own; 0: no function has a choice
    double bytes = 0, bytes_saved = 0;     ///< as they are stored; less than without a limit
    double larger_bytes = 0, gain_ns = 0;  ///< beyond the smallest forms, and the time they save
    double lost_ns = 0;                    ///< by forms that are smaller for the limit
    uint64_t larger = 0, smaller = 0;      ///< the functions with these forms
  };
  Weights weights;  ///< of the last compilation
  /// Calls of judge, and distinct candidates among them.
  uint64_t judge_calls = 0, judge_distinct = 0;
};

class JudgeCache;
struct BuildOptions;
struct PassContext;
using PassArgs = std::vector<std::string>;  ///< "annotate_target=onednn+json": two
/// A pass: a module in, a module out.
using PassFn = std::function<Result<IRModule>(IRModule, const PassContext&, const PassArgs&)>;

/// A pass with its arguments.
struct Pass {
  std::string name;  ///< as in the table of passes
  PassFn run;        ///< does the work
  PassArgs args;     ///< the parts after "="
  /// Passes for functions that a plugin declined in this one (kDeclinedAttr): as long as it leaves
  /// some, these run, and then this one again.
  std::vector<Pass> on_declined = {};
};

/// Called around every pass: for dumps, timing, verification, progress.
struct Instrument {
  std::function<void(const Pass&, const IRModule& before)> before;  ///< called before the pass
  /// Called after the pass, with the time that it took.
  std::function<Status(const Pass&, const IRModule& before, const IRModule& after, uint64_t ns)>
      after;
};

/// The input of all passes; they write `report` alone.
struct PassContext {
  const OpRegistry* ops = &all_ops();        ///< the ops that names refer to
  std::shared_ptr<const PluginSet> plugins;  ///< null: none
  std::vector<std::string> compilers;        ///< chosen, in order of priority
  std::vector<std::string> defaults;         ///< default codegens, in the order they are tried
  int level = 2;                             ///< -O
  bool strict = false;                       ///< a function that its plugin declines is an error
  uint32_t threads = 1;                      ///< workers of a run
  uint32_t compile_flags = 0;                ///< byoc_compile_flags, for every Plugin::compile
  std::string target_json = "{}";            ///< the machine to compile for; {}: this one
  /// The machine that plugins estimate times for; null: plugins are not chosen by cost.
  std::shared_ptr<const byoc_machine> machine;
  const Cancellation* cancel = nullptr;        ///< null: compiling cannot be cancelled
  std::map<std::string, std::string> options;  ///< by name; see pass_options()
  std::set<std::string> disabled;              ///< BYOC_SKIP
  std::vector<Instrument> instruments;         ///< called in order, around every pass
  Report* report = nullptr;                    ///< null: remarks are dropped
  /// Where run_codegen finds points of knob spaces, first one first; empty: plugins choose.
  std::vector<std::shared_ptr<const tune::History>> histories;
  bool require_tuned = false;                     ///< a function without a record is an error
  tune::HistoryReport* history_report = nullptr;  ///< null: choices are not reported
  /// Computes and schedules of the program, for choose_computes; the first ones come first.
  std::vector<std::shared_ptr<const te::Policies>> policies;
  /// Verdicts shared by the passes of one compilation; null: each pass calls judge again.
  std::shared_ptr<JudgeCache> judge_cache;
  std::shared_ptr<const BuildOptions> made_of;  ///< for records; null: not made by make_context
  /// Kept by a pass that runs again, for one call of run_passes, which sets it.
  std::shared_ptr<std::any> memory;

  /// Adds a remark when there is a report.
  void remark(Report::Remark remark) const {
    if (report) report->remarks.push_back(std::move(remark));
  }
  /// Returns the value given, or the table's fallback. `name` must be in pass_options().
  std::string option(std::string_view name) const;
};

/// An option that passes read, with its meaning. `options` of a PassContext may name only those of
/// this table.
struct PassOption {
  std::string_view name, fallback, doc;  ///< the name, the value without it, a sentence for help
};
std::span<const PassOption> pass_options();  ///< the table of all options

/// The attribute of a function that its plugin declined in compile: the plugin's id.
inline constexpr std::string_view kDeclinedAttr = "declined_by";

/// Runs the passes in order. The Status of a failing pass is marked with the pass's name. Debug
/// builds, and the option `verify`, verify the module after every pass; a pass that broke it is
/// named (kInternal, slug "broken-module"), and the module before it goes to stderr. Honours
/// BYOC_DUMP, BYOC_TIME, BYOC_SKIP, BYOC_STOP_AFTER. Errors: those of the passes, and slug
/// "unknown-option".
Result<IRModule> run_passes(IRModule module, std::span<const Pass> passes,
                            const PassContext& context);

/// A row of the table of all passes, as `byoc opt --list` prints it.
struct PassInfo {
  std::string name, args, doc;                ///< args: "PLUGIN+...", "" when it takes none
  PassFn run;                                 ///< does the work
  std::vector<std::string> on_declined = {};  ///< names, as in Pass
};
const std::vector<PassInfo>& all_passes();  ///< the table of all passes
/// Parses "a,b=x+y,c" into passes; commas and pluses inside brackets separate nothing. Errors:
/// kNotFound, slug "unknown-pass", with the nearest name; slug "pass-args" when a pass without
/// arguments gets some.
Result<std::vector<Pass>> parse_passes(std::string_view text);
/// Checks that the passes named in `disabled`, BYOC_SKIP and BYOC_STOP_AFTER exist. Errors: slug
/// "unknown-pass".
Status check_pass_names(const PassContext& context);
/// The passes of docs/ARCHITECTURE.md ("The flow") and parts of them, for the level and the choice
/// of plugins in a context.
struct Pipeline {
  /// Returns all passes, from infer_types to plan_memory.
  static std::vector<Pass> whole(const PassContext& context);
  /// Returns the passes up to the last one of that name, included. Errors: kNotFound, slug
  /// "unknown-pass", with the nearest name.
  static Result<std::vector<Pass>> until(std::string_view name, const PassContext& context);
  /// Returns the passes after those of `until`.
  static Result<std::vector<Pass>> after(std::string_view name, const PassContext& context);
};
/// Return the passes up to and including partition_graph, and those after it.
std::vector<Pass> partition_pipeline(const PassContext& context);
std::vector<Pass> codegen_pipeline(const PassContext& context);

}  // namespace byoc
