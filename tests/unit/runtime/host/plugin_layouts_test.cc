// SPDX-License-Identifier: Apache-2.0
// The slots of ABI minor 1: `layouts` and `show`.
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

}  // namespace
}  // namespace byoc
