// SPDX-License-Identifier: Apache-2.0
// The values and events that commands pass to plugins: flags,
// threads, cancellation on Ctrl-C, shutdown.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "command.h"
#include "support/faults.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The plugin of tests/faults/witness.cc takes relu, json takes tanh.
class PluginCalls : public ::testing::Test {
 protected:
  PluginCalls() { model = byoc.write("m.ir", kTwoOps); }
  std::string witness(const std::string& library = "witness") const {
    return " --plugin " + fault_path(library) +
           " --plugin-option witness.record=" + byoc.file("record");
  }
  std::string compiling() const { return witness() + " --compiler witness,json "; }
  /// Runs `command`, and returns the lines that the witness recorded, without open and close.
  std::string recorded(const std::string& command) const {
    std::filesystem::remove(byoc.file("record"));
    Ran ran = byoc(command);
    EXPECT_EQ(ran.code, 0) << command << "\n" << ran.err;
    std::string out;
    std::istringstream lines(get(byoc.file("record")));
    for (std::string line; std::getline(lines, line);) {
      if (line != "open" && line != "close") out += line + "\n";
    }
    return out;
  }
  /// Runs `byoc arguments` and sends it a signal while the witness waits.
  Ran interrupted(const std::string& arguments, const std::string& signal = "INT") const {
    std::filesystem::remove(byoc.file("record"));
    std::string script =
        byoc.write("interrupt.sh", cat(BYOC_BUILD_DIR, R"(/bin/byoc "$@" &
pid=$!
for k in $(seq 1000); do grep -qs waiting ")",
                                       byoc.file("record"), R"(" && break; sleep 0.02; done
kill -)",
                                       signal, " $pid\nwait $pid\n"));
    return Byoc("sh " + script)(arguments);
  }

  Byoc byoc;
  std::string model;
};

TEST_F(PluginCalls, CompileSaysThatItOnlyCompiles) {
  std::string compile = "compile " + model + compiling() + "-o " + byoc.file("m.byoc");
  EXPECT_EQ(recorded(compile), "compile flags=1 threads=1\n");
  EXPECT_EQ(recorded(compile + " --exact-sums --threads 2"), "compile flags=5 threads=2\n");
}

TEST_F(PluginCalls, RunCompilesAndLoadsWithEqualFlags) {
  std::string run = "run " + model + compiling();
  EXPECT_EQ(recorded(run), "compile flags=0 threads=1\nload flags=0 threads=1\n");
  EXPECT_EQ(recorded(run + "--exact-sums --threads 2"),
            "compile flags=4 threads=2\nload flags=4 threads=2\n");
}

TEST_F(PluginCalls, AnArtifactOfExactSumsIsLoadedForExactSums) {
  recorded("compile " + model + compiling() + "--exact-sums -o " + byoc.file("m.byoc"));
  EXPECT_EQ(recorded("run " + byoc.file("m.byoc") + witness()), "load flags=4 threads=1\n");
}

TEST_F(PluginCalls, ExactSumsReachPluginsFromEveryCommandThatCompiles) {
  for (std::string command : {"verify ", "bench --warmup 0 --min-time 0.01 "}) {
    EXPECT_THAT(recorded(command + model + compiling() + "--exact-sums"),
                testing::StartsWith("compile flags=4 threads=1\nload flags=4 threads=1\n"))
        << command;
  }
  EXPECT_EQ(recorded("print --asm " + model + compiling() + "--exact-sums"), "show flags=4\n");
}

TEST_F(PluginCalls, ExactSumsAreNoFlagOfACompiledModel) {
  recorded("compile " + model + compiling() + "-o " + byoc.file("m.byoc"));
  Ran ran = byoc("run " + byoc.file("m.byoc") + " --exact-sums");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr(" change compiling; the model is compiled already"));
}

TEST_F(PluginCalls, AReplayedRegionIsCompiledForExactSumsAsItsModelWas) {
  recorded("dump " + model + compiling() + "--exact-sums --region 0 -o " + byoc.file("region"));
  EXPECT_THAT(get(byoc.file("region/manifest.json")), HasSubstr("\"exact-sums\": true"));
  EXPECT_THAT(recorded("replay " + byoc.file("region") + witness()),
              testing::StartsWith("compile flags=4 threads=1\n"));
}

TEST_F(PluginCalls, AnUnknownOptionOfAReplayFolderIsAnError) {
  recorded("dump " + model + compiling() + "--region 0 -o " + byoc.file("region"));
  std::string manifest = get(byoc.file("region/manifest.json"));
  EXPECT_THAT(manifest, Not(HasSubstr("\"options\": {\"")));
  manifest.insert(manifest.find('{') + 1, "\"options\": {\"sums\": 1},");
  byoc.write("region/manifest.json", manifest);
  Ran ran = byoc("replay " + byoc.file("region") + witness());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("there is no option \"sums\" of functions"));
}

TEST_F(PluginCalls, PrintShowsTheCodeOfAPluginThatHasTheSlot) {
  Ran ran = byoc("print --llvm " + model + compiling());
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(", by witness\nrelu as llvm\n"));
  EXPECT_THAT(ran.out, HasSubstr(", by json, which shows no code\n"));
}

TEST_F(PluginCalls, CtrlCEndsACompileAndLeavesNoFile) {
  for (const char* signal : {"INT", "TERM"}) {
    Ran ran = interrupted("compile " + model + compiling() +
                              "--plugin-option witness.wait=compile -o " + byoc.file("m.byoc"),
                          signal);
    EXPECT_EQ(ran.code, 130) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[interrupted]: witness: interrupted"));
    for (const auto& entry : std::filesystem::directory_iterator(byoc.file("")))
      EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("m.byoc")));
  }
}

/// Runs `byoc arguments` in a terminal, and types Ctrl-C there once it shows `text`.
Ran in_a_terminal(const std::string& arguments, const std::string& text) {
  const std::string line = cat("exec ", BYOC_BUILD_DIR, "/bin/byoc ", arguments);
  int terminal = -1;
  pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  Ran ran;
  bool typed = false;
  char buffer[4096];
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    ran.out.append(buffer, static_cast<size_t>(n));
    if (typed || ran.out.find(text) == std::string::npos) continue;
    typed = ::write(terminal, "\x03", 1) == 1;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

TEST_F(PluginCalls, ATerminalShowsHowFarCompilingIsAndItsCtrlCEndsIt) {
  Ran ran = in_a_terminal("compile " + model + compiling() +
                              "--plugin-option witness.wait=compile -o " + byoc.file("m.byoc"),
                          "50 %  bearing witness");
  EXPECT_EQ(ran.code, 130) << ran.out;
  EXPECT_THAT(ran.out, testing::ContainsRegex("50 %  bearing witness  [0-9]+ s"));
  EXPECT_THAT(ran.out, HasSubstr("witness: interrupted"));
  EXPECT_FALSE(std::filesystem::exists(byoc.file("m.byoc")));
}

TEST_F(PluginCalls, CtrlCEndsLoadsAndRuns) {
  for (std::string slot : {"compile", "load", "run"}) {
    Ran ran = interrupted("run " + model + compiling() + "--plugin-option witness.wait=" + slot);
    EXPECT_EQ(ran.code, 130) << slot << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[interrupted]: ")) << slot;
  }
}

TEST_F(PluginCalls, CtrlCEndsTheOtherCommandsThatCompile) {
  for (std::string command : {"verify ", "bench "}) {
    Ran ran = interrupted(command + model + compiling() + "--plugin-option witness.wait=compile");
    EXPECT_EQ(ran.code, 130) << command << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("error[interrupted]: ")) << command;
  }
}

TEST_F(PluginCalls, TheEndOfACommandShutsAPluginDownOnce) {
  Ran ran = byoc("run " + model + witness("closing") + " --compiler witness,json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(get(byoc.file("record")), testing::EndsWith("close\nshutdown\n"));
  EXPECT_EQ(get(byoc.file("record")).find("shutdown"), get(byoc.file("record")).rfind("shutdown"));
}

TEST_F(PluginCalls, AFailingShutdownIsAWarning) {
  Ran ran = byoc("run " + model + witness("closing_badly") + " --compiler witness,json");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: shutdown failed: witness: a thread does not end"));
}

TEST_F(PluginCalls, TheRuntimeAloneShutsPluginsDownAsWell) {
  recorded("compile " + model + compiling() + "-o " + byoc.file("m.byoc"));
  Byoc byoc_run(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  Ran ran = byoc_run(byoc.file("m.byoc") + " --plugin " + fault_path("closing_badly"));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: shutdown failed: witness: a thread does not end"));
}

/// Tests the exit of `byoc COMMAND` when the plugin for relu crashes in the slot
/// `in`, by that signal.
class PluginCrashes : public ::testing::Test {
 protected:
  PluginCrashes() { model = byoc.write("m.ir", kTwoOps); }
  std::string crashing(const std::string& in, const std::string& signal) const {
    return cat(" --plugin ", fault_path("crasher"), " --plugin-option crasher.in=", in,
               " --plugin-option crasher.signal=", signal, " --compiler crasher,json ");
  }
  std::string error(const std::string& signal, const std::string& rest) const {
    return cat("error[plugin-crash]: SIG", signal, " in plugin \"crasher\", ", rest,
               "\n  help: a defect of the plugin; report it to its author\n");
  }

  Byoc byoc;
  std::string model;
};

TEST_F(PluginCrashes, EachFatalSignalIsReportedAndEndsTheProcess) {
  const std::pair<const char*, int> signals[] = {
      {"SEGV", SIGSEGV}, {"FPE", SIGFPE}, {"BUS", SIGBUS}, {"ILL", SIGILL}, {"ABRT", SIGABRT}};
  for (auto [name, number] : signals) {
    Ran ran = byoc("run " + model + crashing("compile", name));
    EXPECT_THAT(ran.err, HasSubstr(error(name, "slot compile, function crasher_main_0")));
    EXPECT_EQ(ran.code, 128 + number) << name;
  }
}

TEST_F(PluginCrashes, EachSlotIsNamed) {
  const std::pair<const char*, const char*> slots[] = {
      {"judge", "slot judge, function relu"},
      {"load", "slot load, function crasher_main_0"},
      {"run", "slot run, function crasher_main_0"}};
  for (auto [in, where] : slots) {
    Ran ran = byoc("run " + model + crashing(in, "SEGV"));
    EXPECT_THAT(ran.err, HasSubstr(error("SEGV", where))) << in;
    EXPECT_EQ(ran.code, 128 + SIGSEGV) << in;
  }
}

TEST_F(PluginCrashes, OpenAndCloseAreTriedBeforeTheCommandDependsOnThem) {
  for (std::string in : {"open", "close"}) {
    Ran ran = byoc("run " + model + crashing(in, "SEGV"));
    EXPECT_THAT(ran.err,
                HasSubstr(cat("error[plugin-refused]: --plugin ", fault_path("crasher"),
                              " cannot be used: it crashed (Segmentation fault) in slot ", in)));
    EXPECT_EQ(ran.code, 1);
  }
}

TEST_F(PluginCrashes, OneSignalEndsACommandWhosePluginDoesNotReturn) {
  const std::string hangs =
      model + crashing("compile", "HANG") + " -o " + byoc.file("m.byoc") + " --quiet";
  for (std::string signal : {"INT", "TERM"}) {
    Byoc signalled(
        cat("timeout --preserve-status -k 30 -s ", signal, " 2 ", BYOC_BUILD_DIR, "/bin/byoc"));
    Ran ran = signalled("compile " + hangs);
    EXPECT_EQ(ran.code, 130) << signal << ": " << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("interrupted\n"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(byoc.file("")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("m.byoc")));
}

TEST_F(PluginCrashes, AWorkerThreadIsInItsCallersCall) {
  Ran ran = byoc("run " + model + crashing("worker", "SEGV") + "--threads 2");
  EXPECT_THAT(ran.err, HasSubstr(error("SEGV", "slot run, function crasher_main_0")));
  EXPECT_EQ(ran.code, 128 + SIGSEGV);
}

TEST_F(PluginCrashes, AStackOverflowIsReportedToo) {
  Ran ran = byoc("run " + model + crashing("compile", "overflow"));
  EXPECT_THAT(ran.err, HasSubstr(error("SEGV", "slot compile, function crasher_main_0")));
  EXPECT_EQ(ran.code, 128 + SIGSEGV);
}

TEST_F(PluginCrashes, TheRuntimeAloneReportsThemAsWell) {
  std::string compiled = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + model + crashing("nowhere", "SEGV") + "-o " + compiled).code, 0);
  Byoc byoc_run(std::string(BYOC_BUILD_DIR) + "/bin/byoc-run");
  ::setenv("BYOC_TEST_CRASH", "run", 1);
  Ran ran = byoc_run(compiled + " --plugin " + fault_path("crasher"));
  ::unsetenv("BYOC_TEST_CRASH");
  EXPECT_THAT(ran.err, HasSubstr(error("SEGV", "slot run, function crasher_main_0")));
  EXPECT_EQ(ran.code, 128 + SIGSEGV);
}

}  // namespace
}  // namespace byoc::test
