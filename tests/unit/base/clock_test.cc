// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace byoc {
namespace {

uint64_t monotonic_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

TEST(Clock, IsTheMonotonicOneOfTheSystemInNanoseconds) {
  uint64_t before = monotonic_ns(), now = now_ns(), after = monotonic_ns();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(Clock, CountsNanosecondsSinceABeginning) {
  EXPECT_GE(ns_since(monotonic_ns() - 1'000'000), 1'000'000.0);
  EXPECT_LT(ns_since(now_ns()), 60e9);
}

}  // namespace
}  // namespace byoc
