// SPDX-License-Identifier: Apache-2.0
// The example plugins dropped into the folder of an installed byoc, which is not rebuilt.
#include <filesystem>

#include "support/paths.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A prefix that holds the command, the json plugin and both examples.
class DroppedIn : public testing::Test {
 protected:
  void SetUp() override {
    std::string plugins = prefix_.path() + "/lib/byoc/plugins";
    fs::create_directories(prefix_.path() + "/bin");
    fs::create_directories(plugins);
    fs::copy_file(std::string(BYOC_BUILD_DIR) + "/bin/byoc", command());
    fs::copy_file(std::string(BYOC_PLUGIN_DIR) + "/libbyoc_json.so", plugins + "/libbyoc_json.so");
    for (const char* name : {"/libbyoc_example.so", "/libbyoc_example_c.so"}) {
      fs::copy_file(std::string(BYOC_EXAMPLE_DIR) + name, plugins + name);
    }
  }
  std::string command() const { return prefix_.path() + "/bin/byoc"; }
  TempFolder prefix_;
};

/// Returns the number of ops that `byoc partition --json` reports for a plugin.
uint64_t ops_of(const Json& parts, const std::string& plugin) {
  for (const Json& row : parts["plugins"]) {
    if (row["plugin"] == plugin) return row["ops"];
  }
  return 0;
}

const std::string kBlock = std::string(BYOC_TEST_DATA) + "/examples/block.ir";

TEST_F(DroppedIn, AreListed) {
  Json json = Byoc(command()).json("plugins");
  ASSERT_EQ(json["plugins"].size(), 3u) << json.dump(1);
  EXPECT_EQ(json["plugins"][0]["id"], "json") << "priority 10";
  EXPECT_EQ(json["plugins"][1]["id"], "example");
  EXPECT_EQ(json["plugins"][2]["id"], "example_c");
  EXPECT_TRUE(json["refused"].empty());
}

TEST_F(DroppedIn, TakeTheOpsTheyKnowAndGiveTheRightNumbers) {
  Byoc byoc(command());
  Json parts = byoc.json("partition " + kBlock + " --compiler example,json");
  ASSERT_EQ(parts["ok"], true) << parts.dump(1);
  EXPECT_EQ(ops_of(parts, "example"), 4u) << parts.dump(1);
  Ran verified = byoc("verify " + kBlock + " --compiler example,json --against json");
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_F(DroppedIn, WorkSideBySide) {
  Byoc byoc(command());
  Json parts = byoc.json("partition " + kBlock + " --compiler example_c,example,json");
  ASSERT_EQ(parts["ok"], true) << parts.dump(1);
  EXPECT_EQ(ops_of(parts, "example_c"), 2u) << "the first in the list takes relu" << parts.dump(1);
  Ran verified = byoc("verify " + kBlock + " --compiler example_c,example,json --against json");
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

TEST_F(DroppedIn, RunFromAnArtifact) {
  Byoc byoc(command());
  std::string artifact = byoc.file("block.byoc");
  Ran compiled = byoc("compile " + kBlock + " --compiler example,json -o " + artifact);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  Ran ran = byoc("run " + artifact);
  EXPECT_EQ(ran.code, 0) << ran.err;
  fs::remove(prefix_.path() + "/lib/byoc/plugins/libbyoc_example.so");
  ran = byoc("run " + artifact);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[missing-plugin]"));
  EXPECT_THAT(ran.err, HasSubstr("no plugin \"example\" 0.1.0"));
}

TEST_F(DroppedIn, TellWhyTheyRefuse) {
  Byoc byoc(command());
  std::string model =
      byoc.write("wide.ir", "fn main(%x: f32[2,4], %y: f32[4]) { %0 = add(%x, %y) return %0 }");
  Ran explained = byoc("explain " + model + " --compiler example,json");
  EXPECT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("no broadcasting, has f32[4] for f32[2,4]"));
}

// By priority the example gets each relu, which ends onednn's regions. By cost the relus go back
// into the convolutions: each one's two borders cost more than it takes.
TEST(ByCost, TheReluOfABottleneckGoesBackToItsConvolution) {
  Byoc byoc("XDG_CACHE_HOME=/nonexistent " BYOC_BUILD_DIR "/bin/byoc");  // no calibration
  const std::string model =
      cat(BYOC_TEST_DATA, "/models/blocks/resnet_bottleneck/model.onnx --plugin ", BYOC_EXAMPLE_DIR,
          "/libbyoc_example.so --default json");
  const Json by_priority = byoc.json("partition " + model + " --compiler example,onednn");
  EXPECT_EQ(ops_of(by_priority, "example"), 4u) << by_priority.dump(1);
  const std::string by_cost = model + " --compiler auto,example,onednn --plan none";
  const Json placed = byoc.json("partition " + by_cost);
  EXPECT_EQ(ops_of(placed, "example"), 0u) << placed.dump(1);
  EXPECT_EQ(ops_of(placed, "onednn"), 12u) << placed.dump(1);
  EXPECT_EQ(placed["regions"].size(), 1u) << placed.dump(1);
  const Ran explained = byoc("explain " + by_cost + " --placement --op /relu_1/Relu");
  ASSERT_EQ(explained.code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("* onednn.conv2d"));
  const size_t at = explained.out.find("\n  example ");
  ASSERT_NE(at, std::string::npos) << explained.out;
  const std::string row = explained.out.substr(at + 1, explained.out.find('\n', at + 1) - at);
  EXPECT_THAT(row, testing::ContainsRegex(
                       " [0-9.]*[1-9][0-9]* us +[0-9.]*[1-9][0-9]* us .* [+][0-9.]*[1-9]"));
}

TEST_F(DroppedIn, KeepWhatPluginsPromise) {
  Byoc byoc(command());
  for (const char* name : {"/libbyoc_example.so", "/libbyoc_example_c.so"}) {
    Json json = byoc.json("check-plugin " + prefix_.path() + "/lib/byoc/plugins" + name);
    EXPECT_EQ(json["failed"], 0) << json.dump(1);
    EXPECT_GE(json["passed"], 48) << json.dump(1);
  }
}

}  // namespace
}  // namespace byoc::test
