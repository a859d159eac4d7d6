// SPDX-License-Identifier: Apache-2.0
// The `byoc` command.
#include "core/driver/run_byoc.h"

int main(int argc, char** argv) { return byoc::driver::run_byoc(argc, argv); }
