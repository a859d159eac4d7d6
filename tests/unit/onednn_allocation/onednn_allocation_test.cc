// SPDX-License-Identifier: Apache-2.0
// Warm runs of the onednn plugin's kernels. oneDNN allocates inside of execute, so the kernels have
// the flag MAY_ALLOC. No other library allocates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/allocations.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

using testing::AnyOf;
using testing::StartsWith;

TEST(AllocationOrigins, NameTheLibraryThatBegan) {
  AllocationOrigins origins;
  uint64_t before = allocations();
  std::free(std::malloc(1));
  delete new std::string(100, 'x');
  uint64_t after = allocations();
  auto counts = origins.stop();
  EXPECT_EQ(after - before, 3u);
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.begin()->first, "onednn_allocation_test");
  EXPECT_EQ(counts.begin()->second, 3u);  // the string and its characters
}

Executable digits_by(const std::string& compiler, uint32_t threads) {
  BuildOptions options{.plugins = built_plugins(), .compilers = {compiler}};
  options.threads = threads;
  auto executable = build(import("digits/model.onnx", {{"N", {1}}}), options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  return executable.ok() ? *std::move(executable) : Executable();
}

/// Returns the number of allocations per library that caused them, in 20 runs
/// after one warm-up run.
std::map<std::string, uint64_t> origins_of_runs(Executable executable, uint32_t threads) {
  auto loaded = Session::load(std::move(executable), built_plugins(), {.threads = threads});
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  if (!loaded.ok()) return {};
  const Session& session = **loaded;
  Tensor x = *Tensor::make(session.inputs()[0].type), y = *Tensor::make(session.outputs()[0].type);
  fill_random(x, 1);
  DLTensor in = x.view(), out = y.view();
  auto context = *session.make_context();
  EXPECT_TRUE(session.run(*context, {&in, 1}, {&out, 1}).ok());
  bool ok = true;
  AllocationOrigins origins;
  for (int k = 0; k < 20; ++k) ok &= session.run(*context, {&in, 1}, {&out, 1}).ok();
  auto counts = origins.stop();
  EXPECT_TRUE(ok);
  return counts;
}

TEST(OnednnRun, AllocatesNothingOutsideOfOnednn) {
  for (uint32_t threads : {1u, 2u}) {
    Executable executable = digits_by("onednn", threads);
    size_t regions = 0;
    for (const ExternalModule& module : executable.modules) {
      for (const ExternalFunction& function : module.functions) {
        if (module.plugin != "onednn") continue;
        ++regions;
        EXPECT_NE(function.flags & BYOC_KERNEL_MAY_ALLOC, 0u) << function.symbol;
      }
    }
    EXPECT_GT(regions, 0u) << "no region runs on onednn, so the test has no effect";
    for (const auto& [library, count] : origins_of_runs(std::move(executable), threads)) {
      EXPECT_THAT(library, AnyOf(StartsWith("libdnnl"), StartsWith("libgomp")))
          << count << " allocations in 20 runs, " << threads << " threads";
      RecordProperty(cat(library, "_", threads), cat(count));
    }
  }
}

TEST(JsonRun, AllocatesNothing) {
  Executable executable = digits_by("json", 1);
  for (const auto& [library, count] : origins_of_runs(std::move(executable), 1))
    ADD_FAILURE() << count << " allocations begin in " << library;
}

}  // namespace
}  // namespace byoc::test
