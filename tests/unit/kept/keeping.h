// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests with a cache folder of their own, and a file in which the plugins `kept` and `side` write
// "(" and ")" around the compilation of each function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/flow.h"
#include "support/temp_folder.h"

namespace byoc::test {

class Keeping : public ::testing::Test {
 protected:
  Keeping() { setenv("XDG_CACHE_HOME", folder_.file("cache").c_str(), 1); }
  ~Keeping() override { unsetenv("XDG_CACHE_HOME"); }

  std::string log() const { return folder_.file("log"); }
  /// The number of functions that were compiled so far.
  auto compiled() const { return std::ranges::count(get(log()), '('); }
  /// The most functions that were compiled at the same time.
  int overlap() const {
    int now = 0, most = 0;
    for (char c : get(log())) most = std::max(most, now += c == '(' ? 1 : -1);
    return most;
  }
  PluginOptions options(const std::string& id, std::map<std::string, std::string> more = {}) const {
    more["compiled_to"] = log();
    return {{id, std::move(more)}};
  }

  TempFolder folder_;
};

/// Returns a chain of `n` leaky_relu, all different, with the names that `loc` begins.
inline std::string chain(int n, const std::string& loc = "node", double first_alpha = 0.5) {
  std::string text = "fn main(%x: f32[4]) {\n", from = "%x";
  for (int k = 0; k < n; ++k) {
    text += cat("%", k, " = leaky_relu(", from, ") {alpha=", first_alpha + k / 128.0, "} loc(\"",
                loc, k, "\")\n");
    from = cat("%", k);
  }
  return cat(text, "return ", from, " }");
}

}  // namespace byoc::test
