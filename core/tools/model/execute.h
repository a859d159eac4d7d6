// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running what was built, once.
#include <span>

#include "byoc/runtime/session.h"

namespace byoc::driver {

/// Outputs in the program's order; inputs likewise.
Result<std::vector<Tensor>> execute(const Session& session, Context& context,
                                    std::span<const Tensor> inputs);
/// Loads, runs, unloads.
Result<std::vector<Tensor>> execute(Executable executable, std::shared_ptr<const PluginSet> plugins,
                                    uint32_t threads, std::span<const Tensor> inputs);
Result<std::vector<Tensor>> make_tensors(const std::vector<NamedTensor>& types);

}  // namespace byoc::driver
