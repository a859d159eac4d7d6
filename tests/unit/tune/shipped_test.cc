// SPDX-License-Identifier: Apache-2.0
// The log that comes with byoc, and the kind of the processor.
#include "byoc/tune/shipped.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "byoc/base/status.h"
#include "support/temp_folder.h"

namespace byoc::tune {
namespace {

/// Sets BYOC_TUNING_PATH for a scope.
class TuningPath {
 public:
  explicit TuningPath(const std::string& value) {
    if (const char* old = getenv("BYOC_TUNING_PATH")) old_ = old;
    setenv("BYOC_TUNING_PATH", value.c_str(), 1);
  }
  ~TuningPath() {
    if (old_) setenv("BYOC_TUNING_PATH", old_->c_str(), 1);
    else unsetenv("BYOC_TUNING_PATH");
  }

 private:
  std::optional<std::string> old_;
};

/// Returns the value of a line of /proc/cpuinfo.
std::string cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex(name + "\\s*: (.*)"))) return found[1];
  }
  return "";
}

TEST(ProcessorKind, HasTheFamilyThatTheSystemReports) {
  const std::string vendor = cpuinfo("vendor_id"), family = cpuinfo("cpu family");
  const std::string kind = processor_kind();
  if (vendor == "AuthenticAMD") {
    EXPECT_EQ(kind, "amd-family" + family);
  } else if (vendor == "GenuineIntel") {
    EXPECT_EQ(kind, "intel-family" + family + "-model" + cpuinfo("model"));
  }
  EXPECT_TRUE(std::regex_match(kind, std::regex("[a-z0-9-]+"))) << kind;
}

TEST(ShippedLog, IsTheFirstOneOfThePath) {
  byoc::test::TempFolder folder;
  const std::string a = folder.file("a"), b = folder.file("b"), c = folder.file("c");
  for (const std::string& path : {a, b, c}) ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  const std::string name = "/" + processor_kind() + ".jsonl";
  byoc::test::put(a + "/other.jsonl", "");
  byoc::test::put(b + name, "");
  byoc::test::put(c + name, "");
  EXPECT_EQ((TuningPath(cat(a, ":", b, "::", c)), shipped_log()), b + name);
  EXPECT_EQ((TuningPath(cat(c, ":", b)), shipped_log()), c + name);
  EXPECT_EQ((TuningPath(cat(a, ":/no/such/folder")), shipped_log()), std::nullopt);
}

TEST(ShippedLog, IsNoneWithAnEmptyPath) {
  EXPECT_EQ((TuningPath(""), shipped_log()), std::nullopt);
}

TEST(ShippedLog, IsARegularFile) {
  byoc::test::TempFolder folder;
  ASSERT_EQ(mkdir(folder.file(processor_kind() + ".jsonl").c_str(), 0700), 0);
  EXPECT_EQ((TuningPath(folder.file("")), shipped_log()), std::nullopt);
}

}  // namespace
}  // namespace byoc::tune
