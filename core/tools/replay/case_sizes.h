// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers for the open sizes of a graph, and the program that runs it with them.
#include "byoc/compile.h"
#include "core/tools/replay/replay_case.h"

namespace byoc::driver {

using SizeNumbers = std::map<std::string, int64_t>;  // by name

/// Returns the elements of all values of a module at these sizes; infinity where a dim overflows.
/// Sizes without a number count with their least one.
double elements_at(const IRModule& module, const SizeNumbers& numbers);
/// Chooses a number for each open size of the inputs: 128, or the bound that is nearest to it. The
/// greatest are halved until the values have at most 2^22 elements in all. O(nodes) each time.
SizeNumbers usual_sizes(const IRModule& graph);
/// Returns the type with numbers in place of these sizes. Errors: those of with_sizes; slug
/// "symbolic-shape" for a dim without a bound.
Result<TensorSpec> spec_at(TypeId type, const SizeNumbers& numbers);

/// Gives a part of a model its open sizes, which a run reads from inputs: for each size that no
/// parameter of the entry has by itself, adds a parameter u8[T], which nothing reads, to the entry,
/// and a tensor with the number of the size to `inputs`. `numbers` has all sizes of the model.
/// Errors: those of Tensor::make.
Status give_sizes(IRModule& module, const SizeNumbers& numbers, std::vector<Tensor>& inputs);

/// Returns a program whose one step runs what was compiled of the case. A program of open sizes has
/// an input more for each of them, u8[T], which no step reads: inputs of a region may have a size
/// in expressions only, from which it does not follow.
Result<Executable> program_of(const ReplayCase& replay, CompileResult compiled);
/// Returns copies of the inputs of the case for a program of it: of program_of, or of the graph at
/// these sizes.
Result<std::vector<Tensor>> inputs_for(const ReplayCase& replay, const Program& program);

}  // namespace byoc::driver
