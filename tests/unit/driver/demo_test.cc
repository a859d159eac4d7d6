// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "byoc/base/json.h"
#include "command.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kData = cat(" --data ", BYOC_TEST_DATA, "/models/digits");

TEST(DemoCommand, GivesTheTrainersAnswersWithEveryChoiceOfPlugins) {
  Json json = Byoc().json("demo" + kData);
  ASSERT_EQ(json["ok"], true) << json.dump();
  Json& runs = json["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0]["compilers"][0], "onednn");  // then the default codegen that is built
  EXPECT_EQ(runs[1]["compilers"], Json::array({"json"}));
  for (const Json& run : runs) {
    EXPECT_EQ(run["correct"], json["trainer_correct"]);
    EXPECT_TRUE(run["within_tolerance"]);
  }
}

// Uses an install prefix that contains the command and the json plugin, but no libbyoc_onednn.so.
TEST(DemoCommand, WithoutOnednnTheAnswersAreTheSameAndTheTableSaysWhoTookTheWork) {
  TempFolder prefix;
  namespace fs = std::filesystem;
  fs::create_directories(prefix.path() + "/bin");
  fs::create_directories(prefix.path() + "/lib/byoc/plugins");
  fs::copy_file(cat(BYOC_BUILD_DIR, "/bin/byoc"), prefix.path() + "/bin/byoc");
  fs::copy_file(cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so"),
                prefix.path() + "/lib/byoc/plugins/libbyoc_json.so");
  Ran ran = Byoc(prefix.path() + "/bin/byoc")("demo" + kData);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("--compiler json\n"));
  EXPECT_THAT(ran.out, HasSubstr("json          1   25  100.0 %"));
  EXPECT_THAT(ran.out, Not(HasSubstr("onednn")));
  EXPECT_THAT(ran.out, HasSubstr("358 of 360 held-out images right; the trainer got 358"));
}

TEST(DemoCommand, NamesTheFileThatIsMissing) {
  TempFolder empty;
  Ran ran = Byoc()("demo --data " + empty.path());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr(empty.path() + "/images.npy"));
  ran = Byoc()("demo --data /nowhere");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[demo-data]: no folder /nowhere"));
  EXPECT_THAT(ran.err, HasSubstr("help: byoc demo --data tests/models/digits"));
}

}  // namespace
}  // namespace byoc::test
