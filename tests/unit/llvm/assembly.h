// SPDX-License-Identifier: Apache-2.0
#pragma once
// Searches assembly text for loops and instructions.
#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace byoc::test {

/// Returns the innermost loops of assembly text: the lines from a label to the jump back to it.
inline std::vector<std::vector<std::string>> innermost_loops(const std::string& assembly) {
  std::vector<std::string> lines;
  std::istringstream text(assembly);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::vector<std::vector<std::string>> out;
  std::smatch match;
  for (size_t end = 0; end < lines.size(); ++end) {
    if (!std::regex_search(lines[end], match, std::regex(R"(^\s+j\w+\s+(\.L\w+))"))) continue;
    std::string label = match[1].str() + ":";
    for (size_t begin = end; begin-- > 0;) {
      if (lines[begin].starts_with(".L") && !lines[begin].starts_with(label)) {
        bool is_loop_too = false;  // whether the label between is that of a loop found before
        for (const auto& other : out) is_loop_too |= !other.empty() && other[0] == lines[begin];
        if (is_loop_too) break;
      }
      if (!lines[begin].starts_with(label)) continue;
      out.emplace_back(lines.begin() + static_cast<long>(begin),
                       lines.begin() + static_cast<long>(end) + 1);
      break;
    }
  }
  return out;
}

/// Returns how many of the lines match.
inline size_t count(const std::vector<std::string>& lines, const std::string& pattern) {
  std::regex regex(pattern);
  return static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(),
                    [&](const std::string& line) { return std::regex_search(line, regex); }));
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

}  // namespace byoc::test
