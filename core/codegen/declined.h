// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// Returns the plugins that may take what `plugin` declined: the chosen ones after it.
std::vector<std::string> plugins_after(const std::string& plugin, const PassContext& context);

/// Partitions the plain functions `names`, and no others, for `plugins`. Ops that these take move
/// into functions with the attribute `compiler`; the other ops stay.
Result<IRModule> offer_functions(IRModule module, const std::vector<Symbol>& names,
                                 const std::vector<std::string>& plugins,
                                 const PassContext& context);

}  // namespace byoc
