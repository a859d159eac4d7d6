// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most sources of plugins/onednn include.
#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "byoc/plugin/sdk/plugin.h"
#include "oneapi/dnnl/dnnl.hpp"
