// SPDX-License-Identifier: Apache-2.0
// Shared objects opened from memory. NATIVE_GOOD is the path of one that defines the symbol below.
#include "byoc/base/shared_library.h"

#include <gmock/gmock.h>

#include "support/temp_folder.h"

namespace byoc {
namespace {

using testing::HasSubstr;

constexpr const char* kSymbol = "byoc_native_entry_v1";

Result<SharedLibrary> open_bytes(const std::string& bytes) {
  return SharedLibrary::open_bytes(std::as_bytes(std::span(bytes)), "test");
}

class Folder : public test::TempFolder {
 public:
  Folder() { ::setenv("TMPDIR", path().c_str(), 1); }
  ~Folder() { ::unsetenv("TMPDIR"); }
};

TEST(OpenBytes, OpensALibraryOfItsOwnEachTime) {
  std::string object = test::get(NATIVE_GOOD);
  auto first = open_bytes(object), second = open_bytes(object);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_NE(first->symbol(kSymbol), nullptr);
  EXPECT_NE(second->symbol(kSymbol), nullptr);
  EXPECT_NE(first->symbol(kSymbol), second->symbol(kSymbol));
}

TEST(OpenBytes, LeavesNoFileWhetherItSucceedsOrNot) {
  Folder folder;
  std::string object = test::get(NATIVE_GOOD);
  EXPECT_TRUE(open_bytes(object).ok());
  EXPECT_FALSE(open_bytes(object.substr(0, 200)).ok());
  EXPECT_EQ(folder.count(), 0u);
}

TEST(OpenBytes, TriesOtherFoldersWhenTheFirstCannotBeUsed) {
  ::setenv("TMPDIR", "/nowhere", 1);
  auto library = open_bytes(test::get(NATIVE_GOOD));
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(library.ok()) << library.status().to_string();
}

TEST(OpenBytes, ReportsTheReasonOfTheFirstFolder) {
  Folder folder;
  Status status = open_bytes(test::get(NATIVE_GOOD).substr(0, 32)).status();
  EXPECT_THAT(status.message(), HasSubstr("cannot be loaded: " + folder.path() + "/byoc-test-"));
  EXPECT_THAT(status.message(), HasSubstr("file too short"));  // the message of glibc
  ::setenv("TMPDIR", "/nowhere", 1);
  status = open_bytes("no object").status();
  EXPECT_THAT(status.message(), HasSubstr("cannot create /nowhere/byoc-test-"));
  EXPECT_THAT(status.message(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace byoc
