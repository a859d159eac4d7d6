// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most tests include.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "byoc/base/json.h"
#include "byoc/ir/visit.h"
#include "byoc/op/registry.h"
