// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translates modules to tensor expressions and runs their loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/te/evaluate.h"
#include "byoc/text/text.h"
#include "byoc/translate/translate.h"
#include "support/evaluate.h"

namespace byoc::testing {

inline IRModule parse(std::string_view text) {
  Result<IRModule> module = parse_module(text, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? *std::move(module) : IRModule();
}

inline Result<te::Dag> translate(const IRModule& module,
                                 const te::StrategySelector& selector = te::by_level(),
                                 const te::StrategyTable& table = te::direct_strategies()) {
  return te::translate_to_te(module, module.function("main"), te::Target{}, selector, table);
}

/// Appends every constant in the order in which translation visits them.
inline void append_constants(const IRModule& module, Symbol name,
                             std::vector<std::vector<std::byte>>& out) {
  for (const Node& node : module.function(name).nodes) {
    if (auto* constant = std::get_if<Constant>(&node.kind)) {
      const std::byte* data = constant->data->data();
      out.emplace_back(data, data + constant->data->size());
    }
    if (auto* invoke = std::get_if<Invoke>(&node.kind))
      append_constants(module, invoke->function, out);
  }
}

/// Runs the default loops of the stages on these inputs and returns the outputs.
inline std::vector<Values> run_translated(const IRModule& module,
                                          const std::vector<Values>& inputs) {
  Result<te::Dag> dag = translate(module);
  EXPECT_TRUE(dag.ok()) << dag.status().to_string();
  if (!dag.ok()) return {};
  Result<te::LoopFunction> loops = te::lower(te::Schedule(*dag));
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  if (!loops.ok()) return {};
  std::vector<std::vector<std::byte>> bytes;
  for (const Values& input : inputs) bytes.push_back(to_bytes(input));
  append_constants(module, "main", bytes);
  EXPECT_EQ(bytes.size(), dag->inputs.size());
  std::vector<TypeId> types = module.function("main").result_types();
  std::vector<std::vector<std::byte>> results;
  for (TypeId type : types) results.emplace_back(static_cast<size_t>(*size_bytes(*type)));
  std::vector<const void*> in;
  std::vector<void*> out;
  for (auto& data : bytes) in.push_back(data.data());
  for (auto& data : results) out.push_back(data.data());
  Status status = te::evaluate(*loops, in, out);
  EXPECT_TRUE(status.ok()) << status.to_string();
  std::vector<Values> values;
  for (size_t k = 0; k < types.size(); ++k)
    values.push_back(from_bytes(*types[k], results[k].data()));
  return values;
}

/// Checks that the stages compute the same results as the reference kernels do node by node.
inline void expect_same_meaning(const IRModule& module, double relative = 1e-5) {
  std::vector<Values> inputs = random_inputs(module, 3);
  auto expected = evaluate(module, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  std::vector<Values> got = run_translated(module, inputs);
  ASSERT_EQ(got.size(), expected->size());
  for (size_t k = 0; k < got.size(); ++k) expect_near(got[k], (*expected)[k], relative);
}

}  // namespace byoc::testing
