// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models that are split between the device `sim` and the host.
#include <functional>

#include "support/flow.h"
#include "tests/sim/sim.h"

namespace byoc::test {

/// Returns sim with these options, wrapping `wraps`, and the plugins json and llvm as far as they
/// were built.
std::shared_ptr<const PluginSet> sim_plugins(std::map<std::string, std::string> options = {},
                                             const std::string& wraps = "json");
/// Returns the options with which sim counts its work, and waits at random.
inline std::map<std::string, std::string> counted(sim::Counts& counts,
                                                  const std::string& delay_us = "0") {
  return {{"counts", std::to_string(reinterpret_cast<uintptr_t>(&counts))}, {"delay_us", delay_us}};
}
/// Returns the module simplified, so that its ops can be counted.
IRModule simplified(IRModule module, const std::shared_ptr<const PluginSet>& plugins);
/// Returns the number of ops in all functions that a run executes.
size_t count_ops(const IRModule& module);
/// Compiles with the ops for which `is_on_sim` returns true on sim, and the others by `host`. Ops
/// are numbered as count_ops counts them.
Executable split(const IRModule& simplified, const std::function<bool(size_t)>& is_on_sim,
                 const std::shared_ptr<const PluginSet>& plugins, const std::string& host = "json");

/// The bytes that copies of one run move, by the program.
struct CopiedBytes {
  uint64_t in = 0, out = 0;
};
/// Counts them in the list of steps, for a program without control flow.
CopiedBytes copied_bytes(const Program& program);
/// Expects equal bytes.
void expect_same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace byoc::test
