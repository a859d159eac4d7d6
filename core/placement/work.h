// SPDX-License-Identifier: Apache-2.0
#pragma once
// The work of ops: arithmetic, memory and class, which the analytic model of costs is made of.
#include <optional>
#include <span>
#include <string>

#include "byoc/ir/module.h"

namespace byoc::placement {

/// Classes of ops that a plugin runs with about one efficiency.
enum class OpClass : uint8_t {
  kConvolution,
  kPointwise,  // convolutions with kernels of 1x1
  kDepthwise,  // convolutions with groups
  kMatmul,
  kPooling,
  kElementwise,
  kFunction,  // elementwise ops of many operations per element, such as exp
  kReduction,
  kMove,
  kFree,  // reshapes: no work
  kOther
};
inline constexpr size_t kOpClasses = 11;
std::string_view class_name(OpClass op_class);
/// Returns the class of that name, kOther when there is none.
OpClass class_of_name(std::string_view name);

struct Work {
  double flops = 0, bytes = 0;  // bytes: operands and results, each once
  OpClass op_class = OpClass::kOther;
};

/// Returns the work of a node, which is an op or the call of a composite.
Work work_of(const IRModule& module, const Function& function, uint32_t node);
/// Returns the work of these ops when they run as one: the values between them are not moved.
/// `root` is the op whose results leave.
Work work_of(const Function& function, std::span<const uint32_t> nodes, uint32_t root);

/// Returns the function with a number for each open size, for which the times of a choice are
/// estimated: 4 for sizes of first dims of parameters, such as images, 128 for others, such as
/// rows, or the bound that is nearest. Nodes are the same. nullopt for a function without open
/// sizes. Dims that a run counts stay.
std::optional<Function> at_sample_sizes(const Function& function);

/// Returns a text that is equal for candidates that cost the same: ops, attributes, types,
/// constness and the order of operands, without names and without the contents of constants. Stable
/// across processes and hosts.
std::string canonical_text(const Function& function, std::span<const uint32_t> nodes);
/// Returns such a text of all functions that the entry reaches, with pins: plans find graphs by it.
std::string graph_text(const IRModule& module);

}  // namespace byoc::placement
