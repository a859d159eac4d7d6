// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most sources of core/op include.
#include <array>
#include <cmath>

#include <Eigen/Core>
#include "precompiled/core.h"
