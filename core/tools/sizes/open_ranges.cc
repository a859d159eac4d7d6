// SPDX-License-Identifier: Apache-2.0
#include "core/tools/sizes/open_ranges.h"

#include <algorithm>
#include <map>

#include "byoc/ir/dim.h"

namespace byoc::driver {
namespace {

// Returns the sizes without an upper bound, by name.
std::map<std::string, Dim> unbounded_sizes(const IRModule& module) {
  std::map<std::string, Dim> out;
  const Function* entry = module.find(module.entry);
  for (uint32_t k = 0; entry != nullptr && k < entry->num_params(); ++k) {
    for (Dim dim : entry->nodes[k].types[0]->shape) {
      for (Dim size : sizes_in(dim)) {
        if (size.max() == Dim::kUnbounded) out.emplace(size.name().str(), size);
      }
    }
  }
  return out;
}

// Returns the upper bound that keeps each input within as many elements as kUsualBound does in
// three dims.
int64_t bound_for(const IRModule& module) {
  constexpr size_t kDims = 3, kBits = 16 * kDims;
  static_assert(kUsualBound == 1 << 16);
  const Function* entry = module.find(module.entry);
  size_t most = kDims;
  for (uint32_t k = 0; entry != nullptr && k < entry->num_params(); ++k) {
    const Shape& shape = entry->nodes[k].types[0]->shape;
    const auto open = std::ranges::count_if(shape, [](Dim dim) { return !dim.is_static(); });
    most = std::max(most, static_cast<size_t>(open));
  }
  return int64_t{1} << kBits / most;
}

}  // namespace

Result<RangedModel> load_ranged(const ModelOptions& options) {
  RangedModel out;
  BYOC_TRY(out.module, load_model(options));
  std::string numbers;
  const int64_t bound = bound_for(out.module);
  const auto& given = options[option::kShape];
  for (const auto& [name, size] : unbounded_sizes(out.module)) {
    const int64_t least = std::max<int64_t>(size.min(), 1);
    const bool is_given = std::ranges::any_of(
        given, [&](const std::string& shape) { return shape.starts_with(cat(name, "=")); });
    if (is_given || least > bound) continue;
    out.ranges.push_back(cat(name, "=", least, "..", bound));
    numbers += cat(" --shape ", name, "=", least);
  }
  if (out.ranges.empty()) return out;
  ModelOptions ranged = options;
  auto& shapes = ranged[option::kShape];
  shapes.insert(shapes.end(), out.ranges.begin(), out.ranges.end());
  Result<IRModule> module = load_model(ranged);
  if (!module.ok() && module.status().help().empty())
    return Status(module.status()).with_help(cat("compile it for numbers:", numbers));
  BYOC_TRY(out.module, std::move(module));
  return out;
}

std::string ranges_text(const std::vector<std::string>& ranges) {
  constexpr size_t kShown = 4;
  std::string flags;
  for (size_t k = 0; k < std::min(ranges.size(), kShown); ++k) flags += cat(" --shape ", ranges[k]);
  if (ranges.size() > kShown) flags += cat(" and ", ranges.size() - kShown, " more");
  const std::string first = ranges.empty() ? "" : ranges[0].substr(0, ranges[0].find(".."));
  return cat("one program for all sizes, as with", flags, "; numbers, as in --shape ", first,
             ", may be faster");
}

}  // namespace byoc::driver
