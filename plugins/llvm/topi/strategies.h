// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "byoc/translate/translate.h"

namespace byoc::llvm_plugin::topi {

/// The attribute of a function with the number of its inputs: later parameters are constants.
inline constexpr const char* kInputsAttr = "llvm.inputs";
/// The attribute of a function without results that round otherwise than direct sums.
inline constexpr const char* kExactSumsAttr = "llvm.exact_sums";
/// The compute of products with a constant matrix that is put into panels of columns at compile.
inline constexpr const char* kPackedCompute = "packed";

/// Returns the strategies of the llvm plugin: the direct computes; "pointwise" for f32
/// convolutions, in blocked layouts or plain, that read one pixel each; "pointwise_joined" for
/// those with blocks of half a vector and constant weights, "joined" for other convolutions with
/// such blocks; "winograd_4x4" and the like for convolutions with stride 1, the usual choice where
/// filters are constant and it costs less;
/// "strassen" for products of many rows with a constant matrix in panels, and for convolutions that
/// read one pixel each with constant weights, the usual choice where it costs less;
/// "packed" for products with a constant matrix that is not in panels; "panels" for recurrent nets
/// of f32 with constant matrices, and "strassen" for those with a large input.
te::StrategyTable strategies();

}  // namespace byoc::llvm_plugin::topi
