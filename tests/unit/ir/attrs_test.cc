// SPDX-License-Identifier: Apache-2.0
#include "byoc/ir/attrs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace byoc {
namespace {

TEST(Attrs, ArePrintedByNameWhateverTheOrderOfSetting) {
  Attrs attrs{{"strides", Ints{1, 2}}, {"alpha", 1.0}, {"keep", true}, {"mode", "a\"b"}};
  attrs.set("to", DType::kF16);
  EXPECT_EQ(cat(attrs), R"({alpha=1.0, keep=true, mode="a\"b", strides=[1,2], to=f16})");
  EXPECT_EQ(cat(Attrs{}), "");
}

TEST(Attrs, QuoteNamesThatAreNoIdentifiers) {
  EXPECT_EQ(cat(Attrs{{"a b", int64_t{1}}}), "{\"a b\"=1}");
}

TEST(Attrs, PrintFloatsSoThatTheyReadBackAsFloats) {
  EXPECT_EQ(cat(Attrs{{"v", Floats{1.0, 0.1, -0.0, 1e300, INFINITY, NAN}}}),
            "{v=[1.0,0.1,-0.0,1e+300,inf,nan]}");
}

TEST(Attrs, EscapeControlBytes) {
  EXPECT_EQ(cat(Attrs{{"s", std::string("a\n\t\x01\x1b\x7f\\")}}), R"({s="a\n\t\x01\x1b\x7f\\"})");
}

TEST(Attrs, CompareNanEqualAndZerosApart) {
  EXPECT_EQ((Attrs{{"v", NAN}}), (Attrs{{"v", NAN}}));
  EXPECT_FALSE((Attrs{{"v", 0.0}}) == (Attrs{{"v", -0.0}}));
  EXPECT_FALSE((Attrs{{"v", 1.0}}) == (Attrs{{"v", int64_t{1}}}));
}

TEST(Attrs, AnEmptyListHasNoElementType) {
  EXPECT_EQ((Attrs{{"v", Floats{}}}), (Attrs{{"v", Strings{}}}));
  EXPECT_TRUE((Attrs{{"v", Ints{}}}).strings("v").empty());
  EXPECT_TRUE((Attrs{{"v", Ints{}}}).floats("v").empty());
}

TEST(Attrs, ReadAnIntegerWhereAFloatIsDue) {
  EXPECT_EQ((Attrs{{"v", int64_t{3}}}).f("v"), 3.0);
  EXPECT_EQ((Attrs{{"v", Ints{1, 2}}}).floats("v"), (Floats{1, 2}));
}

TEST(Attrs, FallBackWhenAbsentAlone) {
  Attrs attrs{{"n", int64_t{5}}};
  EXPECT_EQ(attrs.i("n", 1), 5);
  EXPECT_EQ(attrs.i("m", 1), 1);
  EXPECT_EQ(attrs.f("m", 0.5), 0.5);
  EXPECT_TRUE(attrs.b("m", true));
  EXPECT_EQ(attrs.s("m", "x"), "x");
  EXPECT_DEATH(attrs.s("n"), "attribute n is a integer");
  EXPECT_DEATH(attrs.i("m"), "no attribute m");
}

TEST(Attrs, SetReplacesAndEraseRemoves) {
  Attrs attrs{{"a", int64_t{1}}, {"b", int64_t{2}}};
  attrs.set("a", int64_t{3});
  attrs.erase("b");
  attrs.erase("never there");
  EXPECT_EQ(cat(attrs), "{a=3}");
}

TEST(Intern, GivesOnePointerPerValue) {
  const Attrs* a = intern({{"axis", int64_t{1}}, {"eps", 0.5}});
  EXPECT_EQ(a, intern({{"eps", 0.5}, {"axis", int64_t{1}}}));
  EXPECT_NE(a, intern({{"axis", int64_t{1}}}));
  EXPECT_EQ(intern({{"v", NAN}}), intern({{"v", NAN}}));
}

TEST(AttrEqual, TakesEmptyListsOfAnyKindForEqual) {
  EXPECT_TRUE(attr_equal(Floats{}, Ints{}));
  EXPECT_FALSE(attr_equal(Floats{1}, Ints{1}));
  EXPECT_FALSE(attr_equal(std::string(), Ints{}));
}

}  // namespace
}  // namespace byoc
