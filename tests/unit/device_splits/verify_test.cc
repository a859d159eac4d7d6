// SPDX-License-Identifier: Apache-2.0
// verify and replay across devices, and runs by other plugins after a device has failed.
#include <gmock/gmock.h>

#include "core/tools/replay/run_replay.h"
#include "core/tools/verify/verification.h"
#include "split.h"

namespace byoc::test {
namespace {

constexpr const char* kVerified = R"(
fn main(%x: f32[4,16]) {
  %0 = tanh(%x) loc("T0")
  %1 = exp(%0) loc("E1")
  %2 = softmax(%1) {axis=1} loc("S2")
  return %2
})";

driver::Verification verified(const std::shared_ptr<const PluginSet>& plugins) {
  driver::VerifyRequest request;
  request.build.plugins = plugins;
  request.build.compilers = {"sim"};
  request.build.default_codegen = "json";
  request.against = "json";
  auto out = driver::verify_model(parse(kVerified), request);
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  return out.ok() ? *std::move(out) : driver::Verification();
}

TEST(DeviceVerify, PassesADeviceThatIsRight) {
  const driver::Verification verification = verified(sim_plugins({{"delay_us", "100"}}));
  EXPECT_TRUE(verification.passed());
  EXPECT_THAT(verification.plugins, testing::Contains("sim"));
}

TEST(DeviceVerify, NamesTheRegionOfTheDeviceThatIsWrong) {
  const auto plugins = sim_plugins({{"fault", "stale"}});  // copies after the first do nothing
  const driver::Verification verification = verified(plugins);
  EXPECT_FALSE(verification.passed());
  ASSERT_TRUE(verification.bad.has_value());
  EXPECT_EQ(verification.bad->plugin, "sim");
  const auto again =
      driver::run_replay(verification.bad->replay, **plugins->get("sim"), plugins, -1);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_FALSE(again->passed());
  const auto by_host =
      driver::run_replay(verification.bad->replay, **plugins->get("json"), plugins, -1);
  ASSERT_TRUE(by_host.ok()) << by_host.status().to_string();
  EXPECT_TRUE(by_host->passed());
}

TEST(DeviceVerify, OtherPluginsRunOnAfterADeviceHasFailed) {
  const std::map<std::string, std::map<std::string, std::string>> failures = {
      {"device-lost", {{"lost_at", "2"}}},
      {"device-memory", {{"memory_mib", "1"}}},
      {"device-timeout", {{"hang_at", "1"}}}};
  for (const auto& [slug, options] : failures) {
    const auto plugins = sim_plugins(options);
    const std::vector<int64_t> dims = {slug == "device-memory" ? 600 : 4, 16 * 64};
    std::string text = kVerified;
    text.replace(text.find("4,16"), 4, cat(dims[0], ",", dims[1]));
    const IRModule module = simplified(parse(text), plugins);
    const Executable there = split(
        module, [](size_t op) { return op != 1; }, plugins);
    const Executable here = split(
        module, [](size_t) { return false; }, plugins);
    auto session = Session::load(there, plugins, {.device_timeout_ms = 300});
    Status status = session.ok() ? Status() : session.status();
    if (status.ok()) {
      auto context = (*session)->make_context();
      status = context.ok() ? Status() : context.status();
      const Tensor in = *Tensor::make({DType::kF32, dims});
      const Tensor out = *Tensor::make({DType::kF32, dims});
      std::vector<DLTensor> inputs{in.view()}, outputs{out.view()};
      if (status.ok()) status = (*session)->run(**context, inputs, outputs);
    }
    EXPECT_EQ(status.slug(), slug) << status.to_string();
    EXPECT_EQ(execute(here, plugins).size(), 1u);
  }
}

}  // namespace
}  // namespace byoc::test
