// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/pass/pass.h"

namespace byoc {

/// The plugins that may take what `plugin` declined: those after it in the list of chosen ones.
std::vector<std::string> plugins_after(const std::string& plugin, const PassContext& context);

/// Partitions the plain functions `names`, and nothing else, for `plugins`: what these take becomes
/// functions with the attribute `compiler`, the rest stays.
Result<IRModule> offer_functions(IRModule module, const std::vector<Symbol>& names,
                                 const std::vector<std::string>& plugins,
                                 const PassContext& context);

}  // namespace byoc
