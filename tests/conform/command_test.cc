// SPDX-License-Identifier: Apache-2.0
// Tests of the command itself: its options, its output and its exit codes.
#include "unit/driver/command.h"
#include "core/conform/conform.h"
#include "support/faults.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CheckPluginCommand, ExitsWith1WhenACheckFails) {
  Ran ran = Byoc()("check-plugin " + fault_path("unruly_prints") + " --group 2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("2 load\n"));
  EXPECT_THAT(ran.out, HasSubstr("  fail  quiet          prints \"hello from the plugin\""));
  EXPECT_THAT(ran.out, HasSubstr("9 passed, 1 failed, 0 skipped (core, "));
}

TEST(CheckPluginCommand, SaysHowToCureAFailedCheck) {
  Byoc byoc;
  std::string line = "check-plugin " + fault_path("unruly_prints") + " --group 2";
  EXPECT_THAT(byoc(line).out,
              HasSubstr("prints \"hello from the plugin\"; use the host's log\n"
                        "                       cure: print through the host's log, "
                        "which BYOC_LOG controls\n"));
  for (const Json& check : byoc.json(line)["checks"])
    EXPECT_EQ(check["cure"].is_string(), check["outcome"] == "fail") << check;
}

TEST(Checks, HaveACureEach) {
  for (const conform::Check& check : conform::all_checks())
    EXPECT_FALSE(check.cure.empty()) << check.name;
}

TEST(CheckPluginCommand, RunsTheChosenGroupsByNumberOrName) {
  Byoc byoc;
  std::string plugin = fault_path("unruly_none");
  Ran ran = byoc("check-plugin " + plugin + " --group 1,table");
  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("1 static\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("2 load\n")));
  EXPECT_THAT(ran.out, HasSubstr("3 table\n"));
  ran = byoc("check-plugin " + plugin + " --group 1,12");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--group: there is no group \"12\""));
}

// A check of another group that the chosen ones need, and that failed, is named and counts.
TEST(CheckPluginCommand, NamesWhatTheChosenGroupsNeedAndLack) {
  Ran ran = Byoc()("check-plugin " + fault_path("faulty_none") +
                   " --group groups --plugin-option faulty.fault=open");
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("needs instance"));
  EXPECT_THAT(ran.out, HasSubstr("no licence"));
}

TEST(CheckPluginCommand, TellsWrongUse) {
  Byoc byoc;
  EXPECT_EQ(byoc("check-plugin").code, 2);
  EXPECT_EQ(byoc("check-plugin x.so --level deep").code, 2);
  EXPECT_EQ(byoc("check-plugin " + fault_path("unruly_none") + " --level deep").code, 2);
  EXPECT_EQ(byoc("check-plugin " + fault_path("unruly_none") + " --plugin-option verbose").code, 2);
  Ran other = byoc("check-plugin " + fault_path("unruly_none") + " --plugin-option onednn.x=1");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--plugin-option is for \"onednn\", the plugin is \"example\""));
  for (const char* wrong : {"0", "x", "compile=", "compile=0", "compile=1s"}) {
    Ran ran = byoc("check-plugin " + fault_path("unruly_none") + " --timeout " + wrong);
    EXPECT_EQ(ran.code, 2) << wrong;
    EXPECT_THAT(ran.err, HasSubstr("--timeout expects seconds, at least 1, or SLOT=SECONDS"));
  }
  Ran slot = byoc("check-plugin " + fault_path("unruly_none") + " --timeout compiling=5");
  EXPECT_EQ(slot.code, 2);
  EXPECT_THAT(slot.err, HasSubstr("there is no slot \"compiling\"; slots are open, judge, "));
  Ran missing = byoc("check-plugin /nowhere/libx.so");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("cannot read /nowhere/libx.so"));
}

TEST(CheckPluginCommand, ListsEveryCheckWithWhatItAsks) {
  Ran ran = Byoc()("check-plugin --list");
  EXPECT_EQ(ran.code, 0);
  for (const conform::Check& check : conform::all_checks())
    EXPECT_THAT(ran.out, HasSubstr(std::string(check.about)));
}

TEST(CheckPluginCommand, GivesOneJsonValue) {
  Json json = Byoc().json("check-plugin " + fault_path("unruly_none") + " --group 1");
  EXPECT_EQ(json["schema"], "byoc.check-plugin/1");
  EXPECT_EQ(json["id"], "example");
  EXPECT_EQ(json["level"], "core");
  EXPECT_EQ(json["failed"], 0);
  EXPECT_EQ(json["checks"][0]["name"], "file");
  EXPECT_EQ(json["checks"][0]["outcome"], "pass");
}

TEST(CheckPluginCommand, StopsCleanlyAtCtrlC) {
  Byoc byoc;
  Ran ran = byoc("check-plugin " + fault_path("unruly_hangs") +
                 " --group 2 --timeout 30 & pid=$!; sleep 0.5; kill -INT $pid; wait $pid");
  EXPECT_EQ(ran.code, 130) << ran.out << ran.err;
}

}  // namespace
}  // namespace byoc::test
