// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor expressions of a module's functions, as `byoc print --te` shows them.
#include "byoc/base/json.h"
#include "byoc/translate/translate.h"

namespace byoc::driver {

/// Returns `function` when it is not empty; else the functions that plugins compile, or the entry
/// function when there are none yet.
std::vector<Symbol> functions_of_interest(const IRModule& module, const std::string& function);

/// Returns the Dag of one function, each call as its strategy of the highest level. Errors: those
/// of translation, with the function's name.
Result<te::Dag> dag_of(const IRModule& module, Symbol function, const te::Target& target);

/// Returns the stages with their axes, the op and choice that made them, and their text.
nlohmann::ordered_json dag_json(const IRModule& module, Symbol function, const te::Dag& dag);

}  // namespace byoc::driver
