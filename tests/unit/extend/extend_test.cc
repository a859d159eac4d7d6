// SPDX-License-Identifier: Apache-2.0
// --pass-library through the command, with the libraries of this folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string library(const std::string& name) {
  return std::string(" --pass-library ") + BYOC_BUILD_DIR + "/lib/libraries/liblibrary_" + name +
         ".so ";
}

constexpr const char* kTwice = R"(fn main(%x: f32[4]) {
  %0 = test_twice(%x) loc("twice")
  %1 = tanh(%0) loc("tanh")
  return %1
})";

TEST(PassLibrary, AddsPassesInTheMiddleOfThePipeline) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  Ran after = byoc("print " + model + library("none") + "--compiler json --after note");
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_THAT(after.out, HasSubstr("noted=\"yes\""));
  EXPECT_THAT(after.out, Not(HasSubstr("compiler_begin")));  // ops have no plugin yet
  Ran before = byoc("print " + model + library("none") + "--compiler json --after merge_pads");
  EXPECT_THAT(before.out, Not(HasSubstr("noted")));
}

TEST(PassLibrary, RunsItsPassesInOrderAtEveryLevel) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwoOps);
  for (const char* level : {"-O0", "-O1", "-O2"}) {
    const std::string arguments = "compile " + model + library("none") + "--compiler json -o " +
                                  byoc.file("m.byoc") + " " + level;
    setenv("BYOC_TIME", "1", 1);
    Ran ran = byoc(arguments);
    unsetenv("BYOC_TIME");
    EXPECT_EQ(ran.code, 0) << ran.err;
    const size_t first = ran.err.find("note"), again = ran.err.find("note_again");
    const size_t partition = ran.err.find("partition_graph");
    ASSERT_NE(again, ran.err.npos) << ran.err;
    EXPECT_LT(first, again) << level;
    EXPECT_LT(again, partition) << level;
  }
}

TEST(PassLibrary, AddsPassesToOptByName) {
  Byoc byoc;
  Ran list = byoc("opt --list" + library("none"));
  EXPECT_THAT(list.out, HasSubstr("sets the attribute noted"));
  Ran without = byoc("opt --list");
  EXPECT_THAT(without.out, Not(HasSubstr("sets the attribute noted")));
  Ran unknown = byoc("opt " + byoc.write("m.ir", kTwoOps) + " --passes note");
  EXPECT_THAT(unknown.err, HasSubstr("error[unknown-pass]"));
}

TEST(PassLibrary, AddsOpsThatRunWithoutTheLibrary) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwice), out = byoc.file("m.byoc");
  Ran compiled = byoc("compile " + model + library("none") + "--compiler json -o " + out);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  Ran ran = byoc("run " + out + " --input x=0,0.5,-1,10 --output-dir " + byoc.file("outputs"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string bytes = get(byoc.file("outputs/output0.npy"));
  const auto* y = reinterpret_cast<const float*>(bytes.data() + bytes.size() - 4 * sizeof(float));
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 0.76159416, 1e-6);   // tanh(1)
  EXPECT_NEAR(y[2], -0.96402758, 1e-6);  // tanh(-2)
  EXPECT_NEAR(y[3], 1, 1e-6);
  EXPECT_THAT(byoc("print " + model).err, HasSubstr("error[unknown-op]"));
}

TEST(PassLibrary, FoldsConstantsByTheReference) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main() {
    %c = const([1.5, -2.0]) : f32[2]
    %0 = test_twice(%c)
    return %0
  })");
  Ran ran = byoc("opt " + model + library("none") + "--passes fold_constants,eliminate_dead_code");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("const([3.0,-4.0])"));
}

TEST(PassLibrary, RefusesWrongLibrariesWithTheReason) {
  Byoc byoc;
  const std::pair<const char*, const char*> all[] = {
      {"old", "it was built for byoc 0.0.1, this is byoc "},
      {"throws", "it threw an exception: no licence"},
      {"taken_pass", "a pass is called fuse_ops already"},
      {"taken_op", "an op is called relu already"},
      {"no_place", "comes after \"merge_pad\", which the pipeline does not have; did you mean"},
      {"wrong_domain", "of the domain \"ai.onnx.ml\", whose operators byoc defines"},
      {"missing_op", "is the op \"test_thrice\", which is none"},
      {"missing_symbol", "of_another_byoc"}};
  for (const auto& [name, reason] : all) {
    Ran ran = byoc("opt --list" + library(name));
    EXPECT_EQ(ran.code, 1) << name;
    EXPECT_THAT(ran.err, HasSubstr("error[pass-library]")) << name;
    EXPECT_THAT(ran.err, HasSubstr(reason)) << name;
    EXPECT_THAT(ran.err, HasSubstr(std::string("liblibrary_") + name + ".so"));
  }
}

TEST(PassLibrary, RefusesPluginsAndFilesThatAreNone) {
  Byoc byoc;
  Ran plugin = byoc("opt --list --pass-library " BYOC_PLUGIN_DIR "/libbyoc_json.so");
  EXPECT_THAT(plugin.err, HasSubstr("it has no BYOC_LIBRARY"));
  EXPECT_THAT(plugin.err, HasSubstr("--plugin"));
  Ran none = byoc("opt --list --pass-library " + byoc.file("none.so"));
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("none.so"));
}

}  // namespace
}  // namespace byoc::test
