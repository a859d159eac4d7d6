// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions for which plugins were chosen by estimates that options set.
#include <gtest/gtest.h>

#include "core/placement/place.h"
#include "support/flow.h"

namespace byoc::placement {

// A chain in which one plugin can take the op in the middle alone.
inline constexpr std::string_view kChain = R"(
fn main(%x: f32[256,256]) {
  %0 = tanh(%x) loc("T0")
  %1 = relu(%0) loc("R1")
  %2 = tanh(%1) loc("T2")
  return %2
})";

// The border of f32[256,256] costs 300 ns + 4369 ns with the assumed machine.
inline constexpr double kBorder = 300 + 262144 / 60.0;

// A function and the choice for it.
struct Placed {
  IRModule module;
  FunctionPlacement placement;
  PassContext context;
  // Returns the plugins of the ops, in order.
  std::vector<std::string> plugins() const {
    std::vector<std::string> out;
    for (uint32_t index : placement.chosen) {
      if (index == kNone) continue;
      out.push_back(placement.candidates.plugins[placement.candidates.all[index].plugin]->id());
    }
    return out;
  }
};

inline Result<Placed> try_place(std::string_view text, const test::PluginOptions& options,
                                const std::string& rules = "", const Costs& given = {}) {
  Placed out;
  out.module = test::parse(text);
  out.context = test::context_of(out.module, test::selective_plugins(options), {"auto"});
  out.context.machine = nullptr;  // json estimates nothing: its ops have the costs of the model
  Costs costs = given;
  BYOC_TRY(costs.rules, Rules::parse(rules));
  BYOC_TRY(out.placement,
           place_function(out.module, out.module.entry, out.context.compilers, costs, out.context));
  return out;
}

inline Placed place(std::string_view text, const test::PluginOptions& options,
                    const std::string& rules = "", const Costs& costs = {}) {
  Result<Placed> out = try_place(text, options, rules, costs);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Placed();
}

using Ids = std::vector<std::string>;

}  // namespace byoc::placement
