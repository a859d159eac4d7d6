// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds the first test of a pattern that fails at an op.
#include <string>
#include <vector>

#include "byoc/host/plugins.h"
#include "byoc/ir/visit.h"
#include "byoc/pass/pattern.h"

namespace byoc::driver {

/// A pattern that an op might have been part of.
struct PatternMiss {
  std::string pattern;  // its name, with the plugin's id before it
  std::string test;     // the test that failed, in words
};

/// The patterns of a plugin, parsed once. Borrows the plugin.
class PatternTests {
 public:
  explicit PatternTests(const Plugin& plugin);
  /// Returns, for each pattern that names the op of `node`, the first test that fails there: at the
  /// op as its root, or at an op after it that may be the root. Of alternatives, the one that
  /// matches the most ops counts. Patterns that fit are left out.
  /// Cost: O(patterns with the op * their size * ops after it that are tried).
  std::vector<PatternMiss> first_failures(const Function& function, const UseCounts& uses,
                                          uint32_t node) const;

 private:
  struct Row {
    std::string name;
    Pattern pattern;
  };
  std::vector<Row> rows_;
};

}  // namespace byoc::driver
