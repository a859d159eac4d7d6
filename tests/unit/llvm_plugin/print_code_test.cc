// SPDX-License-Identifier: Apache-2.0
// print --llvm and print --asm, which print the code that plugins generate for a model.
#include <filesystem>

#include "support/paths.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A model of two functions of the default codegen: an anchor, and a reduction of its whole result.
constexpr const char* kTwoFunctions = R"(fn main(%x: f32[2,3]) {
  %0 = const(0.5) : f32[3,4]
  %1 = matmul(%x, %0)
  %2 = softmax(%1)
  return %2
})";

/// Checks that the folder for temporary files is empty at the end.
class PrintCode : public ::testing::Test {
 protected:
  PrintCode() : byoc(cat("env TMPDIR=", scratch.path(), " ", BYOC_BUILD_DIR, "/bin/byoc")) {
    model = byoc.write("m.ir", kTwoFunctions);
    cache = cat(" --plugin-option llvm.cache_dir=", byoc.file("cache"));
  }
  ~PrintCode() override { EXPECT_TRUE(std::filesystem::is_empty(scratch.path())); }
  Ran print(const std::string& flags) { return byoc("print " + model + " " + flags + cache); }

  TempFolder scratch;
  Byoc byoc;
  std::string model, cache;
};

TEST_F(PrintCode, ShowsLlvmPerFunctionInTheOrderOfTheModel) {
  Ran ran = print("--compiler llvm --llvm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("; function llvm_main_0, by llvm\n; ModuleID = "));
  size_t first = ran.out.find("\ndefine hidden"), second = ran.out.find("; function llvm_main_1");
  ASSERT_NE(second, std::string::npos) << ran.out;
  EXPECT_LT(first, second);
  EXPECT_NE(ran.out.find("\ndefine hidden", second), std::string::npos);
  EXPECT_THAT(ran.out.substr(0, second), HasSubstr("fmul"));
}

TEST_F(PrintCode, ShowsAssemblyOfOneFunction) {
  Ran ran = print("--compiler llvm --asm --fn llvm_main_1 --target x86-64-v3");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("# function llvm_main_1, by llvm\n\t.text\n"));
  EXPECT_THAT(ran.out, HasSubstr("%xmm"));
  EXPECT_THAT(ran.out, HasSubstr("ret"));
  EXPECT_THAT(ran.out, Not(HasSubstr("llvm_main_0")));
}

TEST_F(PrintCode, ShowsTheCodeOfAnotherMachine) {
  Ran ran = print("--compiler llvm --asm --fn llvm_main_0 --target aarch64");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("fmla"));
}

TEST_F(PrintCode, ShowsTheSameBytesAgainAndWithoutACache) {
  for (std::string form : {"--llvm", "--asm"}) {
    Ran cold = print("--compiler llvm " + form), warm = print("--compiler llvm " + form);
    Ran none = print("--compiler llvm --plugin-option llvm.cache=0 " + form);
    EXPECT_EQ(cold.out, warm.out);
    EXPECT_EQ(cold.out, none.out);
  }
}

TEST_F(PrintCode, GivesJsonWithTheTextOfEachFunction) {
  Json json = byoc.json("print " + model + " --compiler llvm --llvm" + cache);
  ASSERT_EQ(json["llvm"].size(), 2u);
  EXPECT_EQ(json["llvm"][0]["function"], "llvm_main_0");
  EXPECT_EQ(json["llvm"][0]["plugin"], "llvm");
  EXPECT_THAT(json["llvm"][1]["text"].get<std::string>(), HasSubstr("define hidden"));
}

TEST_F(PrintCode, SaysWhoShowsNone) {
  Ran ran = print("--compiler json --llvm");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              HasSubstr("error[no-code]: no plugin that compiles this shows such code: json\n"));
  EXPECT_THAT(ran.err, HasSubstr("byoc print MODEL --compiler llvm --llvm"));
  EXPECT_EQ(ran.out, "");
}

TEST_F(PrintCode, ShowsTheOthersBesideAPluginThatShowsNone) {
  model = byoc.write("m.ir", R"(fn a(%x: f32[4]) {compiler="json"} { %0 = relu(%x)  return %0 }
fn main(%x: f32[4]) { %0 = @a(%x)  %1 = tanh(%0)  return %1 })");
  Ran ran = print("--default llvm --asm");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(", by json, which shows no code\n"));
  EXPECT_THAT(ran.out, HasSubstr(", by llvm\n\t.text\n"));
}

TEST_F(PrintCode, ShowsExactSumsWithoutFusedMultiplyAdd) {
  const std::string flags = "--compiler llvm --asm --fn llvm_main_0 --target x86-64-v3";
  EXPECT_THAT(print(flags).out, HasSubstr("vfmadd"));
  Ran exact = print(flags + " --exact-sums");
  ASSERT_EQ(exact.code, 0) << exact.err;
  EXPECT_THAT(exact.out, Not(HasSubstr("vfmadd")));
  EXPECT_THAT(exact.out, HasSubstr("vmul"));
}

TEST_F(PrintCode, RefusesFunctionsThatAreNotThereAndFlagsThatDoNotGoTogether) {
  Ran ran = print("--compiler llvm --llvm --fn llvm_main_2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[unknown-function]: no compiled function \"llvm_main_2\""));
  EXPECT_THAT(ran.err, HasSubstr("compiled functions: llvm_main_0, llvm_main_1"));
  ran = print("--llvm --asm");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--te, --llvm, --asm and --work exclude each other; give one"));
  EXPECT_EQ(print("--llvm --after fuse_ops").code, 2);
}

}  // namespace
}  // namespace byoc::test
