// SPDX-License-Identifier: Apache-2.0
#include "core/ir/flat_index.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace byoc {
namespace {

TEST(FlatIndex, FindsNothingWhenEmpty) {
  FlatIndex index;
  EXPECT_EQ(index.find(7, [](uint32_t) { return true; }), FlatIndex::kNone);
}

TEST(FlatIndex, TellsValuesOfEqualHashApart) {
  FlatIndex index;
  for (uint32_t k = 0; k < 100; ++k) index.insert(5, k);
  for (uint32_t k = 0; k < 100; ++k)
    EXPECT_EQ(index.find(5, [&](uint32_t number) { return number == k; }), k);
  EXPECT_EQ(index.find(5, [](uint32_t) { return false; }), FlatIndex::kNone);
}

// The hashes are like those of the attributes of numbered regions: several counters with
// different first values.
TEST(FlatIndex, StaysFastWhenCountersOverlap) {
  FlatIndex index;
  std::vector<uint64_t> hashes;
  size_t compared = 0;
  for (uint64_t base : {0u, 1000u, 50000u, 70001u}) {
    for (uint64_t k = 0; k < 200000; ++k) {
      auto is_equal = [&](uint32_t number) { return ++compared, hashes[number] == base + k; };
      if (index.find(base + k, is_equal) != FlatIndex::kNone) continue;
      index.insert(base + k, static_cast<uint32_t>(hashes.size()));
      hashes.push_back(base + k);
    }
  }
  EXPECT_EQ(hashes.size(), 270001u);
  EXPECT_LE(compared, 800000u);
}

TEST(FlatIndex, AgreesWithAMapThroughManyGrowths) {
  FlatIndex index;
  std::unordered_map<uint64_t, uint32_t> expected;
  std::vector<uint64_t> hashes;
  std::mt19937_64 random(1);
  for (uint32_t k = 0; k < 50000; ++k) {
    uint64_t hash = k % 3 ? random() : k;  // small ones differ in few bits
    if (!expected.emplace(hash, static_cast<uint32_t>(hashes.size())).second) continue;
    index.insert(hash, static_cast<uint32_t>(hashes.size()));
    hashes.push_back(hash);
  }
  auto find = [&](uint64_t hash) {
    return index.find(hash, [&](uint32_t number) { return hashes[number] == hash; });
  };
  for (const auto& [hash, number] : expected) EXPECT_EQ(find(hash), number);
  EXPECT_EQ(find(uint64_t{1} << 63 | 12345), FlatIndex::kNone);
}

TEST(FlatIndex, AgreesWithAMapWhileNumbersComeAndGo) {
  FlatIndex index;
  std::unordered_map<uint32_t, uint64_t> expected;  // hash of each number
  std::mt19937_64 random(2);
  // Few distinct hashes make runs of slots long; they wrap around and mix entries
  // of different hashes.
  auto hash_of = [&] { return random() % 2 ? random() % 64 : random() % 8 << 40; };
  auto find = [&](uint32_t number, uint64_t hash) {
    return index.find(hash, [&](uint32_t other) { return other == number; });
  };
  for (uint32_t step = 0; step < 20000; ++step) {
    uint32_t number = static_cast<uint32_t>(random() % 200);
    if (auto at = expected.find(number); at != expected.end()) {
      ASSERT_EQ(find(number, at->second), number) << "step " << step;
      index.erase(at->second, number);
      ASSERT_EQ(find(number, at->second), FlatIndex::kNone);
      expected.erase(at);
    } else {
      uint64_t hash = hash_of();
      index.insert(hash, number);
      expected.emplace(number, hash);
    }
  }
  for (const auto& [number, hash] : expected) EXPECT_EQ(find(number, hash), number);
}

TEST(FlatIndex, DoesNotGrowWhereAsManyAreErasedAsInserted) {
  FlatIndex index;
  for (uint32_t k = 0; k < 1000000; ++k) {
    index.insert(k * uint64_t{0x9e3779b97f4a7c15}, k);
    if (k >= 20) index.erase((k - 20) * uint64_t{0x9e3779b97f4a7c15}, k - 20);
  }
  size_t compared = 0;
  for (uint32_t k = 0; k < 1000; ++k) index.find(k, [&](uint32_t) { return ++compared, false; });
  EXPECT_LE(compared, 100u);
}

}  // namespace
}  // namespace byoc
