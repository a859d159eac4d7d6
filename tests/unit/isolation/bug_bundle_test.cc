// SPDX-License-Identifier: Apache-2.0
// Defects of byoc that BYOC_PLANT plants: exit code 3, the folder, and the line that repeats them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr const char* kModel = R"(fn main(%x: f32[1,2,4,4]) {
  %w = const(0.25) : f32[8,2,3,3]
  %0 = conv2d(%x, %w) {pads=[1,1,1,1]} loc("Conv_0")
  %1 = relu(%0) loc("Relu_0")
  return %1
})";

class Bundle : public ::testing::Test {
 protected:
  Bundle() { byoc.write("m.ir", kModel); }
  /// Runs a line of a shell in the test's folder, with a defect planted.
  Ran shell(const std::string& line, const std::string& environment) const {
    Byoc in(cat("cd ", byoc.file("."), "; export ", environment, "; "));
    return in(line);
  }
  Ran compile(const std::string& environment, const std::string& more = "") const {
    return shell(cat(BYOC_BUILD_DIR, "/bin/byoc compile m.ir --compiler json -o m.byoc ", more),
                 environment);
  }
  std::vector<std::string> bundles() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(byoc.file("."))) {
      if (entry.path().filename().string().starts_with("byoc-bug-")) out.push_back(entry.path());
    }
    return out;
  }
  /// Returns the text after "NAME: " in a line of the report.
  static std::string row(const std::string& report, const std::string& name) {
    const size_t at = report.find("\n" + name);
    EXPECT_NE(at, report.npos) << report;
    const size_t begin = report.find_first_not_of(' ', at + 1 + name.size());
    return report.substr(begin, report.find('\n', begin) - begin);
  }
  Byoc byoc;
};

TEST_F(Bundle, EachKindOfDefectInAPassIsRepeatedByItsLine) {
  for (std::string plant :
       {"check=fold_constants", "crash=partition_graph", "throw=merge_composites",
        "module=annotate_target", "check=run_codegen"}) {
    const std::string environment = "BYOC_VERIFY_PASSES=1 BYOC_PLANT=" + plant;
    const Ran ran = compile(environment, "--threads 2");
    if (plant.starts_with("crash") && ran.code == 1) continue;  // a sanitizer reports it
    EXPECT_EQ(ran.code, 3) << plant << ran.err;
    ASSERT_EQ(bundles().size(), 1u) << plant << ran.err;
    const std::string folder = bundles()[0];
    EXPECT_THAT(ran.err, HasSubstr(fs::path(folder).filename().string())) << plant;
    const std::string report = get(folder + "/report.txt");
    EXPECT_EQ(row(report, "pass:"), plant.substr(plant.find('=') + 1));
    EXPECT_THAT(row(report, "command:"), HasSubstr("compile m.ir --compiler json -o m.byoc"));
    EXPECT_THAT(row(report, "version:"), HasSubstr("plugin ABI"));
    EXPECT_THAT(get(folder + "/doctor.txt"), HasSubstr("plugins:")) << plant;
    EXPECT_THAT(get(folder + "/module.ir"), HasSubstr("conv2d")) << plant;
    const std::string replay = row(report, "replay:");
    EXPECT_THAT(replay, HasSubstr("--compiler json --threads 2"));
    EXPECT_EQ(shell(replay, "A=1").code, 0) << plant << ": without the defect";
    const Ran again = shell(replay, environment);
    EXPECT_EQ(again.code, 3) << plant << again.err;
    EXPECT_EQ(bundles(), std::vector{folder}) << plant << ": another defect";
    fs::remove_all(folder);
  }
}

TEST_F(Bundle, WeightsAreLeftOutUnlessTheEnvironmentKeepsThem) {
  std::string values;
  for (int k = 0; k < 80; ++k) values += cat(k ? "," : "", 7000 + k);
  byoc.write("m.ir", cat("fn main(%x: f32[80]) {\n  %w = const([", values,
                         "]) : f32[80]\n  %0 = add(%x, %w)\n  return %0\n}\n"));
  EXPECT_EQ(compile("BYOC_PLANT=check=annotate_target").code, 3);
  ASSERT_EQ(bundles().size(), 1u);
  EXPECT_THAT(get(bundles()[0] + "/module.ir"), HasSubstr("const(7000.0) : f32[80]"));
  EXPECT_FALSE(fs::exists(bundles()[0] + "/module.ir.weights"));
  EXPECT_THAT(get(bundles()[0] + "/report.txt"), HasSubstr("BYOC_BUG=weights keeps them"));
  fs::remove_all(bundles()[0]);
  EXPECT_EQ(compile("BYOC_BUG=weights BYOC_PLANT=check=annotate_target").code, 3);
  ASSERT_EQ(bundles().size(), 1u);
  const float last = 7079;
  const std::string bytes(reinterpret_cast<const char*>(&last), sizeof last);
  EXPECT_THAT(get(bundles()[0] + "/module.ir.weights"), HasSubstr(bytes));
  const std::string report = get(bundles()[0] + "/report.txt");
  EXPECT_EQ(shell(row(report, "replay:"), "BYOC_BUG=0 BYOC_PLANT=check=annotate_target").code, 3);
}

TEST_F(Bundle, NoneIsLeftWhereTheEnvironmentForbidsIt) {
  const Ran ran = compile("BYOC_BUG=0 BYOC_PLANT=check=fold_constants");
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("internal error at"));
  EXPECT_TRUE(bundles().empty());
}

TEST_F(Bundle, AModuleWithCompiledCodeIsRepeatedByTheCommand) {
  EXPECT_EQ(compile("BYOC_PLANT=check=plan_memory").code, 3);
  ASSERT_EQ(bundles().size(), 1u);
  const std::string replay = row(get(bundles()[0] + "/report.txt"), "replay:");
  EXPECT_THAT(replay, HasSubstr("byoc compile m.ir --compiler json -o m.byoc"));
  EXPECT_EQ(shell(replay, "BYOC_BUG=0 BYOC_PLANT=check=plan_memory").code, 3);
}

TEST_F(Bundle, ASignalOfAnotherProcessIsNoDefect) {
  const Ran ran = shell(cat("timeout --preserve-status -s SEGV 1 ", BYOC_BUILD_DIR,
                            "/bin/byoc bench m.ir --compiler json --min-time 30"),
                        "A=1");
  EXPECT_EQ(ran.code, 128 + SIGSEGV) << ran.err;
  EXPECT_TRUE(bundles().empty());
}

}  // namespace
}  // namespace byoc::test
