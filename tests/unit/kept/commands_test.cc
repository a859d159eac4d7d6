// SPDX-License-Identifier: Apache-2.0
// What one command compiled no other one compiles again, also when two run at the same time.
#include "unit/driver/command.h"
#include "unit/kept/keeping.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

class KeptCommands : public Keeping {
 protected:
  KeptCommands() : model_(byoc_.write("m.ir", chain(4))) {}
  std::string flags(int compile_ms = 0) const {
    const std::string library = cat(BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_kept.so");
    return cat(" --plugin ", library, " --plugin-option kept.compiled_to=", log(),
               " --plugin-option kept.compile_ms=", compile_ms, " ");
  }
  void expect_runs(const std::string& command) {
    const Ran ran = byoc_(command + flags());
    EXPECT_EQ(ran.code, 0) << command << ": " << ran.err << ran.out;
  }

  Byoc byoc_;
  std::string model_;
};

TEST_F(KeptCommands, CompileEachFunctionOnceInAll) {
  expect_runs(cat("explain ", model_, " --compiler kept"));
  const auto once = compiled();
  EXPECT_GE(once, 1);
  for (const std::string command :
       {"compile -o /dev/null", "run", "bench --min-time 0.01 --warmup 0 --no-peaks", "verify"}) {
    expect_runs(cat(command, " ", model_, " --compiler kept"));
    EXPECT_EQ(compiled(), once) << command;
  }
}

TEST_F(KeptCommands, PlaceCompilesEachDistinctFunctionOnce) {
  expect_runs(cat("place ", model_, " --compiler kept,json"));
  const auto once = compiled();
  expect_runs(cat("place ", model_, " --compiler kept,json"));
  EXPECT_EQ(compiled(), once);
}

TEST_F(KeptCommands, CacheListsExportsAndDeletes) {
  const std::string compile = cat("compile ", model_, " --compiler kept -O0 -o /dev/null");
  expect_runs(compile);
  const Json listed = byoc_.json("cache");
  ASSERT_EQ(listed["plugins"].size(), 1u) << listed.dump(1);
  EXPECT_EQ(listed["plugins"][0]["plugin"], "kept");
  EXPECT_EQ(listed["plugins"][0]["files"], 4);
  EXPECT_GT(listed["plugins"][0]["bytes"], 100);
  EXPECT_EQ(byoc_.json("cache --plugin-id other")["plugins"].size(), 0u);
  EXPECT_EQ(byoc_.json("cache --unused 1")["deleted_files"], 0);
  EXPECT_EQ(byoc_.json(cat("cache --export ", byoc_.file("copy")))["exported_files"], 4);
  EXPECT_EQ(byoc_.json("cache --plugin-id other --max 0")["deleted_files"], 0);
  EXPECT_EQ(byoc_.json("cache --max 0")["deleted_files"], 4);
  EXPECT_EQ(byoc_.json("cache")["plugins"].size(), 0u);
  setenv("XDG_CACHE_HOME", byoc_.file("copy").c_str(), 1);
  expect_runs(compile);
  EXPECT_EQ(compiled(), 4) << "the copy is used";
  setenv("XDG_CACHE_HOME", folder_.file("cache").c_str(), 1);
  expect_runs(compile);
  EXPECT_EQ(compiled(), 8) << "what was deleted is made again";
}

TEST_F(KeptCommands, CacheRefusesWhatIsNoNumber) {
  const Ran ran = byoc_("cache --max many");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--max: \"many\" is no whole number"));
}

TEST_F(KeptCommands, TwoProcessesAtOnceCompileOnce) {
  const std::string one = cat(BYOC_BUILD_DIR, "/bin/byoc compile ", model_,
                              " --compiler kept -O0 -o /dev/null", flags(100), "--quiet");
  ASSERT_EQ(std::system(cat(one, " & ", one, " & wait").c_str()), 0);
  EXPECT_EQ(compiled(), 4);
}

}  // namespace
}  // namespace byoc::test
