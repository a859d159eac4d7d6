// SPDX-License-Identifier: Apache-2.0
#pragma once
// The target and the interpreter of the tests of joined stages.
#include <gtest/gtest.h>

#include "byoc/te/evaluate.h"
#include "byoc/te/target.h"

namespace byoc {

inline constexpr int64_t kBlock = 8;  // channels
inline te::Target avx512() { return *te::parse_target("x86-64-v4"); }

/// Runs loops in the interpreter and returns the first output.
inline std::vector<float> interpreted(const te::LoopFunction& loops,
                                      const std::vector<std::vector<float>>& inputs) {
  size_t n = 1;
  for (const te::Expr& extent : loops.outputs[0].shape())
    n *= static_cast<size_t>(*te::as_int(extent));
  std::vector<float> y(n);
  std::vector<const void*> in;
  for (const std::vector<float>& input : inputs) in.push_back(input.data());
  void* out[] = {y.data()};
  Status status = te::evaluate(loops, in, out);
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

}  // namespace byoc
