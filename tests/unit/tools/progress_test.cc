// SPDX-License-Identifier: Apache-2.0
// The bar of long commands: its text, a terminal, a pipe, and Ctrl-C.
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

}  // namespace
}  // namespace byoc::test
