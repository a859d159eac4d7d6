// SPDX-License-Identifier: Apache-2.0
// Constants that a file has in the order of a packed one: found, left out, and put back in order.
#include "runtime/artifact/reordered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <random>

#include "byoc/plugin/abi.h"
#include "support/temp_folder.h"
#include "unit/runtime/artifact/with_manifest.h"
#include "unit/runtime/executables.h"

namespace byoc::test {
namespace {

using Elements = std::vector<uint32_t>;
using Bytes = std::span<const std::byte>;

Bytes bytes_of(const Elements& elements) { return std::as_bytes(std::span(elements)); }

/// Returns a weight [o, i, h, w] in blocks of `block` outputs by as many inputs, as convolutions
/// read it: the layout OIhw{block}i{block}o.
Elements in_blocks(const Elements& plain, int o, int i, int h, int w, int block) {
  Elements out;
  for (int ob = 0; ob < o / block; ++ob)
    for (int ib = 0; ib < i / block; ++ib)
      for (int y = 0; y < h; ++y)
        for (int x = 0; x < w; ++x)
          for (int k = 0; k < block; ++k)
            for (int m = 0; m < block; ++m) {
              const int row = ob * block + m, column = ib * block + k;
              out.push_back(plain[static_cast<size_t>(((row * i + column) * h + y) * w + x)]);
            }
  return out;
}

Elements numbers(size_t count, uint32_t kinds, uint32_t seed) {
  std::mt19937 random(seed);
  Elements out(count);
  for (uint32_t& x : out) x = random() % kinds;
  return out;
}

Elements restored(const ElementOrder& order, const Elements& from, size_t size) {
  Elements out(size);
  restore_order(order, bytes_of(from), std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(ElementOrder, OfBlocksIsFoundAndPutsThePlainOnesBack) {
  for (const auto& [o, i, h, w, block] :
       {std::array{32, 48, 3, 3, 16}, {64, 16, 1, 1, 8}, {16, 16, 1, 5, 16}, {8, 24, 2, 2, 4}}) {
    for (uint32_t kinds : {~0U, 50U, 3U}) {  // equal elements, too
      const Elements plain = numbers(static_cast<size_t>(o * i * h * w), kinds, 3);
      const Elements packed = in_blocks(plain, o, i, h, w, block);
      const std::array<int64_t, 4> dims = {o, i, h, w};
      const auto order = find_order(bytes_of(plain), dims, bytes_of(packed));
      if (!order && kinds == 3) continue;  // may lead astray, and is then stored as it is
      ASSERT_TRUE(order) << o << "x" << i << ", " << kinds << " kinds";
      EXPECT_TRUE(is_order_of(*order, plain.size() * 4, packed.size() * 4));
      EXPECT_EQ(restored(*order, packed, plain.size()), plain);
    }
  }
}

TEST(ElementOrder, OfATransposedMatrixIsFound) {
  Elements plain(6 * 35), packed;
  std::iota(plain.begin(), plain.end(), 0U);
  for (size_t column = 0; column < 35; ++column)
    for (size_t row = 0; row < 6; ++row) packed.push_back(plain[row * 35 + column]);
  const std::array<int64_t, 2> dims = {6, 35};
  const auto order = find_order(bytes_of(plain), dims, bytes_of(packed));
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (ElementOrder{{{35, 1}, {6, 35}}, {}}));
}

TEST(ElementOrder, OfOtherElementsIsNone) {
  const std::array<int64_t, 2> dims = {16, 32};
  const Elements plain = numbers(512, ~0U, 5);
  Elements packed = in_blocks(plain, 16, 32, 1, 1, 16);
  packed.back() ^= 1;
  EXPECT_FALSE(find_order(bytes_of(plain), dims, bytes_of(packed)));
  EXPECT_FALSE(find_order(bytes_of(plain), dims, bytes_of(numbers(512, ~0U, 6))));
  packed.push_back(0);  // padded
  EXPECT_FALSE(find_order(bytes_of(plain), dims, bytes_of(packed)));
  EXPECT_FALSE(find_order(bytes_of(plain), std::array<int64_t, 1>{511}, bytes_of(plain)));
}

// Blocks of 16 rows and columns, of which the last rows are filled up with zeros.
TEST(ElementOrder, OfBlocksThatAreFilledUpIsFoundAndPutsThePlainOnesBack) {
  for (const auto& [o, i, taps] : {std::array{40, 32, 9}, {1, 16, 1}, {100, 48, 1}}) {
    const Elements plain = numbers(static_cast<size_t>(o * i * taps), ~0U, 11);
    const int whole = (o + 15) / 16 * 16;
    Elements filled = plain;
    filled.resize(static_cast<size_t>(whole * i * taps), 0);
    const Elements packed = in_blocks(filled, whole, i, taps, 1, 16);
    const std::array<int64_t, 4> dims = {o, i, taps, 1};
    const auto order = find_order(bytes_of(plain), dims, bytes_of(packed));
    ASSERT_TRUE(order) << o << "x" << i;
    EXPECT_EQ(order->padding[0], static_cast<uint64_t>(o));
    EXPECT_TRUE(is_order_of(*order, plain.size() * 4, packed.size() * 4));
    EXPECT_FALSE(is_order_of(*order, packed.size() * 4, packed.size() * 4));
    EXPECT_EQ(restored(*order, packed, plain.size()), plain);
  }
}

TEST(ElementOrder, IsOfASizeAndStaysInIt) {
  auto is_order = [](ElementOrder order, uint64_t bytes, uint64_t reordered) {
    return is_order_of(order, bytes, reordered);
  };
  EXPECT_TRUE(is_order({{{4, 1}, {2, 4}}, {}}, 32, 32));
  EXPECT_FALSE(is_order({{{4, 1}, {2, 4}}, {}}, 36, 36));
  EXPECT_FALSE(is_order({{{4, 1}, {2, 5}}, {}}, 32, 32)) << "element 8 of 8";
  EXPECT_FALSE(is_order({{{0, 1}, {2, 4}}, {}}, 0, 0));
  EXPECT_FALSE(is_order({{}, {}}, 4, 4));
  EXPECT_FALSE(is_order({{{uint64_t{1} << 62, 1}, {8, 1}}, {}}, 32, 32));
  EXPECT_FALSE(is_order({{{2, ~uint64_t{0}}, {2, 2}}, {}}, 16, 16));
  EXPECT_TRUE(is_order({{{4, 1}, {2, 4}}, {3, 4, 2}}, 24, 32));
  for (const std::vector<uint64_t>& wrong : {std::vector<uint64_t>{4, 3, 2},
                                             {3, 4},
                                             {3, 4, 3},
                                             {0, 4, 2},
                                             {3, 0, 2},
                                             {3, 4, ~uint64_t{0}}})
    EXPECT_FALSE(is_order({{{4, 1}, {2, 4}}, wrong}, 24, 32));
}

/// Returns an executable with a module that packs a weight of 64 x 64 in blocks.
Executable with_packed_weight(uint8_t use = BYOC_CONST_PACKED) {
  Executable executable = add_mul();
  const Elements plain = numbers(4096, ~0U, 7);
  const auto weight = Buffer::copy(bytes_of(plain));
  const auto packed = Buffer::copy(bytes_of(in_blocks(plain, 64, 64, 1, 1, 16)));
  const auto name = content_key(std::as_bytes(std::span("key of packed_get")));
  ExternalModule module = with_modules().modules[0];
  module.flags = BYOC_MODULE_PACKED;
  module.packed = {{name, packed->key()}};
  module.functions[0].packed.clear();
  module.functions[0].constants = {{"w", weight->key(), {DType::kF32, {64, 64}}, use}};
  executable.modules = {module};
  executable.program.steps[0].module = 0;
  for (const auto& buffer : {weight, packed}) executable.constants.emplace(buffer->key(), buffer);
  return executable;
}

uint64_t saved_bytes(const Executable& executable, const std::string& path) {
  const Status saved = save_artifact(executable, path);
  EXPECT_TRUE(saved.ok()) << saved.to_string();
  return std::filesystem::file_size(path);
}

TEST(ReorderedConstant, IsInTheFileOnce) {
  TempFolder folder;
  const uint64_t once = saved_bytes(with_packed_weight(), folder.file("once.byoc"));
  const uint64_t twice = saved_bytes(with_packed_weight(BYOC_CONST_KEPT), folder.file("two.byoc"));
  EXPECT_LT(once, 4096 * 4 * 1.2);
  EXPECT_GT(twice, 4096 * 4 * 2);
}

TEST(ReorderedConstant, IsPutInOrderWhenItIsRead) {
  TempFolder folder;
  const Executable executable = with_packed_weight();
  saved_bytes(executable, folder.file("a.byoc"));
  auto loaded = load_artifact(folder.file("a.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  const ContentKey key = executable.modules[0].functions[0].constants[0].key;
  const auto& buffer = loaded->constants.at(key);
  EXPECT_EQ(buffer->size(), 4096u * 4);
  ASSERT_TRUE(buffer->verify());
  EXPECT_TRUE(std::ranges::equal(buffer->bytes(), executable.constants.at(key)->bytes()));
  EXPECT_TRUE(buffer->verify());
}

TEST(ReorderedConstant, IsStoredAgainInTheSameWay) {
  TempFolder folder;
  saved_bytes(with_packed_weight(), folder.file("a.byoc"));
  auto loaded = load_artifact(folder.file("a.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  saved_bytes(*loaded, folder.file("b.byoc"));
  EXPECT_EQ(get(folder.file("a.byoc")), get(folder.file("b.byoc")));
}

TEST(ReorderedConstant, OfAWrongOrderIsRefused) {
  TempFolder folder;
  const std::string path = folder.file("a.byoc");
  const Executable executable = with_packed_weight();
  saved_bytes(executable, path);
  const std::string whole = get(path), manifest = manifest_of(whole);
  const ContentKey plain = executable.modules[0].functions[0].constants[0].key,
                   packed = executable.modules[0].packed[0].second;
  ASSERT_NE(manifest.find("\"order\":[[4,1024],[64,1],[16,64]]"), manifest.npos) << manifest;
  auto load_with = [&](const std::string& from, const std::string& to) {
    std::string changed = manifest;
    changed.replace(changed.find(from), from.size(), to);
    put(path, with_manifest(whole, changed));
    return load_artifact(path);
  };
  const std::string from = cat("\"from\":[\"", packed, "\"]");
  const std::pair<std::string, std::string> changes[] = {
      {"[[4,1024]", "[[4,1025]"},                 // beyond the end
      {"[16,64]]", "[8,64]]"},                    // too few
      {from, cat("\"from\":[\"", plain, "\"]")},  // itself
      {from, "\"from\":[\"x\"]"}};                // no key
  for (const auto& [right, wrong] : changes) {
    const auto loaded = load_with(right, wrong);
    ASSERT_FALSE(loaded.ok()) << wrong;
    EXPECT_EQ(loaded.status().slug(), "artifact-corrupt") << wrong;
  }
  const auto other =
      load_with("[64,1],[16,64]", "[16,64],[64,1]");  // of the size, but another order
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_FALSE(other->constants.at(plain)->verify());
}

}  // namespace
}  // namespace byoc::test
