// SPDX-License-Identifier: Apache-2.0
// Reasons that no pass gives by itself: regions that are not joined, tests of patterns that fail.
#include "support/paths.h"
#include "unit/driver/command.h"
#include "unit/explain/opinion.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

/// Plugin a takes add and relu, one by one; json takes the rest.
const std::string kSingleOps =
    plugin_file("a") +
    " --compiler a --default json --plugin-option 'a.patterns="
    R"([{"name":"relu","dag":{"op":"relu"}},{"name":"add","dag":{"op":"add"}}]')";

/// Returns "first second why: reason" of each pair.
std::vector<std::string> pairs_of(const Json& explained) {
  std::vector<std::string> out;
  for (const Json& pair : explained["unjoined"]) {
    out.push_back(cat(pair["first"].get<std::string>(), " ", pair["second"].get<std::string>(), " ",
                      pair["why"].get<std::string>(), ": ", pair["reason"].get<std::string>()));
  }
  return out;
}

TEST(UnjoinedRegions, NamesTheOpBetweenThem) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("first")
  %1 = sin(%0) loc("wave")
  %2 = relu(%1) loc("last")
  return %2
})");
  Json json = byoc.json("explain " + model + kSingleOps);
  EXPECT_THAT(pairs_of(json),
              testing::ElementsAre("a_main_0 a_main_1 between: between them: sin \"wave\" "
                                   "(a: it has no pattern for sin)"));
  EXPECT_THAT(byoc("explain " + model + kSingleOps).out, HasSubstr("a is cut 1 time by sin"));
}

TEST(UnjoinedRegions, NamesTheWayAround) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("first")
  %1 = sin(%0) loc("wave")
  %2 = add(%0, %1) loc("last")
  return %2
})") + kSingleOps);
  EXPECT_THAT(pairs_of(json),
              testing::ElementsAre(HasSubstr("around: a value leaves the first and comes back to "
                                             "the second through sin \"wave\"")));
}

TEST(UnjoinedRegions, NamesTheLimit) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("a")
  %1 = add(%0, %x) loc("b")
  %2 = relu(%1) loc("c")
  %3 = add(%2, %x) loc("d")
  return %3
})") + plugin_file("small") +
                        " --compiler small --default json --plugin-option 'small.patterns="
                        R"([{"name":"relu","dag":{"op":"relu"}},)"
                        R"({"name":"add","dag":{"op":"add"}}]')");
  EXPECT_THAT(pairs_of(json),
              testing::ElementsAre(
                  "small_main_0 small_main_1 max_ops: together they have 4 ops, at most 3 fit"));
}

TEST(UnjoinedRegions, NamesTheFlag) {
  Byoc byoc;
  Json json = byoc.json("explain " + byoc.write("m.ir", R"(fn main(%x: f32[2,3], %y: f32[2,3]) {
  %0 = relu(%x) loc("a")
  %1 = relu(%y) loc("b")
  return %0, %1
})") + kSingleOps);
  EXPECT_THAT(pairs_of(json), testing::ElementsAre(HasSubstr("unconnected: no value goes from one "
                                                             "to the other")));
}

TEST(FailedTests, NamesTheFirstTestOfEachPattern) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[1,2,4,4], %w: f32[3,2,3,3]) {
  %0 = conv2d(%x, %w) {strides=[2,2]} loc("conv")
  %1 = sin(%0) loc("wave")
  return %1
})");
  const std::string plugin =
      plugin_file("a") +
      " --compiler a --default json --plugin-option 'a.patterns="
      R"([{"name":"strided","dag":{"op":"conv2d","attrs":{"strides":[1,1]}}},)"
      R"({"name":"constant","dag":{"op":"conv2d","args":[{"any":true},{"const":true}]}},)"
      R"({"name":"rank","dag":{"op":"conv2d","rank":3}},)"
      R"({"name":"rectified","dag":{"op":"relu","args":[{"op":"conv2d"}]}},)"
      R"({"name":"cosine","dag":{"op":"sin","args":[{"op":"relu","args":[{"op":"conv2d"}]}]}},)"
      R"({"name":"other","dag":{"op":"tanh"}}]')";
  const std::string text = byoc("explain " + model + plugin + " --op conv").out;
  EXPECT_THAT(text, HasSubstr("pattern a.strided: conv2d \"conv\": its attribute strides is [2,2], "
                              "expected [1,1]"));
  EXPECT_THAT(text, HasSubstr("pattern a.constant: an input is where a constant is expected"));
  EXPECT_THAT(text, HasSubstr("pattern a.rank: conv2d \"conv\" has the rank 4"));
  EXPECT_THAT(text, HasSubstr("pattern a.rectified: no op after it is relu"));
  EXPECT_THAT(text, HasSubstr("pattern a.cosine: conv2d \"conv\" is where relu is expected"));
  EXPECT_THAT(text, testing::Not(HasSubstr("a.other")));
}

TEST(FailedTests, NamesAReaderOutside) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
  %0 = relu(%x) loc("inner")
  %1 = add(%0, %x) loc("sum")
  return %1, %0
})");
  const std::string plugin =
      plugin_file("a") +
      " --compiler a --default json --plugin-option 'a.patterns="
      R"([{"name":"pair","dag":{"op":"add","args":[{"op":"relu"},{"any":true}]}}]')";
  EXPECT_THAT(byoc("explain " + model + plugin + " --op inner").out,
              HasSubstr("pattern a.pair: relu \"inner\" is also read outside of the match"));
}

}  // namespace
}  // namespace byoc::test
