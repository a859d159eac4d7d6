// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plugins for functions whose body is loops (te/module.h).
#include "byoc/pass/pass.h"

namespace byoc {

/// Sets `compiler` and `global_symbol` of every function with loops: to the plugin that `compiler`
/// names already, or to the first one with the flag LOOPS among the chosen plugins and then the
/// default codegens. Does nothing without a set of plugins. Errors: slug "no-loops-codegen" when
/// there is none, or when the named one has not the flag; "loops-entry" when the entry has loops.
Status assign_loops(IRModule& module, const PassContext& context);
/// Sets them to the next such plugin after `declined`, which did not compile @name; `why` is its
/// reason. Errors: as above.
Status reassign_loops(Function& function, Symbol name, const std::string& declined,
                      const Status& why, const PassContext& context);

}  // namespace byoc
