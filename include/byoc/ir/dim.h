// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic with dims. Results are numbers, named sizes, or expressions in one canonical form, so
// that equal computations give equal dims: B*T and T*B, (2*T)/2 and T. Thread-safe.
#include <functional>
#include <map>
#include <optional>

#include "byoc/base/external.h"
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
/// Returns the product of the dims: equal for shapes that have as many elements in every run, as
/// far as that follows from their expressions.
Result<Dim> element_count(const Shape& shape);

/// Returns the named sizes that a dim is made of, by name: none of a number, itself of a named one.
std::vector<Dim> sizes_in(Dim dim);
/// Returns the dim with other dims for named sizes; nullopt leaves one as it is. Errors: as above.
Result<Dim> with_sizes(Dim dim, const std::function<std::optional<Dim>(Dim size)>& replace);
/// Returns the expression of these sizes. Errors: those of SizeExpression::parse, and those above;
/// kInvalidArgument for a name that `sizes` does not have.
Result<Dim> parse_dim_expression(std::string_view text, std::span<const Dim> sizes);

/// Reads the text that print_to writes of a dim. Errors: kInvalidArgument, slug "size-syntax".
Result<Dim> parse_dim(std::string_view text);

/// A size that a user gives: a number, or every one from `least` to `most`.
struct GivenSize {
  int64_t least = 0, most = 0;                                    ///< both included
  GivenSize(int64_t number) : least(number), most(number) {}      // NOLINT: implicit by design
  GivenSize(int64_t from, int64_t to) : least(from), most(to) {}  ///< A range.
  bool is_number() const { return least == most; }                ///< true unless it is a range
  friend bool operator==(const GivenSize&, const GivenSize&) = default;
};
void print_to(std::string& out, const GivenSize& size);  ///< "4", "1..128"
/// The sizes by name: of a named size one, of an input all of its dims.
using GivenShapes = std::map<std::string, std::vector<GivenSize>>;

std::vector<GivenSize> given_shape(const Shape& shape);  ///< all dims must be static

/// Returns the type as programs have it: with the bounds of counted and open dims. Errors:
/// kInvalidArgument, slug "symbolic-shape", when a dim has no upper bound.
Result<TensorSpec> program_type(const TensorType& type);

/// Returns true when a dim is a named size or an expression: known once the inputs of a run are.
inline bool is_open(Dim dim) { return !dim.is_static() && !dim.is_counted(); }
/// Returns true when a dim of the shape is open.
bool has_open(const Shape& shape);

}  // namespace byoc
