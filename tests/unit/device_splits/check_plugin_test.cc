// SPDX-License-Identifier: Apache-2.0
// byoc check-plugin finds devices that break a promise, and passes one that keeps them.
#include <gmock/gmock.h>

#include "core/conform/conform.h"
#include "split.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

/// Returns the failures of the group `device`, "name: reason".
std::vector<std::string> failures_of(const std::string& fault) {
  conform::Options options;
  options.path = cat(BYOC_BUILD_DIR, "/tests/sim/libbyoc_sim.so");
  options.options["sim"] = {
      {"wraps", cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so")}, {"delay_us", "300"}, {"fault", fault}};
  std::vector<std::string> failed;
  const int groups[] = {9};
  const auto outcomes = conform::run_checks(options, groups, [&](const conform::Finished& one) {
    if (one.answer.outcome == conform::Outcome::kFail)
      failed.push_back(cat(one.check->name, ": ", one.answer.reason));
  });
  EXPECT_TRUE(outcomes.ok()) << outcomes.status().to_string();
  return failed;
}

TEST(DeviceChecks, PassADeviceThatKeepsItsPromises) {
  EXPECT_THAT(failures_of(""), testing::IsEmpty());
}

TEST(DeviceChecks, FindEachBrokenPromise) {
  using testing::Contains;
  using testing::HasSubstr;
  using testing::StartsWith;
  EXPECT_THAT(failures_of("wait"), Contains(StartsWith("device_order: ")));
  EXPECT_THAT(failures_of("sync"), Contains(StartsWith("device_order: ")));
  EXPECT_THAT(failures_of("stale"), Contains(StartsWith("device_memory: ")));
  EXPECT_THAT(failures_of("align"), Contains(StartsWith("device_memory: ")));
  EXPECT_THAT(failures_of("unrecorded"), Contains(StartsWith("device_events: ")));
  EXPECT_THAT(failures_of("drop"), Contains(StartsWith("device_drop: ")));
}

}  // namespace
}  // namespace byoc::test
