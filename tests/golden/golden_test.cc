// SPDX-License-Identifier: Apache-2.0
// Every <pass>/<case>.ir of this folder is a test; tests/support/golden.h describes the files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "byoc/pass/pass.h"
#include "support/golden.h"
#include "support/paths.h"

namespace byoc {
namespace {

const std::string kFolder = BYOC_TEST_DATA "/golden";

// Returns the file of one of the build's plugins, or of a selective one (tests/support/plugins).
std::string plugin_file(const std::string& id) {
  std::string file = cat("libbyoc_", id, ".so"), built = cat(BYOC_PLUGIN_DIR "/", file);
  return std::filesystem::exists(built) ? built
                                        : cat(BYOC_BUILD_DIR "/tests/support/plugins/", file);
}

// Makes the plugins that a case names its compilers, in that order; those with the flag become its
// default codegens.
PassContext context_for(const std::vector<GoldenPlugin>& plugins) {
  PassContext context;
  if (plugins.empty()) return context;
  PluginSearch search;
  for (const GoldenPlugin& plugin : plugins) {
    search.files.push_back(plugin_file(plugin.id));
    search.options[plugin.id] = plugin.options;
  }
  context.plugins = PluginSet::load(search);
  for (const RefusedPlugin& refused : context.plugins->refused()) ADD_FAILURE() << refused.reason;
  for (const GoldenPlugin& plugin : plugins) {
    context.compilers.push_back(plugin.id);
    const Plugin* found = context.plugins->find(plugin.id);
    if (found != nullptr && found->is_default_codegen()) context.defaults.push_back(plugin.id);
  }
  return context;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, GivesTheExpectedText) {
  std::ifstream file(kFolder + "/" + GetParam());
  std::stringstream text;
  text << file.rdbuf();
  auto golden = parse_golden(text.str());
  ASSERT_TRUE(golden.ok()) << golden.status().to_string();
  PassContext context = context_for(golden->plugins);
  context.options = golden->options;
  auto run = [&](IRModule module, const std::string& text) -> Result<IRModule> {
    BYOC_TRY(std::vector<Pass> passes, parse_passes(text));
    return run_passes(std::move(module), passes, context);
  };
  Status status = check_golden(*golden, all_ops(), run);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.size() - 3);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files(kFolder)), test_name);

std::string result_of(std::string_view text) {
  auto golden = parse_golden(text);
  if (!golden.ok()) return golden.status().message();
  auto twice = [](IRModule module, const std::string& passes) -> Result<IRModule> {
    if (passes == "fail") return invalid("it failed on purpose");
    if (passes == "grow")
      module.function("main").attrs.set(cat("a", module.function("main").attrs.size()), int64_t{1});
    return module;
  };
  return check_golden(*golden, all_ops(), twice).message();
}

TEST(GoldenRunner, SeesADifferentResult) {
  std::string message = result_of(
      "// pass: same\nfn main(%x: f32[2]) { return %x }\n// ---- expect\n"
      "fn main(%y: f32[2]) { return %y }");
  EXPECT_NE(message.find("the result is not what the case expects: @main: node %x"),
            std::string::npos)
      << message;
}

TEST(GoldenRunner, SeesASecondRunThatChangesMore) {
  std::string message = result_of(
      "// pass: grow   why: no\nfn main() { return }\n// ---- expect\n"
      "fn main() {a0=1} { return }");
  EXPECT_EQ(message.substr(0, 29), "a second run changes the resu") << message;
}

TEST(GoldenRunner, ComparesErrors) {
  EXPECT_EQ(result_of("// pass: fail\nfn main() { return }\n// ---- error\non purpose\n"), "");
  EXPECT_NE(result_of("// pass: fail\nfn main() { return }\n// ---- error\nby chance\n")
                .find("does not contain"),
            std::string::npos);
  EXPECT_EQ(result_of("// pass: same\nfn main() { return }\n// ---- error\nx"),
            "no error, expected one with: x");
}

TEST(GoldenRunner, RefusesFilesThatAreNoCases) {
  EXPECT_EQ(result_of("fn main() { return }\n// ---- expect\n"),
            "a golden case starts with \"// pass: ...\"");
  EXPECT_EQ(result_of("// pass: x\n"), "neither \"// ---- expect\" nor \"// ---- error\"");
}

}  // namespace
}  // namespace byoc
