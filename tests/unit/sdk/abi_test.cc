// SPDX-License-Identifier: Apache-2.0
#include "byoc/plugin/abi.h"

#include <gtest/gtest.h>

extern "C" int can_judge(const byoc_plugin* table);
extern "C" int can_show(const byoc_plugin* table);
extern "C" int has_knobs(const byoc_plugin* table);
extern "C" int max_ops_or_zero(const byoc_plugin* table);

namespace {

byoc_status* show(byoc_instance*, const byoc_compile*, byoc_str, const byoc_sink*) {
  return nullptr;
}
byoc_status* knobs(byoc_instance*, const byoc_compile*, const byoc_sink*) { return nullptr; }
byoc_status* judge(byoc_instance*, uint32_t, byoc_str, byoc_verdict*) { return nullptr; }

TEST(Abi, SeesASlotThatIsThere) {
  byoc_plugin table{};
  table.h.size = sizeof table;
  table.judge = judge;
  table.max_ops = 7;
  EXPECT_EQ(can_judge(&table), 1);
  EXPECT_EQ(max_ops_or_zero(&table), 7);
}

TEST(Abi, TakesANullSlotAsAbsent) {
  byoc_plugin table{};
  table.h.size = sizeof table;
  EXPECT_EQ(can_judge(&table), 0);
  EXPECT_EQ(max_ops_or_zero(&table), 0);
}

TEST(Abi, ReadsNothingBehindTheEndOfAShorterStruct) {
  byoc_plugin table{};
  table.judge = judge;  // after the end of the shorter struct
  table.h.size = offsetof(byoc_plugin, judge) + sizeof(table.judge) - 1;
  EXPECT_EQ(can_judge(&table), 0);
}

TEST(Abi, AppendsTheSlotsOfMinor1BehindThoseOfMinor0) {  // 8 bytes per slot, 14 in minor 0
  EXPECT_EQ(BYOC_ABI_MINOR, 10);
  EXPECT_EQ(offsetof(byoc_plugin, shutdown), 120u + 8 * 13);
  EXPECT_EQ(offsetof(byoc_plugin, layouts), 120u + 8 * 14);
  EXPECT_EQ(offsetof(byoc_plugin, show), 120u + 8 * 15);
  EXPECT_EQ(int{BYOC_TAG_LAYOUT}, int{BYOC_TAG_NATIVE_TABLE} + 1);
  EXPECT_EQ(sizeof(byoc_layout), 40u);
}

TEST(Abi, TakesASlotOfMinor1AsAbsentInATableOfMinor0) {
  byoc_plugin table{};
  table.show = show;  // after the end of a table of minor 0
  table.h.size = offsetof(byoc_plugin, layouts);
  EXPECT_EQ(can_show(&table), 0);
  table.h.size = sizeof table;
  EXPECT_EQ(can_show(&table), 1);
}

TEST(Abi, HasTheLayoutThatMajor1Froze) {  // LP64, from the fields in abi.h
  EXPECT_EQ(sizeof(byoc_hdr), 16u);
  EXPECT_EQ(offsetof(byoc_host, status_new), 48u);
  EXPECT_EQ(offsetof(byoc_plugin, open), 120u);
  EXPECT_EQ(offsetof(byoc_const, flags), 64u);
  EXPECT_EQ(offsetof(byoc_verdict, reason), 48u);
  EXPECT_EQ(offsetof(byoc_call, out_shapes), 72u);
  EXPECT_EQ(offsetof(byoc_kernel_info, implementation), 96u);
}

TEST(Abi, AppendsTheKnobsOfMinor3) {
  EXPECT_EQ(offsetof(byoc_plugin, knobs), 120u + 8 * 16);
  EXPECT_EQ(offsetof(byoc_function, point), sizeof(byoc_hdr) + 2 * sizeof(byoc_str) + 2 * 8);
  EXPECT_EQ(sizeof(byoc_function), offsetof(byoc_function, point) + sizeof(byoc_str));
}

TEST(Abi, TakesTheSlotOfMinor3AsAbsentInATableOfMinor2) {
  byoc_plugin table{};
  table.knobs = knobs;  // after the end of a table of minor 2
  table.h.size = offsetof(byoc_plugin, knobs);
  EXPECT_EQ(has_knobs(&table), 0);
  table.h.size = sizeof table;
  EXPECT_EQ(has_knobs(&table), 1);
}

TEST(Abi, AppendsTheMachineOfMinor7) {
  EXPECT_EQ(offsetof(byoc_verdict, machine), 48u + sizeof(byoc_str));
  EXPECT_EQ(sizeof(byoc_verdict), offsetof(byoc_verdict, machine) + sizeof(void*));
  EXPECT_EQ(int{BYOC_TAG_MACHINE}, int{BYOC_TAG_NATIVE_FAILURE} + 1);
  EXPECT_EQ(offsetof(byoc_machine, levels), sizeof(byoc_hdr) + 2 * 4);
  EXPECT_EQ(offsetof(byoc_machine, loop_ns), sizeof(byoc_hdr) + 2 * 4 + 8 + 3 * sizeof(byoc_rate));
}

TEST(Abi, GivesThePartitionOfMinor8TheReservedSlot) {
  EXPECT_EQ(offsetof(byoc_plugin, partition), offsetof(byoc_plugin, open) + size_t{4} * 8);
  EXPECT_EQ(offsetof(byoc_plugin, compile), offsetof(byoc_plugin, partition) + 8);
  using Slot = byoc_status* (*)(byoc_instance*, const byoc_compile*, const byoc_sink*);
  EXPECT_TRUE((std::is_same_v<decltype(byoc_plugin::partition), Slot>));
}

TEST(Abi, AppendsTheSizesOfMinor9) {
  EXPECT_EQ(offsetof(byoc_call, sizes), 72u + sizeof(void*));
  EXPECT_EQ(sizeof(byoc_call), offsetof(byoc_call, sizes) + sizeof(void*));
  EXPECT_EQ(sizeof(byoc_native_call), offsetof(byoc_native_call, sizes) + sizeof(void*));
}

TEST(Abi, AppendsTheDevicesOfMinor10) {
  EXPECT_EQ(offsetof(byoc_plugin, device), offsetof(byoc_plugin, knobs) + 8);
  EXPECT_EQ(sizeof(byoc_plugin), offsetof(byoc_plugin, device) + 8);
  EXPECT_EQ(offsetof(byoc_const, device_data), offsetof(byoc_const, flags) + 8);
  EXPECT_EQ(offsetof(byoc_kernel_info, placement), 96u + 3 * sizeof(byoc_str));
  EXPECT_EQ(offsetof(byoc_call, stream), 48u);  // where the reserved field was
  EXPECT_EQ(int{BYOC_TAG_DEVICE}, int{BYOC_TAG_MACHINE} + 1);
  EXPECT_EQ(int{BYOC_KERNEL_ASYNC}, 2 * int{BYOC_KERNEL_OUT_SHAPES});
  EXPECT_EQ(sizeof(byoc_device_table), sizeof(byoc_hdr) + size_t{11} * 8);
}

TEST(Abi, AppendsTheSignaturesOfMinor2) {
  EXPECT_EQ(offsetof(byoc_kernel_info, signature), 96u + sizeof(byoc_str));
  EXPECT_EQ(offsetof(byoc_native_fn, signature), sizeof(byoc_hdr) + size_t{3} * 8);
  EXPECT_EQ(offsetof(byoc_kernel_info, open_workspace), 96u + 2 * sizeof(byoc_str));
  EXPECT_EQ(offsetof(byoc_native_fn, open_workspace),
            offsetof(byoc_native_fn, signature) + sizeof(byoc_str));
}

}  // namespace
