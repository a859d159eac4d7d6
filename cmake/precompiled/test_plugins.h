// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests' plugins in C++ include.
#include "byoc/plugin/sdk.h"
