// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/base/json.h"

namespace byoc::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

/// A program with two commands that record their arguments.
class CommandLine : public ::testing::Test {
 protected:
  int run(std::vector<const char*> words) {
    words.insert(words.begin(), "tool");
    CaptureStdout();
    CaptureStderr();
    int code = run_command_line(root_, common_, static_cast<int>(words.size()), words.data());
    out_ = GetCapturedStdout();
    err_ = GetCapturedStderr();
    return code;
  }

  CommandLine() {
    add_common_options(root_, common_);
    Command build{.name = "build",
                  .about = "make something",
                  .examples = {{"tool build a.onnx", "the usual"}}};
    build.options = {{"MODEL", "", "what to build", &model_, true},
                     {"-o,--output", "FILE", "where to", &output_},
                     {"--input", "X", "repeatable", &inputs_},
                     {"--threads", "N", "workers", &threads_},
                     {"--tolerance", "T", "allowed", &tolerance_},
                     {"--fast", "", "hurry", &fast_}};
    build.run = [this]() -> Result<int> {
      return ran_ = "build", status_.ok() ? Result<int>(0) : Result<int>(status_);
    };
    Command check{
        .name = "check", .about = "look at files", .examples = {{"tool check a b", "two"}}};
    check.options = {{"FILE", "", "files", &files_, true}};
    check.run = [this]() -> Result<int> { return ran_ = "check", 1; };
    root_.commands = {build, check};
  }

  Command root_{
      .name = "tool", .about = "does things", .examples = {{"tool build a.onnx", "build it"}}};
  CommonOptions common_;
  std::string model_, output_, ran_, out_, err_;
  std::vector<std::string> inputs_, files_;
  uint32_t threads_ = 1;
  double tolerance_ = 0;
  bool fast_ = false;
  Status status_;
};

TEST_F(CommandLine, StoresEveryKindOfOption) {
  EXPECT_EQ(run({"build", "m.onnx", "-o", "out", "--input", "x=1", "--fast", "--input", "y=-2",
                 "--threads=4", "--tolerance", "1e-3"}),
            0);
  EXPECT_EQ(model_, "m.onnx");
  EXPECT_EQ(output_, "out");
  EXPECT_THAT(inputs_, ElementsAre("x=1", "y=-2"));
  EXPECT_EQ(threads_, 4u);
  EXPECT_EQ(tolerance_, 1e-3);
  EXPECT_TRUE(fast_);
}

TEST_F(CommandLine, AnInputNeverTakesTheModel) {
  EXPECT_EQ(run({"build", "--input", "x=1", "m.onnx"}), 0);
  EXPECT_EQ(model_, "m.onnx");
}

TEST_F(CommandLine, TakesManyPositionalsAndTheCommandsExitCode) {
  EXPECT_EQ(run({"check", "a", "b", "c"}), 1);
  EXPECT_THAT(files_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(err_, "");
}

TEST_F(CommandLine, ArgumentsMayBeNamesOfCommands) {
  EXPECT_EQ(run({"check", "build", "check"}), 1);
  EXPECT_EQ(ran_, "check");
  EXPECT_THAT(files_, ElementsAre("build", "check"));
}

TEST_F(CommandLine, CommonOptionsStandBeforeOrAfterTheCommand) {
  EXPECT_EQ(run({"--json", "build", "m.onnx"}), 0);
  EXPECT_EQ(common_.json, "-");
  EXPECT_EQ(run({"build", "--json=f.json", "m.onnx", "-q"}), 0);
  EXPECT_EQ(common_.json, "f.json");
  EXPECT_EQ(model_, "m.onnx");
  EXPECT_TRUE(common_.quiet);
}

TEST_F(CommandLine, TheLastOfTwoEqualOptionsCounts) {
  EXPECT_EQ(run({"build", "m", "-o", "a", "--output", "b"}), 0);
  EXPECT_EQ(output_, "b");
}

TEST_F(CommandLine, WrongUseExitsWith2AndSuggests) {
  EXPECT_EQ(run({"biuld", "m"}), 2);
  EXPECT_THAT(err_, HasSubstr("error[usage]: no command \"biuld\"; did you mean \"build\"?"));
  EXPECT_EQ(run({"build", "m", "--thread", "4"}), 2);
  EXPECT_THAT(err_, HasSubstr("no option --thread; did you mean \"--threads\"?"));
  EXPECT_THAT(err_, HasSubstr("help: tool build -h"));
  EXPECT_EQ(run({"build"}), 2);
  EXPECT_THAT(err_, HasSubstr("no MODEL given"));
  EXPECT_EQ(run({"build", "a", "b"}), 2);
  EXPECT_THAT(err_, HasSubstr("one argument too many: \"b\""));
  EXPECT_EQ(run({"build", "a", "--threads", "many"}), 2);
  EXPECT_THAT(err_, HasSubstr("--threads expects a whole number, got \"many\""));
  EXPECT_EQ(run({"build", "a", "--threads", "-1"}), 2);
  EXPECT_EQ(run({"build", "a", "--threads", "99999999999"}), 2);
  EXPECT_THAT(err_, HasSubstr("--threads expects a whole number up to 4294967295, got \"999"));
  EXPECT_EQ(run({"build", "a", "--tolerance", "1x"}), 2);
  for (const char* value : {"-1", "nan"}) {  // both would be the default in silence
    EXPECT_EQ(run({"build", "a", "--tolerance", value}), 2);
    EXPECT_THAT(err_, HasSubstr(cat("--tolerance expects a number of 0 or more, got \"", value)));
  }
  EXPECT_EQ(run({"build", "a", "-o"}), 2);
  EXPECT_EQ(run({}), 2);
  EXPECT_THAT(err_, HasSubstr("no command given"));
  EXPECT_EQ(ran_, "");
}

TEST_F(CommandLine, AFailureExitsWith1AndPrintsEverythingOnce) {
  status_ = invalid("it is bent").with_slug("bent").at("m.onnx").with_help("straighten it");
  EXPECT_EQ(run({"build", "m.onnx"}), 1);
  EXPECT_EQ(err_, "error[bent]: it is bent\n  m.onnx\n  help: straighten it\n");
  EXPECT_EQ(out_, "");
}

TEST_F(CommandLine, WithJsonAFailureIsOneValueOnStdout) {
  status_ = invalid("it is bent").with_slug("bent").at("m.onnx");
  EXPECT_EQ(run({"build", "m.onnx", "--json"}), 1);
  auto json = parse_json(out_);
  ASSERT_TRUE(json.ok()) << out_;
  EXPECT_EQ((*json)["schema"], "byoc.build/1");
  EXPECT_EQ((*json)["ok"], false);
  EXPECT_EQ((*json)["error"]["slug"], "bent");
  EXPECT_EQ((*json)["error"]["message"], "it is bent");
  EXPECT_EQ((*json)["error"]["where"], "m.onnx");
  EXPECT_EQ(run({"build", "--json", "--nonsense"}), 2);
  EXPECT_EQ((*parse_json(out_))["error"]["slug"], "usage");
}

TEST_F(CommandLine, ShortHelpIsUsageAndFullHelpBeginsWithExamples) {
  EXPECT_EQ(run({"build", "-h"}), 0);
  EXPECT_THAT(out_, HasSubstr("usage: tool build MODEL [options]"));
  EXPECT_THAT(out_, HasSubstr("  -o, --output FILE  where to"));
  EXPECT_THAT(out_, Not(HasSubstr("the usual")));
  EXPECT_EQ(run({"build", "--help"}), 0);
  EXPECT_LT(out_.find("tool build a.onnx  the usual"), out_.find("usage:"));
  EXPECT_THAT(out_, HasSubstr("130  interrupted"));
  EXPECT_THAT(out_, HasSubstr("--json[=FILE]"));
  EXPECT_EQ(run({"--help"}), 0);
  EXPECT_THAT(out_, HasSubstr("  check  look at files"));
}

// Most options of most commands are for compiling a model; those of the command itself come first.
TEST_F(CommandLine, OptionsOfTheCommandComeBeforeThoseThatItShares) {
  Command& build = root_.commands[0];
  build.options.insert(build.options.begin() + 1, {"--shape", "N", "extents", &output_});
  build.options[1].group = "options of the model";
  EXPECT_EQ(run({"build", "--help"}), 0);
  const size_t own = out_.find("\noptions:\n"), shared = out_.find("\noptions of the model:\n");
  ASSERT_NE(own, std::string::npos);
  ASSERT_NE(shared, std::string::npos);
  EXPECT_LT(own, shared);
  EXPECT_LT(out_.find("-o, --output FILE"), shared);
  EXPECT_GT(out_.find("--shape N"), shared);
  EXPECT_LT(shared, out_.find("\noptions of every command:\n"));
  EXPECT_EQ(run({"build", "-h"}), 0);
  EXPECT_THAT(out_, HasSubstr("options of the model (--help explains them):\n  --shape\n"));
}

TEST_F(CommandLine, RefusesColoursThatDoNotExist) {
  EXPECT_EQ(run({"build", "m.onnx", "--color", "sometimes"}), 2);
  EXPECT_THAT(err_, HasSubstr("--color is auto, always or never, not \"sometimes\""));
  EXPECT_EQ(ran_, "");
}

TEST_F(CommandLine, AnErrorWithoutASlugHasThatOfItsCode) {
  status_ = not_found("it is away");
  EXPECT_EQ(run({"build", "m.onnx"}), 1);
  EXPECT_EQ(err_, "error[not-found]: it is away\n");
}

TEST_F(CommandLine, KnowsItsVersion) {
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_THAT(out_, ::testing::MatchesRegex("tool [0-9]+.[0-9]+.[0-9]+\n"));
}

TEST_F(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(run({"build", "--help"}), 0);
  const std::string wanted = out_;
  EXPECT_EQ(run({"help", "build"}), 0);
  EXPECT_EQ(out_, wanted);
  EXPECT_EQ(run({"help"}), 0);
  EXPECT_THAT(out_, HasSubstr("  check  look at files"));
  EXPECT_THAT(out_, HasSubstr("  --version "));
  EXPECT_EQ(run({"help", "biuld"}), 2);
  EXPECT_THAT(err_, HasSubstr("no command \"biuld\"; did you mean \"build\"?"));
}

TEST_F(CommandLine, TheVersionIsJsonOnRequest) {
  for (std::vector<const char*> words :
       {std::vector{"--version", "--json"}, std::vector{"--json", "--version"}}) {
    EXPECT_EQ(run(words), 0);
    auto json = parse_json(out_);
    ASSERT_TRUE(json.ok()) << out_;
    EXPECT_EQ((*json)["schema"], "byoc.version/1");
    EXPECT_EQ((*json)["ok"], true);
    EXPECT_EQ((*json)["program"], "tool");
  }
}

TEST_F(CommandLine, AnExceptionIsABugOfOurs) {
  root_.commands[0].run = []() -> Result<int> { throw std::runtime_error("oops"); };
  EXPECT_EQ(run({"build", "m"}), 3);
  EXPECT_THAT(err_, HasSubstr("oops"));
}

}  // namespace
}  // namespace byoc::cli
