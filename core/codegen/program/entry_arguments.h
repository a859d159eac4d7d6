// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inputs, outputs and states of a program.
#include "byoc/ir/module.h"
#include "byoc/runtime/artifact.h"

namespace byoc {

/// The numbers of the program's inputs and outputs: those of states come last, in equal order.
struct EntryArguments {
  std::vector<uint32_t> input_of, output_of;  ///< per parameter, and per result of the entry
};

/// Adds the inputs, outputs and states of the entry function to a program. Errors: those of
/// states_of; slug "symbolic-shape".
Result<EntryArguments> add_arguments(const Function& entry, Program& program);

/// Returns the type of a value at run time. Errors: slug "symbolic-shape", with the node.
Result<TensorSpec> spec_of(const Function& function, ValueId value);

}  // namespace byoc
