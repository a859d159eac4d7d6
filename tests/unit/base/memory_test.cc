// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "byoc/base/buffer.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// Lets the first 64 MiB, which stay in memory, be requested.
void request_those_kept() { EXPECT_EQ(spilled_memory(64 * kMiB), nullptr); }

using Freed = std::unique_ptr<void, decltype(&std::free)>;

bool begins_at(const Freed& memory, size_t alignment) {
  return reinterpret_cast<uintptr_t>(memory.get()) % alignment == 0;
}

// A piece that begins elsewhere has up to 2 MiB of small pages at each end.
TEST(AlignedMemory, LargePiecesBeginWhereHugePagesDo) {
  for (size_t size : {2 * kMiB, 2 * kMiB + 1, 3 * kMiB - 64, 7 * kMiB, 40 * kMiB}) {
    const Freed first(aligned_memory(size, 64), std::free);
    const Freed second(aligned_memory(size, 64), std::free);  // the first is in the way
    ASSERT_TRUE(first != nullptr && second != nullptr) << size;
    EXPECT_TRUE(begins_at(first, 2 * kMiB) && begins_at(second, 2 * kMiB)) << size;
    std::fill_n(static_cast<std::byte*>(first.get()), size, std::byte{1});
  }
}

TEST(AlignedMemory, BeginsAtAMultipleOfTheAlignment) {
  for (size_t alignment : {size_t{64}, size_t{4096}, 4 * kMiB}) {
    for (size_t size : {size_t{0}, size_t{1}, size_t{100}, 2 * kMiB - 1, 5 * kMiB}) {
      const Freed memory(aligned_memory(size, alignment), std::free);
      ASSERT_NE(memory, nullptr) << size << " at " << alignment;
      EXPECT_TRUE(begins_at(memory, alignment)) << size << " at " << alignment;
    }
  }
}

TEST(AlignedMemory, IsNoneForSizesThatCannotBeRounded) {
  for (size_t size : {SIZE_MAX, SIZE_MAX - 63})
    EXPECT_EQ(aligned_memory(size, 64), nullptr) << size;
}

TEST(SpilledMemory, IsNoneWithoutAScope) { EXPECT_EQ(spilled_memory(256 * kMiB), nullptr); }

TEST(SpilledMemory, IsForLargeConstantsAfterTheFirst) {
  TempFolder folder;
  SpillScope scope(folder.path());
  EXPECT_EQ(spilled_memory(kMiB), nullptr) << "there is memory for the first ones";
  EXPECT_EQ(spilled_memory(63 * kMiB), nullptr);
  EXPECT_NE(spilled_memory(kMiB), nullptr);
  EXPECT_EQ(spilled_memory(kMiB - 1), nullptr);
}

TEST(SpilledMemory, KeepsItsContentsWhenPagesAreReleased) {
  TempFolder folder;
  auto scope = std::make_unique<SpillScope>(folder.path());
  request_those_kept();
  auto memory = spilled_memory(4 * kMiB);
  ASSERT_NE(memory, nullptr);
  for (size_t k = 0; k < 4 * kMiB; ++k) memory.get()[k] = static_cast<std::byte>(k / 4096);
  scope.reset();  // memory outlives the scope
  release_spilled();
  for (size_t k = 0; k < 4 * kMiB; k += 511)
    ASSERT_EQ(memory.get()[k], static_cast<std::byte>(k / 4096));
  release_spilled({memory.get() + 100, 3 * kMiB});
  EXPECT_EQ(memory.get()[2 * kMiB], static_cast<std::byte>(2 * kMiB / 4096));
  EXPECT_EQ(folder.count(), 0u);
}

TEST(SpilledMemory, FallsBackToMemoryWithoutAFolder) {
  SpillScope scope("/no/such/folder");
  request_those_kept();
  EXPECT_EQ(spilled_memory(kMiB), nullptr);
  EXPECT_EQ(Buffer::make(2 * kMiB, [](std::byte* to) { std::fill_n(to, 2 * kMiB, std::byte{7}); })
                ->bytes()[kMiB],
            std::byte{7});
}

TEST(SpilledMemory, IsNoneForPackedConstantsThatRunsRead) {
  TempFolder folder;
  SpillScope scope(folder.path(), Spills::kAllButPacked);
  EXPECT_EQ(spilled_memory(16 * kMiB), nullptr) << "beside packed constants, fewer stay in memory";
  EXPECT_EQ(spilled_memory(kMiB, true), nullptr);
  EXPECT_NE(spilled_memory(kMiB), nullptr);
}

TEST(SpilledMemory, IsThatOfTheFirstScopeUntilTheLastIsGone) {
  TempFolder folder;
  auto first = std::make_unique<SpillScope>(folder.path());
  request_those_kept();
  auto second = std::make_unique<SpillScope>("/no/such/folder", Spills::kAllButPacked);
  EXPECT_NE(spilled_memory(kMiB, true), nullptr);
  first.reset();
  EXPECT_NE(spilled_memory(kMiB, true), nullptr);
  second.reset();
  EXPECT_EQ(spilled_memory(kMiB, true), nullptr);
}

TEST(LaterBuffer, IsFilledOnceAndComparedWithItsKey) {
  const std::vector<std::byte> bytes(5000, std::byte{3});
  int fills = 0;
  auto fill = [&](std::span<std::byte> to) {
    ++fills;
    std::ranges::copy(bytes, to.begin());
  };
  const auto right = Buffer::make_later(bytes.size(), content_key(bytes), fill);
  EXPECT_EQ(fills, 0);
  EXPECT_TRUE(right->verify() && right->verify());
  EXPECT_EQ(fills, 1);
  EXPECT_TRUE(std::ranges::equal(right->bytes(), bytes));
  const auto wrong = Buffer::make_later(bytes.size(), content_key({}), fill);
  EXPECT_FALSE(wrong->verify() || wrong->verify());
  EXPECT_EQ(fills, 2);
}

TEST(SpilledMemory, OtherMemoryIsNotReleased) {
  TempFolder folder;
  SpillScope scope(folder.path());
  std::vector<std::byte> own(4 * kMiB, std::byte{9});
  release_spilled(own);
  release_spilled();
  EXPECT_EQ(std::count(own.begin(), own.end(), std::byte{9}), static_cast<long>(own.size()));
}

}  // namespace
}  // namespace byoc::test
