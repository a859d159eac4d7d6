// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about a call that several families need.
#include "plugins/llvm/families/family.h"

namespace byoc::llvm_plugin {

/// The attribute of a function with the number of its inputs: later parameters are constants.
inline constexpr const char* kInputsAttr = "llvm.inputs";
/// The attribute of a function without results that round otherwise than direct sums.
inline constexpr const char* kExactSumsAttr = "llvm.exact_sums";
/// The attribute of a function whose packed weights other sizes of the model share.
inline constexpr const char* kSharedWeightsAttr = "llvm.shared_weights";

/// Levels of computes; the direct one has 10. A possible one is never the usual choice. Of the
/// others the one of the least estimated cost is, or where there are no estimates the one of the
/// highest level.
inline constexpr int kPossible = 5, kPreferred = 20;
/// Estimates are in cycles, of a processor of 4 GHz.
inline constexpr double kCyclesPerNs = 4;

/// Returns a strategy's estimate.
std::function<double(const te::Site&)> cost_of(double cycles);

bool has_exact_sums(const te::Site& site);
bool has_shared_weights(const te::Site& site);
/// Returns true for weights that are constants, or parameters after the inputs of a graph that came
/// with constants (read_function).
bool has_constant_weight(const te::Site& site, size_t operand = 1);
/// Returns true for convolutions of f32 whose constant weights have blocks of half a vector.
bool has_half_blocks(const te::Site& site);
/// Returns the number of columns in a panel that fits the vectors, as the layouts of the plugin.
int64_t panel_columns(const te::Target& target);

}  // namespace byoc::llvm_plugin
