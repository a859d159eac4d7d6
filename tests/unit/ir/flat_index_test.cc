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

// Interned attributes of numbered regions: several counters from bases of their own.
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
    uint64_t hash = k % 3 ? random() : k;  // small ones as well, which differ in few bits
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

}  // namespace
}  // namespace byoc
