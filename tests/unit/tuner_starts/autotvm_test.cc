// SPDX-License-Identifier: Apache-2.0
// Lines are written by hand, in the published form of AutoTVM's logs.
#include "core/tuner/starts/starts.h"

#include <gmock/gmock.h>

#include <fstream>

#include "core/tuner/search/task_text.h"
#include "unit/tuner_starts/spaces.h"

namespace byoc::tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::string conv_line(const std::string& entity, const std::string& seconds = "0.004",
                      const std::string& error = "0", const std::string& channels = "64") {
  return R"({"input": ["llvm -mcpu=core-avx2", "conv2d_NCHWc.x86", [["TENSOR", [1, )" + channels +
         R"(, 56, 56], "float32"], ["TENSOR", [64, )" + channels +
         R"(, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}], )"
         R"("config": {"index": 42, "code_hash": null, "entity": )" +
         entity + R"(}, "result": [[)" + seconds + R"(], )" + error +
         R"(, 1.25, 1580000000.5], "version": 0.2, "tvm_version": "0.8.0"})" + "\n";
}

std::string dense_line(const std::string& name, const std::string& entity) {
  return R"({"input": ["llvm", ")" + name +
         R"(", [["TENSOR", [128, 768], "float32"], ["TENSOR", [3072, 768], "float32"], null, )"
         R"("float32"], {}], "config": {"index": 7, "code_hash": null, "entity": )" +
         entity + R"(}, "result": [[0.002, 0.004], 0, 0.7, 1580000000.5], "version": 0.2})" + "\n";
}

constexpr const char* kEntity =
    R"([["tile_ic", "sp", [-1, 8]], ["tile_oc", "sp", [-1, 8]], ["tile_ow", "sp", [-1, 14]],)"
    R"( ["unroll_kw", "ot", true]])";

TEST(Autotvm, MapsATileOfAConvolution) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  const Starts starts = parse_starts(conv_line(kEntity), spaces);
  const Point point = {{"tile", "14x1"}, {"o_panels", "1"}, {"unroll", "2"}};
  EXPECT_THAT(starts.starts, ElementsAre(Start{0, point, 0.004}));
  EXPECT_EQ(starts.lines, 1u);
  EXPECT_EQ(starts.used, 1u);
  EXPECT_THAT(starts.skipped, IsEmpty());
  EXPECT_THAT(starts.choices_used,
              ElementsAre(Pair("tile_oc", 1), Pair("tile_ow", 1), Pair("unroll_kw", 1)));
  EXPECT_THAT(starts.choices_unfit, ElementsAre(Pair("tile_ic", 1)));
}

TEST(Autotvm, TakesTheNearestTile) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  const std::string entity =
      R"([["tile_oc", "sp", [-1, 16]], ["tile_ow", "sp", [-1, 8]], ["unroll_kw", "ot", false]])";
  const Starts starts = parse_starts(conv_line(entity), spaces);
  ASSERT_THAT(starts.starts, SizeIs(1));
  EXPECT_EQ(starts.starts[0].point.at("tile"), "7x2");
  EXPECT_EQ(starts.starts[0].point.at("unroll"), "0");
}

TEST(Autotvm, MapsTilesAndPanelsOfAPackedProduct) {
  const Space space = dense_space();
  const Space* spaces[] = {&space};
  const std::string entity = R"([["tile_y", "sp", [4, 4, 8]], ["tile_x", "sp", [-1, 2, 16]],)"
                             R"( ["tile_k", "sp", [-1, 4]], ["tile_inner", "sp", [-1, 1]]])";
  const Starts starts = parse_starts(dense_line("dense_pack.x86", entity), spaces);
  const Point point = {{"tile", "8x1"}, {"o_panels", "96"}};  // 3072 / (2 * 16)
  EXPECT_THAT(starts.starts, ElementsAre(Start{0, point, 0.003}));
  EXPECT_THAT(starts.choices_unfit, ElementsAre(Pair("tile_inner", 1), Pair("tile_k", 1)));
}

TEST(Autotvm, MapsTheRowsOfAnUnpackedProduct) {
  const Space space = dense_space();
  const Space* spaces[] = {&space};
  const std::string entity = R"([["tile_y", "sp", [-1, 4]], ["tile_x", "sp", [-1, 32]],)"
                             R"( ["tile_k", "sp", [-1, 16]]])";
  const Starts starts = parse_starts(dense_line("dense_nopack.x86", entity), spaces);
  const Point point = {{"tile", "4x2"}, {"o_panels", "2"}};  // the guess has two blocks
  EXPECT_THAT(starts.starts, ElementsAre(Start{0, point, 0.003}));
  EXPECT_THAT(starts.choices_unfit, ElementsAre(Pair("tile_k", 1), Pair("tile_x", 1)));
}

TEST(Autotvm, CountsWhyLinesAreSkipped) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  std::string gpu = conv_line(kEntity), old = gpu, other = gpu, args = gpu;
  gpu.replace(gpu.find("llvm"), 4, "cuda");
  old.replace(old.find("0.2"), 3, "0.1");
  other.replace(other.find("conv2d_NCHWc.x86"), 16, "conv2d_nhwc.x86");
  args.replace(args.find("[1, 1, 1, 1]"), 12, "\"SAME\"");
  const std::string log = gpu + old + other + args + "no JSON\n\n{}\n[1]\n" +
                          conv_line(kEntity, "1e9", "4") + conv_line(kEntity, "0.1", "0", "32") +
                          conv_line(R"([["tile_ic", "sp", [-1, 8]]])");
  const Starts starts = parse_starts(log, spaces);
  EXPECT_THAT(starts.starts, IsEmpty());
  EXPECT_EQ(starts.lines, 10u);
  EXPECT_THAT(starts.skipped,
              ElementsAre(Pair("arguments of another form", 1), Pair("no knob fits", 1),
                          Pair("no record of a known format", 3), Pair("no task of this shape", 1),
                          Pair("other target than a CPU", 1), Pair("other template", 1),
                          Pair("other version of the format", 1), Pair("trial that failed", 1)));
  EXPECT_THAT(summary_of(starts),
              testing::HasSubstr("0 of 10 lines used, 0 starting points; skipped: 1 arguments"));
}

TEST(Autotvm, KeepsTheFastestPointsOfATask) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  std::string log;
  for (int cells : {4, 6, 7, 14, 6})
    log += conv_line(cat(R"([["tile_oc", "sp", [-1, 8]], ["tile_ow", "sp", [-1, )", cells,
                         R"(]], ["unroll_kw", "ot", true]])"),
                     cat("0.0", cells + 10));
  log += conv_line(R"([["tile_oc", "sp", [-1, 16]], ["tile_ow", "sp", [-1, 4]]])", "0.001");
  const Starts starts = parse_starts(log, spaces, 2);
  ASSERT_THAT(starts.starts, SizeIs(2));
  EXPECT_EQ(starts.used, 6u);
  EXPECT_EQ(starts.starts[0].point.at("tile"), "4x2");
  EXPECT_EQ(starts.starts[0].seconds, 0.001);
  EXPECT_EQ(starts.starts[1].seconds, 0.014);
}

// Every prefix of a line, every line without one character, and numbers that overflow.
TEST(Autotvm, SurvivesDamagedLines) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  const std::string line = conv_line(kEntity);
  for (size_t k = 0; k < line.size(); ++k) {
    EXPECT_LE(parse_starts(line.substr(0, k), spaces).lines, 1u);
    std::string without = line;
    parse_starts(without.erase(k, 1), spaces);
  }
  for (const char* number : {"9223372036854775807", "-9223372036854775808", "1e300", "0", "null"}) {
    for (const char* from : {"64", "56", "3", "14", "1"}) {
      std::string changed = line;
      for (size_t at = 0; (at = changed.find(from, at)) != std::string::npos; at += 20)
        changed.replace(at, std::string(from).size(), number);
      EXPECT_EQ(parse_starts(changed, spaces).lines, 1u);
    }
  }
}

TEST(Autotvm, ReadsAFileAndNamesAMissingOne) {
  const Space space = conv_space();
  const Space* spaces[] = {&space};
  const std::string path = testing::TempDir() + "autotvm.log";
  std::ofstream(path) << conv_line(kEntity);
  EXPECT_EQ(read_starts(path, spaces)->used, 1u);
  EXPECT_EQ(read_starts(path + ".none", spaces).status().code(), Code::kNotFound);
}

TEST(TaskText, HasTheStageOfMostTerms) {
  const auto anchor = anchor_of(conv_space().task);
  ASSERT_TRUE(anchor.has_value());
  EXPECT_EQ(anchor->op, "conv2d_nchwc");
  EXPECT_THAT(anchor->shape, ElementsAre(1, 8, 56, 56, 8));
  EXPECT_THAT(anchor->terms, ElementsAre(8, 3, 3, 8));
  EXPECT_THAT(anchor->tensors,
              ElementsAre(ElementsAre(1, 8, 56, 56, 8), ElementsAre(8, 8, 3, 3, 8, 8)));
}

TEST(TaskText, OfAnotherFormHasNone) {
  for (const char* text : {"", "conv 3x3", "stage\nshape 1\nreduce\naxis",
                           "stage \"x\" \"\"\nreduce", "stage \"\"\nshape 1 2\nt0 f32\n"})
    EXPECT_FALSE(anchor_of(text)) << text;
}

}  // namespace
}  // namespace byoc::tune
