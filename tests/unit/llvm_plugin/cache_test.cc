// SPDX-License-Identifier: Apache-2.0
// Caches by the llvm plugin: a result in the memory of the cache has the new rows and is else as it
// was, and a start that does not fit leaves it as it was.
#include <gtest/gtest.h>

#include <cmath>

#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

constexpr std::string_view kUpdate =
    R"(fn main(%rows: f32[2,1,3], %cache: f32[2,4,3], %at: i64[2]) {
  %0 = update_rows(%cache, %rows, %at)
  return %0
})";

std::shared_ptr<const PluginSet> llvm_alone() {
  PluginSearch search;
  search.files = {cat(BYOC_PLUGIN_DIR, "/libbyoc_llvm.so")};
  search.options = {{"llvm", {{"cache", "false"}}}};
  return PluginSet::load(search);
}

Executable built_by_llvm(std::string_view text) {
  BuildOptions options;
  options.plugins = llvm_alone();
  options.compilers = {"llvm"};
  options.strict = true;
  Result<Executable> out = build(parse(text), options);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : Executable();
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

Pairs pairs_of(std::string_view text) {
  const Executable out = built_by_llvm(text);
  if (out.modules.size() != 1 || out.modules[0].functions.size() != 1) return {{99, 99}};
  return out.modules[0].functions[0].inplace;
}

TEST(LlvmCaches, MayBeWrittenInPlace) { EXPECT_EQ(pairs_of(kUpdate), (Pairs{{0, 0}})); }

TEST(LlvmCaches, AreCopiedWhereTheyAreConstants) {
  EXPECT_EQ(pairs_of(R"(fn main(%rows: f32[1,1,2], %at: i64[1]) {
  %c = const([1, 2, 3, 4]) : f32[1,2,2]
  %0 = update_rows(%c, %rows, %at)
  return %0
})"),
            Pairs());
}

// The second update takes over the memory of the first one's result, the first copies its input.
constexpr std::string_view kTwoUpdates =
    R"(fn main(%cache: f32[1,3,2], %a: f32[1,1,2], %i: i64[1], %j: i64[1]) {
  %0 = exp(%cache)
  %1 = update_rows(%0, %a, %i)
  %2 = update_rows(%1, %a, %j)
  %3 = log(%2)
  return %3
})";

Tensor place(int64_t at) {
  Tensor out = *Tensor::make({DType::kI64, {1}});
  *static_cast<int64_t*>(static_cast<void*>(out.data())) = at;
  return out;
}

TEST(LlvmCaches, AreUpdatedInTheMemoryOfOtherValues) {
  std::vector<Tensor> in;
  in.push_back(tensor_f32({1, 3, 2}, {1, 2, 3, 4, 5, 6}));
  in.push_back(tensor_f32({1, 1, 2}, {7, 9}));
  in.push_back(place(0)), in.push_back(place(2));
  const std::vector<Tensor> out = execute(built_by_llvm(kTwoUpdates), llvm_alone(), in);
  ASSERT_EQ(out.size(), 1u);
  std::vector<Tensor> expected;
  expected.push_back(tensor_f32(
      {1, 3, 2}, {std::log(7.0F), std::log(9.0F), 3, 4, std::log(7.0F), std::log(9.0F)}));
  expect_close(out, expected);
}

}  // namespace
}  // namespace byoc::test
