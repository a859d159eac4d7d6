// SPDX-License-Identifier: Apache-2.0
// Memory between guard pages.
#include <gmock/gmock.h>

#include "runtime/guard/guarded_memory.h"

namespace byoc::test {
namespace {

using testing::StrEq;

TEST(GuardedMemory, TellsWritesIntoItsMargins) {
  GuardedMemory memory("it", 10, 64, Placement::kAtStart);
  EXPECT_EQ(memory.changed_margin(), nullptr);
  memory.data()[10] = std::byte{1};
  EXPECT_THAT(memory.changed_margin(), StrEq("past the end of"));
}

TEST(GuardedMemory, TellsWritesBeforeIt) {
  GuardedMemory memory("it", 10, 64, Placement::kAtEnd);
  EXPECT_EQ(memory.changed_margin(), nullptr);
  memory.data()[-1] = std::byte{1};
  EXPECT_THAT(memory.changed_margin(), StrEq("before"));
}

TEST(GuardedMemory, EndsTheProcessPastItsEnd) {
  GuardedMemory memory("it", 10, 1, Placement::kAtEnd);
  memory.data()[9] = std::byte{1};
  EXPECT_DEATH(const_cast<volatile std::byte*>(memory.data())[10] = std::byte{1}, "");
}

TEST(GuardedMemory, AlignsTheFirstByte) {
  GuardedMemory memory("it", 4 * 5, 64, Placement::kAtEnd);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
}

TEST(GuardedMemory, ClosesThePagesOfAnEarlierLargerTensor) {
  Result<GuardedMemory> memory = GuardedMemory::reserve(64 << 10);
  ASSERT_TRUE(memory.ok()) << memory.status().to_string();
  ASSERT_TRUE(memory->place("large", 64 << 10, 64, Placement::kAtEnd).ok());
  memory->data()[0] = std::byte{1};
  std::byte* first = memory->data();
  ASSERT_TRUE(memory->place("small", 64, 64, Placement::kAtEnd).ok());
  EXPECT_EQ(memory->data() + 64, first + (64 << 10)) << "both end at the guard page";
  EXPECT_DEATH(*const_cast<volatile std::byte*>(first) = std::byte{1}, "");
}

TEST(GuardedMemory, NamesAnAccess) {
  GuardedMemory memory("input 3", 128, 64, Placement::kAtEnd);
  char text[100] = "";
  EXPECT_TRUE(describe_access(memory.data() + 128, text, sizeof text));
  EXPECT_THAT(text, StrEq("it accessed memory past the end of input 3"));
  EXPECT_TRUE(describe_access(memory.data() - 4096, text, sizeof text));
  EXPECT_THAT(text, StrEq("it accessed memory before input 3"));
  EXPECT_TRUE(describe_access(memory.data(), text, sizeof text));
  EXPECT_THAT(text, StrEq("it wrote to input 3, which is read-only,"));
  EXPECT_FALSE(describe_access(text, text, sizeof text));
}

}  // namespace
}  // namespace byoc::test
