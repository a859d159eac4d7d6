// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace byoc::cli {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. Inside a call of a plugin
/// they print the plugin, the slot and the function on stderr before the process ends.
/// Elsewhere signals do what they did before. The calling thread gets a separate stack for the
/// handlers, so that its stack overflows are reported as well. For commands only: handlers
/// belong to the whole process.
void report_fatal_signals();

}  // namespace byoc::cli
