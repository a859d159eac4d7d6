// SPDX-License-Identifier: Apache-2.0
// Artifacts of several models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/runtime/sizes.h"
#include "support/temp_folder.h"
#include "unit/runtime/executables.h"

namespace byoc {
namespace {

using test::get;
using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SizedExecutable one(const char* entry, const char* label, const char* input) {
  Executable executable = test::add_mul();
  executable.program.inputs[0].name = input;
  return {label, std::move(executable), entry};
}

std::vector<SizedExecutable> two_entries() {
  std::vector<SizedExecutable> out;
  out.push_back(one("prefill", "", "tokens"));
  out.push_back(one("decode", "", "token"));
  return out;
}

TEST(ArtifactEntries, ComeBackInOrder) {
  TempFolder folder;
  ASSERT_TRUE(save_artifact_sizes(two_entries(), folder.file("m.byoc")).ok());
  auto loaded = load_artifact_sizes(folder.file("m.byoc"));
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_THAT(entries_of(*loaded), ElementsAre("prefill", "decode"));
  EXPECT_EQ(get(folder.file("m.byoc"))[8], '\3');  // the version, which readers before did not have
  auto decode = take_entry(*loaded, "decode");
  ASSERT_TRUE(decode.ok());
  ASSERT_EQ(decode->size(), 1u);
  EXPECT_EQ((*decode)[0].executable.program.inputs[0].name, "token");
  ASSERT_TRUE(save_artifact_sizes(*loaded, folder.file("again.byoc")).ok());
  EXPECT_EQ(get(folder.file("m.byoc")), get(folder.file("again.byoc")));
}

TEST(ArtifactEntries, AreNamedByErrors) {
  const auto unknown = find_entry(two_entries(), "decod").status();
  EXPECT_EQ(unknown.slug(), "unknown-entry");
  EXPECT_THAT(unknown.message(), HasSubstr("did you mean \"decode\""));
  EXPECT_THAT(unknown.help(), HasSubstr("prefill, decode"));
  const auto none = find_entry(two_entries(), "").status();
  EXPECT_EQ(none.slug(), "artifact-entries");
  EXPECT_THAT(none.help(), HasSubstr("prefill, decode"));
  const std::vector<SizedExecutable> plain = {one("", "", "x")};
  EXPECT_TRUE(find_entry(plain, "").ok());
  EXPECT_EQ(find_entry(plain, "decode").status().slug(), "unknown-entry");
  TempFolder folder;
  ASSERT_TRUE(save_artifact_sizes(two_entries(), folder.file("m.byoc")).ok());
  EXPECT_EQ(load_artifact(folder.file("m.byoc")).status().slug(), "artifact-entries");
}

TEST(ArtifactEntries, HaveNamesAndAreTogether) {
  TempFolder folder;
  const auto error_of = [&](std::vector<SizedExecutable> programs) {
    const Status status = save_artifact_sizes(programs, folder.file("m.byoc"));
    EXPECT_EQ(status.slug(), "executable");
    return status.message();
  };
  auto programs = two_entries();
  programs[1].entry = "";
  EXPECT_THAT(error_of(programs), HasSubstr("without a name"));
  programs = two_entries();
  programs.push_back(one("prefill", "N=1", "tokens"));
  EXPECT_THAT(error_of(programs), HasSubstr("\"prefill\" is there twice"));
  programs = two_entries();
  programs[1].entry = "prefill";  // sizes of one model have the same inputs
  EXPECT_THAT(error_of(programs), HasSubstr("the same inputs"));
}

}  // namespace
}  // namespace byoc
