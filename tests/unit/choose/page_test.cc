// SPDX-License-Identifier: Apache-2.0
// The examples of docs/te.md, which quotes these lines.
#include "choose.h"

namespace byoc::test {
namespace {

using ::testing::ElementsAre;

te::Policies direct_convolutions() {
  te::Policies policies;
  policies.selector = [](const te::Site& site, std::span<const te::Strategy> all) {
    if (site.op->name == "conv2d") return te::prefer("direct", te::by_level())(site, all);
    return te::by_cost()(site, all);
  };
  return policies;
}

te::Policies rows_in_parallel() {
  te::Policies policies;
  policies.provider = [](const te::Dag& dag) -> std::optional<Result<te::Schedule>> {
    if (dag.name != "exp_add") return std::nullopt;  // the plugin's own way
    te::Schedule schedule(dag);
    Status status = schedule.compute_inline("exp");
    if (status.ok()) status = schedule.parallel("add", "i0");
    if (!status.ok()) return Result<te::Schedule>(std::move(status));
    return Result<te::Schedule>(std::move(schedule));
  };
  return policies;
}

TEST(PoliciesPage, HasExamplesThatRun) {
  const IRModule module = parse(R"(fn main(%x: f32[4,9], %y: f32[4,9]) {
    %0 = exp(%x)
    %1 = add(%0, %y)
    return %1
  })");
  const auto plugins = selective_plugins({});
  const BuildOptions rows = options_for(plugins, {"json"}, rows_in_parallel());
  EXPECT_THAT(built_kernels(module, rows),
              ElementsAre("json json_main_0: reference loops: direct"));
  expect_like_reference(module, rows);
  EXPECT_THAT(built_kernels(parse("fn main(%x: f32[4]) { %0 = exp(%x)  return %0 }"), rows),
              ElementsAre("json json_main_0: reference"));
  const auto a = selective_plugins({{"a",
                                     {{"ops", "relu,conv2d"},
                                      {"computes", "fast,direct,faster"},
                                      {"costs", "fast:2,faster:1,direct:3"}}}});
  BuildOptions plain = options_for(a, {"a"}, direct_convolutions());
  plain.level = 1;
  EXPECT_THAT(built_kernels(parse(R"(fn main(%x: f32[1,2,4,4], %w: f32[2,2,1,1]) {
                %0 = conv2d(%x, %w)
                %1 = exp(%0)
                %2 = relu(%1)
                return %2
              })"),
                            plain),
              ElementsAre("a a_main_0: compute direct: direct",
                          "a a_main_1: compute faster: faster", "json json_main_0: reference"));
}

}  // namespace
}  // namespace byoc::test
