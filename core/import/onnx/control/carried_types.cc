// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/control/carried_types.h"

#include <algorithm>

#include "core/import/onnx/control/counted_results.h"

namespace byoc::onnx_import {
namespace {

// More elements along one dim than memory is planned for.
constexpr int64_t kMostExtent = int64_t{1} << 28;

bool has_bound(Dim dim) { return dim.is_static() || dim.is_counted(); }

}  // namespace

Status CarriedTypes::refused(size_t k, const TensorType& after, std::string_view why) const {
  return unimplemented(cat("value ", k, " that it carries is ", before_[k],
                           " before an iteration and ", after, " after it; ", why));
}

// Returns the extent after the most iterations that memory is planned for.
std::optional<int64_t> CarriedTypes::grown(int64_t first, int64_t more) const {
  for (int64_t trips : {trips_.value_or(assumed_), assumed_}) {
    int64_t bound = 0;
    if (!__builtin_mul_overflow(more, trips, &bound) &&
        !__builtin_add_overflow(bound, first, &bound) && bound <= kMostExtent)
      return bound;
  }
  return std::nullopt;
}

Result<bool> CarriedTypes::fit(const std::vector<TypeId>& results,
                               std::span<const TypeId> captured) {
  bool all = true;
  for (size_t k = 0; k < types_.size(); ++k) {
    BYOC_TRY(const bool fits, fit_one(k, *results[k + 1], captured));
    all = all && fits;
  }
  return all;
}

Result<bool> CarriedTypes::fit_one(size_t k, const TensorType& after,
                                   std::span<const TypeId> captured) {
  TensorType now = *types_[k];
  if (now.dtype != after.dtype || now.shape.size() != after.shape.size())
    return refused(k, after, "a dtype or rank that changes is not supported");
  bool fits = true;
  for (size_t d = 0; d < now.shape.size(); ++d) {
    Dim& dim = now.shape[d];
    const Dim next = after.shape[d], first = before_[k]->shape[d];
    if (dim == next && (growth_.contains({k, d}) || is_known_outside(dim, captured))) continue;
    if (!has_bound(dim) || !has_bound(next))
      return refused(k, after, "a size that changes needs an upper bound");
    const int64_t more = next.max() - dim.max();
    auto [known, is_new] = growth_.try_emplace({k, d});
    Growth& growth = known->second;
    if (is_new) {  // what it adds shows when the dim is counted
      dim = Dim::counted(cat(name_, "_", k, "_", d), std::max(dim.max(), next.max()));
    } else if (more > std::max<int64_t>(growth.rows, 0)) {
      if (growth.is_final)
        return refused(k, after, "it grows by more than a number in each iteration");
      // The last three rows of a value of one row are one: a larger value may add more, once.
      const int64_t start = growth.rows < 0 ? dim.max() - more : first.max();
      const std::optional<int64_t> bound = grown(std::max(first.max(), start), more);
      if (!bound)
        return refused(k, after, cat("in ", assumed_, " iterations it may grow beyond 2^28"))
            .with_help("compile with a smaller --shape max_iterations=N");
      growth.is_final = growth.rows >= 0;
      growth.rows = more;
      dim = Dim::counted(dim.name(), *bound);
    } else {
      continue;
    }
    fits = false;
  }
  types_[k] = now;
  return fits;
}

}  // namespace byoc::onnx_import
