// SPDX-License-Identifier: Apache-2.0
#pragma once
// Explains for each op of a model which plugin runs it, and why the others do not.
#include "byoc/compile.h"
#include "core/tools/reasons/unjoined.h"
#include "core/tools/show/opinions.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

/// An op that runs, in the function that computes it.
struct RunOp {
  Symbol op, plugin, function;
};

struct ExplainedOp {
  PlacedOp placed;                // name and op as the model has them
  Symbol label;                   // its loc in the modules that instruments are given; unique
  std::vector<RunOp> runs;        // the ops that compute it: itself, then changes of layout
  std::vector<Opinion> opinions;  // in the order of the plugins
  Symbol by_priority;             // chosen by cost: the plugin that the order would give it to
};

/// An op of the model that does not run.
struct RemovedOp {
  Symbol op, name;
  Symbol how, pass;  // how: "folded", "merged" or "removed"
  Symbol into;       // merged: the name of the equal op, when it is known
  std::string reason;
};

/// Two regions of one plugin that are not one.
struct UnjoinedRegions {
  UnjoinedPair pair;
  std::string reason;
  /// The ops of `pair.through` as the model names them, with the reasons of the regions' plugin.
  struct Between {
    Symbol op, name;
    std::string reason;
  };
  std::vector<Between> through;
};

struct Explanation {
  Placement placement;  // of the ops of the model that run; the regions are the compiled functions
  std::vector<ExplainedOp> ops;
  std::vector<RemovedOp> removed;
  std::vector<UnjoinedRegions> unjoined;  // in the order of functions and of regions
  std::vector<RunOp> added;           // ops that passes add and that come from no op of the model
  std::vector<std::string> plugins;   // in the order of priority, default codegens last
  std::vector<std::string> choices;   // by cost: the plan, or what is predicted for each function
  std::vector<std::string> warnings;  // plans, rules and symbols that could not be used
  std::string uncompiled;             // the reason why code generation failed; else empty
};

/// Runs the pipeline of build() on `module` with an instrument, and collects the plugins' remarks.
/// Ops are identified by node, since names need not be unique. Errors: those of the passes up to
/// partition_graph; `uncompiled` has those of later ones. Cost: a build, and O(nodes) per pass.
/// `selected`: the ops of this name also have the tests of patterns that failed.
Result<Explanation> explain(IRModule module, BuildOptions options, Symbol selected = {});

}  // namespace byoc::driver
