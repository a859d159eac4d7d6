// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::chain {

/// Returns true for a conv2d_nchwc that leads to a depthwise one through elementwise ops, or to
/// which a depthwise one leads, and for that one: in a function that the core made, those of a
/// chain. They have the direct computes, with rows and columns as axes of their own.
bool is_in_chain(const te::Site& site);

}  // namespace byoc::llvm_plugin::chain
