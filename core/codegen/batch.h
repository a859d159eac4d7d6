// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of one call of a plugin's compile.
#include <iterator>

#include "core/codegen/kept/compile_jobs.h"
#include "core/codegen/tuned_points.h"

namespace byoc {

struct Batch {
  /// A function that is to be compiled. Iterators of a map stay valid, and need no search by name.
  using Region = std::map<Symbol, Function>::iterator;
  std::vector<Region> regions;
  CompileJob job;
  std::vector<std::optional<TunedChoice>> choices;

  void erase(size_t k) {
    const auto at = static_cast<ptrdiff_t>(k);
    regions.erase(regions.begin() + at);
    job.inputs.erase(job.inputs.begin() + at);
    choices.erase(choices.begin() + at);
  }
  Batch split_off_half() {
    auto take_half = [](auto& all) {
      const auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
      std::decay_t<decltype(all)> half(std::make_move_iterator(middle),
                                       std::make_move_iterator(all.end()));
      all.erase(middle, all.end());
      return half;
    };
    return {take_half(regions), {job.plugin, take_half(job.inputs), {}}, take_half(choices)};
  }
};

}  // namespace byoc
