// SPDX-License-Identifier: Apache-2.0
#include "byoc/base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "byoc/base/buffer.h"
#include "support/temp_folder.h"

namespace byoc::test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// Lets the first 64 MiB, which stay in memory, be requested.
void request_those_kept() { EXPECT_EQ(spilled_memory(64 * kMiB), nullptr); }

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
