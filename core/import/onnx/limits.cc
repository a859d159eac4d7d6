// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/limits.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace byoc::onnx_import {
namespace {

constexpr int64_t kMostLeast = 4096;
constexpr size_t kMostSizes = 4;         // of one op
constexpr int64_t kUsualMost = 1 << 16;  // of sizes that need some bound

bool has_bound(Dim size) {
  return size.is_static() || size.is_expression() || size.is_counted() ||
         size.max() != Dim::kUnbounded;
}

// Returns the sizes without a bound, with their lower ones.
SizeLimits sizes_of(const std::vector<TypeId>& types) {
  SizeLimits out;
  for (TypeId type : types) {
    for (Dim dim : type->shape) {
      if (dim.is_counted()) continue;
      for (Dim size : sizes_in(dim))
        if (!has_bound(size)) out.emplace(size.name().str(), SizeLimit{size.min()});
    }
  }
  return out;
}

/// An op that refuses its operands.
struct Refused {
  const OpDef& op;
  const std::vector<TypeId>& types;
  const Attrs& attrs;

  /// Returns true when the op has types for sizes within these limits.
  bool is_taken(const SizeLimits& limits) const {
    std::vector<TypeId> raised;
    for (TypeId type : types) {
      TensorType at = *type;
      for (Dim& dim : at.shape) {
        if (dim.is_counted()) continue;
        Result<Dim> now = with_sizes(dim, [&](Dim size) -> std::optional<Dim> {
          auto found = limits.find(size.name().str());
          if (found == limits.end()) return std::nullopt;
          return Dim::symbol(size.name(), found->second.least, found->second.most);
        });
        if (!now.ok()) return false;
        dim = *now;
      }
      raised.push_back(at);
    }
    return infer_types(op, raised, attrs).ok();
  }
};

SizeLimits with_least(SizeLimits limits, int64_t least) {
  for (auto& [name, limit] : limits) limit.least = std::max(limit.least, least);
  return limits;
}

// Returns the least number from `low` to `high` that `is_right`, as all greater ones do.
template <class F>
int64_t least_where(int64_t low, int64_t high, const F& is_right) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (is_right(middle)) high = middle;
    else low = middle + 1;
  }
  return high;
}

// Returns lower bounds at which the op takes its operands: each as small as the others let it be
// where they are independent, as windows are; else one number for all, as of a product.
std::optional<SizeLimits> raised(const Refused& refused, const SizeLimits& given) {
  int64_t all = 1;
  while (!refused.is_taken(with_least(given, all))) {
    all *= 2;
    if (all > kMostLeast) return std::nullopt;
  }
  const SizeLimits enough = with_least(given, all);
  SizeLimits each = enough;
  for (const auto& [name, limit] : given) {
    SizeLimits sizes = enough;
    each[name].least =
        least_where(limit.least, enough.at(name).least, [&, &name = name](int64_t least) {
          sizes[name].least = least;
          return refused.is_taken(sizes);
        });
  }
  if (refused.is_taken(each)) return each;
  const int64_t common = least_where(
      1, all, [&](int64_t least) { return refused.is_taken(with_least(given, least)); });
  SizeLimits out = with_least(given, common);
  for (auto& [name, limit] : out) {  // a batch stays as it is
    const int64_t least = std::exchange(limit.least, given.at(name).least);
    if (!refused.is_taken(out)) limit.least = least;
  }
  return out;
}

// Removes the upper bounds that the op does not need.
SizeLimits with_few_bounds(const Refused& refused, SizeLimits limits) {
  for (auto& [name, limit] : limits) {
    const int64_t most = std::exchange(limit.most, Dim::kUnbounded);
    if (!refused.is_taken(limits)) limit.most = most;
  }
  return limits;
}

}  // namespace

void note_most(SizeLimits& limits, Dim size, int64_t most) {
  if (has_bound(size) || most < std::max<int64_t>(size.min(), 1)) return;
  SizeLimit& known = limits[size.name().str()];
  known.has_table |= most < known.most;
  known.most = std::min(known.most, most);
}

void note_equal(SizeLimits& limits, Dim size, Dim extent) {
  if (size.is_static() || size.is_expression() || size.is_counted() || extent.is_counted()) return;
  const std::vector<Dim> in = sizes_in(extent);
  const bool is_within = size.min() <= extent.min() && extent.max() <= size.max();
  if (!is_within || std::ranges::find(in, size) != in.end()) return;
  SizeLimit& known = limits[size.name().str()];
  if (known.equal.empty())
    known.equal = extent.is_static() ? cat(extent.extent()) : extent.name().str();
}

void note_limits(SizeLimits& limits, const OpDef& op, const std::vector<TypeId>& types,
                 const Attrs& attrs) {
  const Refused refused{op, types, attrs};
  SizeLimits given = sizes_of(types);
  if (given.empty() || given.size() > kMostSizes) return;
  std::optional<SizeLimits> found = raised(refused, given);
  if (!found) {
    for (auto& [name, limit] : given) limit.most = kUsualMost;
    found = raised(refused, given);
    if (!found) return;
    found = with_few_bounds(refused, *std::move(found));
  }
  for (const auto& [name, limit] : *found) {
    if (limit.least == given.at(name).least && limit.most == Dim::kUnbounded) continue;
    SizeLimit& known = limits[name];
    if (limit.least > given.at(name).least) known.least = std::max(known.least, limit.least);
    if (limit.most < known.most) known.has_table = false;
    known.most = std::min(known.most, limit.most);
  }
}

Status set_equal_sizes(const SizeLimits& known, std::vector<TensorType>& types) {
  std::vector<Dim> sizes;
  for (const TensorType& type : types) {
    for (Dim dim : type.shape)
      if (!dim.is_static()) sizes.push_back(dim);
  }
  const auto equal = [&](Dim size) -> std::optional<Dim> {
    const auto found = known.find(size.name().str());
    if (found == known.end() || found->second.equal.empty()) return std::nullopt;
    Result<Dim> extent = parse_dim_expression(found->second.equal, sizes);
    return extent.ok() ? std::optional(*extent) : std::nullopt;
  };
  for (TensorType& type : types) {
    for (Dim& dim : type.shape) {
      BYOC_TRY(dim, with_sizes(dim, equal));
    }
  }
  return {};
}

}  // namespace byoc::onnx_import
