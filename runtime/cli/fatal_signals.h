// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace byoc::cli {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. Inside a call of a plugin
/// they print the plugin, the slot and the function on stderr before the process ends. A call of
/// exit or quick_exit there is reported likewise, and the exit code is 1; _exit cannot be seen.
/// Elsewhere signals do what they did before. The calling thread gets a separate stack for the
/// handlers, so that its stack overflows are reported as well. For commands only: handlers
/// belong to the whole process.
void report_fatal_signals();

/// Makes failed allocations errors of the command: those in functions that must not throw print the
/// error and end the process with exit code 1. Keeps memory that is released when an allocation
/// fails, so that there is some for the error itself, and a mebibyte of stack, which the kernel
/// could not extend then. For commands only: handlers belong to the whole process.
void report_failed_allocations();
/// Prints the error of a failed allocation on stderr; allocates nothing.
void print_out_of_memory();

}  // namespace byoc::cli
