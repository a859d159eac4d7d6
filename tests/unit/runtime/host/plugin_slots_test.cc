// SPDX-License-Identifier: Apache-2.0
// Optional slots: `layouts` and `show` of ABI minor 1, `partition` of minor 8.
#include <gmock/gmock.h>

#include "byoc/host/plugins.h"
#include "support/faults.h"

namespace byoc {
namespace {

using test::load_fault;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(PluginLayouts, ComeInTheOrderOfThePlugin) {
  auto set = load_fault("faulty_none", "layouts");
  auto layouts = set->find("faulty")->layouts("{}");
  ASSERT_TRUE(layouts.ok()) << layouts.status().to_string();
  EXPECT_THAT(*layouts, ElementsAre(WantedLayout{"conv2d", 8}, WantedLayout{"matmul", 32},
                                    WantedLayout{"matmul", 16}));
}

TEST(PluginLayouts, AreNoneWithoutRowsAndWithoutTheSlot) {
  auto rowless = load_fault("faulty_none");
  EXPECT_THAT(*rowless->find("faulty")->layouts("{}"), IsEmpty());
  auto older = load_fault("faulty_minor_0", "layouts");  // its table ends before the slot
  EXPECT_THAT(*older->find("faulty")->layouts("{}"), IsEmpty());
}

TEST(PluginLayouts, AreGivenTheTarget) {
  auto set = load_fault("faulty_none", "layouts-fail");  // fails with the target as message
  Status status = set->find("faulty")->layouts(R"({"cpu":"x"})").status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), R"(faulty: {"cpu":"x"})");
}

struct Garbage {
  const char *fault, *message;
};
class GarbageLayouts : public testing::TestWithParam<Garbage> {};

TEST_P(GarbageLayouts, AreADefectOfThePlugin) {
  auto set = load_fault("faulty_none", GetParam().fault);
  Status status = set->find("faulty")->layouts("{}").status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.slug(), "plugin-defect");
  EXPECT_EQ(status.message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, GarbageLayouts,
    testing::Values(
        Garbage{"layouts-null", "faulty: gave 3 layouts at a null pointer"},
        Garbage{"layouts-row", "faulty: layout 1 is a null pointer"},
        Garbage{"layouts-tag", "faulty: layout 1 is no byoc_layout"},
        Garbage{"layouts-short", "faulty: layout 1 is no byoc_layout"},
        Garbage{"layouts-op", "faulty: layout 1 has no op"},
        Garbage{"layouts-zero",
                "faulty: layout 1 of matmul has the block 0, no power of two up to 64"},
        Garbage{"layouts-odd",
                "faulty: layout 1 of matmul has the block 24, no power of two up to 64"},
        Garbage{"layouts-wide",
                "faulty: layout 1 of matmul has the block 128, no power of two up to 64"}));

TEST(PluginShow, GivesTheCodeAsText) {
  auto set = load_fault("faulty_none");
  auto text = set->find("faulty")->show({"main_0", "{}", {}, {}, 1, 1}, {}, "asm");
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_EQ(*text, "code of main_0");
}

TEST(PluginShow, IsUnimplementedForAnotherFormAndWithoutTheSlot) {
  CompileFunction function{"main_0", "{}", {}, {}, 1, 1};
  auto set = load_fault("faulty_none");
  Status other = set->find("faulty")->show(function, {}, "llvm").status();
  EXPECT_EQ(other.code(), Code::kUnimplemented);
  EXPECT_EQ(other.message(), "faulty: has no such code");
  for (const char* name : {"faulty_no_show", "faulty_minor_0"}) {
    Status none = load_fault(name)->find("faulty")->show(function, {}, "asm").status();
    EXPECT_EQ(none.code(), Code::kUnimplemented);
    EXPECT_EQ(none.message(), "faulty: shows no code");
  }
}

constexpr uint64_t kNodes = 5;

std::shared_ptr<const PluginSet> with_reply(const std::string& reply,
                                            const std::string& file = "groups") {
  PluginSearch search;
  search.files = {test::fault_path(file)};
  search.options["groups"]["reply"] = reply;
  return PluginSet::load(search);
}

Result<std::vector<PluginGroup>> groups_of(const PluginSet& set) {
  const CompileFunction function{"main", "{}", {}, {}, 1, 1};
  return set.find("groups")->partition(function, kNodes, {});
}

TEST(PluginGroups, ComeInTheOrderOfThePlugin) {
  auto set = with_reply(
      R"({"groups":[{"name":"b","nodes":[4,1]},{"name":"a","nodes":[0,2,3]}],"more":1})");
  ASSERT_TRUE(set->find("groups")->has_partition());
  auto groups = groups_of(*set);
  ASSERT_TRUE(groups.ok()) << groups.status().to_string();
  ASSERT_EQ(groups->size(), 2u);
  EXPECT_EQ((*groups)[0].name, "b");
  EXPECT_THAT((*groups)[0].nodes, ElementsAre(4, 1));
  EXPECT_EQ((*groups)[1].name, "a");
  EXPECT_THAT((*groups)[1].nodes, ElementsAre(0, 2, 3));
}

TEST(PluginGroups, AreNoneWithoutAReply) {
  EXPECT_THAT(*groups_of(*with_reply("")), IsEmpty());
  EXPECT_THAT(*groups_of(*with_reply(R"({"groups":[]})")), IsEmpty());
}

// Its slot is no function: calling it would end the process.
TEST(PluginGroups, OfAMinorWithoutThemAreNotRequested) {
  auto set = with_reply("", "groups_minor_7");
  EXPECT_FALSE(set->find("groups")->has_partition());
  EXPECT_THAT(*groups_of(*set), IsEmpty());
}

TEST(PluginGroups, OfAPluginThatIsNoDefaultCodegenAreNotRequested) {
  auto set = with_reply(R"({"groups":[{"name":"a","nodes":[0,1]}]})", "groups_no_default");
  EXPECT_FALSE(set->find("groups")->has_partition());
  EXPECT_THAT(*groups_of(*set), IsEmpty());
}

TEST(PluginGroups, ThatFailGiveThePluginsStatus) {
  Status status = groups_of(*with_reply("fail")).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.message(), "groups: cannot decide today");
}

struct GarbageReply {
  const char *reply, *message;
};
class GarbageGroups : public testing::TestWithParam<GarbageReply> {};

TEST_P(GarbageGroups, AreADefectOfThePlugin) {
  Status status = groups_of(*with_reply(GetParam().reply)).status();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.slug(), "bad-groups");
  EXPECT_EQ(status.message().substr(0, 41), "groups: the groups of @main cannot be use");
  EXPECT_THAT(status.message(), testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, GarbageGroups,
    testing::Values(
        GarbageReply{"[0,1]", "expected an object with the list \"groups\""},
        GarbageReply{"{}", "expected an object with the list \"groups\""},
        GarbageReply{R"({"groups":{}})", "expected an object with the list \"groups\""},
        GarbageReply{"{", "unexpected end"},
        GarbageReply{R"({"groups":[[0,1]]})",
                     "a group has the text \"name\" and the list \"nodes\", not [0,1]"},
        GarbageReply{R"({"groups":[{"nodes":[0,1]}]})", "a group has the text \"name\""},
        GarbageReply{R"({"groups":[{"name":7,"nodes":[0,1]}]})", "a group has the text \"name\""},
        GarbageReply{R"({"groups":[{"name":"","nodes":[0,1]}]})", "a group has no name"},
        GarbageReply{R"({"groups":[{"name":"a\u001b[31m","nodes":[0,1]}]})",
                     "the name of a group has control characters or more than 256 bytes"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[]}]})",
                     "group \"a\" has 0 nodes, and a group has at least two"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[3]}]})",
                     "group \"a\" has 1 node, and a group has at least two"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[3,3]}]})", "group \"a\" has node 3 twice"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[0,5]}]})",
                     "group \"a\" has the node 5, and the graph has 5 nodes"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[-1,0]}]})", "group \"a\" has the node -1"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":[0.5,0]}]})",
                     "group \"a\" has the node 0.5"},
        GarbageReply{R"({"groups":[{"name":"a","nodes":["n0",1]}]})",
                     "group \"a\" has the node \"n0\""}));

}  // namespace
}  // namespace byoc
