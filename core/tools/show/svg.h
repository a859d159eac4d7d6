// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes SVG elements; every text is escaped.
#include <string>
#include <string_view>
#include <vector>

#include "core/tools/layout/grouped_layout.h"

namespace byoc::driver {

/// Returns the number of characters of UTF-8 text.
size_t displayed_columns(std::string_view text);

class Svg {
 public:
  struct Rect {
    double x, y, width, height;
  };
  /// Makes the picture at least that wide and high.
  void grow(double width, double height);
  void title(double x, double top, std::string_view text);
  void plain(double x, double top, std::string_view text);
  void legend_row(double x, double top, std::string_view colour, std::string_view text);
  /// Begins and ends a group; browsers show the tooltip while the pointer is over it.
  void begin(std::string_view css_class, std::string_view tooltip);
  void end();
  void rect(const Rect& rect, std::string_view fill, std::string_view stroke, bool is_dashed);
  /// Writes lines of text, centred in a box.
  void lines(const Rect& rect, const std::vector<std::string>& lines, std::string_view colour);
  struct Line {
    bool is_thick, has_arrow;
  };
  /// Draws a line through the points (GroupedLayout::points).
  void edge(const std::vector<layout::Point>& points, std::string_view tooltip, Line line);
  /// Returns the whole picture.
  std::string text() const;

 private:
  void text_at(double x, double y, std::string_view attributes, std::string_view text);
  void tooltip(std::string_view text);

  double width_ = 0, height_ = 0;
  std::string body_;
};

}  // namespace byoc::driver
