#pragma once
// What the tests' plugins in C++ include.
#include "byoc/plugin/sdk.h"
