// SPDX-License-Identifier: Apache-2.0
// The order of steps with devices: who waits for whom.
#include "runtime/device/device_schedule.h"

#include <gmock/gmock.h>

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TensorSpec kType{DType::kF32, {64}};  // 256 bytes
Place input(uint32_t k) { return {Place::kInput, k, 0}; }
Place output(uint32_t k) { return {Place::kOutput, k, 0}; }
Place on_device(uint64_t offset) { return {Place::kDevice, 0, offset}; }
Place on_host(uint64_t offset) { return {Place::kArena, 0, offset}; }

Step step(uint32_t module, Place from, Place to) {
  Step out;
  out.module = module;
  out.n_in = 1;
  out.args = {from, to};
  out.types = {kType, kType};
  return out;
}
Step copy(Place from, Place to) { return step(Step::kDeviceCopy, from, to); }
Step kernel(Place from, Place to) { return step(0, from, to); }
Step host(Place from, Place to) { return step(Step::kHostExtern, from, to); }

std::vector<StepOrder> ordered(std::vector<Step> steps, bool is_async = true) {
  Executable executable;
  std::vector<StepTraits> traits;
  for (const Step& one : steps) {
    traits.emplace_back();
    if (one.module == 0) traits.back() = {0, is_async, false};
  }
  executable.program.steps = std::move(steps);
  return order_steps(executable, traits);
}

TEST(DeviceSchedule, OrdersQueuesByEventsAndLetsTheHostWaitWhereItReads) {
  const std::vector<StepOrder> orders = ordered({
      copy(input(0), on_device(0)),          // 0
      kernel(on_device(0), on_device(256)),  // 1
      copy(on_device(256), on_host(0)),      // 2
      host(on_host(0), output(0)),           // 3
      copy(input(1), on_device(0)),          // 4: over what 1 reads
      kernel(on_device(0), on_device(256)),  // 5: over what 2 reads, which the host waited for
      copy(on_device(256), output(1)),       // 6
  });
  EXPECT_EQ(orders[0].queue, 0u);
  EXPECT_EQ(orders[1].queue, 1u);
  EXPECT_EQ(orders[2].queue, 2u);
  EXPECT_EQ(orders[3].queue, StepOrder::kHost);
  EXPECT_THAT(orders[0].queue_waits, IsEmpty());
  EXPECT_THAT(orders[1].queue_waits, ElementsAre(0));
  EXPECT_THAT(orders[2].queue_waits, ElementsAre(1));
  EXPECT_THAT(orders[3].host_waits, ElementsAre(2));
  EXPECT_THAT(orders[4].queue_waits, ElementsAre(1));
  EXPECT_THAT(orders[5].queue_waits, ElementsAre(4));
  EXPECT_THAT(orders[6].queue_waits, ElementsAre(5));
  EXPECT_THAT(orders[6].drains, ElementsAre(4, 5, 6));
  for (size_t k : {0, 1, 2, 4, 5, 6}) EXPECT_TRUE(orders[k].is_recorded) << k;
  for (size_t k = 0; k < 6; ++k) EXPECT_THAT(orders[k].drains, IsEmpty()) << k;
}

TEST(DeviceSchedule, LetsTheHostWaitBeforeItWritesWhatACopyReads) {
  const std::vector<StepOrder> orders = ordered({
      host(input(0), on_host(0)),      // 0
      copy(on_host(0), on_device(0)),  // 1
      host(input(1), on_host(256)),    // 2: other memory
      host(input(1), on_host(0)),      // 3: what the copy reads
      host(on_host(0), output(0)),     // 4
  });
  EXPECT_THAT(orders[1].queue_waits, IsEmpty());
  EXPECT_THAT(orders[2].host_waits, IsEmpty());
  EXPECT_THAT(orders[3].host_waits, ElementsAre(1));
  EXPECT_THAT(orders[4].host_waits, IsEmpty());
  EXPECT_THAT(orders[4].drains, IsEmpty()) << "all has been waited for";
}

TEST(DeviceSchedule, LetsTheHostWaitForOperandsOfKernelsThatEndWithTheirCall) {
  const std::vector<StepOrder> orders = ordered(
      {
          copy(input(0), on_device(0)),
          kernel(on_device(0), on_device(256)),
          copy(on_device(256), output(0)),
      },
      false);
  EXPECT_EQ(orders[1].queue, StepOrder::kHost);
  EXPECT_THAT(orders[1].host_waits, ElementsAre(0));
  EXPECT_THAT(orders[2].queue_waits, IsEmpty());
  EXPECT_THAT(orders[2].drains, ElementsAre(2));
}

}  // namespace
}  // namespace byoc::test
