// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most sources of runtime/ include.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byoc/base/external.h"
#include "byoc/base/status.h"
