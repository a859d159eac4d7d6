// SPDX-License-Identifier: Apache-2.0
// Rules in text, as --compute takes them, and their errors.
#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTwo = R"(fn main(%x: f32[3,4]) {
  %0 = relu(%x) loc("first")
  %1 = exp(%0)
  %2 = relu(%1) loc("second")
  %3 = exp(%2)
  %4 = tanh(%3) loc("last")
  return %4
})";

// The plugin a takes relu and tanh, each with the computes direct, fast and slow.
std::vector<std::string> kernels(const std::vector<std::string>& rules) {
  const auto plugins = selective_plugins({{"a",
                                           {{"ops", "relu,tanh"},
                                            {"computes", "direct,fast,slow"},
                                            {"costs", "direct:3,fast:2,slow:9"}}}});
  BuildOptions options = options_for(plugins, {"a"});
  options.level = 1;
  Result<te::Policies> policies = te::parse_rules(rules, all_ops());
  if (!policies.ok()) return {policies.status().to_string()};
  options.policies = handed_in(*std::move(policies));
  Result<Executable> executable = build(parse(kTwo), options);
  if (!executable.ok()) return {executable.status().to_string()};
  std::vector<std::string> out;
  for (const std::string& kernel : kernels_of(*executable)) {
    if (kernel.starts_with("a ")) out.push_back(kernel.substr(kernel.rfind(' ') + 1));
  }
  return out;
}

// Two equal functions with one compute are one kernel: the first is that of both relus.
TEST(ComputeRules, NameAComputeForAllForAnOpOrForANode) {
  EXPECT_THAT(kernels({"by-level"}), ElementsAre("direct", "direct"));
  EXPECT_THAT(kernels({"by-cost"}), ElementsAre("fast", "fast"));
  EXPECT_THAT(kernels({"only-generic", "by-cost"}), ElementsAre("direct", "direct"));
  EXPECT_THAT(kernels({"slow"}), ElementsAre("slow", "slow"));
  EXPECT_THAT(kernels({"relu=slow"}), ElementsAre("slow", "direct"));
  EXPECT_THAT(kernels({"tanh=slow", "by-cost"}), ElementsAre("fast", "slow"));
  EXPECT_THAT(kernels({"slow", "relu=fast", "second=direct"}),
              ElementsAre("fast", "direct", "slow"));
}

// The plugin's own choice for relu is direct, and it has no other compute for tanh.
TEST(ComputeRules, ExcludeTheDefinitionWhereACallHasAnotherCompute) {
  EXPECT_THAT(kernels({"not-direct"}), ElementsAre("fast", "fast"));
  EXPECT_THAT(kernels({"not-direct", "by-cost"}), ElementsAre("fast", "fast"));
  EXPECT_THAT(kernels({"not-direct", "tanh=direct"}), ElementsAre("fast", "direct"));
  const auto plugins = selective_plugins({{"a", {{"ops", "relu"}, {"computes", "direct"}}}});
  BuildOptions options = options_for(plugins, {"a"});
  options.policies = handed_in(*te::parse_rules(std::vector<std::string>{"not-direct"}, all_ops()));
  EXPECT_THAT(built_kernels(parse("fn main(%x: f32[3]) {\n %0 = relu(%x)\n return %0\n}"), options),
              ElementsAre(HasSubstr("a a_main_0")));
}

TEST(ComputeRules, NameComputesByTheirKind) {
  const auto plugins =
      selective_plugins({{"a",
                          {{"ops", "relu"},
                           {"computes", "direct,tiled_2x2,tiled_4x4,tiles"},
                           {"costs", "direct:1,tiled_2x2:3,tiled_4x4:2,tiles:9"}}}});
  auto built = [&](const std::vector<std::string>& rules) {
    BuildOptions options = options_for(plugins, {"a"});
    options.policies = handed_in(*te::parse_rules(rules, all_ops()));
    return built_kernels(parse("fn main(%x: f32[3]) {\n %0 = relu(%x) loc(\"r\")\n return %0\n}"),
                         options)[0];
  };
  for (const char* rule : {"tiled", "relu=tiled", "r=tiled"})
    EXPECT_THAT(built({rule}), HasSubstr("compute tiled_4x4")) << rule;
  EXPECT_THAT(built({"tiled_2x2"}), HasSubstr("compute tiled_2x2"));
  EXPECT_THAT(built({"tiles"}), HasSubstr("compute tiles"));
  EXPECT_THAT(built({"tile"}), HasSubstr("the compute \"tile\""));
}

TEST(ComputeRules, NameBlockedFormsByTheirOp) {
  const auto plugins = selective_plugins(
      {{"a", {{"ops", "conv2d_nchwc,conv2d_transpose"}, {"computes", "direct,fast"}}}});
  BuildOptions options = options_for(plugins, {"a"});
  const std::vector<std::string> rules = {"conv2d=fast"};
  options.policies = handed_in(*te::parse_rules(rules, all_ops()));
  EXPECT_THAT(built_kernels(parse(R"(fn main(%x: f32[1,1,5,5,8], %w: f32[1,1,3,3,8,8]) {
                %0 = conv2d_nchwc(%x, %w)
                return %0
              })"),
                            options),
              ElementsAre("a a_main_0: compute fast: fast"));
  EXPECT_THAT(built_kernels(parse(R"(fn main(%x: f32[1,2,5,5], %w: f32[2,3,3,3]) {
                %0 = conv2d_transpose(%x, %w)
                return %0
              })"),
                            options),
              ElementsAre(AllOf(HasSubstr("has the op \"conv2d\""),
                                HasSubstr("there are: conv2d_transpose"))));
}

std::string error(const std::vector<std::string>& rules) { return kernels(rules)[0]; }

TEST(ComputeRules, RefuseWhatNoCallHas) {
  EXPECT_THAT(error({"fats"}), AllOf(HasSubstr("the compute \"fats\"; did you mean \"fast\"?"),
                                     HasSubstr("there are: direct, fast, slow")));
  EXPECT_THAT(error({"relu=winograd"}), HasSubstr("the compute \"winograd\""));
  EXPECT_THAT(error({"exp=fast"}), AllOf(HasSubstr("the op \"exp\""), HasSubstr("relu, tanh")));
  EXPECT_THAT(error({"frist=fast"}),
              HasSubstr("the op or name \"frist\"; did you mean \"first\"?"));
  EXPECT_THAT(error({"second=winograd"}),
              AllOf(HasSubstr("relu \"second\" has no compute \"winograd\""),
                    HasSubstr("it has direct, fast, slow")));
}

TEST(ComputeRules, RefuseWordsThatContradictEachOtherOrAreUnknown) {
  EXPECT_THAT(error({"by-level", "by-cost"}), HasSubstr("by-level and by-cost exclude each other"));
  EXPECT_THAT(error({"by-cots"}), HasSubstr("did you mean \"by-cost\"?"));
  EXPECT_THAT(error({"not-direct", "only-generic"}), HasSubstr("exclude each other"));
  EXPECT_THAT(error({"not-dirct"}), HasSubstr("did you mean \"not-direct\"?"));
  EXPECT_THAT(error({"fast", "slow"}), HasSubstr("two computes for all calls: fast and slow"));
  EXPECT_THAT(error({"relu=fast", "relu=slow"}),
              HasSubstr("two computes for \"relu\": fast and slow"));
  EXPECT_THAT(error({"=fast"}), HasSubstr("expected OP=COMPUTE"));
  EXPECT_THAT(error({"relu="}), HasSubstr("expected OP=COMPUTE"));
  EXPECT_THAT(error({""}), HasSubstr("is no rule for computes"));
}

}  // namespace
}  // namespace byoc::test
