// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds with policies, and what they made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/te/module.h"
#include "byoc/translate/policies.h"
#include "support/flow.h"

namespace byoc::test {

inline std::shared_ptr<const te::Policies> handed_in(te::Policies policies) {
  return std::make_shared<const te::Policies>(std::move(policies));
}

inline BuildOptions options_for(std::shared_ptr<const PluginSet> plugins,
                                std::vector<std::string> compilers, te::Policies policies = {}) {
  BuildOptions options;
  options.plugins = std::move(plugins);
  options.compilers = std::move(compilers);
  options.policies = handed_in(std::move(policies));
  return options;
}

/// Returns "plugin symbol: implementation" of every kernel, in the order of compilation.
inline std::vector<std::string> kernels_of(const Executable& executable) {
  std::vector<std::string> out;
  for (const ExternalModule& module : executable.modules) {
    for (const ExternalFunction& function : module.functions)
      out.push_back(cat(module.plugin, " ", function.symbol, ": ", function.implementation));
  }
  return out;
}

/// Returns kernels_of a build, or its error.
inline std::vector<std::string> built_kernels(const IRModule& module, const BuildOptions& options) {
  Result<Executable> executable = build(module, options);
  if (!executable.ok()) return {executable.status().to_string()};
  return kernels_of(*executable);
}

/// Expects the results of the json plugin, without policies.
inline void expect_like_reference(const IRModule& module, const BuildOptions& options,
                                  uint64_t seed = 1) {
  Result<Executable> executable = build(module, options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  BuildOptions plain;
  plain.plugins = options.plugins, plain.compilers = {"json"};
  Result<Executable> reference = build(module, plain);
  ASSERT_TRUE(reference.ok()) << reference.status().to_string();
  expect_close(execute(*executable, options.plugins, {}, seed),
               execute(*reference, options.plugins, {}, seed));
}

/// relu as the mean of x and |x|: another expression of the same function.
inline ComputeFn mean_relu() {
  return [](te::Builder& builder, std::span<const te::Tensor> in, Types,
            const Attrs&) -> Result<std::vector<te::Tensor>> {
    const te::Tensor x = in[0];
    return std::vector<te::Tensor>{builder.compute("relu", x.shape(), [&](const te::Indices& i) {
      return (x(i) + te::unary(te::UnaryOp::kAbs, x(i))) * te::constant(x.dtype(), 0.5);
    })};
  };
}

/// The direct computes, and "mean" for relu.
inline te::StrategyTable with_mean(int level, std::optional<double> mean_ns = {},
                                   std::optional<double> direct_ns = {}) {
  return [=](const te::Site& site) {
    std::vector<te::Strategy> out = te::direct_strategies()(site);
    auto cost = [](double ns) { return [ns](const te::Site&) { return ns; }; };
    if (direct_ns && !out.empty()) out[0].cost_ns = cost(*direct_ns);
    if (site.op->name != "relu") return out;
    out.push_back({.name = "mean", .level = level, .compute = mean_relu()});
    if (mean_ns) out.back().cost_ns = cost(*mean_ns);
    return out;
  };
}

}  // namespace byoc::test
