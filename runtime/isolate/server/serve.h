// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace byoc::isolate {

/// Runs one plugin for the process at the other end of the socket that is the standard input, until
/// that closes it. Returns the exit code.
int serve_plugin();

}  // namespace byoc::isolate
