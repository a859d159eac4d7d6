// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace byoc::cli {
namespace {

using ::testing::ElementsAre;

TEST(Units, TimesHaveThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(format_time(4520), "4.52 us");
  EXPECT_EQ(format_time(999.9e3), "1000 us");
  EXPECT_EQ(format_time(81.24e6), "81.2 ms");
  EXPECT_EQ(format_time(1.2e9), "1.20 s");
}

TEST(Units, AColumnHasOneUnit) {
  std::vector<double> times{81.24e6, 0.5e6, 0};
  EXPECT_THAT(format_times(times), ElementsAre("81.240 ms", "0.500 ms", "0.000 ms"));
  times = {81.24e6, 115e6};
  EXPECT_THAT(format_times(times), ElementsAre("81.2 ms", "115.0 ms"));
}

TEST(Units, MemoryIsInMebibytes) { EXPECT_EQ(format_mib(1310720), "1.25 MiB"); }

TEST(Table, AlignsColumnsByTheirTitles) {
  Table table({"id", ">ops", "note"});
  table.add({"json", "131", ""});
  table.add({"größer", "7", "x"});  // the width counts letters, not bytes
  EXPECT_EQ(table.text(), "id      ops  note\njson    131\ngrößer    7  x\n");
}

TEST(Ending, OfAnotherFormIsRefused) {
  EXPECT_TRUE(check_ending("--svg", "net.svg", "SVG", " .svg ").ok());
  EXPECT_TRUE(check_ending("--svg", "net", "SVG", " .svg ").ok());
  EXPECT_TRUE(check_ending("--svg", "-", "SVG", " .svg ").ok());
  EXPECT_TRUE(check_ending("--svg", "/dev/stdout", "SVG", " .svg ").ok());
  Status status = check_ending("--svg", "out.d/net.pdf", "a picture as SVG", " .svg .svgz ");
  EXPECT_EQ(status.message(),
            "--svg writes a picture as SVG, and out.d/net.pdf is named as another form");
  EXPECT_EQ(status.slug(), "usage");
  EXPECT_EQ(status.help(), "name it with .svg");
}

TEST(Color, IsAskedForOrLeftOut) {
  CommonOptions common;
  common.color = "always";
  EXPECT_TRUE(use_color(common, Stream::kOut));
  common.color = "never";
  EXPECT_FALSE(use_color(common, Stream::kOut));
  common.color = "auto";
  ::setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(use_color(common, Stream::kErr));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_color(common, Stream::kErr));
  ::unsetenv("NO_COLOR"), ::unsetenv("CLICOLOR_FORCE");
  EXPECT_EQ(paint("x", "31", true), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(paint("x", "31", false), "x");
}

TEST(Errors, HaveNoControlCharactersOfNamesInFiles) {
  ::testing::internal::CaptureStderr();
  const std::string nul(1, '\0');
  print_error(invalid("no input \"\x1b[2J" + nul + "\r\x7f\"\n  in\ta line"), {.color = "never"},
              "byoc");
  print_warning("\x07 bell", {.color = "never"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "error: no input \"\\x1b[2J\\x00\\x0d\\x7f\"\n  in\ta line\nwarning: \\x07 bell\n");
}

}  // namespace
}  // namespace byoc::cli
