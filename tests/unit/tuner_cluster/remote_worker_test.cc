// SPDX-License-Identifier: Apache-2.0
// A worker whose files the test writes.
#include "core/tuner/slurm/remote_worker.h"

#include <gmock/gmock.h>

#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

Record record_of(const std::string& tile) {
  Record out;
  out.plugin = "llvm", out.task = "t", out.key = key_of(out.plugin, out.task);
  out.point = {{"tile", tile}};
  out.samples_ns = {1};
  return out;
}

class RemoteWorkerTest : public testing::Test {
 protected:
  void write(const WorkerState& state) { test::put(folder_.state(4), print(state)); }
  std::vector<std::string> read() {
    std::vector<std::string> out;
    for (const Record& record : worker_.read()) out.push_back(record.point.at("tile"));
    return out;
  }
  test::TempFolder files_;
  ExchangeFolder folder_{files_.file("")};
  RemoteWorker worker_{folder_, 4};
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(RemoteWorkerTest, ReadsEachWholeLineOnce) {
  EXPECT_THAT(read(), IsEmpty()) << "there is no file yet";
  const std::string a = print(record_of("a")) + "\n", b = print(record_of("b")) + "\n";
  std::string text = a + b.substr(0, 20);
  test::put(folder_.records(4), text);
  EXPECT_THAT(read(), ElementsAre("a"));
  EXPECT_THAT(read(), IsEmpty());
  test::put(folder_.records(4), a + b);
  EXPECT_THAT(read(), ElementsAre("b"));
  test::put(folder_.records(4), a + b + "{}\n" + a);
  EXPECT_THAT(read(), ElementsAre("a")) << "a line that is no record is left out";
}

TEST_F(RemoteWorkerTest, IsSilentSinceItsLastState) {
  EXPECT_FALSE(worker_.has_begun());
  EXPECT_EQ(worker_.silence().count(), 0) << "it may wait for its turn for days";
  write({.beat = 1});
  read();
  EXPECT_TRUE(worker_.has_begun());
  const auto before = worker_.silence();
  read();
  EXPECT_GT(worker_.silence(), before);
}

TEST_F(RemoteWorkerTest, WaitsForTheBatchesSent) {
  EXPECT_EQ(worker_.waiting(), 0U);
  ASSERT_TRUE(worker_.send({.items = {{{{"tile", "1"}}, ""}}, .champion = {}}).ok());
  EXPECT_EQ(parse_batch(test::get(folder_.batch(4, 1)))->items.size(), 1U);
  EXPECT_EQ(worker_.waiting(), 1U);
  write({.beat = 2, .done = 1});
  read();
  EXPECT_EQ(worker_.waiting(), 0U);
}

TEST_F(RemoteWorkerTest, DriftsAfterThreeBatchesInARow) {
  std::vector<bool> seen;
  uint64_t beat = 0;
  for (double drift : {0.05, 0.5, 0.01, 0.04, 0.031, 0.2, 0.1, 0.0}) {
    write({.beat = ++beat, .drift = drift});
    read();
    seen.push_back(worker_.has_drifted(0.03));
  }
  EXPECT_THAT(seen, ElementsAre(false, false, false, false, false, true, true, false));
}

}  // namespace
}  // namespace byoc::tune
