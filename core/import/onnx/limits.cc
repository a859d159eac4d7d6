// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/limits.h"

#include <algorithm>

namespace byoc::onnx_import {
namespace {

constexpr int64_t kMostLeast = 4096;
constexpr size_t kMostSizes = 4;  // of one op

using Leasts = std::map<std::string, int64_t>;

bool has_bound(Dim size) {
  return size.is_static() || size.is_expression() || size.is_counted() ||
         size.max() != Dim::kUnbounded;
}

// Returns the sizes without a bound, with their lower ones.
Leasts sizes_of(const std::vector<TypeId>& types) {
  Leasts out;
  for (TypeId type : types) {
    for (Dim dim : type->shape) {
      if (dim.is_counted()) continue;
      for (Dim size : sizes_in(dim))
        if (!has_bound(size)) out.emplace(size.name().str(), size.min());
    }
  }
  return out;
}

// Returns true when the op has types for sizes from these on.
bool is_taken(const OpDef& op, const std::vector<TypeId>& types, const Attrs& attrs,
              const Leasts& leasts) {
  std::vector<TypeId> raised;
  for (TypeId type : types) {
    TensorType at = *type;
    for (Dim& dim : at.shape) {
      if (dim.is_counted()) continue;
      Result<Dim> now = with_sizes(dim, [&](Dim size) -> std::optional<Dim> {
        auto found = leasts.find(size.name().str());
        if (found == leasts.end()) return std::nullopt;
        return Dim::symbol(size.name(), found->second, size.max());
      });
      if (!now.ok()) return false;
      dim = *now;
    }
    raised.push_back(at);
  }
  return infer_types(op, raised, attrs).ok();
}

}  // namespace

void note_most(SizeLimits& limits, Dim size, int64_t most) {
  if (has_bound(size) || most < std::max<int64_t>(size.min(), 1)) return;
  int64_t& known = limits[size.name().str()].most;
  known = std::min(known, most);
}

void note_least(SizeLimits& limits, const OpDef& op, const std::vector<TypeId>& types,
                const Attrs& attrs) {
  const Leasts given = sizes_of(types);
  if (given.empty() || given.size() > kMostSizes) return;
  Leasts leasts = given;
  for (int64_t all = 1; !is_taken(op, types, attrs, leasts); all *= 2) {
    if (all > kMostLeast) return;
    for (auto& [name, least] : leasts) least = std::max(least, all);
  }
  for (auto& [name, least] : leasts) {  // each as small as the others let it be
    int64_t low = given.at(name), high = least;
    while (low < high) {
      least = low + (high - low) / 2;
      if (is_taken(op, types, attrs, leasts)) high = least;
      else low = least + 1;
    }
    least = high;
    if (least == given.at(name)) continue;
    int64_t& known = limits[name].least;
    known = std::max(known, least);
  }
}

}  // namespace byoc::onnx_import
