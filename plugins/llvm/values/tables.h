// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables of sixteen floats that AVX-512 looks up in registers.
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "plugins/llvm/machine/machine.h"

namespace byoc::llvm_plugin {

constexpr unsigned kTable = 16;

/// Returns true where look_up and in_lanes_of_tables can be used.
bool has_tables(const Machine& machine);

/// Returns table[index mod 16] for each of the 8 or 16 lanes of i32.
llvm::Value* look_up(llvm::IRBuilder<>& b, const double (&table)[kTable], llvm::Value* index);

/// Computes a function of f32, which gets vectors of 8 or 16 lanes whatever the form of x.
llvm::Value* in_lanes_of_tables(llvm::IRBuilder<>& b, llvm::Value* x,
                                llvm::function_ref<llvm::Value*(llvm::Value*)> function);

}  // namespace byoc::llvm_plugin
