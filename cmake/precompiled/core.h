// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most sources of core/ include.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
#include "byoc/te/tensor.h"
