// SPDX-License-Identifier: Apache-2.0
// The command of byoc/c/byoc.h.
#include "byoc/c/byoc.h"
#include "core/driver/run_byoc.h"

int byoc_command(int argc, char** argv) { return byoc::driver::run_byoc(argc, argv); }
