// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every public pass with its promise. All run on every function of the module (or on those
// reachable from the entry, where stated), keep annotations, and change nothing when run a
// second time.
// Sources that need the passes of one group include that group's header.
#include "byoc/pass/bind.h"
#include "byoc/pass/codegen.h"
#include "byoc/pass/partition.h"
#include "byoc/pass/simplify.h"
