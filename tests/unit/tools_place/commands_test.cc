// SPDX-License-Identifier: Apache-2.0
// The commands that use plans: what they print when a plan is outdated, and compile --measure.
#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/base/json.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class PlaceCommands : public ::testing::Test {
 protected:
  PlaceCommands() : model_(byoc_.write("m.ir", kTwoOps)), plan_(byoc_.file("m.plan.json")) {
    setenv("XDG_CACHE_HOME", byoc_.file("cache").c_str(), 1);
  }
  ~PlaceCommands() override { unsetenv("XDG_CACHE_HOME"); }

  // Writes a plan with another version of its first plugin.
  void write_outdated_plan() {
    const Ran placed = byoc_("place " + model_ + " --estimates --plan-file " + plan_);
    ASSERT_EQ(placed.code, 0) << placed.err;
    Result<Json> plan = parse_json(get(plan_));
    ASSERT_TRUE(plan.ok());
    (*plan)["plugins"][0]["version"] = "0.0.1";
    put(plan_, plan->dump());
  }
  std::vector<fs::path> plans() {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& file :
         fs::directory_iterator(byoc_.file("cache") + "/byoc/placement/plans", error))
      out.push_back(file.path());
    return out;
  }

  Byoc byoc_;
  std::string model_, plan_;
};

TEST_F(PlaceCommands, WarnOfAnOutdatedPlan) {
  write_outdated_plan();
  const std::string flags = " " + model_ + " --compiler auto --plan " + plan_;
  for (const char* command :
       {"run", "bench --min-time 0.01 --warmup 0 --no-peaks", "verify", "compile -o /dev/null"}) {
    const Ran ran = byoc_(command + flags);
    EXPECT_EQ(ran.code, 0) << command << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("0.0.1")) << command;
    const size_t first = ran.err.find("outdated");
    ASSERT_NE(first, std::string::npos) << command;
    EXPECT_EQ(ran.err.find("outdated", first + 1), std::string::npos) << "printed twice";
  }
}

TEST_F(PlaceCommands, CompileMeasuresWithTheFlagAlone) {
  const std::string compile = "compile " + model_ + " -o " + byoc_.file("m.byoc");
  EXPECT_EQ(byoc_(compile + " --compiler auto").code, 0);
  EXPECT_TRUE(plans().empty());
  const Ran measured = byoc_(compile + " --compiler auto --measure");
  ASSERT_EQ(measured.code, 0) << measured.err;
  ASSERT_EQ(plans().size(), 1u);
  Result<Json> plan = parse_json(get(plans()[0].string()));
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->value("measured_ns", 0.0), 0.0);
}

TEST_F(PlaceCommands, CompileRefusesToMeasureForAnOrderOfPlugins) {
  const std::string compile = "compile " + model_ + " -o " + byoc_.file("m.byoc") + " --measure";
  const Ran by_priority = byoc_(compile + " --compiler onednn");
  EXPECT_EQ(by_priority.code, 2);
  EXPECT_THAT(by_priority.err, HasSubstr("--compiler auto"));
  write_outdated_plan();
  const Ran planned = byoc_(compile + " --compiler auto --plan " + plan_);
  EXPECT_EQ(planned.code, 2);
  EXPECT_THAT(planned.err, HasSubstr("--plan"));
}

}  // namespace
}  // namespace byoc::test
