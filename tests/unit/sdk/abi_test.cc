#include "byoc/plugin/abi.h"

#include <gtest/gtest.h>

extern "C" int can_judge(const byoc_plugin* table);
extern "C" int max_ops_or_zero(const byoc_plugin* table);

namespace {

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
  table.judge = judge;  // garbage, as far as a shorter struct goes
  table.h.size = offsetof(byoc_plugin, judge) + sizeof(table.judge) - 1;
  EXPECT_EQ(can_judge(&table), 0);
}

TEST(Abi, HasTheLayoutThatMajor1Froze) {  // LP64, from the fields as abi.h declares them
  EXPECT_EQ(sizeof(byoc_hdr), 16u);
  EXPECT_EQ(offsetof(byoc_host, status_new), 48u);
  EXPECT_EQ(offsetof(byoc_plugin, open), 120u);
  EXPECT_EQ(sizeof(byoc_const), 72u);
  EXPECT_EQ(offsetof(byoc_verdict, reason), 48u);
  EXPECT_EQ(offsetof(byoc_call, out_shapes), 72u);
  EXPECT_EQ(offsetof(byoc_kernel_info, implementation), 96u);
}

}  // namespace
