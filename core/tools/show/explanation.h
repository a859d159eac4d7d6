#pragma once
// Per op: who runs it, and what each plugin that was asked before said.
#include "byoc/compile.h"
#include "core/tools/show/placement.h"

namespace byoc::driver {

struct Opinion {
  Report::Remark::Kind kind = Report::Remark::kRefused;
  Symbol plugin, reason;
};

struct ExplainedOp {
  PlacedOp placed;
  std::vector<Opinion> opinions;  // of plugins in the order they were asked
};

struct Explanation {
  Placement placement;  // where ops ended: what was declined has moved on
  std::vector<ExplainedOp> ops;
  std::vector<std::string> plugins;  // in the order of priority, default codegens last
  std::string uncompiled;            // why code generation did not end well; else empty
};

/// Partitions, fuses and compiles `module`, and gathers what was said. Errors: those of the passes
/// up to and with partition_graph; what fails later is told in `uncompiled`.
Result<Explanation> explain(IRModule module, BuildOptions options);

}  // namespace byoc::driver
