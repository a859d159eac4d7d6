// SPDX-License-Identifier: Apache-2.0
#pragma once
// The states of an entry function: pairs of a parameter and a result, which a Context of the
// runtime connects, so that each run reads the value that the run before computed (docs/state.md).
#include "byoc/ir/module.h"

namespace byoc {

/// Attributes of an entry function with states: the names of the parameters; those of the results;
/// per state the types of the rows that ops write into it, with spaces between, or "".
inline constexpr const char* kStateInputsAttr = "state_inputs";
inline constexpr const char* kStateOutputsAttr = "state_outputs";
inline constexpr const char* kStateRowsAttr = "state_rows";

/// A parameter and a result of one type.
struct StatePair {
  uint32_t param = 0, result = 0;  ///< numbers of the parameter and of the result
};

/// Returns a name per result: that of the attribute `output_names`, or "output0".
Strings result_names(const Function& entry);
/// Returns the states by the function's attributes, in their order. Errors: slug "unknown-state"
/// for a name that no parameter or result has; slug "state-twice"; slug "state-type" for pairs of
/// different types, and for types with sizes that are no numbers. Cost: linear.
Result<std::vector<StatePair>> states_of(const Function& entry);
/// Sets the attributes; none of them for no states.
void set_states(Function& entry, const std::vector<StatePair>& states);
/// Makes states of the entry plain inputs and outputs.
IRModule without_states(IRModule module);

}  // namespace byoc
