// SPDX-License-Identifier: Apache-2.0
// --compute of the commands that compile.
#include "unit/driver/command.h"
#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::HasSubstr;

class ComputeFlag : public ::testing::Test {
 protected:
  ComputeFlag() {
    model_ = byoc_.write("m.ir", R"(fn main(%x: f32[3,4]) {
      %0 = relu(%x) loc("first")
      %1 = exp(%0) loc("second")
      return %1
    })");
    flags_ = cat(" --plugin ", BYOC_BUILD_DIR, "/tests/support/plugins/libbyoc_a.so",
                 " --plugin-option a.ops=relu --plugin-option a.computes=direct,fast",
                 " --plugin-option a.costs=direct:20,fast:10 --compiler a --default json ");
  }
  Ran run(const std::string& command, const std::string& more) {
    return byoc_(cat(command, " ", model_, flags_, more));
  }
  Byoc byoc_;
  std::string model_, flags_;
};

TEST_F(ComputeFlag, ExplainShowsWhatWasChosen) {
  EXPECT_THAT(run("explain", "--op first --compute by-level").out,
              HasSubstr("a: taken: compute direct"));
  for (const char* rule : {"fast", "relu=fast", "first=fast", "by-cost"}) {
    EXPECT_THAT(run("explain", cat("--op first --compute ", rule)).out,
                HasSubstr("a: taken: compute fast"))
        << rule;
  }
}

TEST_F(ComputeFlag, RunAndVerifyUseIt) {
  const Json profile = byoc_.json(cat("run ", model_, flags_, "--profile --compute fast"));
  EXPECT_THAT(profile.dump(), HasSubstr("compute fast: fast"));
  for (const char* rule : {"fast", "first=fast", "relu=fast", "by-cost"}) {
    const Ran verified = run("verify", cat("--compute ", rule));
    EXPECT_EQ(verified.code, 0) << verified.err << verified.out;
  }
}

// The plugin's relu is wrong, so verify makes smaller modules of the region.
TEST_F(ComputeFlag, VerifyFindsAWrongRegionWithRules) {
  const Ran ran = run("verify", "--plugin-option a.spoil=relu --compute first=fast");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("a_main_0"));
}

TEST_F(ComputeFlag, CompileKeepsItInTheArtifact) {
  const std::string artifact = byoc_.file("m.byoc");
  EXPECT_EQ(run("compile", cat("--compute fast -o ", artifact)).code, 0);
  EXPECT_THAT(byoc_
                  .json(cat("run ", artifact, " --plugin ", BYOC_BUILD_DIR,
                            "/tests/support/plugins/libbyoc_a.so --profile"))
                  .dump(),
              HasSubstr("compute fast: fast"));
  const Ran late = byoc_(cat("run ", artifact, " --compute fast"));
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.err, HasSubstr("the model is compiled already"));
}

TEST_F(ComputeFlag, MistakesAreErrors) {
  const Ran usage = run("compile", cat("--compute by-cots -o ", byoc_.file("m.byoc")));
  EXPECT_EQ(usage.code, 2);
  EXPECT_THAT(usage.err, HasSubstr("--compute: \"by-cots\" is no rule for computes"));
  const Ran unknown = run("compile", cat("--compute fats -o ", byoc_.file("m.byoc")));
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("error[unknown-compute]"), HasSubstr("\"fats\""),
                                 HasSubstr("there are: direct, fast")));
}

TEST_F(ComputeFlag, ThePassOfOptTakesTheSameRules) {
  const Ran ran =
      run("opt",
          "--passes infer_types,annotate_target=a,merge_compiler_regions,partition_graph,"
          "fuse_ops,choose_computes=relu=fast+by-cost -o -");
  EXPECT_THAT(ran.out, HasSubstr("compute=\"fast\"")) << ran.err;
}

}  // namespace
}  // namespace byoc::test
