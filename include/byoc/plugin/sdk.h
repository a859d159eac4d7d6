// SPDX-License-Identifier: Apache-2.0
#pragma once
// The C++ wrapper for plugin authors: headers alone, on top of the C ABI (abi.h). Derive from
// byoc::sdk::Plugin, put BYOC_PLUGIN(Class, "id", "1.0.0") in one file, build with
// byoc_add_plugin(). plugins/example is a template to copy. Other files of a plugin can include
// sdk/plugin.h alone.
#include "byoc/plugin/sdk/entry.h"
#include "byoc/plugin/sdk/match.h"
