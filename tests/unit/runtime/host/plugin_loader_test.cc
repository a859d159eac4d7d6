// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/plugin_loader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "support/faults.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

namespace fs = std::filesystem;
using test::fault_path;
using test::load_fault;
using test::TempFolder;

struct Refusal {
  std::string fault, reason, help;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.fault; }

class RefusesAPlugin : public testing::TestWithParam<Refusal> {};

TEST_P(RefusesAPlugin, WithReasonAndCure) {
  auto set = load_fault(GetParam().fault);
  EXPECT_TRUE(set->all().empty());
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_EQ(set->refused()[0].reason, GetParam().reason);
  EXPECT_EQ(set->refused()[0].help, GetParam().help);
  EXPECT_EQ(set->refused()[0].path, fs::canonical(fault_path(GetParam().fault)).string());
}

const Refusal kRefusals[] = {
    {"faulty_wrong_major", "needs ABI 2, this byoc has 1.10",
     "use a byoc with ABI 2, or a build of faulty for ABI 1"},
    {"faulty_needs_minor", "needs ABI 1.11, this byoc has 1.10",
     "use a newer byoc, or an older faulty"},
    {"faulty_wrong_arch", "built for m68k, this machine is x86_64", "use a build for x86_64"},
    {"faulty_no_note", "no plugin manifest in it (ELF note \"byoc\")",
     "if it is a plugin, build it with byoc_add_plugin() and BYOC_PLUGIN or BYOC_MANIFEST"},
    {"faulty_no_entry", "no entry symbol byoc_plugin_entry_v1",
     "define it extern \"C\" and exported; BYOC_PLUGIN does"},
    {"faulty_unresolved", "unresolved symbol symbol_that_nobody_defines",
     "link the library that defines it; -z defs finds this when the plugin is linked"},
    {"faulty_missing_library", "missing libbyoc_gone.so",
     "install that library, or put it into the folder of the plugin, linked with RUNPATH $ORIGIN"},
    {"faulty_null_table", "its entry gave no table", "set *out to a byoc_plugin in static storage"},
    {"faulty_wrong_tag", "its table has the wrong tag", "set h.tag to BYOC_TAG_PLUGIN"},
    {"faulty_small_table", "its table is 64 bytes, at least 224 are needed",
     "set h.size to sizeof(byoc_plugin)"},
    {"faulty_no_run", "its table has no \"run\"", "every plugin needs that slot"},
    {"faulty_wrong_id", "its table has id \"mask\", its manifest \"faulty\"",
     "give both the same id; BYOC_PLUGIN does"},
    {"faulty_wrong_version", "its table has version \"9.9.9\", its manifest \"1.0.0\"",
     "give both the same version; BYOC_PLUGIN does"},
    {"faulty_must_understand", "its table needs extension 5, which this byoc does not have",
     "use a newer byoc"},
    {"faulty_entry_fails", "faulty: this machine has no such chip", ""},
    {"faulty_table_major", "needs ABI 2, this byoc has 1.10",
     "use a byoc with ABI 2, or a build of faulty for ABI 1"},
};
INSTANTIATE_TEST_SUITE_P(Loader, RefusesAPlugin, testing::ValuesIn(kRefusals),
                         [](const auto& info) { return info.param.fault; });

TEST(Loader, RefusesAManifestThatIsNoJson) {
  auto set = load_fault("faulty_bad_note");
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_THAT(set->refused()[0].reason,
              testing::StartsWith("its manifest is not valid: not valid JSON"));
  EXPECT_EQ(set->refused()[0].help, "write it with BYOC_PLUGIN or BYOC_MANIFEST");
}

TEST(Loader, RunsNothingOfAPluginWhoseManifestDoesNotFit) {
  ::unsetenv("BYOC_TEST_FAULTY_RAN");
  for (const char* fault :
       {"faulty_wrong_major", "faulty_needs_minor", "faulty_wrong_arch", "faulty_bad_note"}) {
    auto set = load_fault(fault);
    EXPECT_EQ(set->refused().size(), 1u) << fault;
    EXPECT_EQ(std::getenv("BYOC_TEST_FAULTY_RAN"), nullptr) << fault;
  }
  load_fault("faulty_null_table");
  EXPECT_NE(std::getenv("BYOC_TEST_FAULTY_RAN"), nullptr) << "the plugin sets no variable";
}

TEST(Loader, TellsIdAndVersionOfARefusedPluginWhereTheyCouldBeRead) {
  auto set = load_fault("faulty_wrong_major");
  ASSERT_EQ(set->refused().size(), 1u);
  EXPECT_EQ(set->refused()[0].id, "faulty");
  EXPECT_EQ(set->refused()[0].version, "1.0.0");
}

/// A copy of the working plugin in a temporary folder.
class FileChecks : public testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("libcopy.so");
    fs::copy_file(fault_path("faulty_none"), path_);
    ::chmod(path_.c_str(), 0644);
  }
  std::string reason() {
    Status status = check_plugin_file(path_);
    return status.message() + " | " + status.help();
  }
  TempFolder folder_;
  std::string path_;
};

TEST_F(FileChecks, AcceptAFileOfTheCallers) { EXPECT_TRUE(check_plugin_file(path_).ok()); }

TEST_F(FileChecks, RefuseAFileThatAnyoneMayChange) {
  ::chmod(path_.c_str(), 0666);
  EXPECT_EQ(reason(), "anyone may change it (mode 0666) | chmod o-w " + path_);
}

TEST_F(FileChecks, RefuseAFolderInWhichAnyoneMayReplaceFiles) {
  ::chmod(folder_.path().c_str(), 0777);
  EXPECT_EQ(reason(), "anyone may replace files in its folder " + folder_.path() +
                          " (mode 0777) | chmod o-w " + folder_.path());
  ::chmod(folder_.path().c_str(), 01777);  // as /tmp: only owners may replace
  EXPECT_TRUE(check_plugin_file(path_).ok());
}

TEST_F(FileChecks, WarnOnceOfAFolderInWhichTheGroupMayReplaceFiles) {
  ::chmod(folder_.path().c_str(), 0775);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(check_plugin_file(path_).ok());
  EXPECT_TRUE(check_plugin_file(path_).ok());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "loader: warning: the group may replace plugins in " + folder_.path() + " (mode 0775)\n");
}

TEST(Loader, RefusesAFileOfAnotherUser) {
  Status status = check_owner("/opt/libx.so", 4242, 1000);
  EXPECT_EQ(status.message(), "its owner is user 4242, neither root nor the caller");
  EXPECT_EQ(status.help(), "chown it to root or to yourself: /opt/libx.so");
  EXPECT_TRUE(check_owner("/opt/libx.so", 0, 1000).ok());
  EXPECT_TRUE(check_owner("/opt/libx.so", 1000, 1000).ok());
}

TEST_F(FileChecks, RefuseWhatIsNoRegularFile) {
  path_ = folder_.path();
  EXPECT_EQ(reason(), "not a regular file | name the plugin's .so file itself");
}

TEST_F(FileChecks, RefuseWhatIsNoSharedObject) {
  PluginManifest seen;
  test::put(path_, "");
  EXPECT_EQ(inspect_plugin(path_, seen).status().message(), "not an ELF file");
  test::put(path_, "#!/bin/sh\necho I am a plugin\n");
  EXPECT_EQ(inspect_plugin(path_, seen).status().message(), "not an ELF file");
  EXPECT_EQ(inspect_plugin(path_, seen).status().help(),
            "a plugin is an ELF shared object, made by byoc_add_plugin()");
}

TEST_F(FileChecks, RefuseAnObjectForAnotherProcessor) {
  std::string bytes = test::get(path_);
  bytes[18] = 40;  // e_machine: EM_ARM
  test::put(path_, bytes);
  PluginManifest seen;
  EXPECT_EQ(inspect_plugin(path_, seen).status().message(),
            "built for arm (32 bits), this machine is x86_64");
}

TEST_F(FileChecks, SurviveEveryTruncation) {
  std::string bytes = test::get(path_);
  for (size_t size = 0; size < bytes.size(); size += size < 2048 ? 7 : 997) {
    auto manifest = read_manifest(std::as_bytes(std::span(bytes.data(), size)));
    if (manifest.ok()) EXPECT_EQ(manifest->id, "faulty");
    else EXPECT_NE(manifest.status().message(), "");
  }
}

TEST(Loader, ReadsTheManifestOfAStrippedFile) {
  TempFolder folder;
  std::string stripped = folder.file("libstripped.so");
  ASSERT_EQ(std::system(("strip -o " + stripped + " " + fault_path("faulty_none")).c_str()), 0);
  ::chmod(stripped.c_str(), 0644);
  PluginManifest seen;
  auto manifest = inspect_plugin(stripped, seen);
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->id, "faulty");
  EXPECT_EQ(manifest->arch, "x86_64");
  EXPECT_EQ(manifest->abi_major, 1);
}

TEST(Loader, RefusesATableWithAnotherPriorityThanTheManifest) {
  byoc_plugin table{};
  table.id = {"mask", 4}, table.version = {"1.0.0", 5}, table.priority = 3;
  PluginManifest manifest{.id = "mask", .version = "1.0.0"};
  EXPECT_TRUE(check_table_identity(table, manifest).ok()) << "its manifest has none";
  manifest.priority = 3;
  EXPECT_TRUE(check_table_identity(table, manifest).ok());
  manifest.priority = -1;
  Status status = check_table_identity(table, manifest);
  EXPECT_EQ(status.message(), "its table has priority 3, its manifest -1");
  EXPECT_EQ(status.help(), "give both the same priority; BYOC_PLUGIN does");
}

TEST(PluginId, IsLowerCaseLettersDigitsDashesAndUnderscores) {
  EXPECT_TRUE(is_plugin_id("onednn"));
  EXPECT_TRUE(is_plugin_id("my-chip_2"));
  for (const char* bad : {"", "2chip", "Chip", "a b", "a/b", "../x", "a\"b"})
    EXPECT_FALSE(is_plugin_id(bad)) << bad;
  EXPECT_FALSE(is_plugin_id(std::string(65, 'a')));
}

}  // namespace
}  // namespace byoc
