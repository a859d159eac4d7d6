// SPDX-License-Identifier: Apache-2.0
// Judges yes, then declines every function in compile: conv2d followed by relu as a composite, and
// relu alone.
#include <byoc/plugin/sdk.h>

namespace {
using namespace byoc::sdk;

class Decliner : public Plugin {
  std::vector<Pattern> patterns() const override {
    return {{"decliner.conv2d_relu", op("relu", {op("conv2d", {any("x"), any("w")})})},
            {"relu", op("relu")}};
  }
  std::unique_ptr<Kernel> compile(Function& function) override {
    throw Declined(
        "it looked easier from outside: " + std::to_string(function.graph.nodes.size()) + " nodes",
        0);
  }
};

}  // namespace

BYOC_PLUGIN(Decliner, "decliner", "1.0.0", .priority = 50)
