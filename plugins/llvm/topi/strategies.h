// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::topi {

/// Returns the strategies of the llvm plugin: the direct computes, and "pointwise" for f32
/// convolutions, in blocked layouts or plain, that read one pixel each.
te::StrategyTable strategies();

}  // namespace byoc::llvm_plugin::topi
