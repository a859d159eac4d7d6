#pragma once
// What most sources of core/op include.
#include <array>
#include <cmath>

#include "precompiled/core.h"
#include <Eigen/Core>
