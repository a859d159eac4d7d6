// SPDX-License-Identifier: Apache-2.0
#pragma once
// Links objects to one shared object by lld inside this process, so neither compiler nor linker has
// to be installed.
#include <span>
#include <string>

#include "plugins/llvm/machine/machine.h"

namespace byoc::llvm_plugin {

/// Returns true for functions outside of the object that code may call: those of libm, and those
/// that LLVM calls for loops that copy or fill.
bool is_libm(std::string_view symbol);
bool is_libc(std::string_view symbol);

/// Returns a shared object whose one dynamic symbol is `exported`. Libraries it needs are named in
/// it (libm.so.6, libc.so.6) when `objects` call them, and their files are not read: equal objects
/// give equal bytes on every machine. One link at a time in the process; thread-safe.
/// Errors: kInternal with lld's own words; kUnimplemented naming a function of no known library.
Result<std::string> link_shared(std::span<const std::string> objects, const std::string& exported,
                                const Machine& machine);

}  // namespace byoc::llvm_plugin
