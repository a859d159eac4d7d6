// SPDX-License-Identifier: Apache-2.0
#include "core/tuner/sitting/log_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/base/json.h"
#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

using ::testing::HasSubstr;

Record record(const std::string& task, const std::string& tile, std::vector<double> samples_ns,
              const std::string& error = "") {
  Record out;
  out.task = task;
  out.plugin = "llvm";
  Space space;
  space.task = task;
  out.key = key_of(out.plugin, space);
  out.kind = "dense";
  out.target = *record_target("{}");
  out.flops = 2000;
  out.point = {{"tile", tile}};
  out.samples_ns = std::move(samples_ns);
  out.error = error;
  return out;
}

TEST(LogReport, HasTheBestPointPerTask) {
  test::TempFolder folder;
  const std::string log = folder.file("t.jsonl");
  {
    auto writer = LogWriter::open(log);
    ASSERT_TRUE(writer.ok());
    for (const Record& one : {record("a", "1", {500, 450}), record("a", "2", {200, 210}),
                              record("a", "4", {}, "timeout"), record("a", "1", {440}),
                              record("b", "1", {}, "crash: signal 11")})
      ASSERT_TRUE(writer->append(one).ok());
  }
  auto logged = read_tasks(log);
  ASSERT_TRUE(logged.ok()) << logged.status().to_string();
  ASSERT_EQ(logged->tasks.size(), 2U);
  EXPECT_EQ(logged->tasks[0].best.point.at("tile"), "2");
  EXPECT_EQ(logged->tasks[0].points, 3U);
  EXPECT_EQ(logged->tasks[0].errors, 1U);
  EXPECT_FALSE(logged->tasks[1].best.is_ok());
  const std::string text = text_of(*logged);
  EXPECT_THAT(text, HasSubstr("10.0"));  // 2000 flops in 200 ns
  EXPECT_THAT(text, HasSubstr("crash: signal 11"));
  EXPECT_THAT(text, HasSubstr("5 records of 2 tasks"));
  EXPECT_EQ(json_of(*logged)["tasks"][0]["best_ns"], 200);
}

TEST(LogReport, NamesAMissingLog) {
  EXPECT_THAT(read_tasks("/no/such.jsonl").status().to_string(), HasSubstr("/no/such.jsonl"));
}

}  // namespace
}  // namespace byoc::tune
