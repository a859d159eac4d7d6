// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/check_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "byoc/runtime/session.h"
#include "support/faults.h"
#include "unit/runtime/executables.h"

namespace byoc {
namespace {

using ::testing::HasSubstr;

const TensorSpec kMatrix{DType::kF32, {2, 3}}, kScalar{DType::kI64, {}}, kNone{DType::kU8, {0}};
const CallTypes kCall{{kMatrix, kScalar}, {kNone, kMatrix}};

std::string error(std::string_view signature, const CallTypes& call = kCall) {
  Status status = check_signature(signature, call);
  EXPECT_EQ(status.slug(), "kernel-types") << signature;
  return status.message();
}

TEST(CheckSignature, TakesTheTypesOfTheCall) {
  EXPECT_TRUE(check_signature("f32[2,3] i64[] -> u8[0] f32[2,3]", kCall).ok());
  EXPECT_TRUE(check_signature("->", {}).ok());
  EXPECT_TRUE(check_signature("-> i64[]", {{}, {kScalar}}).ok());
}

TEST(CheckSignature, NamesTheFirstArgumentThatDiffers) {
  EXPECT_EQ(error("f32[2,4] i64[] -> u8[0] f32[2,3]"),
            "as argument 0 its kernel reads f32[2,4], the program has f32[2,3] there");
  EXPECT_EQ(error("f32[2,3] i32[] -> u8[0] f32[2,3]"),
            "as argument 1 its kernel reads i32[], the program has i64[] there");
  EXPECT_EQ(error("f32[2,3] i64[] -> u8[0] f32[6]"),
            "as output 1 its kernel writes f32[6], the program has f32[2,3] there");
}

TEST(CheckSignature, NamesArgumentsThatAreMissing) {
  EXPECT_EQ(error("f32[2,3] -> u8[0] f32[2,3]"),
            "as argument 1 its kernel reads nothing, the program has i64[] there");
  EXPECT_EQ(error("f32[2,3] i64[] f32[1] -> u8[0] f32[2,3]"),
            "as argument 2 its kernel reads f32[1], the program has nothing there");
  EXPECT_EQ(error("f32[2,3] i64[] -> u8[0]"),
            "as output 1 its kernel writes nothing, the program has f32[2,3] there");
  EXPECT_EQ(error("f32[2,3] i64[] -> u8[0] f32[2,3] f32[1]"),
            "as output 2 its kernel writes f32[1], the program has nothing there");
}

TEST(CheckSignature, TakesNothingThatIsNoSignature) {
  for (const char* text : {"", " ", "f32[2,3]", "f32[2,3]  i64[] -> u8[0] f32[2,3]",
                           "f32[2,3] i64[] -> u8[0] f32[2,3] ->", "moth"})
    error(text);
}

// Types that the plugin does not give cannot be checked, so --no-native refuses it.
TEST(NoNative, RefusesAPluginThatGivesNoTypes) {
  auto plugins = test::load_fault("faulty_none");
  EXPECT_TRUE(Session::load(test::two_relus(), plugins).ok());
  Status status = Session::load(test::two_relus(), plugins, {.allow_native = false}).status();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_EQ(status.slug(), "native-refused");
  EXPECT_THAT(status.message(), HasSubstr("plugin \"faulty\" does not give the types"));
}

TEST(NoNative, TakesAPluginThatGoesByTheViewsOfEachRun) {
  auto plugins = test::load_fault("faulty_none", "any-types");
  Status status = Session::load(test::two_relus(), plugins, {.allow_native = false}).status();
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(SessionLoad, ComparesTheTypesThatAPluginGives) {
  auto plugins = test::load_fault("faulty_none", "other-types");
  for (bool allow_native : {true, false}) {
    Status status =
        Session::load(test::two_relus(), plugins, {.allow_native = allow_native}).status();
    EXPECT_EQ(status.to_string(),
              "error[kernel-types]: as argument 0 its kernel reads f32[3], the program has f32[4] "
              "there\n  step faulty_main_0\n  help: the file does not fit together: compile the "
              "model again");
  }
}

}  // namespace
}  // namespace byoc
