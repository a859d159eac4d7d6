// SPDX-License-Identifier: Apache-2.0
// The `byoc` command of packages, whose code is in libbyoc.so.
#include "byoc/c/byoc.h"

int main(int argc, char** argv) { return byoc_command(argc, argv); }
