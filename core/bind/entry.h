// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entry function's inputs, as the user names them.
#include <optional>

#include "core/simplify/functions.h"

namespace byoc::simplify {

/// The entry function. Errors: slug "unknown-function".
Result<const Function*> entry_function(const IRModule& module);
/// One name per parameter: the user's (attribute `input_names`) where there is one.
std::vector<std::string> input_names(const Function& entry);
/// The number of the parameter called `name`, by its user's name or its own.
std::optional<uint32_t> input_number(const Function& entry, const std::string& name);
/// "the model has no input "x"; did you mean ...". `what` is "input" or "input or named size".
Status unknown_input(std::string_view what, const std::string& name,
                     const std::vector<std::string>& known);

}  // namespace byoc::simplify
