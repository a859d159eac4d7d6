// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most sources of plugins/llvm include.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/schedule.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
