// SPDX-License-Identifier: Apache-2.0
#include "byoc/tune/space.h"

#include <gmock/gmock.h>

#include "records.h"

namespace byoc::tune {
namespace {

using test::point;
using test::space_of;
using testing::HasSubstr;

TEST(Space, CountsItsPoints) {
  EXPECT_EQ(size_of(space_of("t")), 8);
  EXPECT_EQ(size_of(Space()), 1);
}

TEST(Space, ContainsPointsWithAllKnobsAndTheirValuesAlone) {
  const Space space = space_of("t");
  EXPECT_TRUE(contains(space, point("8", "4")));
  EXPECT_FALSE(contains(space, point("3")));
  EXPECT_FALSE(contains(space, {{"tile", "8"}}));
  EXPECT_FALSE(contains(space, {}));
  EXPECT_FALSE(contains(space, {{"tile", "8"}, {"unroll", "1"}, {"more", "1"}}));
  EXPECT_FALSE(contains(space, {{"tile", "8"}, {"more", "1"}}));
}

TEST(Space, EstimatesATimeFromFlopsOrBytes) {
  Space space;
  EXPECT_EQ(estimated_ns(space), 1) << "a weight of zero would hide a task";
  space.flops = 1e6;
  const double compute = estimated_ns(space);
  space.bytes = 1e9;
  EXPECT_GT(estimated_ns(space), compute);
}

TEST(Space, HasTheKeyOfPluginZeroByteAndTask) {
  Space space = space_of("relu");
  const std::string_view bytes("llvm\0relu", 9);
  const ContentKey key = content_key(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(key_of("llvm", space), key);
  space.kind = "other", space.flops = 1, space.knobs.clear();
  EXPECT_EQ(key_of("llvm", space), key);
  EXPECT_NE(key_of("json", space), key);
  EXPECT_NE(key_of("llvmr", space_of("elu")), key_of("llvm", space_of("relu")));
}

TEST(Space, PrintsPointsSortedByName) {
  EXPECT_EQ(print(Point{{"unroll", "4"}, {"a\"b", "\n"}}), R"({"a\"b":"\n","unroll":"4"})");
  EXPECT_EQ(print(Point()), "{}");
}

TEST(Space, ReadsThePointsThatItPrints) {
  for (const Point& p : {Point(), point("8", "4"), Point{{"a\"b", "\n\x01"}, {"", ""}}}) {
    Result<Point> back = parse_point(print(p));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, p);
  }
}

TEST(Space, RefusesPointsThatAreNoObjectsOfStrings) {
  for (const char* text : {"", "[]", "{", "1", R"({"tile":8})", R"({"tile":null})", "null"})
    EXPECT_EQ(parse_point(text).status().slug(), "point") << text;
  EXPECT_THAT(parse_point(R"({"tile":8})").status().message(), HasSubstr("\"tile\""));
}

TEST(Space, ReadsWhatItPrints) {
  Space space = space_of("conv2d \"x\" f32[1,8]\n", 1.25e10);
  space.guesses.push_back(point("1", "4"));
  Result<Space> back = parse_space(print(space));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, space);
  EXPECT_EQ(print(*back), print(space));
  EXPECT_EQ(print(space).find('\n'), std::string::npos);
}

TEST(Space, ReadsCostsThatItPrints) {
  Space space = space_of("t");
  space.cost_ns = {{"unroll", {{"1", 1250.5}, {"4", 900}}}, {"tile", {}}};
  space.constant_bytes = {{"tile", {{"4", 4096}, {"8", 16384}}}};
  Result<Space> back = parse_space(print(space));
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, space);
}

TEST(Space, NarrowedHasOneValueOfTheKnobAndItsGuesses) {
  Space space = space_of("t");
  space.guesses = {point("4", "1"), point("8", "4"), point("4", "4")};
  space.cost_ns = {{"unroll", {{"1", 10}, {"4", 20}}}};
  space.constant_bytes = {{"unroll", {{"1", 64}, {"4", 256}}}};
  Result<Space> narrow = narrowed(space, "unroll", "4");
  ASSERT_TRUE(narrow.ok()) << narrow.status().to_string();
  EXPECT_EQ(narrow->guesses, (std::vector<Point>{point("8", "4"), point("4", "4")}));
  EXPECT_EQ(narrow->cost_ns.at("unroll"), (std::map<std::string, double>{{"4", 20}}));
  EXPECT_EQ(narrow->constant_bytes.at("unroll"), (std::map<std::string, double>{{"4", 256}}));
  EXPECT_TRUE(contains(*narrow, point("8", "4")));
  EXPECT_FALSE(contains(*narrow, point("8", "1")));
  EXPECT_EQ(size_of(*narrow) * 2, size_of(space));
}

TEST(Space, NarrowedRefusesWhatItDoesNotHave) {
  Space space = space_of("t");
  EXPECT_THAT(narrowed(space, "unroll", "9").status().to_string(),
              testing::AllOf(HasSubstr("there is no unroll \"9\""), HasSubstr("it has 1, 4")));
  EXPECT_THAT(narrowed(space, "compute", "direct").status().to_string(),
              HasSubstr("there is no compute \"direct\": the function has no such choice"));
}

TEST(Space, NarrowedMakesAGuessWhereNoneHasTheValue) {
  Space space = space_of("t");
  space.guesses = {point("8", "1"), point("4", "1")};
  EXPECT_EQ(narrowed(space, "unroll", "4")->guesses, (std::vector<Point>{point("8", "4")}));
}

struct BadSpace {
  const char *from, *to, *message;
};
class RefusesASpace : public testing::TestWithParam<BadSpace> {};

TEST_P(RefusesASpace, NamingTheField) {
  std::string text = print(space_of("t"));
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, text.npos) << text;
  text.replace(at, std::string(GetParam().from).size(), GetParam().to);
  const Status status = parse_space(text).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(status.slug(), "knob-space");
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message)) << text;
}

const BadSpace kBadSpaces[] = {
    {"\"task\":\"t\",", "", "\"task\" is missing"},
    {"\"task\":\"t\"", "\"task\":\"\"", "\"task\" is \"\", expected a text"},
    {"\"kind\":\"conv\"", "\"kind\":7", "\"kind\" is 7"},
    {"\"flops\":1000.0", "\"flops\":-1", "\"flops\" is -1"},
    {"\"flops\":1000.0", "\"flops\":\"1\"", "\"flops\" is \"1\""},
    {"\"bytes\":2000.0", "\"bytes\":1e999", ""},
    {"\"bytes\":2000.0", "\"bytes\":2000,\"more\":1", "unknown field \"more\""},
    {"\"name\":\"unroll\"", "\"name\":\"tile\"", "knob \"tile\" is there twice"},
    {"\"name\":\"unroll\"", "\"name\":1", "\"name\" is 1"},
    {"[\"1\",\"4\"]", "[]", "knob \"unroll\" has no values"},
    {"[\"1\",\"4\"]", "[\"1\",\"1\"]", "knob \"unroll\" has the value \"1\" twice"},
    {"[\"1\",\"4\"]", "[\"1\",4]", "knob \"unroll\" has the value 4, not a string"},
    {"[\"1\",\"4\"]}", "[\"1\",\"4\"],\"max\":3}", "expected \"name\" and \"values\""},
    {"\"guesses\":[{\"tile\":\"4\",\"unroll\":\"1\"}]", "\"guesses\":[]", "\"guesses\""},
    {"{\"tile\":\"4\",\"unroll\":\"1\"}", "{\"tile\":\"5\",\"unroll\":\"1\"}",
     "is outside of the space"},
    {"{\"tile\":\"4\",\"unroll\":\"1\"}", "{\"tile\":\"4\"}", "is outside of the space"},
    {"{\"tile\":\"4\",\"unroll\":\"1\"}", "3", "\"guesses\": a point is an object"},
    {"]}", "]", ""},
    {"\"flops\":1000.0", "\"cost_ns\":3,\"flops\":1", "\"cost_ns\" is no object"},
    {"\"flops\":1000.0", "\"constant_bytes\":{\"x\":{}},\"flops\":1",
     "\"constant_bytes\" has \"x\""},
    {"\"flops\":1000.0", "\"cost_ns\":{\"x\":{}},\"flops\":1", "\"cost_ns\" has \"x\""},
    {"\"flops\":1000.0", "\"cost_ns\":{\"tile\":{\"99\":1}},\"flops\":1", "a cost of \"99\""},
    {"\"flops\":1000.0", "\"cost_ns\":{\"unroll\":{\"4\":-1}},\"flops\":1", "\"4\" is -1"},
};
INSTANTIATE_TEST_SUITE_P(Space, RefusesASpace, testing::ValuesIn(kBadSpaces));

}  // namespace
}  // namespace byoc::tune
