// SPDX-License-Identifier: Apache-2.0
// The behaviour that all commands share: usage, help, streams, exit codes.
#include "command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CommandLine, WantsACommand) {
  Ran ran = Byoc()("");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("no command given"));
}

TEST(CommandLine, SuggestsTheCommandThatWasMeant) {
  Ran ran = Byoc()("explian x.onnx");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no command \"explian\"; did you mean \"explain\"?"));
}

TEST(CommandLine, SuggestsTheOptionThatWasMeant) {
  Ran ran = Byoc()("print x.onnx --shap N=1");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no option --shap; did you mean \"--shape\"?"));
}

TEST(CommandLine, RefusesOptimisationLevelsThatDoNotExist) {
  for (const char* level : {"-O 3", "-O -1"}) {
    Ran ran = Byoc()(std::string("print x.onnx ") + level);
    EXPECT_EQ(ran.code, 2) << level;
    EXPECT_THAT(ran.err, HasSubstr("-O is 0 to 2, not ")) << level;
  }
  EXPECT_THAT(Byoc()("print --help").out, testing::Not(HasSubstr("3 faster numerics")));
}

TEST(CommandLine, TakesOptionsBeforeAndAfterTheCommand) {
  Byoc byoc;
  EXPECT_EQ(byoc("--json ops relu").out, byoc("ops relu --json").out);
}

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  Byoc byoc;
  for (const char* command : {"plugins", "ops", "opt", "print", "partition", "explain", "compile",
                              "run", "verify", "test-onnx"}) {
    Ran ran = byoc(std::string(command) + " --help");
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_THAT(ran.out, HasSubstr(std::string("byoc ") + command)) << command;
    EXPECT_EQ(ran.err, "") << command;
    Ran brief = byoc(std::string(command) + " -h");
    EXPECT_EQ(brief.code, 0) << command;
    EXPECT_LT(brief.out.size(), ran.out.size()) << command;
  }
}

TEST(CommandLine, FailsWithOneJsonValueWhenAskedForJson) {
  Byoc byoc;
  Ran ran = byoc("print none.onnx --json");
  EXPECT_EQ(ran.code, 1);
  auto json = parse_json(ran.out);
  ASSERT_TRUE(json.ok()) << ran.out;
  EXPECT_EQ((*json)["ok"], false);
  EXPECT_EQ((*json)["error"]["slug"], "model-file");
  EXPECT_EQ((*json)["schema"], "byoc.print/1");
}

TEST(CommandLine, PrintsNoColourIntoFiles) {
  EXPECT_THAT(Byoc()("print none.onnx").err, StartsWith("error[model-file]: "));
}

}  // namespace
}  // namespace byoc::test
