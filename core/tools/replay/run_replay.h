// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a stored function by the plugin that it came from, or by another.
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
  bool as_stored = false;               // the stored graph; else its ops, partitioned again
  size_t ops = 0, taken = 0;            // ops (composites dissolved), and those the plugin ran
  std::vector<ReplayVerdict> verdicts;  // of judge, per node of the graph (as stored), or refusals
  std::string declined;                 // why compile declined; then nothing was run
  std::vector<ComparedValue> outputs;
  bool passed() const;
};

/// What is about to run: no program when the plugin takes none of it or declined it.
struct ReplayProgram {
  Replayed facts;  // without outputs
  std::optional<Executable> executable;
};

/// The plugin that compiled it is given the very graph; another one the ops, as in a compilation
/// with --compiler `plugin`, where what it refuses goes to the default codegens. A negative
/// tolerance means the stored one. Errors: those of compiling, loading and running.
Result<ReplayProgram> compile_replay(const ReplayCase& replay, const Plugin& plugin,
                                     std::shared_ptr<const PluginSet> plugins);
Result<Replayed> run_replay(const ReplayCase& replay, const Plugin& plugin,
                            const std::shared_ptr<const PluginSet>& plugins, double tolerance);

/// The stored graph as a module of one function, its entry.
Result<IRModule> module_of(const ReplayCase& replay);

}  // namespace byoc::driver
