// SPDX-License-Identifier: Apache-2.0
// The command bench: its report of what was timed, its refusals, and its statistics of the samples.
#include <algorithm>
#include <future>

#include "command.h"
#include "core/measure/session/timed_session.h"
#include "core/tools/measure/one_step.h"
#include "support/faults.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Not;

const std::string kBenchPlugin =
    std::string(" --plugin ") + BYOC_BUILD_DIR + "/tests/support/plugins/libbyoc_a.so";
const std::string kShort = " --warmup 0 --min-time 0.02 --rounds 2";

/// A model with 2 * 8 * 16 * 4 = 1024 flops in the product and 32 in the relu.
constexpr const char* kProduct = R"(fn main(%x: f32[8,16], %w: f32[16,4]) {
  %0 = matmul(%x, %w) loc("/fc/MatMul")
  %1 = relu(%0) loc("/fc/Relu")
  return %1
})";

TEST(Spread, IsWhatNumpyPercentileSays) {
  // numpy.percentile([40, 10, 1000, 30, 20], [50, 5, 95]) = [30, 12, 808]
  measure::Spread spread = measure::spread_of({40, 10, 1000, 30, 20});
  EXPECT_DOUBLE_EQ(spread.median, 30);
  EXPECT_DOUBLE_EQ(spread.p5, 12);
  EXPECT_DOUBLE_EQ(spread.p95, 808);
  EXPECT_DOUBLE_EQ(spread.min, 10);
  EXPECT_DOUBLE_EQ(measure::spread_of({7}).p95, 7);
  EXPECT_DOUBLE_EQ(measure::spread_of({}).median, 0);
}

TEST(BenchCommand, SaysWhatWasCheckedAndWhatWasTimed) {
  Byoc byoc;
  Ran ran =
      byoc("bench " + byoc.write("m.ir", kProduct) + " --compiler onednn --threads 1,2" + kShort);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("input x f32[8,16]: random, seed 0\n"));
  EXPECT_THAT(ran.out, HasSubstr("outputs agree with json's, max error "));
  EXPECT_THAT(ran.out, HasSubstr("timed: Session::run, inputs resident, outputs preallocated"));
  EXPECT_THAT(ran.out, HasSubstr("Not timed: reading, compiling for 1 thread ("));
  EXPECT_THAT(ran.out, HasSubstr("per region, 1 thread ("));
  EXPECT_THAT(ran.out, HasSubstr("per region, 2 threads ("));
  EXPECT_THAT(ran.out, HasSubstr("onednn_main_0"));
  EXPECT_THAT(ran.out, HasSubstr("\nkernel "));
  EXPECT_THAT(ran.out, HasSubstr("\nrun by "));
}

TEST(BenchCommand, ClaimsNoCheckOfTheReferenceAgainstItself) {
  Byoc byoc;
  Ran ran = byoc("bench " + byoc.write("m.ir", kProduct) + " --compiler json" + kShort);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("outputs not compared: json runs all of it and is the reference"));
}

TEST(BenchCommand, ComparesResultsWithCountedSizes) {
  Byoc byoc;
  const std::string model = byoc.write("m.ir", R"(fn main(%x: f32[3,4]) {
    %0 = relu(%x)
    %1 = nonzero(%0) {size="n"}
    return %1
  })");
  Ran ran = byoc("bench " + model + " --compiler onednn" + kShort);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("FAIL")));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

TEST(BenchCommand, HasTheRawSamplesInItsJson) {
  Byoc byoc;
  Json json = byoc.json("bench " + byoc.write("m.ir", kProduct) + " --compiler onednn" + kShort);
  EXPECT_EQ(json["schema"], "byoc.bench/1");
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["reference"], "json");
  ASSERT_EQ(json["configurations"].size(), 1u);
  const Json& one = json["configurations"][0];
  auto samples = one["samples_ns"].get<std::vector<double>>();
  ASSERT_GE(samples.size(), 2u) << "expected a sample in every round";
  EXPECT_THAT(samples, Each(Ge(0)));
  EXPECT_DOUBLE_EQ(one["median_ns"].get<double>(), median(samples));
  EXPECT_DOUBLE_EQ(one["min_ns"].get<double>(), *std::min_element(samples.begin(), samples.end()));
  EXPECT_EQ(one["flops"], 1056);
  EXPECT_DOUBLE_EQ(one["gflop_per_s"].get<double>(), 1056 / median(samples));
  double flops = 0;
  for (const Json& region : one["regions"]) flops += region["flops"].get<double>();
  EXPECT_EQ(flops, 1056);
  EXPECT_THAT(one["regions"][0]["nodes"].get<std::vector<std::string>>(),
              testing::ElementsAre("/fc/MatMul", "/fc/Relu"));
  EXPECT_TRUE(one["outputs"][0]["equal"].get<bool>());
}

TEST(BenchCommand, KnowsFlopsAndNodesOfAnArtifact) {
  Byoc byoc;
  std::string artifact = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + byoc.write("m.ir", kProduct) + " -o " + artifact).code, 0);
  Json json = byoc.json("bench " + artifact + kShort);
  const Json& one = json["configurations"][0];
  EXPECT_EQ(one["flops"], 1056);
  EXPECT_EQ(one["compile_ns"], nullptr);
  EXPECT_EQ(one["regions"][0]["nodes"][0], "/fc/MatMul");
  EXPECT_EQ(json["reference"], nullptr);
  EXPECT_THAT(byoc("bench " + artifact + kShort).out,
              HasSubstr("outputs not compared: a compiled model holds no graph"));
}

constexpr const char* kThreeRegions = R"(fn main(%x: f32[8]) {
  %0 = relu(%x) loc("a")
  %1 = exp(%0) loc("b")
  %2 = relu(%1) loc("c")
  return %2
})";
const std::string kByA = kBenchPlugin + " --compiler a --plugin-option a.ops=relu";

TEST(BenchCommand, TimesOneRegionByNameOrNumber) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kThreeRegions), artifact = byoc.file("m.byoc");
  ASSERT_EQ(byoc("compile " + model + kByA + " -o " + artifact).code, 0);
  for (std::string region : {"a_main_1", "2"}) {
    Ran ran = byoc("bench " + model + kByA + " --region " + region + kShort);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("region a_main_1\n"));
    EXPECT_THAT(ran.out, HasSubstr("outputs agree with json's"));
    EXPECT_THAT(ran.out, Not(HasSubstr("a_main_0")));
    ran = byoc("bench " + artifact + kBenchPlugin + " --region " + region + kShort);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("region a_main_1\n"));
    EXPECT_THAT(ran.out, Not(HasSubstr("a_main_0")));
  }
  Ran ran = byoc("bench " + model + kByA + " --region a_main_7" + kShort);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("error[unknown-region]: no region \"a_main_7\"; did you mean"));
}

// Regions with the size in an expression of their input only, and in no input.
TEST(BenchCommand, TimesRegionsWithoutAnInputOfTheirSize) {
  Byoc byoc;
  const std::string by = " --compiler sizes,json --plugin " + fault_path("sizes_none"),
                    artifact = byoc.file("m.byoc");
  for (const char* body :
       {"%1 = concat(%0, %0) {axis=1}", R"(%1 = iota() {open_shape=["1<=T<=8"], to=f32})"}) {
    const std::string model =
        byoc.write("m.ir", cat("fn main(%x: f32[2,1<=T<=8,3]) {\n  %0 = relu(%x)\n  ", body,
                               "\n  %2 = negative(%1)\n  return %0, %2\n}"));
    ASSERT_EQ(byoc("compile " + model + by + " -o " + artifact).code, 0);
    for (const std::string region : {"sizes_main_0", "json_main_0", "sizes_main_1"}) {
      Ran ran = byoc("bench " + model + by + " --shape T=1..8 --region " + region + kShort);
      EXPECT_EQ(ran.code, 0) << ran.err;
      const bool is_checked = region != "json_main_0";
      EXPECT_EQ(ran.out.find("outputs agree with json's") != std::string::npos, is_checked)
          << region;
      ran = byoc("bench " + artifact + " --plugin " + fault_path("sizes_none") +
                 " --shape T=5 --region " + region + kShort);
      EXPECT_EQ(ran.code, 0) << region << ran.err;
      EXPECT_THAT(ran.out, HasSubstr("region " + region));
    }
  }
}

TEST(OneStep, GetsTheValuesThatTheWholeProgramGivesIt) {
  // y = x + c, z = y * c, and z is read again. The last step also reads x.
  TensorSpec type{DType::kF32, {4}};
  Program program;
  program.inputs = {{"x", type}};
  program.outputs = {{"z", type}, {"v", type}};
  program.constants = {{{}, type}};
  program.arena_bytes = 80;
  Place x{Place::kInput, 0, 0}, c{Place::kConstant, 0, 0}, y{Place::kArena, 0, 64},
      z{Place::kOutput, 0, 0}, v{Place::kOutput, 1, 0};
  program.steps.resize(3);
  program.steps[0] = {.symbol = "add", .n_in = 2, .args = {x, c, y}, .types = {type, type, type}};
  program.steps[1] = {.symbol = "mul", .n_in = 2, .args = {y, c, z}, .types = {type, type, type}};
  program.steps[2] = {.symbol = "sub", .n_in = 2, .args = {z, x, v}, .types = {type, type, type}};
  Executable executable;
  executable.program = program;
  auto second = driver::inputs_of_step(executable, 1);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->program.steps.size(), 1u);
  ASSERT_EQ(second->program.copies.size(), 1u) << "the constant is none";
  EXPECT_EQ(second->program.copies[0].from, y);
  auto third = driver::inputs_of_step(executable, 2);
  ASSERT_TRUE(third.ok());
  ASSERT_EQ(third->program.outputs.size(), 2u);
  EXPECT_EQ(third->program.steps[1].args[2], (Place{Place::kArena, 0, 128}));
  EXPECT_EQ(third->program.copies[0].from, (Place{Place::kArena, 0, 128}));
  EXPECT_EQ(third->program.copies[1].from, x);
  Program one = driver::one_step(executable, 1).program;
  EXPECT_EQ(one.inputs.size(), 1u);
  EXPECT_EQ(one.steps[0].args[1], c);
  executable.program.code.resize(1);
  EXPECT_EQ(driver::inputs_of_step(executable, 2).status().slug(), "control-flow");
}

TEST(BenchCommand, TimesNothingThatIsWrong) {
  Byoc byoc;
  std::string line = "bench " + byoc.write("m.ir", kThreeRegions) + kByA +
                     " --plugin-option a.spoil=relu" + kShort;
  Ran ran = byoc(line);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("FAIL \"output0\" f32[8]: max error"));
  EXPECT_THAT(ran.out, Not(HasSubstr("timed:")));
  EXPECT_THAT(ran.err, HasSubstr("error[bench-mismatch]: the outputs differ from json's"));
  EXPECT_EQ(byoc(line + " --region a_main_0").code, 1);
  ran = byoc(line + " --no-check");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("outputs not compared: --no-check"));
}

TEST(BenchCommand, RefusesWhatItCannotMean) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kProduct);
  for (const char* flag : {"--threads x", "--threads 1,,2", "--rounds 0", "--min-time -1"})
    EXPECT_EQ(byoc("bench " + model + " " + flag).code, 2) << flag;
  EXPECT_THAT(byoc("bench " + model + " --input y=zeros").err, HasSubstr("error[unknown-input]"));
}

// A signal that comes before the first round ends the command without a report: on a busy machine
// it has to come later.
Ran interrupted_bench(const std::string& flags) {
  Ran ran;
  for (int seconds = 2; ran.out.empty() && seconds <= 64; seconds *= 2) {
    Byoc timeout(
        cat("timeout --preserve-status -s INT ", seconds, " ", BYOC_BUILD_DIR, "/bin/byoc"));
    ran = timeout("bench " + timeout.write("m.ir", kProduct) + " --min-time 300 --rounds 100" +
                  flags);
  }
  return ran;
}

TEST(BenchCommand, ShowsWhatItHasWhenItIsInterrupted) {
  auto as_json = std::async(std::launch::async, interrupted_bench, " --json");
  Ran ran = interrupted_bench("");
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.out, HasSubstr("timed: Session::run"));
  EXPECT_THAT(ran.err, HasSubstr("error[interrupted]"));
  ran = as_json.get();
  EXPECT_EQ(ran.code, 130);
  auto json = parse_json(ran.out);
  ASSERT_TRUE(json.ok()) << ran.out;
  EXPECT_EQ((*json)["ok"], false);
}

}  // namespace
}  // namespace byoc::test
