// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that are computed in f64, without branches, scalars or vectors. `b` makes no fast-math
// assumptions. The comments have the errors against the true value, in units in the last place, as
// math_test measures them.
#include "byoc/te/expr.h"
#include "llvm/IR/IRBuilder.h"

namespace byoc::llvm_plugin {

/// Emit functions of f64.
llvm::Value* emit_exp_f64(llvm::IRBuilder<>& b, llvm::Value* x);   // 1.0
llvm::Value* emit_log_f64(llvm::IRBuilder<>& b, llvm::Value* x);   // 1.0
llvm::Value* emit_tanh_f64(llvm::IRBuilder<>& b, llvm::Value* x);  // 3.0

/// The largest |x| of sin, cos and tan, except for infinity: the reduction is exact below.
constexpr double kLargestAngle = 1e6;
/// Emits a function of f32, sin to atanh in the order of UnaryOp: 0.51.
llvm::Value* emit_in_f64(llvm::IRBuilder<>& b, te::UnaryOp op, llvm::Value* x);
/// Emits C's pow of f32: 0.51.
llvm::Value* emit_pow(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y);

}  // namespace byoc::llvm_plugin
