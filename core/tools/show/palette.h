// SPDX-License-Identifier: Apache-2.0
#pragma once
// The colours of plugins in pictures and pages.
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace byoc::driver {

/// A colour of Okabe and Ito's palette, which can be distinguished with any colour vision. Boxes
/// have the light variant.
struct Colour {
  std::string_view strong, light, text = "#000000";
};
/// The colour of what belongs to no plugin.
inline constexpr Colour kGrey = {"#d9d9d9", "#f2f2f2"};

/// Assigns colours to plugins in the order of their names. When there are more plugins than
/// colours, colours are used again, with dashed boxes.
class Palette {
 public:
  explicit Palette(const std::set<std::string>& plugins);
  /// Returns the colour of a plugin; kGrey for one that is not in the palette.
  const Colour& colour(const std::string& plugin) const;
  bool is_dashed(const std::string& plugin) const;
  const std::map<std::string, size_t>& index() const { return index_; }

 private:
  std::map<std::string, size_t> index_;
};

}  // namespace byoc::driver
