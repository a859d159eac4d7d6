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

constexpr const char* kSpread = R"(fn main(%x: f32[N,T]) {
  %0 = test_spread(%x) loc("spread")
  %1 = relu(%0)
  return %1
})";

TEST(PassLibrary, CompilesOpsOfOpenSizesOnceForAllSizes) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kSpread), out = byoc.file("m.byoc");
  const std::string sizes = " --shape N=1..4 --shape T=1..8 ";
  for (const char* compiler : {"json", "llvm"}) {
    Ran compiled = byoc("compile " + model + library("none") + sizes + "--compiler " + compiler +
                        " -o " + out);
    ASSERT_EQ(compiled.code, 0) << compiled.err;
    const std::pair<const char*, std::vector<float>> all[] = {
        {"x=f32[1,1]=-0.5", {0, 0.5}},
        {"x=f32[2,3]=1,2,3,4,5,6", {1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7}}};
    for (const auto& [input, expected] : all) {
      Ran ran = byoc("run " + out + " --input " + input + " --output-dir " + byoc.file("outputs"));
      ASSERT_EQ(ran.code, 0) << compiler << ran.err;
      const std::string bytes = get(byoc.file("outputs/output0.npy"));
      std::vector<float> y(expected.size());
      std::memcpy(y.data(), bytes.data() + bytes.size() - 4 * y.size(), 4 * y.size());
      EXPECT_EQ(y, expected) << compiler << " " << input;
    }
    Ran verified = byoc("verify " + model + library("none") + sizes + "--compiler " + compiler);
    EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  }
}

TEST(PassLibrary, NamesTheWayToOpenSizesWhereAComputeTakesNumbers) {
  Byoc byoc;
  std::string text = kSpread;
  text.replace(text.find("test_spread"), 11, "test_spread_exact");
  const std::string model = byoc.write("m.ir", text), out = " -o " + byoc.file("m.byoc");
  const std::string with = library("none") + "--compiler llvm";
  Ran open = byoc("compile " + model + with + " --shape N=2 --shape T=1..8" + out);
  EXPECT_EQ(open.code, 1);
  EXPECT_THAT(open.err, HasSubstr("its `compute` takes numbers"));
  EXPECT_THAT(open.err, HasSubstr("with_open_sizes()"));
  Ran exact = byoc("compile " + model + with + " --shape N=2 --shape T=3,5" + out);
  EXPECT_EQ(exact.code, 0) << exact.err;
}

TEST(PassLibrary, ChecksReadsAtTheEndsOfOpenSizes) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kSpread);
  Ran ran = byoc("compile " + model + library("wrong_compute") + "--compiler llvm --shape N=1..4 " +
                 "--shape T=1..8 -o " + byoc.file("m.byoc"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("of the op test_spread reads x0 at "));
}

TEST(PassLibrary, ExplainsItsOpsAsOpsOfTheModel) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwice);
  Ran ran = byoc("explain " + model + library("none") + "--compiler llvm --op twice");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("test_twice \"twice\": taken by llvm in test_twice"));
  EXPECT_THAT(ran.out, HasSubstr("llvm: taken: as loops"));
  Ran whole = byoc("explain " + model + library("none") + "--compiler llvm");
  EXPECT_THAT(whole.out, HasSubstr("2 ops"));
  EXPECT_THAT(whole.out, Not(HasSubstr("removed by make_added_loops")));
}

TEST(PassLibrary, ExportsItsOpsAsOperatorsOfTheirDomain) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwice), onnx = byoc.file("m.onnx");
  Ran exported = byoc("opt " + model + library("none") + "-o " + onnx);
  ASSERT_EQ(exported.code, 0) << exported.err;
  Ran back = byoc("print " + onnx + library("none"));
  EXPECT_THAT(back.out, HasSubstr("test_twice(%x) loc(\"twice\")")) << back.err;
  Ran unknown = byoc("print " + onnx);
  EXPECT_THAT(unknown.err, HasSubstr("domain org.example, opset 1"));
  Ran without_row = byoc("opt " + byoc.write("s.ir", kSpread) + library("none") + "-o " + onnx);
  EXPECT_EQ(without_row.code, 1);
  EXPECT_THAT(without_row.err, HasSubstr("test_spread, an op of a library without a row"));
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

TEST(PassLibrary, VerifiesComputesByTheReference) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", kTwice);
  Ran right = byoc("verify " + model + library("none"));
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  Ran wrong = byoc("verify " + model + library("wrong_compute") + "-o " + byoc.file("a"));
  EXPECT_EQ(wrong.code, 1) << wrong.out;
  EXPECT_THAT(wrong.out, HasSubstr("test_twice")) << wrong.err;
  EXPECT_THAT(wrong.out,
              HasSubstr("the library's compute of test_twice differs from its reference"));
  Ran by_json =
      byoc("verify " + model + library("wrong_compute") + "--compiler json -o " + byoc.file("b"));
  EXPECT_EQ(by_json.code, 1) << by_json.out;
}

TEST(PassLibrary, LoadsItInEachCommandThatReadsAModel) {
  Byoc byoc;
  setenv("XDG_CACHE_HOME", byoc.file("cache").c_str(), 1);  // of the plan
  const std::string model = byoc.write("m.ir", kTwice);
  const std::string with = library("none");
  for (const std::string& command :
       {"run " + model + " --input x=1,2,3,4",
        "bench " + model + " --min-time 0.01 --warmup 0.01 --no-peaks --observations none",
        "place " + model + " --estimates --plan-file " + byoc.file("plan"),
        "verify " + model + " --input x=1,2,3,4"}) {
    Ran ran = byoc(command + with);
    EXPECT_THAT(ran.err, Not(HasSubstr("unknown-op"))) << command;
    EXPECT_EQ(ran.code, 0) << command << ran.err;
  }
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

TEST(PassLibrary, NamesTheFunctionAtFault) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[2,3]) {
    %0 = test_same(%x)
    %1 = relu(%0)
    return %1
  })");
  const std::pair<const char*, const char*> all[] = {
      {"infer_throws", "infer of the op test_same threw an exception: planted"},
      {"infer_none", "infer of the op test_same gives 0 types, the op has 1 results"},
      {"reference_throws", "reference of the op test_same threw an exception: planted"},
      {"compute_throws", "compute of the op test_same threw an exception: planted"},
      {"compute_none", "compute of the op test_same makes nothing"},
      {"compute_shape", "compute of the op test_same makes f32[7]"},
      {"compute_dtype", "compute of the op test_same makes f64[2,3]"},
      {"compute_reads_outside", "compute of the op test_same reads x0 at 1 to 3 of dimension 1"},
      {"no_compute", "which their `compute` gives"},
      {"pass_throws", "the pass planted threw an exception: planted"},
      {"pass_breaks", "the pass planted breaks the module"},
      {"pass_types", "the pass planted breaks the module"},
      {"pass_name", "has a name that --passes cannot read"},
      {"onnx_twice", "the operator org.example.Same has 2 rows"},
      {"cost_throws", "placement_cost threw an exception: planted"},
      {"cost_nan", "placement_cost returns nan"},
      {"cost_negative", "placement_cost returns -1"},
      {"judge_throws", "region_judge threw an exception: planted"},
      {"solver_few", "placement_solver returns 0 states"},
      {"solver_far", "placement_solver returns state 200"}};
  for (const auto& [fault, reason] : all) {
    setenv("BYOC_TEST_FAULT", fault, 1);
    Ran ran = byoc("verify " + model + library("faulty"));
    EXPECT_EQ(ran.code, 1) << fault;
    EXPECT_THAT(ran.err, HasSubstr(reason)) << fault;
    EXPECT_THAT(ran.err, Not(HasSubstr("defect of"))) << fault;
    const std::string_view name = fault;
    if (name == "compute_reads_outside" || name == "no_compute") continue;  // they name the op
    EXPECT_THAT(ran.err, HasSubstr("liblibrary_faulty.so")) << fault;
  }
  unsetenv("BYOC_TEST_FAULT");
}

TEST(PassLibrary, NamesTheSearchWhosePointsAreOutsideOfTheSpace) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[8,8], %w: f32[8,8]) {
    %0 = matmul(%x, %w)
    return %0
  })");
  const std::pair<const char*, const char*> all[] = {
      {"search_value", "has no value \"wrong\", it has "},
      {"search_few", "it lacks the knob "},
      {"search_name", "there is no knob \"nothing\""}};
  for (const auto& [fault, reason] : all) {
    setenv("BYOC_TEST_FAULT", fault, 1);
    Ran ran = byoc("tune " + model + library("faulty") + "--compiler llvm --trials 40 --log " +
                   byoc.file(fault) + " --observations none");
    EXPECT_EQ(ran.code, 1) << fault << ran.out;
    EXPECT_THAT(ran.err, HasSubstr("error[library-fault]")) << fault;
    EXPECT_THAT(ran.err, HasSubstr("tuner_search returns a point outside of the space: ")) << fault;
    EXPECT_THAT(ran.err, HasSubstr(reason)) << fault;
  }
  unsetenv("BYOC_TEST_FAULT");
}

// Plugins that hide none of their symbols would be bound to those of another version.
TEST(PassLibrary, FindsNoSymbolsOfTheSdkInTheCommand) {
  Byoc byoc;
  const std::string list = byoc.file("symbols");
  const std::string nm = cat("nm -D --defined-only ", BYOC_BUILD_DIR, "/bin/byoc > ", list);
  ASSERT_EQ(std::system(nm.c_str()), 0);
  EXPECT_THAT(get(list), HasSubstr("_ZN4byoc7all_opsEv"));
  EXPECT_THAT(get(list), Not(HasSubstr("N4byoc3sdk")));
}

TEST(PassLibrary, ChecksThePluginInTheFileAlsoWhenItIsJson) {
  Ran ran = Byoc()("check-plugin " BYOC_PLUGIN_DIR "/libbyoc_json.so --group 3" + library("none"));
  EXPECT_EQ(ran.code, 0) << ran.out;
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
