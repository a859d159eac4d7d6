// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a stored function by the plugin that compiled it, or by another.
#include <optional>

#include "byoc/compile.h"
#include "core/tools/model/compare.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

struct ReplayVerdict {
  std::string op, node;  // node: the user's name, may be empty
  Verdict::Accept accept = Verdict::kNo;
  std::string reason;
};

struct Replayed {
  std::string plugin, version;
  bool as_stored = false;               // ran the stored graph, not its ops partitioned again
  size_t ops = 0, taken = 0;            // ops after inlining composites; those it ran
  std::vector<ReplayVerdict> verdicts;  // of judge, per node of the graph (as stored), or refusals
  std::string declined;                 // the reason why compile declined; then nothing was run
  std::vector<ComparedValue> outputs;
  bool passed() const;
};

/// A compiled case. It has no program when the plugin takes none of the ops or declined them.
struct ReplayProgram {
  Replayed facts;  // without outputs
  std::optional<Executable> executable;
};

/// Compile a case; the second function also runs it. The plugin that compiled the case gets the
/// stored graph. Another one gets the ops, as with --compiler `plugin`; the default codegens get
/// those that it refuses. A negative tolerance means the stored one. Errors: those of compiling,
/// loading and running.
Result<ReplayProgram> compile_replay(const ReplayCase& replay, const Plugin& plugin,
                                     std::shared_ptr<const PluginSet> plugins);
Result<Replayed> run_replay(const ReplayCase& replay, const Plugin& plugin,
                            const std::shared_ptr<const PluginSet>& plugins, double tolerance);

/// Returns the stored graph as a module of one function, its entry.
Result<IRModule> module_of(const ReplayCase& replay);

}  // namespace byoc::driver
