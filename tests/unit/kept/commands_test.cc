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

TEST_F(KeptCommands, TwoProcessesAtOnceCompileOnce) {
  const std::string one = cat(BYOC_BUILD_DIR, "/bin/byoc compile ", model_,
                              " --compiler kept -O0 -o /dev/null", flags(100), "--quiet");
  ASSERT_EQ(std::system(cat(one, " & ", one, " & wait").c_str()), 0);
  EXPECT_EQ(compiled(), 4);
}

}  // namespace
}  // namespace byoc::test
