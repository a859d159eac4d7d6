// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes that bind inputs, sizes and arguments, and the values that they take.
#include "byoc/ir/dim.h"
#include "byoc/pass/pass.h"

namespace byoc {

/// Turns the entry parameters named in `values` into constants. Errors: unknown name, dtype or
/// shape mismatch.
struct BoundTensor {
  TensorType type;                     ///< dtype and shape
  std::shared_ptr<const Buffer> data;  ///< the elements, compact
};
/// Replaces parameters of the entry function by constants. Errors: an unknown name, another type.
Result<IRModule> bind_params(IRModule, const std::map<std::string, BoundTensor>& values,
                             const PassContext&);
/// Parses "axes=[0,1]" or "k=3" for an input of the entry with its dtype: --bind without a file.
/// Errors: unknown input; slug "bind-syntax".
Result<std::pair<std::string, BoundTensor>> parse_binding(const IRModule&, std::string_view text);
/// Replaces named sizes ("N" -> 1) or the shapes of whole entry inputs ("x" -> 1x3x224x224)
/// by numbers, everywhere. A range ("N" -> 1..64) keeps the name and sets its bounds. Errors: an
/// unknown name, a number outside the dim's bounds, dims that contradict.
Result<IRModule> bind_shapes(IRModule, const GivenShapes& shapes, const PassContext&);
/// Parses "N=1", "N=1..64", "x=1x3x224x224", "x=1..4x8", "x=" for a scalar: --shape. Errors: slug
/// "shape-syntax".
Result<std::pair<std::string, std::vector<GivenSize>>> parse_shape(std::string_view text);
/// Declares states (docs/state.md), each "past=present": an input and the output with its next
/// value; or "auto": those whose names follow the conventions of exporters, as
/// past_key_values.0.key and present.0.key. Errors: slug "state-syntax"; those of states_of
/// (byoc/ir/states.h).
Result<IRModule> bind_states(IRModule, const std::vector<std::string>& pairs, const PassContext&);
/// Sets the attribute `state_rows` of the entry: a result that update_rows makes of the parameter,
/// once or several times, changes in these rows alone. Errors: those of states_of.
Result<IRModule> note_state_rows(IRModule);
/// Moves constant arguments in calls of functions with `compiler` into a copy of the function, one
/// copy per distinct set of constants.
Result<IRModule> bind_constant_arguments(IRModule, const PassContext&);

}  // namespace byoc
