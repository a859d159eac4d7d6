// SPDX-License-Identifier: Apache-2.0
// run, verify and bench on models with open sizes.
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

constexpr const char* kOpenSizes =
    "fn main(%x: f32[N,S], %y: f32[N]) { %0 = relu(%x)  %1 = relu(%y)  return %0, %1 }";

TEST(OpenSizes, TakesOpenSizesFromInputs) {
  Byoc byoc;
  const std::string run = "run " + byoc.write("m.ir", kOpenSizes);
  Json json = byoc.json(run + " --input x=f32[2,3]=-1");
  EXPECT_EQ(json["outputs"][0]["dims"], Json({2, 3}));
  EXPECT_EQ(json["outputs"][1]["dims"], Json({2}));
  EXPECT_FALSE(json.contains("assumed_sizes"));
  json = byoc.json(run + " --input y=1,2,3");  // a list has as many elements as N
  EXPECT_EQ(json["outputs"][0]["dims"], Json({3, 1}));
  EXPECT_EQ(json["assumed_sizes"], Json({{"S", 1}}));
}

TEST(OpenSizes, SaysThatSizesAreAssumed) {
  Byoc byoc;
  Ran ran = byoc("run " + byoc.write("m.ir", kOpenSizes));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("open sizes: N=1, S=1, which --shape or an --input sets\n"));
  ran = byoc("run " + byoc.file("m.ir") + " --shape N=4");
  EXPECT_THAT(ran.out, HasSubstr("open sizes: S=1,"));
  EXPECT_THAT(ran.out, HasSubstr("input x f32[4,1]"));
  std::string bounded = byoc.write("b.ir", "fn main(%x: f32[2<=N<=4]) { %0 = relu(%x) return %0 }");
  EXPECT_THAT(byoc("run " + bounded).out, HasSubstr("open sizes: N=2,"));
}

TEST(OpenSizes, RefusesInputsThatContradictEachOther) {
  Byoc byoc;
  const std::string run = "run " + byoc.write("m.ir", kOpenSizes);
  Ran ran = byoc(run + " --input x=f32[2,3] --input y=f32[5]");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("\"N\" cannot be both 2 and 5"));
  ran = byoc(run + " --input x=f32[2]");
  EXPECT_THAT(ran.err, HasSubstr("\"x\" is f32[N,S] and cannot be 2"));
  ran = byoc(run + " --shape N=4,S=1 --input x=f32[2,1]");
  EXPECT_THAT(ran.err, HasSubstr("[input-shape]"));
}

TEST(OpenSizes, TakesOpenSizesOfOnnxModels) {
  Byoc byoc;
  const std::string model = std::string(BYOC_SOURCE_DIR) + "/tests/models/digits/model.onnx";
  Ran ran = byoc("run " + model);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("open sizes: N=1,"));
  ran = byoc("verify " + model + " --compiler json --input image=f32[3,1,8,8]");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("f32[3,10]"));
  ran = byoc("bench " + model + " --compiler json --rounds 1 --min-time 0 --warmup 0 --no-peaks");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("open sizes: N=1,"));
}

TEST(OpenSizes, VerifiesAtTheEndsOfRangesAndBetween) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", "fn main(%x: f32[N,S]) { %0 = relu(%x) return %0 }");
  Json json = byoc.json("verify " + model + " --compiler json --shape N=2..5 --shape S=3..90");
  std::vector<std::string> sizes = json["sizes"];
  ASSERT_EQ(sizes.size(), 6u);
  EXPECT_EQ(std::vector(sizes.begin(), sizes.begin() + 4),
            (std::vector<std::string>{"N=2, S=3", "N=5, S=90", "N=5, S=3", "N=2, S=90"}));
  EXPECT_EQ(json["outputs"][1]["name"], "output0, N=5, S=90");
  EXPECT_EQ(json["outputs"][1]["type"], "f32[5,90]");
  EXPECT_EQ(json["regions_at"], sizes[5]);
  EXPECT_TRUE(json["limited"].empty());
  json = byoc.json("verify " + model + " --compiler json --input x=f32[2,7]");
  EXPECT_FALSE(json.contains("sizes"));
  EXPECT_EQ(json["outputs"][0]["type"], "f32[2,7]");
}

TEST(OpenSizes, TimesOneProgramAtSeveralSizes) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", "fn main(%x: f32[N,4]) { %0 = relu(%x) return %0 }");
  const std::string fast = " --rounds 1 --min-time 0 --warmup 0 --no-peaks --sizes N=1,8";
  const Json json = byoc.json("bench " + model + " --compiler json" + fast);
  ASSERT_EQ(json["configurations"].size(), 2u);
  const Json& eight = json["configurations"][1];
  EXPECT_EQ(eight["name"], "N=8");
  EXPECT_NEAR(eight["per_second"].get<double>() * eight["median_ns"].get<double>(), 8e9, 1);
  EXPECT_TRUE(eight["compile_ns"].is_null()) << "the program of N=1 serves it";
  Ran ran = byoc("bench " + model + fast + " --vs compiler=llvm");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--sizes takes no --op, no --vs and one number of threads"));
  ran = byoc("bench " + model + " --sizes 1,8");
  EXPECT_THAT(ran.err, HasSubstr("--sizes expects a size and its numbers, as in N=1,2,4"));
}

// Indices from the end of an open dim, which differ in each run.
TEST(OpenSizes, VerifiesIndicesIntoOpenDims) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(
    fn main(%x: f32[1<=B<=3,2<=T<=19,5], %y: f32[1<=B<=3,2<=T<=19], %u: f32[2,5], %v: f32[1,2]) {
      %i = const([-1,0]) : i64[2]
      %j = const([0,-1]) : i64[1,2]
      %k = const([0,-1,-1,0]) : i64[2,2]
      %0 = gather(%x, %i) {axis=1}
      %1 = gather_nd(%y, %j)
      %2 = scatter_nd(%x, %k, %u) {reduction="add"}
      %3 = scatter_elements(%y, %j, %v) {axis=1}
      return %0, %1, %2, %3
    })");
  const Json json = byoc.json("verify " + model + " --compiler llvm");
  EXPECT_TRUE(json["passed"]);
  EXPECT_EQ(json["outputs"].size(), 6 * 4u);
  const Json compiled =
      byoc.json("compile " + model + " --compiler llvm -o " + byoc.file("m.byoc"));
  ASSERT_EQ(compiled["modules"].size(), 1u) << compiled;
  EXPECT_EQ(compiled["modules"][0]["plugin"], "llvm");
}

TEST(OpenSizes, VerifiesWithoutShapesWhatCompileMakes) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", "fn main(%x: f32[N,S]) { %0 = relu(%x) return %0 }");
  Ran ran = byoc("verify " + model + " --compiler json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("N=1, S=1\" f32[1,1]"));
  EXPECT_THAT(ran.err, HasSubstr("checked with N=1..4096 of 1..65536"));
}

TEST(OpenSizes, ComparesRegionsAtTheFirstSizesThatAreWrong) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", "fn main(%x: f32[N,4]) { %0 = relu(%x) return %0 }");
  const std::string plugin = BYOC_BUILD_DIR "/tests/faults/sizes_least/libbyoc_sizes_least.so";
  Ran ran = byoc("verify " + model + " --shape N=2..5 --compiler sizes --plugin " + plugin +
                 " -o " + byoc.file("piece"));
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("ok   \"output0, N=2\" f32[2,4]"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL \"output0, N=5\" f32[5,4]"));
  EXPECT_THAT(ran.out, HasSubstr("FAIL region 1 of 1, sizes_main_0 (sizes), at N=5 "));
}

}  // namespace
}  // namespace byoc::test
