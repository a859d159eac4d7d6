// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that the tests' plugins in C++ include.
#include "byoc/plugin/sdk.h"
