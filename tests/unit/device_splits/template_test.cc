// SPDX-License-Identifier: Apache-2.0
// The plugin that `byoc new-plugin --device` copies, made with the C++ SDK, runs models.
#include <gmock/gmock.h>

#include "split.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

TEST(DeviceTemplate, RunsItsOpsWithConstantsOnTheDevice) {
  PluginSearch search;
  search.files = {cat(BYOC_BUILD_DIR, "/tests/unit/device_splits/libbyoc_example_device.so")};
  search.folders = {BYOC_PLUGIN_DIR};
  search.ids = std::set<std::string>{"example_device", "json"};
  const std::shared_ptr<const PluginSet> plugins = PluginSet::load(search);
  ASSERT_NE(plugins->find("example_device"), nullptr);
  ASSERT_EQ(plugins->find("example_device")->devices().size(), 1u);
  EXPECT_EQ(plugins->find("example_device")->devices()[0].name, "pretended device");
  const IRModule model = parse(R"(
fn main(%x: f32[4], %y: f32[4]) {
  %c = const([1, -2, 3, -4]) : f32[4]
  %0 = add(%x, %c)
  %1 = relu(%0)
  %2 = exp(%1)
  %3 = add(%2, %y)
  %4 = relu(%3)
  return %4, %1
})");
  auto built = [&](std::vector<std::string> compilers) {
    Result<Executable> out = build(model, {.plugins = plugins, .compilers = std::move(compilers)});
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return out.ok() ? *std::move(out) : Executable();
  };
  const Executable there = built({"example_device", "json"}), here = built({"json"});
  ASSERT_EQ(there.program.devices.size(), 1u);
  const CopiedBytes bytes = copied_bytes(there.program);
  EXPECT_EQ(bytes.in, 3u * 16) << "x, y and the result of exp";
  EXPECT_EQ(bytes.out, 2u * 16) << "relu, for exp and for the caller, and the last result";
  std::vector<Tensor> inputs;
  inputs.push_back(tensor_f32({4}, {0.5f, 3, -7, 1}));
  inputs.push_back(tensor_f32({4}, {-1, -100, 2, 0}));
  for (int runs = 0; runs < 20; ++runs)
    expect_same_bytes(execute(there, plugins, inputs), execute(here, plugins, inputs));
}

}  // namespace
}  // namespace byoc::test
