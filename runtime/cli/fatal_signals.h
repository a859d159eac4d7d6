// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace byoc::cli {

/// From now on a fatal signal in a call of a plugin (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT)
/// prints the plugin, the slot and the function on stderr before it ends the process. Elsewhere
/// signals do what they did before. The calling thread gets a stack of its own for it, so that its
/// stack overflows are reported as well. For commands: handlers are the whole process's.
void report_fatal_signals();

}  // namespace byoc::cli
