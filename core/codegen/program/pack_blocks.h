// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the orders in which the runs of a program of open sizes place the blocks of their arena.
#include "byoc/runtime/artifact.h"

namespace byoc {

/// Sets Program::packing, from the numbers of blocks in its places. Plans an arena for small, usual
/// and large sizes within the bounds, and takes the order of the offsets of each plan, each order
/// once. Errors: those of OpenSizes::make.
Status pack_blocks(Program& program);

}  // namespace byoc
