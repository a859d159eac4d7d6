// SPDX-License-Identifier: Apache-2.0
// The commands that list something: plugins, ops, opt --list.
#include "command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

TEST(PluginsCommand, ListsPluginsAsJsonWithTheirPatterns) {
  Json json = Byoc().json("plugins");
  EXPECT_EQ(json["schema"], "byoc.plugins/1");
  EXPECT_EQ(json["ok"], true);
  ASSERT_TRUE(json["plugins"].is_array());
  for (const Json& plugin : json["plugins"]) {
    EXPECT_FALSE(plugin["id"].get<std::string>().empty());
    EXPECT_TRUE(plugin["patterns"].is_array());
  }
}

TEST(PluginsCommand, SaysWhereItSearchedAndWhyAFileWasRefused) {
  Byoc byoc;
  std::string file = byoc.write("libnone.so", "not an ELF file");
  Ran ran = byoc("plugins --plugin " + file);
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("refused (1)"));
  EXPECT_THAT(ran.out, HasSubstr(file));
  EXPECT_THAT(ran.out, HasSubstr("searched: --plugin (1)"));
  EXPECT_THAT(ran.err, HasSubstr("warning: --plugin " + file + " cannot be used: "));
}

TEST(PluginsCommand, PrintsEveryFlagAndTheOrderInWhichOpsAreOffered) {
  Byoc byoc;
  auto plugin = [](const char* id) {
    return cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_", id, ".so");
  };
  std::string line = "plugins" + plugin("a") + plugin("b") + plugin("kernels");
  Ran ran = byoc(line);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::ContainsRegex("kernels +1.0.0 +0 +default, one_anchor, groups "));
  EXPECT_THAT(ran.out, testing::ContainsRegex(
                           "\norder: .*a, b \\(highest priority first; --compiler A,B sets"));
  EXPECT_THAT(ran.out, testing::ContainsRegex("\nrest:  .*json.* \\(plugins with the flag def"));
  Json json = byoc.json(line);
  EXPECT_THAT(json["order"].dump(), HasSubstr("\"a\",\"b\""));
  EXPECT_THAT(json["defaults"].dump(), HasSubstr("\"kernels\""));
  for (const Json& one : json["plugins"])
    EXPECT_EQ(one["one_anchor"], one["id"] == "kernels" || one["id"] == "llvm");
  for (const Json& one : json["plugins"])
    EXPECT_EQ(one["groups"], one["id"] == "kernels" || one["id"] == "llvm");
  for (const char* flag : {"attention", "chains"})  // of older plugins, without effect
    for (const Json& one : json["plugins"]) EXPECT_EQ(one[flag], false);
  for (const Json& one : json["plugins"])
    EXPECT_EQ(one["loops"], one["id"] == "json" || one["id"] == "llvm");
}

/// A plugin that takes every op, were it not for its only pattern, which has a mistake.
class LeftOutPattern : public testing::Test {
 protected:
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  const std::string plugin =
      cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so --plugin-option \"a.",
          R"(patterns=[{\"name\":\"only\",\"dag\":{\"op\":\"relu\",\"dtype\":[\"float32\"]}}]" )");
  const std::string why = "no dtype \"float32\" at pattern/dtype";
};

TEST_F(LeftOutPattern, OffersThePluginNothing) {
  Json json = byoc.json("explain " + model + plugin);
  EXPECT_EQ(json["ops"].size(), 2u) << json.dump(1);
  for (const Json& op : json["ops"]) EXPECT_NE(op["plugin"], "a") << op.dump(1);
}

TEST_F(LeftOutPattern, IsAWarningOfEachCommandThatCompiles) {
  const std::string warning = "warning: the pattern \"only\" of a is left out: " + why;
  for (const char* command : {"explain ", "verify ", "partition ", "run "}) {
    Ran ran = byoc(command + model + plugin);
    EXPECT_THAT(ran.err, HasSubstr(warning)) << command;
  }
  Ran ran = byoc("compile " + model + plugin + "-o " + byoc.file("m.byoc"));
  EXPECT_THAT(ran.err, HasSubstr(warning));
  EXPECT_EQ(ran.err.find(warning), ran.err.rfind(warning)) << "once:\n" << ran.err;
  ran = byoc("compile " + model + plugin + "-q -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.err, "");
  ran = byoc("compile " + model + plugin + "--compiler json -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.err.find(warning), ran.err.npos) << "it is not among them:\n" << ran.err;
}

TEST_F(LeftOutPattern, IsListedWithThePlugins) {
  Ran ran = byoc("plugins" + plugin);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("patterns left out (1)\n  a.only\n    " + why));
  Json json = byoc.json("plugins" + plugin);
  for (const Json& one : json["plugins"]) {
    for (const Json& pattern : one["patterns"])
      EXPECT_EQ(pattern["left_out"], one["id"] == "a" ? Json(why) : Json()) << pattern.dump(1);
  }
}

TEST_F(LeftOutPattern, IsAProblemForTheDoctor) {
  Ran ran = byoc("doctor --min-free 0" + plugin);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("problem: the pattern \"only\" of a is left out: " + why));
  EXPECT_THAT(ran.out, HasSubstr("cure: "));
}

TEST(PluginsCommand, RefusesAnOptionThatIsNone) {
  Ran ran = Byoc()("plugins --plugin-option verbose");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--plugin-option expects PLUGIN.NAME=VALUE, not \"verbose\""));
}

TEST(OpsCommand, DescribesAnOp) {
  Ran ran = Byoc()("ops relu");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("relu(x) -> y"));
}

TEST(OpsCommand, ListsEveryOpInAllForms) {
  Byoc byoc;
  Json json = byoc.json("ops");
  std::string text = byoc("ops").out, markdown = byoc("ops --markdown").out;
  ASSERT_GT(json["ops"].size(), 20u);
  for (const Json& op : json["ops"]) {
    std::string name = op["name"];
    EXPECT_THAT(text, HasSubstr(name + "("));
    EXPECT_THAT(markdown, HasSubstr("## `" + name + "("));
  }
}

TEST(OpsCommand, SuggestsTheOpThatWasMeant) {
  Ran ran = Byoc()("ops rleu");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[unknown-op]"));
  EXPECT_THAT(ran.err, HasSubstr("relu"));
}

TEST(OptCommand, ListsThePasses) {
  Byoc byoc;
  EXPECT_THAT(byoc("opt --list").out, HasSubstr("merge_compiler_regions"));
  EXPECT_GT(byoc.json("opt --list")["passes"].size(), 10u);
}

}  // namespace
}  // namespace byoc::test
