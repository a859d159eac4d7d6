// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entry function and the user's names of its inputs.
#include <optional>

#include "core/simplify/functions.h"

namespace byoc::simplify {

/// Returns the entry function. Errors: slug "unknown-function".
Result<const Function*> entry_function(const IRModule& module);
/// Returns one name per parameter: the user's (attribute `input_names`) where there is one,
/// otherwise the parameter's own.
std::vector<std::string> input_names(const Function& entry);
/// Returns the number of the parameter whose user's name or own name is `name`.
std::optional<uint32_t> input_number(const Function& entry, const std::string& name);
/// Returns the error `the model has no input "x"; did you mean ...`. `what` is "input" or "input or
/// named size".
Status unknown_input(std::string_view what, const std::string& name,
                     const std::vector<std::string>& known);

}  // namespace byoc::simplify
