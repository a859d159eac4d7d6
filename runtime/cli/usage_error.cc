// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/command.h"

namespace byoc::cli {

Status usage_error(std::string message) { return invalid(std::move(message)).with_slug("usage"); }

}  // namespace byoc::cli
