// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds what keeps a compiled model from running here. No code of plugins, and none of the model,
// is loaded: files are read, and the results of earlier trials are looked up.
#include <span>
#include <string>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/runtime/sizes.h"

namespace byoc::driver {

/// The answer for one program.
struct Fitness {
  std::vector<Status> obstacles;     // a Session would refuse it with these errors; each once
  std::vector<std::string> remarks;  // what only loading shows, and what a Session warns of
  bool by_fallback = false;          // it runs by its fallback, since there are obstacles
  bool can_run() const { return obstacles.empty() || by_fallback; }
};

/// Returns the answer for each program: the processor's features for native code, the files of
/// plugins (`search`, checked as before they are opened), their versions and their trials, devices
/// and functions of the host program, the fallback.
std::vector<Fitness> fitness_of(std::span<const SizedExecutable> sizes, const PluginSearch& search);

}  // namespace byoc::driver
