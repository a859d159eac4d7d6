// SPDX-License-Identifier: Apache-2.0
#pragma once
// Programs as text, run by plugins and by the reference.
#include "support/flow.h"

namespace byoc::test {

/// Parses `text`; parameters named w... become random constants.
IRModule with_constants(const std::string& text);
/// Returns the number of ops that `plugin` runs.
uint64_t ops_of(const Executable& executable, const std::string& plugin);
Executable built_by(std::shared_ptr<const PluginSet> plugins, const IRModule& module,
                    std::vector<std::string> compilers, int level);
/// The composites that onednn forms of `module`, by name, and the ops of its function main that are
/// in none.
struct Formed {
  std::vector<std::string> composites;  // "onednn.conv2d"
  std::vector<std::string> ops;
};
Formed formed_by_onednn(std::shared_ptr<const PluginSet> plugins, const IRModule& module);
/// Returns the outputs on inputs that occupy every second cell of their memory; no
/// stride is negative.
std::vector<Tensor> execute_strided(const Executable& executable,
                                    std::shared_ptr<const PluginSet> plugins, uint64_t seed = 1);

}  // namespace byoc::test
