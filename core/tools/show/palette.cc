// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/palette.h"

#include <iterator>

namespace byoc::driver {
namespace {

constexpr Colour kColours[] = {{"#56b4e9", "#e6f3fb"}, {"#e69f00", "#fdf3df"},
                               {"#009e73", "#def2ec"}, {"#cc79a7", "#f8ebf3"},
                               {"#f0e442", "#fdfbe0"}, {"#0072b2", "#dceaf4", "#ffffff"},
                               {"#d55e00", "#fbe8dc"}};

}  // namespace

Palette::Palette(const std::set<std::string>& plugins) {
  for (const std::string& plugin : plugins) index_.emplace(plugin, index_.size());
}

const Colour& Palette::colour(const std::string& plugin) const {
  auto at = index_.find(plugin);
  return at == index_.end() ? kGrey : kColours[at->second % std::size(kColours)];
}

bool Palette::is_dashed(const std::string& plugin) const {
  auto at = index_.find(plugin);
  return at != index_.end() && at->second >= std::size(kColours);
}

}  // namespace byoc::driver
