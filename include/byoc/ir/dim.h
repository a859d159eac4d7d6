// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic with dims. Results are numbers, named sizes, or expressions in one canonical form, so
// that equal computations give equal dims: B*T and T*B, (2*T)/2 and T. Thread-safe.
#include <functional>
#include <optional>

#include "byoc/ir/type.h"

namespace byoc {

/// Errors of all: kOutOfRange, slug "size-overflow", when a number does not fit in 63 bits;
/// kInvalidArgument, slug "size-bounds", when no size within the bounds gives a result of at least
/// 0; kUnimplemented, slug "symbolic-shape", for counted dims, which are not computed with.
Result<Dim> dim_sum(Dim a, Dim b);
Result<Dim> dim_difference(Dim a, Dim b);               ///< a - b
Result<Dim> dim_product(Dim a, Dim b);                  ///< a * b
Result<Dim> dim_quotient(Dim a, int64_t divisor);       ///< a / divisor, rounded down; divisor >= 1
Result<Dim> dim_ceil_quotient(Dim a, int64_t divisor);  ///< a / divisor, rounded up
Result<Dim> dim_min(Dim a, Dim b);                      ///< the smaller one
Result<Dim> dim_max(Dim a, Dim b);                      ///< the larger one
/// Returns a / b where every term of `a` has the factor b; nullopt where that is not known.
std::optional<Dim> dim_exact_quotient(Dim a, Dim b);

/// Returns the named sizes that a dim is made of, by name: none of a number, itself of a named one.
std::vector<Dim> sizes_in(Dim dim);
/// Returns the dim with other dims for named sizes; nullopt leaves one as it is. Errors: as above.
Result<Dim> with_sizes(Dim dim, const std::function<std::optional<Dim>(Dim size)>& replace);
/// Returns the expression of these sizes. Errors: those of SizeExpression::parse, and those above;
/// kInvalidArgument for a name that `sizes` does not have.
Result<Dim> parse_dim_expression(std::string_view text, std::span<const Dim> sizes);

/// Returns true when a dim is a named size or an expression: known once the inputs of a run are.
inline bool is_open(Dim dim) { return !dim.is_static() && !dim.is_counted(); }
/// Returns true when a dim of the shape is open.
bool has_open(const Shape& shape);

}  // namespace byoc
