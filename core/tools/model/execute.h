// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a compiled program, once or at several sizes.
#include <span>

#include "byoc/runtime/session.h"

namespace byoc {
class RepeatedRuns;
}

namespace byoc::driver {

/// Runs the session on `inputs` and returns the outputs, both in the program's order.
Result<std::vector<Tensor>> execute(const Session& session, Context& context,
                                    std::span<const Tensor> inputs);
/// Likewise as one of several runs, whose states may begin at zeros again.
Result<std::vector<Tensor>> execute(const Session& session, Context& context,
                                    std::span<const Tensor> inputs, RepeatedRuns& runs);
/// Loads the program, runs it once per element of `runs`, whose sizes may differ, in one context,
/// and unloads it. Returns the outputs of each run.
Result<std::vector<std::vector<Tensor>>> execute_each(Executable executable,
                                                      std::shared_ptr<const PluginSet> plugins,
                                                      uint32_t threads,
                                                      std::span<const std::vector<Tensor>> runs);
/// Loads the program, runs it once and unloads it.
Result<std::vector<Tensor>> execute(Executable executable, std::shared_ptr<const PluginSet> plugins,
                                    uint32_t threads, std::span<const Tensor> inputs);
Result<std::vector<Tensor>> make_tensors(const std::vector<NamedTensor>& types);

}  // namespace byoc::driver
