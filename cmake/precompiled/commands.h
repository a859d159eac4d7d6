// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that the commands and their tools include.
#include <fstream>

#include "byoc/base/json.h"
#include "byoc/compile.h"
#include "byoc/runtime/session.h"
#include "precompiled/core.h"
