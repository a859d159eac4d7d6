// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions with open sizes, compiled once, against the reference kernels at each size: operands
// are between guard pages.
#include <gtest/gtest.h>

#include <functional>

#include "byoc/op/registry.h"
#include "byoc/text/text.h"
#include "plugins/llvm/constants/kernel_loops.h"
#include "plugins/llvm/machine/machine.h"
#include "plugins/llvm/open/translate_open.h"
#include "support/evaluate.h"
#include "unit/llvm/run_loops.h"

namespace byoc::at_sizes {

struct Size {
  std::string name;
  int64_t min, max;
  std::string text() const { return cat(min, "<=", name, "<=", max); }
};
using Sizes = std::vector<Size>;  // by name

/// Returns the text of a function, with the types of its sizes.
using TextOf = std::function<std::string(const std::vector<std::string>& dims)>;

inline IRModule module_of(const TextOf& text, const std::vector<std::string>& dims) {
  const std::string all = text(dims);
  auto module = parse_module(all, all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string() << "\n" << all;
  return module.ok() ? *std::move(module) : IRModule{};
}

inline te::LoopFunction compiled_loops(const IRModule& module, uint32_t threads) {
  te::Target target = llvm_plugin::host_target();
  target.threads = threads;
  auto dags = llvm_plugin::translate_open(module, target);
  EXPECT_TRUE(dags.ok()) << dags.status().to_string();
  if (!dags.ok()) return {};
  auto loops = llvm_plugin::lower_open(dags->open, dags->nominal, dags->open.inputs.size(), target);
  EXPECT_TRUE(loops.ok()) << loops.status().to_string();
  return loops.ok() ? std::move(loops->loops) : te::LoopFunction{};
}

inline void expect_at(const TextOf& text, const test::Loaded& code,
                      const std::vector<int64_t>& sizes) {
  std::vector<std::string> numbers;
  for (int64_t size : sizes) numbers.push_back(cat(size));
  const IRModule one = module_of(text, numbers);
  const auto inputs = testing::random_inputs(one, 1);
  const auto expected = testing::evaluate(one, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().to_string();
  std::vector<test::Data> in;
  for (const testing::Values& input : inputs)
    in.push_back({input.type.dtype, testing::to_bytes(input)});
  const auto out = code.run(in, sizes);
  ASSERT_EQ(out.size(), expected->size());
  for (size_t k = 0; k < out.size(); ++k) {
    const testing::Values& right = (*expected)[k];
    testing::expect_near(testing::from_bytes(right.type, out[k].bytes.data()), right, 1e-5);
  }
}

inline void expect_all(const Sizes& sizes, const TextOf& text, uint32_t threads = 1) {
  std::vector<std::string> dims;
  for (const Size& size : sizes) dims.push_back(size.text());
  const te::LoopFunction loops = compiled_loops(module_of(text, dims), threads);
  if (::testing::Test::HasFailure()) return;
  SCOPED_TRACE(te::print(loops));
  const test::Loaded code(loops, {.threads = threads});
  std::vector<int64_t> at;
  for (const Size& size : sizes) at.push_back(size.min);
  for (bool more = true; more && !::testing::Test::HasFailure();) {
    SCOPED_TRACE(::testing::PrintToString(at));
    expect_at(text, code, at);
    more = false;
    for (size_t k = 0; k < at.size() && !more; ++k) {
      more = ++at[k] <= sizes[k].max;
      if (!more) at[k] = sizes[k].min;
    }
  }
}

}  // namespace byoc::at_sizes
