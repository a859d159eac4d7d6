// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses modules from text and runs passes by name.
#include <gmock/gmock.h>

#include "byoc/pass/passes.h"
#include "byoc/text/text.h"

namespace byoc {

inline IRModule module_of(std::string_view text) {
  auto module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

/// Runs passes such as "a,b=x", and verifies the module after each.
inline Result<IRModule> after(IRModule module, const std::string& passes) {
  BYOC_TRY(std::vector<Pass> parsed, parse_passes(passes));
  PassContext context;
  context.options["verify"] = "1";
  return run_passes(std::move(module), parsed, context);
}
inline Result<IRModule> after(std::string_view text, const std::string& passes) {
  return after(module_of(text), passes);
}

/// Checks that the modules are equal. A failure has the first difference and both modules.
inline void expect_equal(const IRModule& got, const IRModule& expected) {
  std::string why;
  EXPECT_TRUE(equal(got, expected, &why)) << why << "\n" << print(got) << print(expected);
}
inline void expect_equal(const Result<IRModule>& got, std::string_view expected) {
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  expect_equal(*got, module_of(expected));
}

/// Returns the number of calls of `op` in all functions.
inline int count_calls(const IRModule& module, std::string_view op) {
  int n = 0;
  for (const auto& [name, function] : module.functions) {
    for (const Node& node : function.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      n += call != nullptr && call->op->name == op;
    }
  }
  return n;
}

}  // namespace byoc
