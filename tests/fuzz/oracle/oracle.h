// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes the right values of a graph, and the allowed error of a correct program.
//
// Right values are those of the reference kernels. The error comes from the graph itself: it is
// evaluated several times with operands and results of every op that rounds moved at random by some
// units in the last place, and sums by as much as another order may move them (sums.h). Where the
// evaluations differ, rounding matters, and by as much as they differ. Others (integers, moved
// elements, maxima) must be equal.
//
// A graph is refused where such a small movement changes much: a comparison of nearly equal values,
// the floor of a value near an integer, a quotient by a cancelled difference. Its results are not
// determined, and so are never compared.
#include "case.h"

namespace byoc::fuzz {

/// A value of the graph.
struct Known {
  TypeId type;
  Bytes right;
  std::vector<Bytes> moved;  // evaluations with rounding errors; empty: no rounding reaches it
  bool is_exact() const { return moved.empty(); }
};

Known exact(TypeId type, Bytes data);

/// The sums that a program may compute instead of those of the reference kernels: kInTiles has
/// Winograd's and Strassen's convolutions as well, however small they are.
enum class Sums { kDirect, kInTiles };

/// Returns the results of one op. Errors: those of the reference kernel; kFailedPrecondition when
/// the results are not determined, or too large to stay so.
Result<std::vector<Known>> evaluate_step(const OpDef& op, const Attrs& attrs,
                                         const std::vector<const Known*>& args,
                                         const std::vector<TypeId>& types, uint64_t seed,
                                         Sums sums = Sums::kDirect);
/// The seed of the rounding errors of a whole graph.
inline constexpr uint64_t kOracleSeed = 1;
/// Returns the results of a graph. Errors: as evaluate_step.
Result<std::vector<Known>> evaluate_case(const Case& graph, uint64_t seed,
                                         Sums sums = Sums::kDirect);

/// Returns the allowed error of each element. Empty: all of them must be equal.
std::vector<double> allowed_errors(const Known& known);
/// Returns "" when `got` is right, else the worst element: "[1,2] is 3 instead of 4, allowed error
/// 1e-6". NaN equals NaN, an infinity equals only itself.
std::string difference(const std::byte* got, const Known& wanted);

}  // namespace byoc::fuzz
