// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes a failing graph as a folder that can be run again without the fuzzer.
#include "run.h"

namespace byoc::fuzz {

struct Fault {
  uint64_t seed = 0;
  std::string style;
  Configuration configuration;
  Outcome outcome;
};

/// Returns the command that makes and runs the graph of the fault again.
std::string command_of(const Fault& fault);
/// Returns the ops of a graph, in order: "relu add".
std::string ops_of(const Case& graph);
/// Writes a replay folder with the inputs and the right outputs, and into it model.ir for
/// other commands, and fault.txt with the difference and the command to repeat it. The folder
/// has the graph unchanged, so its plugin is the reference, and `byoc replay FOLDER --plugin
/// ID` partitions it.
Status write_fault(const Fault& fault, const Case& reduced, const std::string& folder);

}  // namespace byoc::fuzz
