// SPDX-License-Identifier: Apache-2.0
// The bar of long commands: its text, a terminal, a pipe, and Ctrl-C.
#include <algorithm>
#include <filesystem>

#include "core/tools/model/progress.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using driver::bar_line;
using driver::plain_line;
using testing::HasSubstr;
using testing::Not;

TEST(Progress, HasABarTheTimeAndTheTimeLeft) {
  EXPECT_EQ(bar_line({"compiling", 1, 4, 12, 10}, 80),
            "[#####...............]  25 %  compiling  12 s, about 30 s left");
  EXPECT_EQ(bar_line({"compiling", 4, 4, 130, 130}, 80),
            "[####################] 100 %  compiling  2 min 10 s, about 0 s left");
  EXPECT_EQ(plain_line({"compiling", 1, 4, 12, 10}), "25 %  compiling  12 s, about 30 s left");
}

TEST(Progress, EstimatesNothingFromTooLittle) {
  EXPECT_EQ(plain_line({"measuring", 1, 4, 12, 1}), "25 %  measuring  12 s");
  EXPECT_EQ(plain_line({"measuring", 0, 4, 12, 12}), "0 %  measuring  12 s");
  EXPECT_EQ(plain_line({"running json", 0, 0, 12, 12}), "running json  12 s");
  EXPECT_EQ(bar_line({"running json", 0, 0, 3, 3}, 80), "running json  3 s");
}

TEST(Progress, FitsTheTerminalAndPrintsNoControlCharacters) {
  EXPECT_EQ(bar_line({"compiling", 1, 4, 12, 10}, 30).size(), 30u);
  EXPECT_EQ(plain_line({"a\nb\x1b[2J", 0, 0, 1, 1}), "a b [2J  1 s");
  EXPECT_THAT(plain_line({"too much", 9, 4, 10, 10}), HasSubstr("100 %"));
}

constexpr const char* kLine = " --warmup 0 --min-time 3 --rounds 20";

TEST(Progress, IsABarOnATerminalThatIsRemovedAtTheEnd) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kTwoOps);
  Byoc terminal(cat("script -qec \"", BYOC_BUILD_DIR, "/bin/byoc"));
  Ran ran = terminal("bench " + model + kLine + "\" /dev/null");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("\r\x1b[K[#"));
  EXPECT_THAT(ran.out, HasSubstr(" %  measuring  "));
  size_t last_bar = ran.out.rfind("[K["), report = ran.out.find("timed: ");
  ASSERT_NE(report, std::string::npos);
  EXPECT_LT(last_bar, report) << "the bar is gone before the report";
  EXPECT_THAT(byoc("bench " + model + kLine).err, Not(HasSubstr("\x1b")))
      << "a pipe gets no control characters";
}

TEST(Progress, IsALineEveryTenSecondsInAPipe) {
  Byoc byoc;
  Ran ran = byoc("bench " + byoc.write("m.ir", kTwoOps) +
                 " --warmup 0 --min-time 11 --rounds 40 --no-peaks");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err,
              testing::ContainsRegex("^[0-9]+ %  measuring  1[0-9] s, about [0-9]+ s left\n"));
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  EXPECT_THAT(byoc("bench " + byoc.file("m.ir") + kLine + " -q").err, testing::IsEmpty());
}

TEST(Interrupted, TestOnnxPrintsTheCasesThatItHas) {
  constexpr const char* kCases = "/usr/share/libonnx-testdata/data/node";
  if (!std::filesystem::is_directory(kCases)) GTEST_SKIP() << "libonnx-testdata is not installed";
  Ran ran;
  for (int seconds = 1; ran.out.empty() && seconds <= 32;
       seconds *= 2) {  // a busy machine starts late
    Byoc timeout(
        cat("timeout --preserve-status -s INT ", seconds, " ", BYOC_BUILD_DIR, "/bin/byoc"));
    ran = timeout(cat("test-onnx ", kCases, " --compiler json"));
  }
  EXPECT_EQ(ran.code, 130) << "expected more cases than fit into this time";
  EXPECT_THAT(ran.out, testing::ContainsRegex("[0-9]+ passed, 0 failed, .* not run\n"));
  EXPECT_THAT(ran.err, HasSubstr("error[interrupted]: interrupted after "));
}

}  // namespace
}  // namespace byoc::test
