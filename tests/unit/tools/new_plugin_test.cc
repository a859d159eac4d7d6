// SPDX-License-Identifier: Apache-2.0
// byoc new-plugin: its files and its refusals. tests/examples builds such a folder and checks it.
#include <filesystem>

#include "core/tools/new_plugin/example_files.h"
#include "core/tools/new_plugin/new_plugin.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

TEST(NewPlugin, IsMadeOfTheExamplesOfTheTree) {
  auto files = driver::example_files();
  ASSERT_EQ(files.size(), 8u);
  for (const driver::ExampleFile& file : files) {
    std::string path = cat(BYOC_SOURCE_DIR, "/plugins/example/", file.path);
    EXPECT_EQ(file.text, get(path)) << file.path;
  }
}

TEST(NewPlugin, WritesTheFolderAndTheNextCommands) {
  Byoc byoc;
  std::string folder = byoc.file("deep/chip");
  Ran ran = byoc("new-plugin my_chip -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("wrote " + folder + "/plugin.cc\n"));
  EXPECT_THAT(ran.out, HasSubstr("byoc check-plugin build/libbyoc_my_chip.so\n"));
  EXPECT_THAT(get(folder + "/plugin.cc"),
              HasSubstr("BYOC_PLUGIN(MyChipPlugin, \"my_chip\", \"0.1.0\", .priority = 1)"));
  EXPECT_THAT(get(folder + "/plugin.cc"), HasSubstr("{\"my_chip.add_relu\", op(\"relu\""));
  EXPECT_THAT(get(folder + "/CMakeLists.txt"), HasSubstr("byoc_add_plugin(byoc_my_chip SOURCES"));
  EXPECT_THAT(get(folder + "/README.md"), HasSubstr("check-plugin build/libbyoc_my_chip.so"));
}

TEST(NewPlugin, WritesCAndJson) {
  Byoc byoc;
  Json json = byoc.json("new-plugin chip --c -o " + byoc.file("c"));
  EXPECT_EQ(json["language"], "c");
  EXPECT_EQ(json["files"], Json({"CMakeLists.txt", "README.md", "plugin.c"}));
  EXPECT_EQ(json["library"], "build/libbyoc_chip.so");
  EXPECT_THAT(get(byoc.file("c/plugin.c")), HasSubstr("BYOC_MANIFEST(\"chip\", \"0.1.0\");"));
}

TEST(NewPlugin, WritesAPluginOfADevice) {
  Byoc byoc;
  Json json = byoc.json("new-plugin npu --device -o " + byoc.file("d"));
  EXPECT_EQ(json["files"], Json({"CMakeLists.txt", "README.md", "plugin.cc"}));
  EXPECT_THAT(get(byoc.file("d/plugin.cc")),
              HasSubstr("class NpuPlugin : public Plugin, public Devices"));
  Ran both = byoc("new-plugin npu --device --c -o " + byoc.file("both"));
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--device and --c are two templates"));
}

TEST(NewPlugin, WritesADefaultCodegen) {
  Byoc byoc;
  Json json = byoc.json("new-plugin chip --default -o " + byoc.file("d"));
  EXPECT_EQ(json["language"], "c++");
  EXPECT_EQ(json["files"], Json({"CMakeLists.txt", "README.md", "plugin.cc"}));
  EXPECT_THAT(get(byoc.file("d/plugin.cc")),
              HasSubstr("BYOC_PLUGIN(ChipPlugin, \"chip\", \"0.1.0\", .flags = "
                        "BYOC_PLUGIN_DEFAULT, .priority = 1)"));
  EXPECT_THAT(get(byoc.file("d/README.md")), HasSubstr("with `--default chip` it gets"));
  Ran both = byoc("new-plugin chip --default --c -o " + byoc.file("both"));
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--c and --default are two templates"));
  EXPECT_FALSE(fs::exists(byoc.file("both")));
}

TEST(NewPlugin, RefusesNamesThatTheAbiDoesNotAllow) {
  Byoc byoc;
  for (const char* name : {"Chip", "1chip", "my.chip", "''", "'my chip'", "../chip", "json"}) {
    Ran ran = byoc(cat("new-plugin ", name, " -o ", byoc.file("out")));
    EXPECT_EQ(ran.code, 1) << name;
    EXPECT_THAT(ran.err, HasSubstr("error[plugin-name]")) << name;
    EXPECT_FALSE(fs::exists(byoc.file("out"))) << name;
  }
  EXPECT_TRUE(driver::check_plugin_name(std::string(64, 'a')).ok());
  EXPECT_EQ(driver::check_plugin_name(std::string(65, 'a')).slug(), "plugin-name");
  EXPECT_EQ(byoc("new-plugin").code, 2);
}

TEST(NewPlugin, OverwritesNothing) {
  Byoc byoc;
  std::string folder = byoc.file("mine");
  fs::create_directory(folder);
  EXPECT_EQ(byoc("new-plugin chip -o " + folder).code, 0) << "an empty folder is taken";
  put(folder + "/plugin.cc", "changed");
  Ran ran = byoc("new-plugin chip -o " + folder);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[plugin-folder]: the folder " + folder + " holds files"));
  EXPECT_THAT(ran.err, HasSubstr("-o DIR"));
  EXPECT_EQ(get(folder + "/plugin.cc"), "changed");
  ran = byoc("new-plugin chip -o " + byoc.write("file", ""));
  EXPECT_THAT(ran.err, HasSubstr("exists and is no folder"));
  ran = byoc("new-plugin chip -o /proc/chip");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("cannot make /proc/chip"));
}

}  // namespace
}  // namespace byoc::test
