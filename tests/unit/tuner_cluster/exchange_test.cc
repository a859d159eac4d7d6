// SPDX-License-Identifier: Apache-2.0
// The files that the tuner and machines exchange, and what Slurm prints.
#include "core/tuner/slurm/exchange.h"

#include <gmock/gmock.h>

#include "core/tuner/slurm/scheduler.h"
#include "unit/tuner_measure/knobby.h"

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Exchange, ReadsTheBatchesThatItWrites) {
  Batch batch{.task = 3,
              .items = {{{{"tile", "6x2"}}, "a b.byoc"}, {{{"tile", "\"'\n"}}, ""}},
              .champion = {{{"tile", "1"}}, "c"},
              .champion_ns = 1.5,
              .champion_ref_ns = 300.25};
  for (const Batch& one : {batch, Batch{}}) {
    auto read = parse_batch(print(one));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(*read, one);
  }
}

TEST(Exchange, ReadsTheStatesThatItWrites) {
  WorkerState state{.beat = 1'000'000'000'007,
                    .pid = 4,
                    .host = "w1",
                    .machine = "m",
                    .target = "{\"cpu\":\"x\"}",
                    .versions = {{"llvm", "1"}},
                    .done = 2,
                    .champion = {{"a", "b"}},
                    .champion_ns = 3,
                    .ref_ns = 4,
                    .drift = 0.5,
                    .defects = {{"0", "no memory"}},
                    .error = "e"};
  auto read = parse_state(print(state));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, state);
}

TEST(Exchange, ReadsTheSittingThatItWrites) {
  SittingFile sitting{"{}", 2, R"({"exact-sums":true})", 5, {}};
  sitting.measure.reference = "json";
  sitting.measure.run_limit = std::chrono::milliseconds(1234);
  auto read = parse_sitting(print(sitting));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(print(*read), print(sitting));
  EXPECT_EQ(read->measure.run_limit.count(), 1234);
  EXPECT_EQ(read->options, R"({"exact-sums":true})");
  EXPECT_EQ(read->tasks, 5U);
}

// Every prefix of a file, and every file without one character.
TEST(Exchange, RefusesFilesThatAreDamaged) {
  const std::string text = print(Batch{.items = {{{{"t", "1"}}, ""}}, .champion = {}});
  for (size_t k = 0; k + 2 < text.size(); ++k)
    EXPECT_FALSE(parse_batch(text.substr(0, k)).ok()) << text.substr(0, k);
  for (size_t k = 0; k + 1 < text.size(); ++k) {
    std::string without = text;
    (void)parse_batch(without.erase(k, 1));
  }
  EXPECT_THAT(parse_batch(R"({"task":1,"items":[{"point":{}}]})").status().message(),
              HasSubstr("\"artifact\""));
  EXPECT_FALSE(parse_state("[]").ok());
}

TEST(Exchange, KeepsATaskWithItsKey) {
  test::TempFolder folder;
  test::Knobby knobby("right,wrong", "10,20");
  const Task& task = knobby.tasks()[0];
  const std::string path = folder.file("task-0");
  const Status written = write_task(task, knobby.build(), knobby.options(), path);
  ASSERT_TRUE(written.ok()) << written.to_string();
  auto read = read_task(path);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->key, task.key);
  EXPECT_EQ(read->space, task.space);
  EXPECT_EQ(read->plugin, task.plugin);
  EXPECT_EQ(read->input.n_in, task.input.n_in);
  EXPECT_EQ(read->input.n_out, task.input.n_out);
  EXPECT_THAT(read->input.graph_json, HasSubstr("relu"));
}

TEST(Squeue, ListsTheWorkersThatWaitOrRun) {
  EXPECT_THAT(
      parse_squeue("0|RUNNING|None\n1|PENDING|Resources\n2|COMPLETING|None\n"
                   "3|CANCELLED|None\n17|CONFIGURING|None\nx\n|||\nN/A|RUNNING|None\n"),
      ElementsAre(Pair(0, "RUNNING"), Pair(1, "PENDING (Resources)"), Pair(17, "CONFIGURING")));
  EXPECT_THAT(parse_squeue(""), IsEmpty());
}

TEST(ShellWord, HasExactlyTheText) {
  const std::string text = "a 'b' \"$HOME\" `c` \\ * \n!";
  FILE* shell = popen(cat("printf %s ", shell_word(text)).c_str(), "r");
  ASSERT_NE(shell, nullptr);
  char got[64] = "";
  const size_t n = fread(got, 1, sizeof got, shell);
  EXPECT_EQ(pclose(shell), 0);
  EXPECT_EQ(std::string(got, n), text);
}

}  // namespace
}  // namespace byoc::tune
