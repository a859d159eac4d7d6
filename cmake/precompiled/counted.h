// SPDX-License-Identifier: Apache-2.0
#pragma once
// Headers that most passes include, for tests/counts, which compiles the passes again.
#include "byoc/pass/pass.h"
#include "byoc/text/text.h"
#include "precompiled/core.h"
