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

/// The command that makes and runs the graph of the fault again.
std::string command_of(const Fault& fault);
/// "relu add": the ops of a graph, in order.
std::string ops_of(const Case& graph);
/// Writes a replay folder with the inputs and the right outputs, beside them model.ir for other
/// commands, and fault.txt with what differs and how to repeat it. The folder has the graph as it
/// is, so its plugin is the reference, and `byoc replay FOLDER --plugin ID` partitions it.
Status write_fault(const Fault& fault, const Case& reduced, const std::string& folder);

}  // namespace byoc::fuzz
