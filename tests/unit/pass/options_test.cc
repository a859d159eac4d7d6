// SPDX-License-Identifier: Apache-2.0
// The table of options, and options as text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "byoc/base/json.h"
#include "byoc/options.h"

namespace byoc::test {
namespace {

const OptionInfo& row(std::string_view name) {
  auto at = std::ranges::find(option_table(), name, &OptionInfo::name);
  EXPECT_NE(at, option_table().end()) << name;
  return *at;
}

TEST(Options, EachRowHasANameOfItsOwnAndAKindThatItsValueShows) {
  std::set<std::string_view> names;
  for (const OptionInfo& option : option_table()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.doc.empty()) << option.name;
    EXPECT_EQ(std::holds_alternative<bool>(option.fallback), option.value.empty()) << option.name;
    if (option.is_of_functions) {
      ASSERT_NE(option.set, nullptr) << option.name;
      ASSERT_NE(option.get, nullptr) << option.name;
      BuildOptions build;
      EXPECT_TRUE(option.set(option.fallback, build).ok());
      EXPECT_EQ(option.get(build), option.fallback) << option.name;
    }
  }
}

TEST(Options, FallbacksAreThoseOfBuildOptions) {
  BuildOptions build;
  ASSERT_TRUE(apply(OptionValues(), build).ok());
  const BuildOptions plain;
  EXPECT_EQ(build.level, plain.level);
  EXPECT_EQ(build.threads, plain.threads);
  EXPECT_EQ(build.target_json, plain.target_json);
  EXPECT_EQ(build.exact_sums, plain.exact_sums);
  EXPECT_EQ(build.strict, plain.strict);
  EXPECT_EQ(build.options, plain.options);
  EXPECT_TRUE(build.compilers.empty());
}

TEST(Options, WordsAreReadByTheirKind) {
  OptionValues values;
  EXPECT_TRUE(values.read(row("level"), "1"));
  EXPECT_EQ(values[option::kLevel], 1);
  for (const char* wrong : {"", "one", "1x", "99999999999"})
    EXPECT_FALSE(values.read(row("level"), wrong)) << wrong;
  EXPECT_FALSE(values.read(row("threads"), "-1"));
  EXPECT_TRUE(values.read(row("strict"), ""));
  EXPECT_FALSE(values.read(row("strict"), "yes"));
  EXPECT_TRUE(values.read(row("compiler"), "a"));
  EXPECT_TRUE(values.read(row("compiler"), "b,c"));
  EXPECT_THAT(values[option::kCompiler], testing::ElementsAre("b,c"));
  EXPECT_TRUE(values.read(row("plugin-option"), "a.x=1"));
  EXPECT_TRUE(values.read(row("plugin-option"), "a.y=2"));
  EXPECT_THAT(values[option::kPluginOption], testing::ElementsAre("a.x=1", "a.y=2"));
}

TEST(Options, GivenOnesAreJson) {
  OptionValues values;
  EXPECT_EQ(given_json(values).dump(), "{}");
  values[option::kCompiler] = {"onednn", "llvm"};
  values[option::kThreads] = 4;
  EXPECT_EQ(given_json(values).dump(), R"({"compiler":["onednn","llvm"],"threads":4})");
}

TEST(Options, ValuesWithoutMeaningAreUsageErrors) {
  const std::pair<std::string_view, OptionValue> wrong[] = {
      {"level", 3}, {"level", -1}, {"target", std::string("abacus")}};
  for (const auto& [name, value] : wrong) {
    OptionValues values;
    values.at(name) = value;
    BuildOptions build;
    EXPECT_EQ(apply(values, build).slug(), "usage") << name;
  }
}

TEST(Options, ThoseOfFunctionsSurviveAFile) {
  BuildOptions build;
  EXPECT_EQ(function_options_json(build), "{}");
  build.exact_sums = true;
  BuildOptions read;
  ASSERT_TRUE(read_function_options(function_options_json(build), read).ok());
  EXPECT_TRUE(read.exact_sums);
  for (const char* wrong : {"[]", "{", R"({"exact-sums":1})", R"({"level":1})", R"({"sums":true})"})
    EXPECT_FALSE(read_function_options(wrong, read).ok()) << wrong;
}

TEST(Options, FlagsOfCompileAreThoseOfTheAbi) {
  BuildOptions build;
  EXPECT_EQ(compile_flags(build), 0u);
  build.exact_sums = build.compile_only = true;
  EXPECT_EQ(compile_flags(build), 5u);
}

}  // namespace
}  // namespace byoc::test
