// SPDX-License-Identifier: Apache-2.0
// Runs on the device: values, order under random delays, bytes, constants, times.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "byoc/base/clock.h"
#include "programs.h"
#include "runtime/session/profile.h"

namespace byoc::test {
namespace {

/// y0 = relu(x0 + x1) + c, y1 = relu(relu(x0 + x1)) + x1, by both in turn; memory is used again.
Executable mixed(const std::shared_ptr<const PluginSet>& plugins) {
  Programs made(plugins);
  const Place x0 = made.input(), x1 = made.input(), y0 = made.output(), y1 = made.output();
  const Place d0 = made.on_device(), d1 = made.on_device(), d2 = made.on_device();
  const Place h0 = made.on_host(), h1 = made.on_host();
  made.copy(x0, d0);
  made.copy(x1, d1);
  made.run("sim", Op::kAdd, {d0, d1, d2});
  made.copy(d2, h0);
  made.run("example", Op::kRelu, {h0, h1});
  made.copy(h1, d0);  // over what add has read
  made.run("sim", Op::kShift, {d0, d2});
  made.copy(d2, y0);
  made.run("example", Op::kRelu, {h1, h0});  // over what a copy has written
  made.run("example", Op::kAdd, {h0, x1, y1});
  return made.executable;
}

void expect_right(const Loaded& loaded) {
  const std::vector<float> x0 = elements(loaded.inputs[0]), x1 = elements(loaded.inputs[1]);
  const std::vector<float> y0 = elements(loaded.outputs[0]), y1 = elements(loaded.outputs[1]);
  for (size_t k = 0; k < x0.size(); ++k) {
    const float sum = std::max(0.0f, x0[k] + x1[k]);
    ASSERT_EQ(y0[k], sum + (k % 2 == 0 ? 0.5f : -0.5f)) << k;
    ASSERT_EQ(y1[k], sum + x1[k]) << k;
  }
}

TEST(DeviceRuns, AreRightUnderRandomDelays) {
  const auto plugins = device_plugins({{"delay_us", "200"}});
  Loaded loaded(mixed(plugins), plugins);
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Status status = loaded.run(seed);
    ASSERT_TRUE(status.ok()) << status.to_string();
    expect_right(loaded);
    if (HasFatalFailure()) return;
  }
}

TEST(DeviceRuns, AreRightOnFourThreads) {
  const auto plugins = device_plugins({{"delay_us", "200"}});
  const Executable executable = mixed(plugins);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Loaded loaded(executable, plugins);
      ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
      for (uint64_t seed = 0; seed < 50; ++seed) {
        ASSERT_TRUE(loaded.run(1000 * t + seed).ok());
        expect_right(loaded);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DeviceRuns, CopyTheBytesOfTheirStepsAndConstantsOnce) {
  sim::Counts counts;
  const auto plugins = device_plugins({counted_in(counts)});
  const Executable executable = mixed(plugins);
  auto loaded = std::make_unique<Loaded>(executable, plugins);
  ASSERT_TRUE(loaded->status.ok()) << loaded->status.to_string();
  EXPECT_EQ(counts.in_bytes, 256u) << "the constant";
  Loaded other(executable, plugins);
  EXPECT_EQ(counts.in_bytes, 256u) << "shared by sessions";
  for (uint64_t runs = 1; runs <= 3; ++runs) {
    ASSERT_TRUE(loaded->run(runs).ok());
    EXPECT_EQ(counts.in_bytes, 256u + runs * 3 * 256);
    EXPECT_EQ(counts.out_bytes, runs * 2 * 256);
  }
}

TEST(DeviceRuns, FreeConstantsWithTheLastSession) {
  sim::Counts counts;
  const auto plugins = device_plugins({counted_in(counts)});
  const Executable executable = mixed(plugins);
  { const Loaded loaded(executable, plugins); }
  const Loaded again(executable, plugins);
  EXPECT_EQ(counts.in_bytes, 2u * 256);
}

TEST(DeviceRuns, AreKeptInArtifacts) {
  const auto plugins = device_plugins();
  const Executable executable = mixed(plugins);
  const std::string path = testing::TempDir() + "/device_runs.byoc";
  ASSERT_TRUE(save_artifact(executable, path).ok());
  Result<Executable> read = load_artifact(path);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->program.devices, executable.program.devices);
  EXPECT_EQ(read->modules[0].functions[0].device, (std::vector<uint32_t>{kDLExtDev, 0}));
  Loaded loaded(*std::move(read), plugins);
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  ASSERT_TRUE(loaded.run(1).ok());
  expect_right(loaded);
}

TEST(DeviceRuns, ListCopiesInProfilesWithTheTimeOfTheWork) {
  const auto plugins = device_plugins({{"copy_us", "2000"}});
  Loaded loaded(mixed(plugins), plugins);
  ASSERT_TRUE(loaded.status.ok());
  loaded.session->set_profiling(*loaded.context, true);
  ASSERT_TRUE(loaded.run(1).ok());
  int copies = 0;
  for (const ProfileRow& row : profile_rows(*loaded.session, *loaded.context)) {
    if (row.runner != "copy") continue;
    ++copies;
    EXPECT_EQ(row.copied_bytes, 256u);
    EXPECT_EQ(row.implementation, "256 bytes");
    EXPECT_GE(row.total_ns, 2'000'000u);
  }
  EXPECT_EQ(copies, 5);
}

TEST(DeviceRuns, OverlapCopiesWithKernels) {
  sim::Counts counts;
  const auto plugins =
      device_plugins({counted_in(counts), {"copy_us", "1000"}, {"kernel_us", "1000"}});
  Programs made(plugins);
  constexpr int kPairs = 20;
  std::vector<Place> results;
  for (int k = 0; k < kPairs; ++k) {
    const Place there = made.on_device();
    made.copy(made.input(), there);
    results.push_back(made.on_device());
    made.run("sim", Op::kRelu, {there, results.back()});
  }
  made.copy(results.back(), made.output());
  Loaded loaded(made.executable, plugins);
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.to_string();
  double best = 1e9;
  for (uint64_t run = 0; run < 10; ++run) {
    const uint64_t in = counts.in_ns, kernels = counts.kernel_ns, begin = now_ns();
    ASSERT_TRUE(loaded.run(run).ok());
    const auto took = static_cast<double>(now_ns() - begin);
    const uint64_t longer = std::max(counts.in_ns - in, counts.kernel_ns - kernels);
    best = std::min(best, took / static_cast<double>(longer));
  }
  // 1.05 on a quiet machine, which is for a benchmark to hold; one after the other it is 2
  RecordProperty("permille_of_the_longer_side", static_cast<int>(best * 1000));
  EXPECT_LE(best, 1.5);
}

}  // namespace
}  // namespace byoc::test
