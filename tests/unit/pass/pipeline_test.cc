// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "byoc/pass/pass.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const std::vector<Pass>& passes) {
  std::vector<std::string> out;
  for (const Pass& pass : passes) {
    std::string text = pass.name;
    for (const std::string& arg : pass.args) text += " " + arg;
    out.push_back(text);
  }
  return out;
}

std::vector<std::string> parsed(std::string_view text) {
  auto passes = parse_passes(text);
  if (!passes.ok()) return {passes.status().message()};
  return names(*passes);
}

TEST(ParsePasses, ReadsNamesAndArguments) {
  EXPECT_THAT(parsed("fold_constants,bind_shapes=N=1+x=1x3,infer_types"),
              ElementsAre("fold_constants", "bind_shapes N=1 x=1x3", "infer_types"));
  EXPECT_TRUE(parsed("").empty());
}

TEST(ParsePasses, SeparatesNothingInsideBrackets) {
  EXPECT_THAT(parsed("bind_params=axes=[0,1]+k=[1e+3],infer_types"),
              ElementsAre("bind_params axes=[0,1] k=[1e+3]", "infer_types"));
}

TEST(ParsePasses, SuggestsTheNearestName) {
  Status status = parse_passes("infer_types,fold_constant").status();
  EXPECT_EQ(status.message(), "no pass \"fold_constant\"; did you mean \"fold_constants\"?");
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.slug(), "unknown-pass");
  EXPECT_THAT(parsed("a,,b"), ElementsAre("no pass \"a\""));
}

TEST(ParsePasses, RefusesArgumentsOfAPassThatTakesNone) {
  Status status = parse_passes("infer_types=onednn").status();
  EXPECT_EQ(status.message(),
            "the pass infer_types takes no arguments, \"infer_types=onednn\" gives some");
  EXPECT_EQ(status.slug(), "pass-args");
}

TEST(AllPasses, HaveDistinctNamesAndAMeaning) {
  std::set<std::string> seen;
  for (const PassInfo& pass : all_passes()) {
    EXPECT_TRUE(seen.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.doc.empty()) << pass.name;
    EXPECT_TRUE(pass.run) << pass.name;
  }
}

TEST(PartitionPipeline, GivesTheChosenPluginsToThePassesThatAskThem) {
  PassContext context;
  context.compilers = {"a", "b"};
  std::vector<std::string> rows = names(partition_pipeline(context));
  std::vector<std::string> last(rows.end() - 8, rows.end());
  EXPECT_THAT(last, ElementsAre("prepare_quantized", "merge_composites a b", "use_integers",
                                "fold_weights", "annotate_target a b", "merge_compiler_regions",
                                "make_added_loops", "partition_graph"));
}

// The passes by priority are left with the functions that have the attribute `compiler`.
TEST(PartitionPipeline, GivesThePluginsToPlaceByCostWhenItChooses) {
  PassContext context;
  context.compilers = {"a", "b"};
  context.options["placement"] = "cost";
  std::vector<std::string> rows = names(partition_pipeline(context));
  std::vector<std::string> last(rows.end() - 8, rows.end());
  EXPECT_THAT(last, ElementsAre("merge_composites", "place_by_cost a b", "use_integers",
                                "fold_weights", "annotate_target", "merge_compiler_regions",
                                "make_added_loops", "partition_graph"));
}

TEST(PartitionPipeline, FoldsNothingAtLevelZero) {
  PassContext context;
  context.level = 0;
  for (const Pass& pass : partition_pipeline(context)) {
    EXPECT_NE(pass.name, "fold_constants");
    EXPECT_NE(pass.name, "fold_batch_norm");
    EXPECT_NE(pass.name, "merge_composites");
  }
}

TEST(CodegenPipeline, EndsWithTheMemoryPlan) {
  EXPECT_THAT(names(codegen_pipeline({})),
              ElementsAre("inline_functions", "assign_layouts", "share_layouts", "fold_constants",
                          "fuse_ops", "choose_computes", "run_codegen", "inline_functions",
                          "eliminate_dead_code", "copy_to_devices", "plan_memory"));
}

TEST(CheckPassNames, FindsAMisspeltNameInContextAndEnvironment) {
  EXPECT_TRUE(check_pass_names({}).ok());
  PassContext context;
  context.disabled = {"infer_type"};
  EXPECT_EQ(check_pass_names(context).message(),
            "no pass \"infer_type\"; did you mean \"infer_types\"?");
  setenv("BYOC_SKIP", "infer_types,fuse_op", 1);
  EXPECT_EQ(check_pass_names({}).message(), "no pass \"fuse_op\"; did you mean \"fuse_ops\"?");
  unsetenv("BYOC_SKIP");
  setenv("BYOC_STOP_AFTER", "plan_memry", 1);
  EXPECT_EQ(check_pass_names({}).message(),
            "no pass \"plan_memry\"; did you mean \"plan_memory\"?");
  unsetenv("BYOC_STOP_AFTER");
}

}  // namespace
}  // namespace byoc
