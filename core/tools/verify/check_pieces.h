// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares pieces of regions that round several times, each on right inputs: errors of a step may
// add up to several in the whole region, and in a piece they may not.
#include <optional>

#include "core/tools/model/compare.h"
#include "core/tools/replay/region_values.h"

namespace byoc::driver {

struct WrongPiece {
  size_t region = 0;           // its number
  IRModule module;             // the fused module; its region consists of the piece alone
  std::vector<Tensor> inputs;  // right values of the piece's parameters
  ComparedValue output;
};

struct CheckedPieces {
  size_t pieces = 0;
  std::optional<WrongPiece> first_wrong;
};

/// Compiles the pieces of these regions, by number, by their plugins, and compares them with the
/// reference. A region that is one piece is left out. Errors: those of compiling and running.
Result<CheckedPieces> check_pieces(const RegionValues& values, const std::vector<size_t>& regions,
                                   double tolerance);

}  // namespace byoc::driver
