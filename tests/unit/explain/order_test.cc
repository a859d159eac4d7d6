// SPDX-License-Identifier: Apache-2.0
// The command explain about plugins that came second, open sizes, and names that no op has.
#include "support/paths.h"
#include "unit/driver/command.h"
#include "unit/explain/opinion.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

TEST(ExplainSecond, NamesThePluginThatAcceptedAndCameSecond) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  const std::string line = cat("explain ", model, plugin_file("a"), plugin_file("b"),
                               " --plugin-option a.ops=relu --plugin-option b.ops=relu,tanh");
  Json json = byoc.json(line + " --compiler a,b,json");
  EXPECT_EQ(opinion(json, "first", "b"), "accepted, came second: a comes before it in the order");
  EXPECT_EQ(opinion(json, "second", "a"), "refused: it has no pattern for tanh");
  Ran ran = byoc(line + " --compiler a,b,json");
  EXPECT_THAT(ran.out, HasSubstr("taken by a, also accepted by b (1)\n"
                                 "  1  relu  a comes before it in the order  \"first\"\n"));
}

TEST(ExplainChoice, NamesThePluginThatTheOrderWouldGiveTheOpTo) {
  Byoc byoc;
  const std::string line =
      cat("explain ", byoc.write("m.ir", kTwoOps), plugin_file("a"), plugin_file("b"),
          " --plugin-option a.ops=relu,tanh --plugin-option a.est=relu:900000,tanh:900000",
          " --plugin-option b.ops=relu,tanh --plugin-option b.est=relu:10,tanh:10",
          " --default json --place relu!=onednn --place tanh!=onednn --place '*!=json'",
          " --place '*!=llvm'");
  Json json = byoc.json(line);
  for (const Json& op : json["ops"]) {
    EXPECT_EQ(op["plugin"], "b") << "its estimates are less";
    EXPECT_NE(op["by_priority"], "b") << "a, or where it is built onednn, comes before it";
  }
  ASSERT_FALSE(json["choices"].empty());
  EXPECT_THAT(json["choices"][0].get<std::string>(),
              HasSubstr("b runs what no other plugin runs clearly faster"));
  EXPECT_THAT(byoc(line).out, HasSubstr("choice: b runs what no other plugin"));
  EXPECT_THAT(byoc(line).out, HasSubstr(" ops, 2 of them otherwise\n"));
  EXPECT_THAT(byoc(line + " --op first").out, HasSubstr("  by priority it would run on "));
  for (const Json& op : byoc.json(line + " --compiler a,b,json")["ops"])
    EXPECT_EQ(op["by_priority"], "") << "the order decides";
}

TEST(ExplainWithoutShapes, IsShortAboutOpenSizes) {
  Byoc byoc;
  std::string params, args;
  for (int k = 0; k < 40; ++k) params += cat(k ? ", " : "", "%x", k, ": f32[N", k, ",3]");
  std::string text = cat("fn main(", params, ") { %0 = relu(%x0)  %1 = tanh(%x1)  return %0, %1 }");
  Ran ran = byoc("explain " + byoc.write("m.ir", text));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("one program for all sizes, as with --shape N0=1..65536 --shape "
                                 "N1=1..65536 --shape N10=1..65536 --shape N11=1..65536 and 36 "
                                 "more; numbers, as in --shape N0=1, may be faster"));
  EXPECT_LT(ran.err.size(), 400u);
}

TEST(ExplainOp, ListsOpsOfALikeNameOrKind) {
  Byoc byoc;
  const std::string line = "explain " + byoc.write("m.ir", R"(fn main(%x: f32[2]) {
  %0 = relu(%x) loc("stem/conv/relu")
  %1 = tanh(%0) loc("head")
  return %1
})") + " --compiler json --op ";
  EXPECT_THAT(byoc(line + "stem").err, HasSubstr("help: there are: \"stem/conv/relu\"\n"));
  EXPECT_THAT(byoc(line + "tanh").err, HasSubstr("help: there are: \"head\"\n"));
  EXPECT_THAT(byoc(line + "none").err,
              HasSubstr("help: byoc explain MODEL --json lists the name of every op\n"));
}

TEST(ExplainSecond, HasWordsOfCostWherePluginsAreChosenByCost) {
  Byoc byoc;
  setenv("XDG_CACHE_HOME", byoc.file("cache").c_str(), 1);
  const std::string model = byoc.write("m.ir", kTwoOps);
  Json json = byoc.json(cat("explain ", model, plugin_file("a"), plugin_file("b"),
                            " --plugin-option a.ops=relu,tanh --plugin-option b.ops=relu,tanh",
                            " --compiler auto,a,b --place '*=b'"));
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(opinion(json, "first", "a"),
            "accepted, came second: the choice by cost gave the op to b; byoc explain --placement "
            "--op NAME has the costs");
  EXPECT_THAT(json.dump(), testing::Not(HasSubstr("earlier in the list")));
  EXPECT_THAT(json.dump(), testing::Not(HasSubstr("comes before it in the order")));
}

}  // namespace
}  // namespace byoc::test
