// SPDX-License-Identifier: Apache-2.0
// A plugin that the process has registered passes the checks that its file passes, but for those of
// the file itself, and a fault of it is found.
#include <gtest/gtest.h>

#include <map>

#include "byoc/base/shared_library.h"
#include "byoc/host/register.h"
#include "core/conform/conform.h"
#include "runtime/host/host.h"
#include "support/faults.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using conform::Finished;
using conform::Outcome;

/// Registers the table of a file, as a program with a plugin of its own does.
void register_file(const std::string& path) {
  auto library = SharedLibrary::open(path);
  ASSERT_TRUE(library.ok()) << library.status().to_string();
  auto entry = reinterpret_cast<byoc_plugin_entry_fn>(library->symbol(BYOC_ENTRY_SYMBOL));
  library->keep();
  ASSERT_NE(entry, nullptr);
  const byoc_plugin* table = nullptr;
  entry(host_table(), &table);
  const Status status = register_plugin(table);
  ASSERT_TRUE(status.ok()) << status.to_string();
}

std::map<std::string, Outcome> outcomes_of(const conform::Options& options,
                                           const std::vector<int>& groups) {
  auto outcomes = conform::run_checks(options, groups, [](const Finished&) {});
  EXPECT_TRUE(outcomes.ok()) << outcomes.status().to_string();
  std::map<std::string, Outcome> out;
  if (!outcomes.ok()) return out;
  for (const Finished& one : outcomes->checks) out.emplace(one.check->name, one.answer.outcome);
  return out;
}

TEST(RegisteredPlugin, PassesWhatItsFilePasses) {
  const std::string path = std::string(BYOC_PLUGIN_DIR) + "/libbyoc_json.so";
  const std::vector<int> groups = {1, 2, 3, 4, 6, 7};  // the fifth takes a minute
  const auto of_file = outcomes_of({.path = path}, groups);
  ASSERT_FALSE(conform::is_registered("json"));
  register_file(path);
  ASSERT_TRUE(conform::is_registered("json"));
  auto registered = outcomes_of({.registered = "json"}, groups);
  ASSERT_EQ(registered.size(), of_file.size());
  for (const conform::Check& check : conform::all_checks()) {
    if (!of_file.contains(std::string(check.name))) continue;
    SCOPED_TRACE(check.name);
    const bool is_of_file = check.group == 1 || check.name == "dependencies";
    EXPECT_EQ(registered[std::string(check.name)],
              is_of_file ? Outcome::kSkip : of_file.at(std::string(check.name)));
  }
}

TEST(RegisteredPlugin, HasItsFaultsFound) {
  register_file(fault_path("unruly_ends"));
  ASSERT_TRUE(conform::is_registered("example"));
  EXPECT_EQ(outcomes_of({.registered = "example"}, {3})["ends"], Outcome::kFail);
}

}  // namespace
}  // namespace byoc::test
