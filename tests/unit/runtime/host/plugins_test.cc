// SPDX-License-Identifier: Apache-2.0
#include "byoc/host/plugins.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "support/faults.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;
using test::fault_path;
using test::load_fault;
using test::TempFolder;
using testing::ElementsAre;

TEST(PluginSet, LoadsAPluginAndTellsWhatItIs) {
  auto set = load_fault("faulty_none");
  ASSERT_EQ(set->all().size(), 1u) << set->refused()[0].reason;
  const Plugin& plugin = *set->all()[0];
  EXPECT_EQ(plugin.id(), "faulty");
  EXPECT_EQ(plugin.version(), "1.0.0");
  EXPECT_EQ(plugin.path(), fs::canonical(fault_path("faulty_none")).string());
  EXPECT_EQ(plugin.max_ops(), 4096u) << "the default for 0 in the table";
  EXPECT_FALSE(plugin.is_default_codegen());
  ASSERT_EQ(plugin.patterns().size(), 1u);
  EXPECT_EQ(plugin.patterns()[0].name, "relu");
  EXPECT_EQ(plugin.patterns()[0].dag_json, R"({"op":"relu","dtype":["f32"]})");
  EXPECT_EQ(plugin.patterns()[0].priority, 3);
}

TEST(PluginSet, OrdersByPriorityThenId) {
  PluginSearch search;
  search.files = {fault_path("thrower"), fault_path("faulty_none"), fault_path("decliner")};
  auto set = PluginSet::load(search);
  std::vector<std::string> ids;
  for (const auto& plugin : set->all()) ids.push_back(plugin->id());
  EXPECT_THAT(ids, ElementsAre("decliner", "faulty", "thrower")) << "priorities 50, 0, 0";
}

TEST(PluginSet, GoesOnAfterAPluginItRefused) {
  PluginSearch search;
  search.files = {fault_path("faulty_no_entry"), fault_path("faulty_unresolved"),
                  fault_path("faulty_none")};
  auto set = PluginSet::load(search);
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_EQ(set->refused().size(), 2u);
}

TEST(PluginSet, FindsTheSharedObjectsOfAFolder) {
  TempFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  for (const char* name : {"libb.so", "liba.so"}) {
    fs::copy_file(fault_path(name[3] == 'a' ? "faulty_none" : "thrower"), folder.file(name));
    ::chmod(folder.file(name).c_str(), 0644);
  }
  test::put(folder.file("README.md"), "no plugin");
  PluginSearch search;
  search.folders = {folder.path()};
  auto set = PluginSet::load(search);
  EXPECT_NE(set->find("faulty"), nullptr);
  EXPECT_NE(set->find("thrower"), nullptr);
  EXPECT_TRUE(set->refused().empty());
}

TEST(PluginSet, OpensThoseOfTheWantedIdsAlone) {
  PluginSearch search;
  search.files = {fault_path("unruly_exits"), fault_path("thrower"), fault_path("faulty_no_note"),
                  fault_path("faulty_no_entry")};
  search.ids = {"thrower", "faulty"};
  auto set = PluginSet::load(search);  // unruly_exits would end this process
  ASSERT_EQ(set->all().size(), 1u);
  EXPECT_EQ(set->all()[0]->id(), "thrower");
  ASSERT_EQ(set->refused().size(), 2u) << "expected the unreadable plugin and \"faulty\"";
  EXPECT_EQ(set->refused()[1].id, "faulty");
}

TEST(PluginSet, RefusesTheSecondPluginOfAnId) {
  TempFolder folder;
  ::chmod(folder.path().c_str(), 0755);
  fs::copy_file(fault_path("faulty_none"), folder.file("libtwin.so"));
  PluginSearch search;
  search.files = {fault_path("faulty_none"), folder.file("libtwin.so")};
  auto set = PluginSet::load(search);
  EXPECT_EQ(set->find("faulty")->path(), fs::canonical(fault_path("faulty_none")).string());
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_EQ(set->refused()[0].reason, "id \"faulty\" is taken by " + set->find("faulty")->path());
  EXPECT_EQ(set->refused()[0].help, "remove one of the two");
}

TEST(PluginSet, TakesAFileFoundTwiceOnce) {
  PluginSearch search;
  search.files = {fault_path("faulty_none"), fault_path("faulty_none")};
  search.folders = {fs::path(fault_path("faulty_none")).parent_path().string()};
  auto set = PluginSet::load(search);
  EXPECT_EQ(set->all().size(), 1u);
  EXPECT_TRUE(set->refused().empty());
}

TEST(PluginSet, RefusesAWorldWritableFile) {
  TempFolder folder;
  fs::copy_file(fault_path("faulty_none"), folder.file("libopen.so"));
  ::chmod(folder.file("libopen.so").c_str(), 0646);
  PluginSearch search;
  search.files = {folder.file("libopen.so")};
  auto set = PluginSet::load(search);
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_EQ(set->refused()[0].reason, "anyone may change it (mode 0646)");
}

TEST(PluginSet, TellsOfAMissingFileAndAMissingFolder) {
  PluginSearch search;
  search.files = {"/no/such/libx.so"};
  search.folders = {"/no/such/folder"};
  auto set = PluginSet::load(search);
  ASSERT_EQ(set->refused().size(), 2u);
  EXPECT_EQ(set->refused()[0].path, "/no/such/libx.so");
  EXPECT_EQ(set->refused()[0].reason, "cannot be read: No such file or directory");
  EXPECT_EQ(set->refused()[1].path, "/no/such/folder");
  EXPECT_EQ(set->refused()[1].reason,
            "cannot read the folder /no/such/folder: No such file or directory");
}

TEST(PluginSet, RefusesAPluginThatCannotBeOpened) {
  EXPECT_EQ(load_fault("faulty_none", "open")->refused()[0].reason, "faulty: no licence");
  EXPECT_EQ(load_fault("faulty_none", "open-null")->refused()[0].reason,
            "faulty: open gave no instance");
  EXPECT_EQ(load_fault("faulty_none", "patterns")->refused()[0].reason,
            "faulty: pattern 1 is no byoc_pattern");
}

TEST(PluginSet, NamesTheNearestIdAndTheIdsFound) {
  auto set = load_fault("faulty_none");
  Status status = set->get("fautly").status();
  EXPECT_EQ(status.slug(), "unknown-plugin");
  EXPECT_EQ(status.message(), "no plugin \"fautly\"; did you mean \"faulty\"?");
  EXPECT_EQ(status.where(), "found: faulty");
  EXPECT_EQ(status.help(), "byoc plugins");
}

TEST(PluginSet, TellsWhyAPluginOfThatIdWasRefused) {
  Status status = load_fault("faulty_wrong_major")->get("faulty").status();
  EXPECT_EQ(status.slug(), "unknown-plugin");
  EXPECT_EQ(status.message(), "plugin \"faulty\" cannot be used: needs ABI 2, this byoc has 1.10");
}

TEST(PluginSet, ChecksThatOptionsAreForAPluginThatIsThere) {
  PluginSearch search;
  search.files = {fault_path("faulty_none")};
  search.options["faulty"]["fault"] = "none";
  EXPECT_TRUE(PluginSet::load(search)->check_options().ok());
  search.options["ondnn"]["verbose"] = "1";
  Status status = PluginSet::load(search)->check_options();
  EXPECT_EQ(status.message(), "no plugin \"ondnn\"");
  EXPECT_EQ(status.where(), "--plugin-option ondnn: found: faulty");
}

TEST(PluginSet, RefusesAnOptionThatThePluginDoesNotKnow) {
  PluginSearch search;
  search.files = {fault_path("thrower")};
  search.options["thrower"]["thow"] = "run";
  auto set = PluginSet::load(search);
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_EQ(set->refused()[0].reason, "thrower: no option \"thow\"; known: throw");
}

TEST(DefaultPluginSearch, ReadsTheEnvironmentVariable) {
  ::setenv("BYOC_PLUGIN_PATH", "/a:/b::/c/", 1);
  auto folders = default_plugin_search().folders;
  ::unsetenv("BYOC_PLUGIN_PATH");
  ASSERT_GE(folders.size(), 3u);
  folders.resize(3);
  EXPECT_THAT(folders, ElementsAre("/a", "/b", "/c/"));
}

TEST(DefaultPluginSearch, FindsThePluginsFolderBesideTheExecutable) {
  fs::create_directories(BYOC_PLUGIN_DIR);  // same layout as an install tree
  auto folders = default_plugin_search().folders;
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(fs::canonical(folders[0]), fs::canonical(BYOC_PLUGIN_DIR));
}

}  // namespace
}  // namespace byoc
