// SPDX-License-Identifier: Apache-2.0
// Sessions that run the kernels of a plugin, which is
// tests/faults/faulty.c. Its option selects a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "byoc/runtime/session.h"
#include "runtime/host/host.h"
#include "runtime/session/profile.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<std::unique_ptr<Session>> load_with(const std::string& fault, uint32_t threads = 1) {
  return Session::load(test::two_relus(), test::load_fault("faulty_none", fault),
                       {.threads = threads});
}

Status run(const Session& session, const Floats& x, const Floats& y) {
  DLTensor in = x.view(), out = y.view();
  return session.run(**session.make_context(), {&in, 1}, {&out, 1});
}

TEST(PluginSession, RunsKernelsInPlaceWithTheirConstants) {
  for (uint32_t threads : {1u, 2u}) {
    auto session = load_with("", threads);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    EXPECT_THAT((*session)->warnings(), ElementsAre());
    Floats x({-5, 0, 1, 2}), y({0, 0, 0, 0});
    ASSERT_TRUE(run(**session, x, y).ok());
    EXPECT_THAT(y.values(), ElementsAre(20, 20, 21, 22));
  }
}

TEST(PluginSession, AFailingKernelGivesThePluginsWordsAndItsPlace) {
  auto session = load_with("run");
  ASSERT_TRUE(session.ok());
  Floats x({1, 2, 3, 4}), y = x;
  Status status = run(**session, x, y);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.to_string(),
            "error[run-failed]: faulty: the kernel panicked\n  faulty_main_0 (\"Relu_0\")");
}

TEST(PluginSession, AnExceptionOutOfAKernelIsAnError) {
  PluginSearch search;
  search.files = {test::fault_path("thrower")};
  search.options["thrower"]["throw"] = "run";
  std::string relu =
      R"({"format":"byoc.graph","version":1,"symbol":"f","types":[{"dtype":"f32","shape":[4]}],)"
      R"("inputs":[{"name":"x","type":0}],)"
      R"("nodes":[{"op":"relu","args":[["i",0]],"types":[0]}],"outputs":[["n",0,0]]})";
  std::vector<CompileFunction> functions{{"faulty_main_0", relu, {}, {}, 1, 1},
                                         {"faulty_main_1", relu, {}, {}, 1, 1}};
  Executable executable = test::two_relus();
  CompileResult compiled = PluginSet::load(search)->find("thrower")->compile(functions, "{}", 1, 0);
  ASSERT_TRUE(compiled.status.ok()) << compiled.status.to_string();
  executable.modules[0] = compiled.module;
  executable.program.arena_bytes = 128;  // its kernels do not run in place
  executable.program.steps[1].args[1].offset = executable.program.copies[0].from.offset = 64;
  search.files = {test::fault_path("thrower_raw")};  // has the same id; its run throws
  auto session = Session::load(std::move(executable), PluginSet::load(search));
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Floats x({1, 2, 3, 4}), y = x;
  EXPECT_EQ(run(**session, x, y).message(),
            "thrower: threw an exception out of run: straight through the C boundary");
}

TEST(PluginSession, AFailingLoadLeavesNothing) {
  int64_t modules = host_counts().modules, held = host_counts().held;
  Status status = load_with("load").status();
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_THAT(status.to_string(), HasSubstr("the blob has a moth in it"));
  EXPECT_THAT(status.where(), HasSubstr("plugin \"faulty\": faulty_main_0, faulty_main_1"));
  EXPECT_EQ(host_counts().modules, modules);
  EXPECT_EQ(host_counts().held, held);
}

TEST(PluginSession, GivesBackAllThatItLoaded) {
  int64_t modules = host_counts().modules, held = host_counts().held;
  { ASSERT_TRUE(load_with("").ok()); }
  EXPECT_EQ(host_counts().modules, modules);
  EXPECT_EQ(host_counts().held, held);
}

TEST(PluginSession, KernelsThatAreSerialRunOneAtATime) {
  auto session = load_with("serial");
  ASSERT_TRUE(session.ok());
  std::vector<std::thread> threads;
  std::vector<int> right(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        Floats x({1, 2, 3, 4}), y({0, 0, 0, 0});
        right[t] += run(**session, x, y).ok() && y.values()[3] == 24;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ElementsAre(50, 50, 50, 50));
}

TEST(PluginCompat, WhatCannotRunIsStaleWithACure) {
  Executable executable = test::two_relus();
  executable.modules[0].compat = "faulty/0";
  executable.modules[0].plugin_version = "0.9.0";
  Status status = Session::load(std::move(executable), test::load_fault("faulty_none")).status();
  EXPECT_EQ(status.code(), Code::kStaleArtifact);
  EXPECT_EQ(status.to_string(),
            "error[stale-artifact]: plugin \"faulty\" 0.9.0 compiled faulty_main_0, faulty_main_1, "
            "1.0.0 is installed, and "
            "cannot run it on this machine\n  help: compile the model again");
}

TEST(PluginCompat, WhatRunsButCouldBeBetterIsAWarning) {
  auto session = load_with("compat-better");
  ASSERT_TRUE(session.ok());
  EXPECT_THAT((*session)->warnings(),
              ElementsAre(HasSubstr("compiling the model again would be better")));
}

TEST(PluginCompat, NotKnowingMattersOnlyToAnotherVersion) {
  EXPECT_THAT((*load_with("compat-unknown"))->warnings(), ElementsAre());
  Executable executable = test::two_relus();
  executable.modules[0].plugin_version = "0.9.0";
  auto session =
      Session::load(std::move(executable), test::load_fault("faulty_none", "compat-unknown"));
  ASSERT_TRUE(session.ok());
  EXPECT_THAT((*session)->warnings(),
              ElementsAre(HasSubstr("faulty\" 0.9.0 compiled faulty_main_0")));
}

TEST(MissingPlugin, OneThatWasRefusedIsNamedWithTheReason) {
  Status status = Session::load(test::two_relus(), test::load_fault("faulty_wrong_major")).status();
  EXPECT_EQ(status.slug(), "missing-plugin");
  EXPECT_THAT(status.message(),
              HasSubstr("no plugin \"faulty\" 1.0.0, which runs faulty_main_0, faulty_main_1 ("));
  EXPECT_THAT(status.message(),
              HasSubstr("libbyoc_faulty_wrong_major.so was refused: needs ABI 2"));
}

TEST(PluginProfile, NamesThePluginAndItsWords) {
  auto session = load_with("");
  auto context = *(*session)->make_context();
  (*session)->set_profiling(*context, true);
  Floats x({1, 2, 3, 4}), y = x;
  DLTensor in = x.view(), out = y.view();
  ASSERT_TRUE((*session)->run(*context, {&in, 1}, {&out, 1}).ok());
  auto rows = profile_rows(**session, *context);
  EXPECT_EQ(rows[1].runner, "faulty");
  EXPECT_EQ(rows[1].runs, 1u);
}

}  // namespace
}  // namespace byoc
