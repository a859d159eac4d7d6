// SPDX-License-Identifier: Apache-2.0
// Devices that are lost, full, missing, or that do not end: errors with names, and a process that
// goes on.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "byoc/base/clock.h"
#include "programs.h"

namespace byoc::test {
namespace {

/// y = relu(x + c) + x: on the device, the host, the device.
Executable there_and_back(const std::shared_ptr<const PluginSet>& plugins, int64_t elements = 64) {
  Programs made(plugins, elements);
  const Place x = made.input(), y = made.output(), h0 = made.on_host(), h1 = made.on_host();
  const Place d0 = made.on_device(), d1 = made.on_device(), d2 = made.on_device();
  made.copy(x, d0);
  made.run("sim", Op::kShift, {d0, d1});
  made.copy(d1, h0);
  made.run("example", Op::kRelu, {h0, h1});
  made.copy(h1, d1);
  made.run("sim", Op::kAdd, {d1, d0, d2});
  made.copy(d2, y);
  return made.executable;
}

bool is_right(const Loaded& loaded) {
  const std::vector<float> x = elements(loaded.inputs[0]), y = elements(loaded.outputs[0]);
  for (size_t k = 0; k < x.size(); ++k)
    if (y[k] != std::max(0.0f, x[k] + (k % 2 == 0 ? 0.5f : -0.5f)) + x[k]) return false;
  return true;
}

TEST(DeviceFailures, ALostDeviceEndsTheRunWithItsName) {
  const auto plugins = device_plugins({{"lost_at", "5"}});
  Loaded loaded(there_and_back(plugins), plugins);
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  Status status = loaded.run(1);
  for (int k = 0; k < 5 && status.ok(); ++k) status = loaded.run(1);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.slug(), "device-lost");
  EXPECT_THAT(status.to_string(), testing::HasSubstr("simulated device 0 was lost"));
  EXPECT_EQ(loaded.run(1).slug(), "device-lost") << "later runs, too";
  const auto others = device_plugins();
  Loaded other(there_and_back(others), others);
  EXPECT_TRUE(other.run(1).ok()) << "another device goes on";
}

TEST(DeviceFailures, ADeviceWithoutMemoryRefusesContexts) {
  const auto plugins = device_plugins({{"memory_mib", "1"}});
  const Loaded loaded(there_and_back(plugins, 100'000), plugins);
  EXPECT_EQ(loaded.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(loaded.status.slug(), "device-memory");
  EXPECT_THAT(loaded.status.to_string(), testing::HasSubstr("an arena of"));
}

TEST(DeviceFailures, AKernelThatNeverEndsIsLeftAfterTheTimeLimit) {
  const auto plugins = device_plugins({{"hang_at", "2"}});
  Loaded loaded(there_and_back(plugins), plugins, {.device_timeout_ms = 200});
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  const uint64_t begin = now_ns();
  Status status = loaded.run(1);
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(status.slug(), "device-timeout");
  EXPECT_THAT(status.to_string(), testing::HasSubstr("200 ms"));
  EXPECT_LT(now_ns() - begin, 5'000'000'000u);
  EXPECT_TRUE(loaded.run(1).ok()) << "the context has new streams";
}

TEST(DeviceFailures, ADriverThatIsTooOldIsNamedAtLoad) {
  const Executable executable = there_and_back(device_plugins());
  const auto plugins = device_plugins({{"driver", "old"}});
  auto session = Session::load(executable, plugins);
  EXPECT_EQ(session.status().code(), Code::kUnavailable);
  EXPECT_EQ(session.status().slug(), "device-unavailable");
  EXPECT_THAT(session.status().to_string(),
              testing::HasSubstr("the driver is 1.0, at least 2.0 is needed"));
}

TEST(DeviceFailures, TheFallbackRunsWhereTheDeviceIsMissing) {
  const auto there = device_plugins();
  Executable executable = there_and_back(there);
  Programs host(there);
  host.run("example", Op::kRelu, {host.input(), host.output()});
  host.executable.modules.erase(host.executable.modules.begin());
  host.executable.program.steps[0].module = 0;
  host.executable.program.devices.clear();
  executable.fallback = std::make_shared<const Executable>(host.executable);
  const auto plugins = device_plugins({{"driver", "old"}});
  auto session = Session::load(executable, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_THAT((*session)->warnings(), testing::Contains(testing::HasSubstr("fallback")));
}

TEST(DeviceFailures, ACancelledRunEndsWhileTheDeviceWorks) {
  Cancellation cancel;
  const auto plugins = device_plugins({{"hang_at", "1"}});
  Loaded loaded(there_and_back(plugins), plugins, {.cancel = &cancel, .device_timeout_ms = 0});
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.cancel();
  });
  EXPECT_EQ(loaded.run(1).slug(), "interrupted");
  later.join();
}

TEST(DeviceTraps, AnAccessOfTheHostIsAFault) {
  EXPECT_EXIT(
      {
        const auto plugins = device_plugins({{"fault", "peek"}});
        Loaded loaded(there_and_back(plugins), plugins);
        (void)loaded.run(1);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

/// Runs with new inputs until a result is wrong; returns whether one was.
bool finds(const std::string& fault) {
  const auto plugins = device_plugins({{"fault", fault}, {"delay_us", "300"}});
  Loaded loaded(there_and_back(plugins), plugins);
  for (uint64_t k = 0; k < 50; ++k)
    if (!loaded.run(k).ok() || !is_right(loaded)) return true;
  return false;
}

TEST(DeviceTraps, MissingWaitsAreWrongNumbersWithinAFewRuns) {
  EXPECT_TRUE(finds("wait"));
  EXPECT_TRUE(finds("sync"));
  EXPECT_TRUE(finds("stale"));
  EXPECT_FALSE(finds(""));
}

}  // namespace
}  // namespace byoc::test
