// SPDX-License-Identifier: Apache-2.0
#include "core/tools/show/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "byoc/base/status.h"
#include "core/ir/quote.h"

namespace byoc::driver {
namespace {

/// Returns a coordinate with at most one decimal.
std::string number(double value) {
  char text[32];
  int n = std::snprintf(text, sizeof text, "%.1f", value);
  std::string out(text, static_cast<size_t>(n));
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

/// Returns well-formed UTF-8 by way of JSON's strings, which replace what is no text.
std::string well_formed(std::string_view text) {
  std::string json, out;
  print_json_string(json, text);
  for (size_t k = 1; k + 1 < json.size(); ++k) {
    if (json[k] != '\\') {
      out += json[k];
    } else if (char c = json[++k]; c == 'u') {  // a control byte, or \ufffd
      std::string_view code = std::string_view(json).substr(k + 1, 4);
      out += code == "000a" ? "\n" : code == "fffd" ? "\xef\xbf\xbd" : " ";
      k += 4;
    } else {
      out += c == 'n' ? '\n' : c == 'b' || c == 'f' || c == 'r' || c == 't' ? ' ' : c;
    }
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : well_formed(text)) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string path_of(const std::vector<layout::Point>& points) {
  std::string out = cat("M", number(points[0].x), " ", number(points[0].y));
  for (size_t k = 1; k < points.size(); ++k) {
    const layout::Point &a = points[k - 1], &b = points[k];
    if (std::abs(a.x - b.x) < 0.05 && std::abs(a.y - b.y) < 0.05) continue;  // it turns the arrow
    if (std::abs(a.x - b.x) < 0.5) {
      out += cat("L", number(b.x), " ", number(b.y));
      continue;
    }
    std::string middle = number((a.y + b.y) / 2);
    out += cat("C", number(a.x), " ", middle, " ", number(b.x), " ", middle, " ", number(b.x), " ",
               number(b.y));
  }
  return out;
}

constexpr std::string_view kStyle =
    "<style>text{font:11px "
    "Helvetica,Arial,sans-serif;fill:#000}.w{paint-order:stroke;stroke:#fff;stroke-width:3px}.t{"
    "font-weight:bold;"
    "font-size:13px}.edge path{fill:none;stroke:#777}"
    ".edge path.b{stroke:#222;stroke-width:2.2}.m{text-anchor:middle}</style>\n"
    "<defs><marker id=\"a\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"6\" "
    "markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
    "<path d=\"M0 0L6 3L0 6z\" fill=\"#555\"/></marker></defs>\n";

constexpr double kAscent = 11;  // from the top of a line to its baseline

}  // namespace

size_t displayed_columns(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void Svg::grow(double width, double height) {
  width_ = std::max(width_, std::ceil(width)), height_ = std::max(height_, std::ceil(height));
}

void Svg::text_at(double x, double y, std::string_view attributes, std::string_view text) {
  body_ += cat("<text x=\"", number(x), "\" y=\"", number(y), "\"", attributes, ">", escaped(text),
               "</text>\n");
}

void Svg::title(double x, double top, std::string_view text) {
  text_at(x, top + kAscent, " class=\"t\"", text);
}
void Svg::plain(double x, double top, std::string_view text) {
  text_at(x, top + kAscent + 2, " class=\"w\"", text);
}

void Svg::legend_row(double x, double top, std::string_view colour, std::string_view text) {
  body_ += cat("<rect x=\"", number(x), "\" y=\"", number(top + 2),
               "\" width=\"22\" height=\"12\" fill=\"", colour, "\"/>\n");
  plain(x + 30, top, text);
}

void Svg::tooltip(std::string_view text) {
  if (!text.empty()) body_ += cat("<title>", escaped(text), "</title>");
}

void Svg::begin(std::string_view css_class, std::string_view text) {
  body_ += cat("<g class=\"", css_class, "\">");
  tooltip(text);
  body_ += "\n";
}
void Svg::end() { body_ += "</g>\n"; }

void Svg::rect(const Rect& r, std::string_view fill, std::string_view stroke, bool is_dashed) {
  body_ += cat("<rect x=\"", number(r.x), "\" y=\"", number(r.y), "\" width=\"", number(r.width),
               "\" height=\"", number(r.height), "\" rx=\"4\" fill=\"", fill, "\" stroke=\"",
               stroke, "\"", is_dashed ? " stroke-dasharray=\"5 3\"" : "", "/>\n");
}

void Svg::lines(const Rect& r, const std::vector<std::string>& lines, std::string_view colour) {
  constexpr double kHeight = 13;
  double y = r.y + (r.height - static_cast<double>(lines.size()) * kHeight) / 2 + kAscent - 1;
  for (const std::string& line : lines) {
    text_at(r.x + r.width / 2, y, cat(" class=\"m\" style=\"fill:", colour, "\""), line);
    y += kHeight;
  }
}

void Svg::edge(const std::vector<layout::Point>& points, std::string_view text, Line line) {
  begin("edge", text);
  body_ += cat("<path", line.is_thick ? " class=\"b\"" : "",
               line.has_arrow ? " marker-end=\"url(#a)\"" : "", " d=\"", path_of(points), "\"/>\n");
  end();
}

std::string Svg::text() const {
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", number(width_), "\" height=\"",
             number(height_), "\" viewBox=\"0 0 ", number(width_), " ", number(height_), "\">\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", kStyle, body_,
             "</svg>\n");
}

}  // namespace byoc::driver
