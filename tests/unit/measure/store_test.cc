// SPDX-License-Identifier: Apache-2.0
// The store of observations: keys, its file, files of earlier versions, damaged lines, counts.
#include "core/measure/store/store_use.h"

#include <gmock/gmock.h>

#include <thread>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "core/measure/store/this_machine.h"
#include "support/temp_folder.h"

namespace byoc::measure {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

const Key kKey{"a", "1.0+1f", "cpu", "relu/1 i1:f32[2]#0 -> f32[2]\n", 1, "{\"tile\":\"4\"}"};
const Scope kScope{"cpu", 1, {{"a", "1.0+1f"}}};

/// Returns the key with another value of one part.
Key changed(int part) {
  Key out = kKey;
  if (part == 0) out.plugin = "b";
  if (part == 1) out.build = "1.1";
  if (part == 2) out.machine = "cpu2";
  if (part == 3) out.text = "tanh";
  if (part == 4) out.threads = 2;
  if (part == 5) out.point = "";
  if (part == 6) out.code = "exact-sums";
  return out;
}

TEST(Store, EveryPartOfTheKeyCounts) {
  Store store;
  store.put(kKey, {12.5});
  EXPECT_EQ(store.find(kKey)->ns, 12.5);
  for (int part = 0; part < 7; ++part) EXPECT_FALSE(store.find(changed(part)).has_value()) << part;
}

TEST(Store, IsTheSameAfterAFileAndLaterLinesReplaceEarlier) {
  test::TempFolder folder;
  for (const Observation& one :
       {Observation{12.5, "", 0, {12.5, 13}, "tune"}, Observation{0, "crashed"}}) {
    Store store = Store::read(folder.path());
    store.put(kKey, one);
    store.put(changed(0), {7, "", 2, {}, "place"});
    ASSERT_TRUE(store.save().ok());
  }
  const Store read = Store::read(folder.path());
  EXPECT_EQ(read.size(), 2u);
  EXPECT_EQ(read.find(kKey)->error, "crashed");
  EXPECT_EQ(read.find(changed(0))->ns, 7);
  EXPECT_EQ(read.find(changed(0))->reorder_ns, 2);
  EXPECT_EQ(read.find(changed(0))->by, "place");
  EXPECT_TRUE(read.remarks().empty());
}

TEST(Store, ListsThePointsOfAText) {
  Store store;
  store.put(kKey, {12.5});
  store.put(changed(5), {20});
  store.put(changed(3), {30});
  std::map<std::string, double> ns;
  for (const auto& [point, one] : store.points_of(kKey)) ns[point] = one.ns;
  EXPECT_THAT(ns, UnorderedElementsAre(Pair(kKey.point, 12.5), Pair("", 20)));
}

TEST(Store, FindsTheOptionsOfCodeAgainInAFile) {
  test::TempFolder folder;
  Store store = Store::read(folder.path());
  store.put(changed(6), {20});
  ASSERT_TRUE(store.save().ok());
  const Store read = Store::read(folder.path());
  EXPECT_EQ(read.find(changed(6))->ns, 20);
  EXPECT_FALSE(read.find(kKey).has_value());
}

TEST(CodeOptions, AreEmptyForThisMachineOnly) {
  EXPECT_EQ(*code_options("{}", false), "");
  EXPECT_EQ(*code_options("native", false), "");
  EXPECT_EQ(*code_options("{}", true), "exact-sums");
  const std::string other = *code_options("x86-64-v2", false);
  EXPECT_THAT(other, HasSubstr("x86-64-v2"));
  EXPECT_EQ(*code_options("x86-64-v2", true), "exact-sums " + other);
  EXPECT_NE(*code_options("x86-64-v3", false), *code_options("x86-64-v3+avxvnni", false));
  EXPECT_FALSE(code_options("z80", false).ok());
}

// A file that byoc 0.1 wrote: keys without a point.
TEST(Store, ReadsTheCostsOfEarlierVersions) {
  test::TempFolder folder;
  const std::string line = R"({"machine":"cpu","ns":41.5,"plugin":"a","text":"relu","threads":1,)"
                           R"("version":"1.0+1f"})";
  const std::string failed = R"({"error":"crashed","machine":"cpu","plugin":"a","text":"tanh",)"
                             R"("threads":1,"version":"1.0+1f"})";
  ASSERT_TRUE(write_file(folder.file("costs-2.jsonl"), line + "\n" + failed + "\n").ok());
  const Store store = Store::read(folder.path());
  EXPECT_EQ(store.find({"a", "1.0+1f", "cpu", "relu", 1})->ns, 41.5);
  EXPECT_EQ(store.find({"a", "1.0+1f", "cpu", "tanh", 1})->error, "crashed");
}

TEST(Store, CountsDamagedLinesAndReadsTheRest) {
  test::TempFolder folder;
  Store store = Store::read(folder.path());
  store.put(kKey, {12.5});
  ASSERT_TRUE(store.save().ok());
  const std::string text = *read_file(store.path());
  const std::string bad = R"({"plugin":"a","version":"1","machine":"m","threads":1,"text":"t",)"
                          R"("ns":-1})";
  ASSERT_TRUE(write_file(store.path(), cat("{}\n", bad, "\n", text, "{\"plugin\": \"a")).ok());
  Store read = Store::read(folder.path());
  EXPECT_EQ(read.find(kKey)->ns, 12.5);
  std::map<std::string, size_t> unusable;
  EXPECT_EQ(read.count(kScope, unusable), 1u);
  EXPECT_THAT(unusable, UnorderedElementsAre(Pair("damaged lines", 3)));
  read.put(changed(3), {9});  // after the torn line
  ASSERT_TRUE(read.save().ok());
  EXPECT_EQ(Store::read(folder.path()).find(changed(3))->ns, 9);
}

TEST(Store, SeveralWritersLoseNothing) {
  test::TempFolder folder;
  constexpr uint32_t kWriters = 4, kEach = 50;
  std::vector<std::thread> writers;
  for (uint32_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&folder, w] {
      Store store = Store::read(folder.path());
      for (uint32_t k = 0; k < kEach; ++k) {
        Key key = kKey;
        key.text = cat(w, " ", k);
        store.put(key, {1.0 + k});
        EXPECT_TRUE(store.save().ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Store::read(folder.path()).size(), kWriters * kEach);
}

TEST(Store, WithoutAFolderKeepsNothing) {
  Store store = Store::read("");
  store.put(kKey, {1});
  EXPECT_TRUE(store.save().ok());
  EXPECT_EQ(Store::read("/nonexistent").size(), 0u);
  EXPECT_EQ(text_of(use_of(store, kScope)), "");
}

TEST(StoreUse, SaysWhatCannotBeUsedAndWhy) {
  test::TempFolder folder;
  Store store = Store::read(folder.path());
  store.put(kKey, {12.5});
  for (int part : {0, 1, 2, 4, 6}) store.put(changed(part), {1});
  StoreUse use = use_of(store, kScope);
  use.add_known({12.5, "", 0, {}, "tune"});
  use.measured = 3;
  EXPECT_EQ(text_of(use),
            "observations: 1 usable, 1 known (1 by tune), 3 measured now; unusable: 1 another "
            "--target or --exact-sums, 1 another build of a, 1 another machine, 1 another number "
            "of threads, 1 no plugin b here\n");
  const Json json = json_of(use);
  EXPECT_EQ(json["usable"], 1);
  EXPECT_EQ(json["known"], 1);
  EXPECT_EQ(json["measured"], 3);
  EXPECT_EQ(json["unusable"]["another machine"], 1);
}

}  // namespace
}  // namespace byoc::measure
