// SPDX-License-Identifier: Apache-2.0
// A plugin for relu with a priority below 0. Its static constructor sets a variable, so that a test
// can detect that code of this file has run.
#include <byoc/plugin/sdk.h>

#include <cstdlib>

namespace {
using namespace byoc::sdk;

const bool has_run = ::setenv("BYOC_TEST_LATER_RAN", "1", 1) == 0;

class Later : public Plugin {
 public:
  std::vector<Pattern> patterns() const override { return {{"relu", op("relu")}}; }
  Verdict judge(const Graph&) const override { return Verdict::no("has no kernel"); }
  std::unique_ptr<Kernel> compile(Function&) override { throw Declined("has no kernel"); }
};

}  // namespace

BYOC_PLUGIN(Later, "later", "1.0.0", .priority = -5)
