// SPDX-License-Identifier: Apache-2.0
// Lines of auto_scheduler 0.6 and of MetaSchedule, written by hand after what Apache TVM writes:
// src/auto_scheduler/measure_record.cc and transform_step.cc of version 0.8,
// src/meta_schedule/database/database.cc and src/tir/schedule/trace.cc of version 0.18.
#include <gmock/gmock.h>

#include <fstream>

#include "core/tuner/starts/starts.h"
#include "support/temp_folder.h"
#include "unit/tuner_starts/spaces.h"

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::string ansor_line(const std::string& steps, const std::string& result = "[0.0021, 0.0023], 0",
                       const std::string& target = "llvm -keys=cpu -mcpu=skylake-avx512") {
  return R"({"i": [["[\"d730bcd28f0920f6b97245e2a11bd8d6\", [1, 56, 56, 64], [3, 3, 64, 64]]", ")" +
         target + R"(", [16, 64, 64, 0, 0, 0, 0, 0], "", 1, []], [[], [)" + steps +
         R"(]]], "r": [)" + result + R"(, 1.2, 1607000000], "v": "v0.6"})" + "\n";
}

// A convolution of 3x3 on an image [n, h, w, c]: loops n, h, w, c, then kh, kw and channels. The
// innermost parts are 1x7 pixels and 16 channels.
constexpr const char* kAnsorConv =
    R"(["CI", 1], ["CHW", 3, "local"], ["SP", 3, 0, 1, [1, 1, 1], 1], )"
    R"(["SP", 3, 4, 56, [1, 7, 1], 1], ["SP", 3, 8, 56, [2, 1, 7], 1], )"
    R"(["SP", 3, 12, 64, [2, 1, 16], 1], ["SP", 3, 16, 3, [3], 1], ["SP", 3, 18, 3, [1], 1], )"
    R"(["SP", 3, 20, 64, [8], 1], ["RE", 3, [0, 4, 8, 12, 1, 5, 9, 13]], )"
    R"(["FSP", 4, 0, 2, 2], ["CA", 3, 4, 7], ["FU", 4, [0, 1, 2, 3]], ["AN", 4, 0, 3], )"
    R"(["PR", 3, 0, "auto_unroll_max_step$64"], ["AN", 3, 27, 2])";

constexpr const char* kAnsorDense =
    R"(["SP", 2, 0, 128, [2, 4, 8], 1], ["SP", 2, 4, 3072, [4, 2, 32], 1], )"
    R"(["SP", 2, 8, 768, [4], 1])";

Starts starts_of(const std::string& log, const Space& space) {
  const Space* spaces[] = {&space};
  return parse_starts(log, spaces);
}

TEST(AutoScheduler, MapsTheInnerPartsOfAConvolution) {
  const Starts starts = starts_of(ansor_line(kAnsorConv), conv_space());
  EXPECT_EQ(starts.format, "auto_scheduler");
  const Point point = {{"tile", "7x2"}, {"o_panels", "2"}, {"unroll", "2"}};  // 16 / 8 blocks
  ASSERT_THAT(starts.starts, SizeIs(1)) << summary_of(starts);
  EXPECT_EQ(starts.starts[0].point, point);
  EXPECT_NEAR(starts.starts[0].seconds, 0.0022, 1e-12);
  EXPECT_THAT(starts.choices_used,
              ElementsAre(Pair("panels of columns", 1), Pair("tile of columns", 1),
                          Pair("tile of rows", 1), Pair("unroll", 1)));
  EXPECT_THAT(starts.choices_unfit,
              ElementsAre(Pair("annotation", 1), Pair("cache_write", 1), Pair("compute_at", 1),
                          Pair("compute_inline", 1), Pair("follow_split", 1), Pair("fuse", 1),
                          Pair("reorder", 1), Pair("split of terms", 1)));
}

TEST(AutoScheduler, MapsAProductToTheNearestPoint) {
  const Starts starts = starts_of(ansor_line(kAnsorDense), dense_space());
  ASSERT_THAT(starts.starts, SizeIs(1)) << summary_of(starts);
  // 8 rows by 32 of 16 columns is 8x2; 3072 / (4 * 2 * 32) panels are 12.
  EXPECT_EQ(starts.starts[0].point, (Point{{"tile", "6x2"}, {"o_panels", "48"}}));
}

TEST(AutoScheduler, CountsWhyLinesAreSkipped) {
  std::string old = ansor_line(kAnsorConv);
  old.replace(old.find("v0.6"), 4, "v0.2");
  const std::string no_tiles = R"(["SP", 3, 0, 56, [8], 1], ["AN", 3, 0, 3])";
  const std::string other =
      R"(["SP", 2, 0, 127, [1, 1, 1], 1], ["SP", 2, 4, 3072, [4, 2, 32], 1], )"
      R"(["SP", 2, 8, 768, [4], 1])";
  const std::string torn = R"(["SP", 2, 0, 128, [3, 4, 8], 1], ["SP", 2, 8, 768, [4], 1])";
  const std::string log = old + ansor_line(kAnsorConv, "[1e10], 2") + ansor_line(no_tiles) +
                          ansor_line(other) + ansor_line(torn) +
                          ansor_line(kAnsorConv, "[0.1], 0", "cuda") + "{\"i\": []}\n";
  const Starts starts = starts_of(log, dense_space());
  EXPECT_EQ(starts.lines, 7u);
  EXPECT_THAT(starts.starts, IsEmpty());
  EXPECT_THAT(starts.skipped,
              ElementsAre(Pair("no record of auto_scheduler", 1),
                          Pair("no sum that is tiled in four and two parts", 2),
                          Pair("no task of this shape", 1), Pair("other target than a CPU", 1),
                          Pair("other version of the format", 1), Pair("trial that failed", 1)));
}

std::string meta_line(const std::string& instructions, const std::string& decisions,
                      const std::string& seconds = "[0.0015]",
                      const std::string& target = R"({"kind": "llvm", "num-cores": 16})") {
  return "[0, [[[" + instructions + "], [" + decisions + "]], " + seconds + ", " + target +
         R"(, [["TENSOR", "float32", [128, 768]], ["TENSOR", "float32", [3072, 768]]]]])" + "\n";
}

constexpr const char* kMetaDense =
    R"(["GetBlock", [], ["T_matmul_NT", "main"], ["b0"]], )"
    R"(["GetLoops", ["b0"], [], ["l1", "l2", "l3"]], )"
    R"(["SamplePerfectTile", ["l1"], [4, 64], ["v4", "v5", "v6", "v7"]], )"
    R"(["Split", ["l1", "v4", "v5", "v6", "v7"], [1, 0], ["l8", "l9", "l10", "l11"]], )"
    R"(["SamplePerfectTile", ["l2"], [4, 64], ["v12", "v13", "v14", "v15"]], )"
    R"(["SamplePerfectTile", ["l3"], [2, 64], ["v20", "v21"]], )"
    R"(["Reorder", ["l8", "l9"], [], []], )"
    R"(["SampleCategorical", [], [[0, 16, 64, 512], [0.25, 0.25, 0.25, 0.25]], ["v30"]], )"
    R"(["Annotate", ["b0", "v30"], ["meta_schedule.unroll_explicit"], []], )"
    R"(["EnterPostproc", [], [], []], ["Vectorize", ["l11"], [], []])";
constexpr const char* kMetaDecisions =
    "[2, [16, 1, 1, 8]], [4, [6, 16, 1, 32]], [5, [192, 4]], [7, 2]";

TEST(MetaSchedule, MapsTheDecidedPartsOfAProduct) {
  const Starts starts = starts_of(meta_line(kMetaDense, kMetaDecisions), dense_space());
  EXPECT_EQ(starts.format, "MetaSchedule");
  ASSERT_THAT(starts.starts, SizeIs(1)) << summary_of(starts);
  EXPECT_EQ(starts.starts[0].point, (Point{{"tile", "6x2"}, {"o_panels", "2"}}));  // 8x2, 6
  EXPECT_EQ(starts.starts[0].seconds, 0.0015);
  EXPECT_THAT(starts.choices_unfit, ElementsAre(Pair("Reorder", 1), Pair("split of terms", 1),
                                                Pair("unroll", 1)));  // no such knob
}

// Loops n, c, h, w, then channels, kh and kw; 0 of [0, 16] is not unrolled.
TEST(MetaSchedule, MapsTheDecidedPartsOfAConvolution) {
  const std::string loops =
      R"(["GetBlock", [], ["conv2d_nchw", "main"], ["b0"]], )"
      R"(["GetLoops", ["b0"], [], ["l1", "l2", "l3", "l4", "l5", "l6", "l7"]], )"
      R"(["SamplePerfectTile", ["l1"], [4, 64], ["a", "b", "c", "d"]], )"
      R"(["SamplePerfectTile", ["l2"], [4, 64], ["e", "f", "g", "h"]], )"
      R"(["SamplePerfectTile", ["l3"], [4, 64], ["i", "j", "k", "l"]], )"
      R"(["SamplePerfectTile", ["l4"], [4, 64], ["m", "n", "o", "p"]], )"
      R"(["SamplePerfectTile", ["l5"], [2, 64], ["q", "r"]], )"
      R"(["SamplePerfectTile", ["l6"], [2, 64], ["s", "t"]], )"
      R"(["SamplePerfectTile", ["l7"], [2, 64], ["u", "v"]], )"
      R"(["SampleCategorical", [], [[0, 16], [0.5, 0.5]], ["v30"]], )"
      R"(["Annotate", ["b0", "v30"], ["meta_schedule.unroll_explicit"], []])";
  const std::string decisions =
      "[2, [1, 1, 1, 1]], [3, [1, 4, 2, 8]], [4, [8, 7, 1, 1]], "
      "[5, [4, 1, 1, 14]], [6, [16, 4]], [7, [1, 3]], [8, [3, 1]], "
      "[9, 0]";
  const Starts starts = starts_of(meta_line(loops, decisions), conv_space());
  ASSERT_THAT(starts.starts, SizeIs(1)) << summary_of(starts);
  EXPECT_EQ(starts.starts[0].point, (Point{{"tile", "14x1"}, {"o_panels", "1"}, {"unroll", "0"}}));
}

TEST(MetaSchedule, CountsWhyLinesAreSkipped) {
  const std::string log =
      meta_line(kMetaDense, kMetaDecisions, "null") +
      meta_line(kMetaDense, kMetaDecisions, "[1e10]") +
      meta_line(kMetaDense, kMetaDecisions, "[0.1]", R"({"kind": "cuda"})") +
      meta_line(kMetaDense, "[2, [16, 1, 1, 8]]") +
      meta_line(kMetaDense, "[2, [1, 1, 1, 8]], [4, [6, 16, 1, 32]], [5, [2, 4]]") +
      meta_line(R"(["GetBlock"])", "") + "[0, []]\n";
  const Starts starts = starts_of(log, dense_space());
  EXPECT_EQ(starts.lines, 7u);
  EXPECT_EQ(starts.used, 0u);
  EXPECT_THAT(
      starts.skipped,
      ElementsAre(Pair("instructions of another form", 1), Pair("no record of a known format", 1),
                  Pair("no sum that is tiled in four and two parts", 1),
                  Pair("no task of this shape", 1), Pair("other target than a CPU", 1),
                  Pair("trial that failed", 2)));
}

// MetaSchedule writes two files to a folder; the workloads are not read.
TEST(MetaSchedule, ReadsTheFolderOfADatabase) {
  const test::TempFolder folder;
  std::ofstream(folder.file("database_tuning_record.json"))
      << meta_line(kMetaDense, kMetaDecisions);
  std::ofstream(folder.file("database_workload.json")) << R"(["123", "e30="])"
                                                       << "\n";
  const Space space = dense_space();
  const Space* spaces[] = {&space};
  const auto starts = read_starts(folder.path(), spaces);
  ASSERT_TRUE(starts.ok()) << starts.status().to_string();
  EXPECT_EQ(starts->used, 1u);
  EXPECT_THAT(summary_of(*starts), HasSubstr("MetaSchedule: 1 of 1 lines used"));
}

// Every prefix of a line, every line without one character, and numbers that overflow.
TEST(OtherTuners, SurviveDamagedLines) {
  const Space space = dense_space();
  for (const std::string& line : {ansor_line(kAnsorDense), meta_line(kMetaDense, kMetaDecisions)}) {
    for (size_t k = 0; k < line.size(); ++k) {
      EXPECT_LE(starts_of(line.substr(0, k), space).lines, 1u);
      std::string without = line;
      starts_of(without.erase(k, 1), space);
    }
    for (const char* number :
         {"9223372036854775807", "-9223372036854775808", "1e300", "0", "-1", "null", "[]"}) {
      for (const char* from : {"128", "768", "32", "8", "2", "1"}) {
        std::string changed = line;
        for (size_t at = 0; (at = changed.find(from, at)) != std::string::npos; at += 20)
          changed.replace(at, std::string(from).size(), number);
        EXPECT_EQ(starts_of(changed, space).lines, 1u);
      }
    }
  }
}

}  // namespace
}  // namespace byoc::tune
