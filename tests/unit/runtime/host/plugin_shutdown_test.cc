// SPDX-License-Identifier: Apache-2.0
// A library cannot be used after shutdown_plugins, so each test has a separate process.
#include <gmock/gmock.h>

#include "byoc/host/plugins.h"
#include "support/faults.h"
#include "support/temp_folder.h"

namespace byoc {
namespace {

using testing::ExitedWithCode;

std::shared_ptr<const PluginSet> witness(const std::string& library, const std::string& record) {
  ::setenv("BYOC_TRY_PLUGINS", "0", 1);  // a trial is recorded, too
  PluginSearch search;
  search.files = {test::fault_path(library)};
  search.options["witness"]["record"] = record;
  return PluginSet::load(search);
}

TEST(PluginShutdown, ComesOnceAfterTheLastInstanceIsClosed) {
  test::TempFolder folder;
  const std::string record = folder.file("record");
  auto use = [&] {
    auto first = witness("closing", record), second = witness("closing", record);
    first.reset();
    second.reset();
    shutdown_plugins();
    shutdown_plugins();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ExitedWithCode(0), "^$");
  EXPECT_EQ(test::get(record), "open\nopen\nclose\nclose\nshutdown\n");
}

TEST(PluginShutdown, WaitsForOpenInstances) {
  test::TempFolder folder;
  const std::string record = folder.file("record");
  auto use = [&] {
    auto set = witness("closing", record);
    shutdown_plugins();
    set.reset();
    shutdown_plugins();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ExitedWithCode(0),
              "loader: warning: witness is not shut down: 1 instances are open");
  EXPECT_EQ(test::get(record), "open\nclose\nshutdown\n");
}

TEST(PluginShutdown, LetsNoLaterSetUseTheLibrary) {
  test::TempFolder folder;
  const std::string record = folder.file("record");
  auto use = [&] {
    witness("closing", record);
    shutdown_plugins();
    auto later = witness("closing", record);
    for (const RefusedPlugin& refused : later->refused())
      std::fprintf(stderr, "%s refused: %s\n", refused.id.c_str(), refused.reason.c_str());
    std::exit(later->all().empty() ? 0 : 1);
  };
  EXPECT_EXIT(use(), ExitedWithCode(0), "witness refused: it was shut down in this process");
  EXPECT_EQ(test::get(record), "open\nclose\nshutdown\n");
}

TEST(PluginShutdown, PrintsAFailureAsAWarning) {
  test::TempFolder folder;
  auto use = [&] {
    witness("closing_badly", folder.file("record"));
    shutdown_plugins();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ExitedWithCode(0),
              "witness: warning: shutdown failed: witness: a thread does not end");
  EXPECT_EQ(test::get(folder.file("record")), "open\nclose\nshutdown\n");
}

TEST(PluginShutdown, DoesNotConcernALibraryWithoutTheSlot) {
  test::TempFolder folder;
  const std::string record = folder.file("record");
  witness("witness", record);
  shutdown_plugins();
  EXPECT_FALSE(witness("witness", record)->all().empty());
}

}  // namespace
}  // namespace byoc
