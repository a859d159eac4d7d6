// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/checked_sizes.h"

#include <algorithm>
#include <random>

#include "core/tools/replay/case_sizes.h"
#include "core/tools/replay/region_values.h"

namespace byoc::driver {
namespace {

constexpr int kBetween = 2;  // runs of random sizes

using Numbers = std::map<std::string, int64_t>;

}  // namespace

CheckedSizes checked_sizes(const IRModule& module, const std::vector<std::string>& names,
                           uint64_t seed) {
  std::vector<OpenSize> sizes = entry_sizes(module);
  std::erase_if(sizes,
                [&](const OpenSize& size) { return std::ranges::count(names, size.name) == 0; });
  Numbers most;
  for (const OpenSize& size : sizes) most[size.name] = size.most;
  auto room = [&](const OpenSize& size) { return most[size.name] - size.least; };
  while (!sizes.empty() && elements_at(module, most) > kMostCheckedElements) {
    const OpenSize& greatest = *std::ranges::max_element(sizes, {}, room);
    if (room(greatest) == 0) break;  // all are at their least
    most[greatest.name] = std::max(greatest.least, most[greatest.name] / 2);
  }
  CheckedSizes out;
  for (const OpenSize& size : sizes) {
    if (most[size.name] == size.most) continue;
    out.limited.push_back(cat(size.name, "=", size.least, "..", most[size.name], " of ", size.least,
                              "..", size.most));
  }
  auto add = [&](auto choose) {
    cli::RunSizes run;
    for (size_t k = 0; k < sizes.size(); ++k)
      run[sizes[k].name] = {choose(k, sizes[k].least, most[sizes[k].name])};
    if (std::ranges::count(out.runs, run) == 0) out.runs.push_back(std::move(run));
  };
  add([](size_t, int64_t least, int64_t) { return least; });
  add([](size_t, int64_t, int64_t greatest) { return greatest; });
  add([](size_t k, int64_t least, int64_t greatest) { return k == 0 ? greatest : least; });
  add([](size_t k, int64_t least, int64_t greatest) { return k == 0 ? least : greatest; });
  std::mt19937_64 random(seed);
  for (int turn = 0; turn < kBetween; ++turn) {
    add([&](size_t, int64_t least, int64_t greatest) {
      return least + static_cast<int64_t>(random() % static_cast<uint64_t>(greatest - least + 1));
    });
  }
  return out;
}

std::string run_label(const cli::RunSizes& sizes) {
  std::string out;
  for (const auto& [name, numbers] : sizes)
    out += cat(out.empty() ? "" : ", ", name, "=", numbers.empty() ? 0 : numbers[0]);
  return out;
}

}  // namespace byoc::driver
