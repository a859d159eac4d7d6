// SPDX-License-Identifier: Apache-2.0
// Planted accesses of one element outside of a tensor, found by the commands.
#include <filesystem>

#include "support/faults.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// 32 elements are a multiple of 64 bytes: the guard page follows the last one. 33 are not.
constexpr const char* kRelu32 = "fn main(%x: f32[32]) { %0 = relu(%x)  %1 = sin(%0)  return %1 }";
constexpr const char* kRelu33 = "fn main(%x: f32[33]) { %0 = relu(%x)  %1 = sin(%0)  return %1 }";
constexpr const char* kSum =
    "fn main(%x: f32[1,16]) { %c = const([1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]) : f32[1,16]"
    " %0 = add(%x, %c)  return %0 }";

Ran verified(const std::string& fault, const std::string& text, const std::string& more = "") {
  Byoc byoc;
  return byoc("verify " + byoc.write("m.ir", text) + " --plugin " + fault_path(fault) +
              " --compiler outside,json" + more);
}

TEST(Guard, VerifyPassesAPluginWithoutAFault) {
  for (const char* text : {kRelu32, kRelu33, kSum}) {
    Ran ran = verified("outside_none", text);
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  }
}

TEST(Guard, VerifyNamesTheTensorThatIsReadPastItsEnd) {
  Ran ran = verified("outside_read", kRelu32);
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("in plugin \"outside\", slot run, function outside_main_0: it "
                                 "accessed memory past the end of input 0 f32[32] of "
                                 "outside_main_0\n"));
}

TEST(Guard, VerifyNamesTheTensorThatIsWrittenPastItsEnd) {
  Ran ran = verified("outside_write", kRelu32);
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("it accessed memory past the end of output 0 f32[32]"));
}

TEST(Guard, VerifyFindsAWriteBetweenATensorAndItsGuardPage) {
  Ran ran = verified("outside_write", kRelu33);
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("error[outside-write]: outside wrote past the end of output 0 "
                                 "f32[33]\n  outside_main_0"));
}

TEST(Guard, VerifyNamesTheTensorThatIsReadBeforeItsBegin) {
  Ran ran = verified("outside_before", kRelu32);
  EXPECT_THAT(ran.err, HasSubstr("it accessed memory before input 0 f32[32]"));
}

TEST(Guard, VerifyNamesTheInputThatIsWritten) {
  Ran ran = verified("outside_input", kRelu33);
  EXPECT_THAT(ran.err, HasSubstr("it wrote to input 0 f32[33] of outside_main_0, which is "
                                 "read-only,"));
}

TEST(Guard, VerifyNamesTheConstantThatIsReadPastItsEnd) {
  Ran ran = verified("outside_constant", kSum);
  EXPECT_THAT(ran.err, HasSubstr("it accessed memory past the end of constant f32[1,16] of "
                                 "outside_main_0"));
}

TEST(Guard, VerifyNamesTheWorkspace) {
  Ran ran = verified("outside_workspace", kRelu32);
  EXPECT_THAT(ran.err, HasSubstr("it accessed memory past the end of the workspace of "
                                 "outside_main_0"));
}

TEST(Guard, TwoThreadsAreGuardedAsOne) {
  Ran ran = verified("outside_read", kRelu32, " --threads 2");
  EXPECT_THAT(ran.err, HasSubstr("past the end of input 0 f32[32]"));
}

// BYOC_GUARD has the last word, so that values can be compared in spite of such a fault.
TEST(Guard, TheUserMaySwitchItOff) {
  setenv("BYOC_GUARD", "0", 1);
  Ran ran = verified("outside_write", kRelu33);
  unsetenv("BYOC_GUARD");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(Guard, RunIsGuardedOnRequest) {
  Byoc byoc;
  setenv("BYOC_GUARD", "1", 1);
  Ran ran = byoc("run " + byoc.write("m.ir", kRelu32) + " --plugin " + fault_path("outside_read") +
                 " --compiler outside,json");
  unsetenv("BYOC_GUARD");
  EXPECT_THAT(ran.err, HasSubstr("past the end of input 0 f32[32]"));
}

TEST(Guard, CheckPluginFindsEachAccess) {
  const std::pair<const char*, const char*> kFaults[] = {
      {"outside_read", "it accessed memory past the end of input 0"},
      {"outside_write", "output 0"},
      {"outside_before", "it accessed memory before input 0"},
      {"outside_input", "it wrote to input 0, which is read-only,"},
      {"outside_constant", "it accessed memory past the end of constant 0"},
      {"outside_workspace", "it accessed memory past the end of the workspace"}};
  for (const auto& [name, text] : kFaults) {
    Byoc byoc;
    Ran ran = byoc("check-plugin " + fault_path(name) + " --group 5");
    EXPECT_NE(ran.code, 0) << name;
    EXPECT_THAT(ran.out + ran.err, HasSubstr(text)) << name;
  }
}

/// Runs the fuzzer with json and that plugin alone.
Ran fuzzed(const std::string& fault) {
  Byoc fuzz(std::string(BYOC_BUILD_DIR) + "/bin/byoc_fuzz");
  const std::string folder = fuzz.file("plugins"), json = "/libbyoc_json.so";
  fs::create_directory(folder);
  fs::create_symlink(std::string(BYOC_BUILD_DIR) + "/lib/byoc/plugins" + json, folder + json);
  fs::create_symlink(fault_path(fault), folder + "/libbyoc_outside.so");
  return fuzz("--plugins " + folder + " --compiler outside,json --count 60 --most-tries 40 " +
              "--most-faults 1 --output " + fuzz.file("faults"));
}

TEST(Guard, TheFuzzerFindsAReadPastAnInput) {
  Ran ran = fuzzed("outside_read");
  EXPECT_NE(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("it accessed memory past the end of input 0 f32["));
}

TEST(Guard, TheFuzzerFindsAWritePastAnOutput) {
  Ran ran = fuzzed("outside_write");
  EXPECT_NE(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("output 0 f32["));
}

}  // namespace
}  // namespace byoc::test
