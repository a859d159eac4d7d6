// SPDX-License-Identifier: Apache-2.0
// A Session's cancellation reaches load and every run of its plugins.
#include <gmock/gmock.h>

#include <thread>

#include "byoc/runtime/session.h"
#include "support/faults.h"
#include "support/temp_folder.h"
#include "unit/runtime/executables.h"
#include "unit/runtime/host_functions.h"

namespace byoc {
namespace {

using test::Floats;

/// A session of two relus by tests/faults/witness.cc, which waits for cancellation in `slot`.
class CancelledSession : public testing::Test {
 protected:
  Result<std::unique_ptr<Session>> load(const std::string& slot) {
    PluginSearch search;
    search.files = {test::fault_path("witness")};
    search.options["witness"] = {{"record", folder_.file("record")}, {"wait", slot}};
    auto plugins = PluginSet::load(search);
    const std::string relu =
        R"({"format":"byoc.graph","version":1,"symbol":"f","types":[{"dtype":"f32","shape":[4]}],)"
        R"("inputs":[{"name":"x","type":0}],)"
        R"("nodes":[{"op":"relu","args":[["i",0]],"types":[0]}],"outputs":[["n",0,0]]})";
    std::vector<CompileFunction> functions{{"faulty_main_0", relu, {}, {}, 1, 1},
                                           {"faulty_main_1", relu, {}, {}, 1, 1}};
    CompileResult compiled = plugins->find("witness")->compile(functions, {});
    EXPECT_TRUE(compiled.status.ok()) << compiled.status.to_string();
    Executable executable = test::two_relus();
    executable.modules[0] = compiled.module;
    executable.program.arena_bytes = 128;  // its kernels do not run in place
    executable.program.steps[1].args[1].offset = executable.program.copies[0].from.offset = 64;
    return Session::load(std::move(executable), plugins, {.cancel = &cancellation_});
  }
  void cancel_when_waiting(const std::string& slot) {
    while (test::get(folder_.file("record")).find("waiting in " + slot) == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cancellation_.cancel();
  }
  static Status run(const Session& session) {
    Floats x({-1, 2, 3, 4}), y = x;
    DLTensor in = x.view(), out = y.view();
    return session.run(**session.make_context(), {&in, 1}, {&out, 1});
  }

  Cancellation cancellation_;

 private:
  test::TempFolder folder_;
};

TEST_F(CancelledSession, ALoadThatWaitsEnds) {
  std::jthread user([&] { cancel_when_waiting("load"); });
  Status status = load("load").status();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.slug(), "interrupted");
}

TEST_F(CancelledSession, AKernelThatWaitsEnds) {
  auto session = load("run");
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  std::jthread user([&] { cancel_when_waiting("run"); });
  Status status = run(**session);
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.to_string(), "error[interrupted]: interrupted\n  faulty_main_0");
}

TEST_F(CancelledSession, NoStepRunsOnceCancelled) {
  auto session = load("");
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE(run(**session).ok());
  cancellation_.cancel();
  Status status = run(**session);
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.slug(), "interrupted");
}

}  // namespace
}  // namespace byoc
