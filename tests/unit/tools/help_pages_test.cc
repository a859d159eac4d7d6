// SPDX-License-Identifier: Apache-2.0
// Completions and manual pages: made of the same options as --help, and read by their programs.
#include <filesystem>

#include "core/driver/commands/commands.h"
#include "core/driver/help/pages.h"
#include "runtime/cli/help.h"
#include "runtime/program/program.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class HelpPages : public testing::Test {
 protected:
  HelpPages() : root_(driver::byoc_command(common_)) {
    programs_.push_back(cli::program_command(flags_));
  }

  /// Returns what bash offers for the last of `words`, one per line.
  std::string offered(const std::string& words) {
    std::string script = folder_.file("byoc.bash"), out = folder_.file("out");
    put(script, driver::bash_completion(root_));
    put(folder_.file("try.bash"), cat("source ", script, "\nCOMP_WORDS=(", words,
                                      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_byoc\n",
                                      "printf '%s\\n' \"${COMPREPLY[@]}\" | sort\n"));
    std::string line = cat("cd ", folder_.path(), " && bash try.bash >", out, " 2>&1");
    EXPECT_EQ(std::system(line.c_str()), 0) << get(out);
    return get(out);
  }

  cli::CommonOptions common_;
  cli::ProgramFlags flags_;
  cli::Command root_;
  std::vector<cli::Command> programs_;
  TempFolder folder_;
};

TEST_F(HelpPages, CompleteCommandsAndOptionsInBash) {
  EXPECT_EQ(offered("byoc veri"), "verify\n");
  EXPECT_EQ(offered("byoc new"), "new-plugin\n");
  EXPECT_EQ(offered("byoc verify --aga"), "--against\n");
  EXPECT_EQ(offered("byoc verify --js"), "--json\n");
  EXPECT_EQ(offered("byoc --json compile --outp"), "--output\n") << "an option before the command";
  EXPECT_EQ(offered("byoc compile --target x86-64-v"),
            "x86-64-v2\nx86-64-v3\nx86-64-v3+avxvnni\nx86-64-v4\nx86-64-v4+avx512vnni\n"
            "x86-64-v4+avx512vnni+amx-int8\n");
  EXPECT_EQ(offered("byoc check-plugin --level f"), "full\n");
}

TEST_F(HelpPages, CompleteFilesWhereTheyAreDue) {
  put(folder_.file("net.onnx"), "");
  fs::create_directory(folder_.file("nest"));
  EXPECT_EQ(offered("byoc compile ne"), "nest\nnet.onnx\n");
  EXPECT_EQ(offered("byoc run net.onnx --output-dir ne"), "nest\n") << "folders alone";
  EXPECT_EQ(offered("byoc explain --diff net"), "net.onnx\n") << "FILE|CONFIG";
}

TEST_F(HelpPages, HaveEveryOptionOfEveryCommand) {
  std::string bash = driver::bash_completion(root_), zsh = driver::zsh_completion(root_);
  auto pages = driver::manual_pages(root_, programs_);
  ASSERT_EQ(pages.size(), root_.commands.size() + 1);
  for (size_t k = 0; k < root_.commands.size(); ++k) {
    const cli::Command& command = root_.commands[k];
    std::string page = pages[k + 1].text;
    EXPECT_EQ(pages[k + 1].file, "byoc-" + command.name + ".1");
    EXPECT_THAT(bash, HasSubstr("    " + command.name + ")\n"));
    EXPECT_THAT(zsh, HasSubstr("    '" + command.name + ":"));
    std::erase(page, '\\');
    for (const cli::Option& option : command.options) {
      for (const std::string& name : cli::names_of(option)) {
        EXPECT_THAT(page, HasSubstr(name)) << command.name;
        if (cli::is_positional(option)) continue;
        EXPECT_THAT(bash, HasSubstr(name)) << command.name;
      }
    }
  }
}

TEST_F(HelpPages, AreReadByManWithoutWarnings) {
  if (std::system("command -v man >/dev/null && command -v groff >/dev/null") != 0)
    GTEST_SKIP() << "man or groff is not installed";
  for (const driver::ManualPage& page : driver::manual_pages(root_, programs_)) {
    std::string file = folder_.file(page.file), out = folder_.file("shown");
    put(file, page.text);
    std::string line = cat("LC_ALL=C MANWIDTH=100 man --warnings=w -P cat -l ", file, " >", out,
                           " 2>", out, ".err");
    EXPECT_EQ(std::system(line.c_str()), 0) << page.file;
    EXPECT_EQ(get(out + ".err"), "") << page.file;
    EXPECT_THAT(get(out), HasSubstr("EXIT STATUS")) << page.file;
  }
}

TEST_F(HelpPages, OfACommandAndAProgramOfOneNameAreOnePage) {
  auto pages = driver::manual_pages(root_, programs_);
  std::vector<std::string> found;
  for (const driver::ManualPage& page : pages) {
    if (page.file == "byoc-run.1") found.push_back(page.text);
  }
  ASSERT_EQ(found.size(), 1u);
  std::erase(found[0], '\\');
  EXPECT_THAT(found[0], HasSubstr("fBbyocfR fBrunfR fIMODELfR"));
  EXPECT_THAT(found[0], HasSubstr("fBbyoc-runfR fIMODEL.byocfR"));
  for (const cli::Option& option : programs_[0].options) {
    for (const std::string& name : cli::names_of(option)) EXPECT_THAT(found[0], HasSubstr(name));
  }
  EXPECT_THAT(found[0], HasSubstr("the folder of byoc-run itself")) << "its notes";
}

TEST_F(HelpPages, OfOtherProgramsAreTheirOwn) {
  programs_[0].name = "byoc-other";
  auto pages = driver::manual_pages(root_, programs_);
  EXPECT_EQ(pages.size(), root_.commands.size() + 2);
  EXPECT_EQ(pages.back().file, "byoc-other.1");
  EXPECT_THAT(pages.back().text, HasSubstr(".SH NAME\nbyoc\\-other"));
}

TEST_F(HelpPages, AreReadByZsh) {
  if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "zsh is not installed";
  put(folder_.file("_byoc"), driver::zsh_completion(root_));
  EXPECT_EQ(std::system(("zsh -n " + folder_.file("_byoc")).c_str()), 0);
}

TEST_F(HelpPages, QuoteWhatShellsWouldRead) {
  bool flag = false;
  std::string value;
  cli::Command root{.name = "p", .about = "it's [a] test: of \\ quotes"};
  cli::Command sub{.name = "c", .about = "it's"};
  sub.options = {{"--x", "V", "it's [a] test: \\", &value}, {"-f,--flag", "", ".dot", &flag}};
  root.commands = {sub};
  std::string zsh = driver::zsh_completion(root);
  EXPECT_THAT(zsh, HasSubstr(R"(--x'[it'\''s \[a\] test\: \\]:V:')"));
  EXPECT_THAT(zsh, HasSubstr(R"('(-f --flag)'{-f,--flag}'[.dot]')"));
  std::string page = driver::manual_pages(root, {})[1].text;
  EXPECT_THAT(page, HasSubstr("\\&.dot")) << "a line that begins with a dot is a request";
  EXPECT_THAT(page, HasSubstr("\\e"));
  EXPECT_THAT(page, Not(HasSubstr("\n.dot")));
}

}  // namespace
}  // namespace byoc::test
