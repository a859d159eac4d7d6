// SPDX-License-Identifier: Apache-2.0
// Plugins that were built for other minors of the ABI run as they are, or are refused with the
// reason. The files are from made/make.sh, and are never built anew.
#include <gmock/gmock.h>

#include "support/flow.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

std::shared_ptr<const PluginSet> frozen(const std::string& id) {
  PluginSearch search;
  search.files = {cat(BYOC_SOURCE_DIR, "/tests/unit/frozen/made/", id, ".so")};
  search.folders = {BYOC_PLUGIN_DIR};
  search.ids = std::set<std::string>{id, "json"};
  return PluginSet::load(search);
}

class Frozen : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the frozen plugins are for x86-64";
#endif
  }
};

constexpr const char* kModel = R"(
fn main(%x: f32[3,5]) {
  %0 = relu(%x) loc("R0")
  %1 = tanh(%0) loc("T1")
  %2 = relu(%1) loc("R2")
  return %2
})";

/// Compiles for the plugin and json, keeps the artifact, and expects what json alone computes.
void expect_to_run(const std::string& id, size_t devices) {
  const auto plugins = frozen(id);
  for (const RefusedPlugin& refused : plugins->refused())
    ASSERT_NE(refused.id, id) << refused.reason;
  ASSERT_NE(plugins->find(id), nullptr);
  const auto build_with = [&](const std::vector<std::string>& compilers) {
    auto built = build(parse(kModel), {.plugins = plugins, .compilers = compilers});
    EXPECT_TRUE(built.ok()) << built.status().to_string();
    return *std::move(built);
  };
  const Executable mixed = build_with({id, "json"});
  size_t kernels = 0;
  for (const ExternalModule& module : mixed.modules) kernels += module.plugin == id;
  EXPECT_GT(kernels, 0u);
  EXPECT_EQ(mixed.program.devices.size(), devices);
  const std::string path = cat(testing::TempDir(), "/", id, ".byoc");
  ASSERT_TRUE(save_artifact(mixed, path).ok());
  auto read = load_artifact(path);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  std::vector<float> values;
  for (int k = 0; k < 15; ++k) values.push_back(0.25f * static_cast<float>(k - 7));
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({3, 5}, values));
  expect_close(execute(*read, plugins, inputs), execute(build_with({"json"}), plugins, inputs));
}

TEST_F(Frozen, APluginOfMinor6RunsUnchanged) { expect_to_run("minor6", 0); }

TEST_F(Frozen, APluginOfMinor10WithADeviceRunsUnchanged) { expect_to_run("minor10", 1); }

TEST_F(Frozen, APluginThatNeedsANewerHostIsRefusedWithBothMinors) {
  const auto plugins = frozen("newer");
  EXPECT_EQ(plugins->find("newer"), nullptr);
  ASSERT_FALSE(plugins->refused().empty());
  const RefusedPlugin& refused = plugins->refused()[0];
  EXPECT_EQ(refused.id, "newer");
  EXPECT_THAT(refused.reason,
              testing::HasSubstr(cat("needs ABI 1.4000, this byoc has 1.", BYOC_ABI_MINOR)));
}

}  // namespace
}  // namespace byoc::test
