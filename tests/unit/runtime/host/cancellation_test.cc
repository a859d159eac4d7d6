// SPDX-License-Identifier: Apache-2.0
// Cancellation, progress and flags that a plugin receives.
#include "byoc/host/cancellation.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/host/host.h"
#include "support/faults.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr const char* kRelu =
    R"({"format":"byoc.graph","version":1,"requires":[],"symbol":"f",)"
    R"("types":[{"dtype":"f32","shape":[4]}],"inputs":[{"name":"x","type":0}],"constants":[],)"
    R"("nodes":[{"op":"relu","version":1,"args":[["i",0]],"types":[0]}],"outputs":[["n",0,0]]})";
const CompileFunction kFunction{"f", kRelu, {}, {}, 1, 1};

class Witnessed : public testing::Test {
 protected:
  const Plugin& witness(const std::string& wait = "") {
    ::setenv("BYOC_TRY_PLUGINS", "0", 1);  // a trial is recorded, too
    PluginSearch search;
    search.files = {test::fault_path("witness")};
    search.options["witness"] = {{"record", record()}, {"wait", wait}};
    set_ = PluginSet::load(search);
    return *set_->find("witness");
  }
  std::string record() const { return folder_.file("record"); }
  void wait_until_recorded(const std::string& line) const {
    while (test::get(record()).find(line) == std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  Cancellation cancellation_;

 private:
  test::TempFolder folder_;
  std::shared_ptr<const PluginSet> set_;
};

TEST_F(Witnessed, CompileReceivesThreadsAndFlags) {
  const Plugin& plugin = witness();
  ASSERT_TRUE(plugin.compile({&kFunction, 1}, {"{}", 3, BYOC_STRICT_FP}).status.ok());
  EXPECT_EQ(test::get(record()), "open\ncompile flags=4 threads=3\n");
}

TEST_F(Witnessed, LoadReceivesThoseFlagsThatAKernelDependsOn) {
  const Plugin& plugin = witness();
  CompileResult result =
      plugin.compile({&kFunction, 1}, {"{}", 1, BYOC_COMPILE_ONLY | BYOC_STRICT_FP});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  ASSERT_TRUE(plugin.load(result.module, {}, 2).ok());
  EXPECT_EQ(test::get(record()), "open\ncompile flags=5 threads=1\nload flags=4 threads=2\n");
}

TEST_F(Witnessed, AModuleHasNoFlagsWhereNoneWereGiven) {
  CompileResult result = witness().compile({&kFunction, 1}, {"{}", 1, BYOC_COMPILE_ONLY});
  EXPECT_EQ(result.module.flags, 0u);
}

TEST_F(Witnessed, ProgressReachesTheHost) {
  std::vector<std::pair<uint32_t, std::string>> seen;
  cancellation_.set_progress(
      [&](uint32_t permille, std::string_view what) { seen.emplace_back(permille, what); });
  CompileOptions options{.cancel = &cancellation_};
  ASSERT_TRUE(witness().compile({&kFunction, 1}, options).status.ok());
  EXPECT_THAT(seen, ElementsAre(Pair(500u, "bearing witness"), Pair(1000u, "compiling")));
}

TEST_F(Witnessed, AWaitingCompileStopsWhenCancelled) {
  const Plugin& plugin = witness("compile");
  EXPECT_FALSE(cancellation_.is_polled());
  std::jthread user([&] {
    wait_until_recorded("waiting in compile");
    EXPECT_TRUE(cancellation_.is_polled());
    cancellation_.cancel();
  });
  CompileOptions options{.cancel = &cancellation_};
  Status status = plugin.compile({&kFunction, 1}, options).status;
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.slug(), "interrupted");
  EXPECT_EQ(status.message(), "witness: interrupted");
  EXPECT_FALSE(cancellation_.is_polled());
}

TEST_F(Witnessed, AWaitingLoadStopsWhenCancelledAndLeavesNoModule) {
  const Plugin& plugin = witness("load");
  CompileResult result = plugin.compile({&kFunction, 1}, {});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  std::jthread user([&] {
    wait_until_recorded("waiting in load");
    cancellation_.cancel();
  });
  Status status = plugin.load(result.module, {}, 1, &cancellation_).status();
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(status.message(), "witness: interrupted");
  EXPECT_EQ(host_counts().modules, 0);
}

TEST_F(Witnessed, NothingIsLoadedOnceCancelled) {
  const Plugin& plugin = witness();
  CompileResult result = plugin.compile({&kFunction, 1}, {});
  cancellation_.cancel();
  EXPECT_EQ(plugin.load(result.module, {}, 1, &cancellation_).status().code(), Code::kCancelled);
  EXPECT_EQ(host_counts().modules, 0);
}

}  // namespace
}  // namespace byoc
