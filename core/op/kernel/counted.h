// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers of ops that count dims of their results, and of ops that compute with counted dims.
#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/ir/open_shape.h"
#include "core/op/kernel/util.h"

namespace byoc::op {

/// Returns the attribute `open_shape` (ir/open_shape.h).
inline AttrSpec open_shape_attr() {
  return {kOpenShapeAttr, Strings{}, "the dims of the result, when some are open sizes",
          AttrSpec::kOptional};
}

/// Returns an error unless an op has one of the attributes `shape` and `open_shape`.
inline Status check_has_shape(std::string_view op, const Attrs& attrs) {
  if (attrs.has("shape") || attrs.has(kOpenShapeAttr)) return {};
  return invalid(cat(op, " needs the attribute \"shape\" (list of integers)"))
      .with_slug("missing-attr");
}

/// Returns the error for a bound that does not fit.
inline Status too_large(std::string_view what) {
  return Status(Code::kOutOfRange,
                cat("the bound of the counted dim ", what, " does not fit in 63 bits"));
}

/// Returns the number or the name.
inline std::string name_of(Dim dim) {
  return dim.is_static() ? cat(dim.extent()) : dim.name().str();
}

/// Returns the attribute `size` of ops that count: the name of the counted dim.
inline AttrSpec size_attr() {
  return {"size", std::string(), "the name of the counted dim", AttrSpec::kRequired};
}

/// Returns the counted dim that the attribute `size` names, or the number for a bound of 0.
inline Result<Dim> counted_dim(std::string_view op, const Attrs& attrs, int64_t bound) {
  const std::string name = attrs.s("size");
  if (name.empty()) return invalid(cat(op, ": the attribute \"size\" is empty"));
  if (bound == Dim::kUnbounded) return too_large(name);
  return bound == 0 ? Dim(0) : Dim::counted(name, bound);
}

/// Returns the largest extent of a dim. Errors: slug "symbolic-shape" when it has no bound.
inline Result<int64_t> most_of(std::string_view op, Dim dim, TypeId x) {
  if (dim.max() != Dim::kUnbounded) return dim.max();
  return invalid(cat(op, ": dim ", dim, " needs an upper bound (x ", x, ")"))
      .with_slug("symbolic-shape")
      .with_help(cat("--shape ", dim.name(), "=1 sets it"));
}

/// Returns the largest number of elements of a type. Errors: as most_of; kOutOfRange when it does
/// not fit in 63 bits.
inline Result<int64_t> most_elements(std::string_view op, TypeId x) {
  Shape largest;
  for (Dim dim : x->shape) {
    BYOC_TRY(int64_t most, most_of(op, dim, x));
    largest.emplace_back(most);
  }
  return num_elements(largest);
}

/// Returns true when a dim is counted and the others are counted or numbers: the functions below
/// compute with these.
inline bool can_count(std::initializer_list<Dim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_counted(); }) &&
         std::all_of(dims.begin(), dims.end(),
                     [](Dim d) { return d.is_counted() || d.is_static(); });
}

/// Returns a + b as a counted dim. Its name is the computation, so that equal ones give equal dims.
/// Errors: kOutOfRange when the bound does not fit in 63 bits.
inline Result<Dim> counted_sum(Dim a, Dim b) {
  const std::string name = cat(name_of(a), "+", name_of(b));
  int64_t bound = 0;
  if (__builtin_add_overflow(a.max(), b.max(), &bound) || bound == Dim::kUnbounded)
    return too_large(name);
  return Dim::counted(name, bound);
}

/// Returns the product of dims, times factor / divisor, in the same way.
inline Result<Dim> counted_product(const Shape& factors, int64_t factor, int64_t divisor) {
  std::string name;
  BYOC_CHECK(divisor > 0, "a product of dims is divided by ", divisor);
  int64_t bound = factor;
  for (Dim dim : factors) {
    name += cat(name.empty() ? "" : "*", name_of(dim));
    if (__builtin_mul_overflow(bound, dim.max(), &bound)) return too_large(name);
  }
  if (factor != 1) name += cat("*", factor);
  if (divisor != 1) name += cat("/", divisor);
  if (bound == Dim::kUnbounded) return too_large(name);
  if (factors.size() == 1 && factor == divisor) return factors[0];
  return bound / divisor == 0 ? Dim(0) : Dim::counted(name, bound / divisor);
}

}  // namespace byoc::op
