// SPDX-License-Identifier: Apache-2.0
// bench --vs, --op, stored regions, and the facts of its report: ratios, work, peaks, the form of
// Google Benchmark.
#include <cmath>

#include "core/measure/statistic.h"
#include "core/tools/measure/rows.h"
#include "support/busy_neighbours.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using measure::Ratio;
using measure::ratio_of;
using testing::HasSubstr;
using testing::Not;

const std::string kShort = " --warmup 0 --min-time 0.05 --rounds 3";

TEST(Ratio, HasStudentsInterval) {
  // in Python, with the 0.975 quantile of Student's t for 3 degrees of freedom, 3.182446:
  // x = [log(v) for v in (2, 2.2, 1.9, 2.1)]; exp(mean(x) +- 3.182446 * stdev(x) / 2)
  measure::Ratio ratio = measure::ratio_of({1, 1, 1, 1}, {2, 2.2, 1.9, 2.1});
  EXPECT_NEAR(ratio.ratio, 2.046946, 1e-5);
  EXPECT_NEAR(ratio.low, 1.851421, 1e-3);
  EXPECT_NEAR(ratio.high, 2.263119, 1e-3);
  EXPECT_TRUE(ratio.holds(2));
  EXPECT_FALSE(ratio.holds(1));
}

// A burst of other work in two blocks of ten. In Python:
//   x = sorted(log(v) for v in (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 4, 0.2))
//   w = [x[2]] * 2 + x[2:8] + [x[7]] * 2   # two of ten are trimmed at each end
//   half = 2.570582 * sqrt(sum((v - mean(w)) ** 2 for v in w) / (6 * 5))  # 5 degrees of freedom
//   exp(mean(x[2:8]) - half), exp(mean(x[2:8])), exp(mean(x[2:8]) + half)
TEST(Ratio, LeavesOutDisturbedBlocks) {
  measure::Ratio ratio = measure::ratio_of(std::vector<double>(10, 1),
                                           {1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 4, 0.2});
  EXPECT_NEAR(ratio.ratio, 0.999967, 1e-6);
  EXPECT_NEAR(ratio.low, 0.986780, 1e-5);
  EXPECT_NEAR(ratio.high, 1.013330, 1e-5);
}

TEST(Ratio, OfEqualTimesIsOneWithoutWidth) {
  measure::Ratio ratio = measure::ratio_of({3, 5, 7}, {3, 5, 7});
  EXPECT_DOUBLE_EQ(ratio.ratio, 1);
  EXPECT_DOUBLE_EQ(ratio.low, 1);
  EXPECT_DOUBLE_EQ(ratio.high, 1);
}

TEST(Ratio, OfOnePairIsNotKnown) {
  measure::Ratio ratio = measure::ratio_of({1}, {3});
  EXPECT_DOUBLE_EQ(ratio.ratio, 3);
  EXPECT_EQ(ratio.low, 0);
  EXPECT_TRUE(std::isinf(ratio.high));
}

// Three loads of three samples, so that the fastest of each counts. In Python, with the 0.975
// quantile of Student's t for 2 degrees of freedom, 4.303:
//   x = [log(20 / 10), log(22 / 10.5), log(20.6 / 10.2)]
//   half = 4.303 * stdev(x) / sqrt(3); exp(mean(x) - half), exp(mean(x)), exp(mean(x) + half)
TEST(FastestRatio, HasStudentsIntervalOverLoads) {
  const measure::Samples a{{10, 12, 11, 13, 10.5, 12, 11, 10.2, 14}, 1, {}, {0, 3, 6}};
  const measure::Samples b{{21, 20, 30, 22, 50, 22.4, 24, 23, 20.6}, 1, {}, {0, 3, 6}};
  const measure::Ratio ratio = measure::ratio_of_fastest(a, b);
  EXPECT_NEAR(ratio.ratio, 2.037872, 1e-6);
  EXPECT_NEAR(ratio.low, 1.917382, 1e-6);
  EXPECT_NEAR(ratio.high, 2.165933, 1e-6);
}

// Other work in seven of eight samples adds more to b than to a: medians would have a ratio of 3.
TEST(FastestRatio, IsThatOfTheQuietRuns) {
  measure::Samples a, b;
  for (size_t k = 0; k < 32; ++k) {
    if (k % 16 == 0) a.loads.push_back(k), b.loads.push_back(k);
    a.ns.push_back(k % 8 == 5 ? 10 : 15);
    b.ns.push_back(k % 8 == 5 ? 20 : 45);
  }
  EXPECT_DOUBLE_EQ(measure::ratio_of_fastest(a, b).ratio, 2);
  EXPECT_DOUBLE_EQ(measure::ratio_of_fastest(a, a).ratio, 1);
}

TEST(FastestRatio, OfOneLoadIsNotKnown) {
  const measure::Samples a{{1, 1}, 1, {}, {0}}, b{{3, 3}, 1, {}, {0}};
  const measure::Ratio ratio = measure::ratio_of_fastest(a, b);
  EXPECT_DOUBLE_EQ(ratio.ratio, 3);
  EXPECT_EQ(ratio.low, 0);
  EXPECT_TRUE(std::isinf(ratio.high));
}

TEST(BlockTimes, AddTheTwoTurnsOfABlock) {
  measure::Samples samples;
  samples.ns = {10, 30, 20, 40, 50, 90, 1, 3};  // turns: 10 30 20 | 40 | 50 90 | 1 3
  samples.turns = {0, 3, 4, 6};
  EXPECT_EQ(measure::block_times(samples), (std::vector<double>{30, 36}));
}

TEST(Work, HasRatesAndIntensity) {
  driver::Work work{.flops = 1000.0, .bytes = 250, .ns = 100};
  EXPECT_DOUBLE_EQ(work.gflop_per_s(), 10);
  EXPECT_DOUBLE_EQ(work.gb_per_s(), 2.5);
  EXPECT_DOUBLE_EQ(work.intensity(), 4);
  EXPECT_EQ((driver::Work{std::nullopt, 4, 2}).gflop_per_s(), 0);
}

constexpr const char* kProduct = R"(fn main(%x: f32[8,16], %w: f32[16,4]) {
  %0 = matmul(%x, %w) loc("/fc/MatMul")
  %1 = relu(%0) loc("/fc/Relu")
  return %1
})";

TEST(BenchVersus, ComparesTwoConfigurationsAndTheFirstWithItself) {
  Byoc byoc;
  std::string line = "bench " + byoc.write("m.ir", kProduct) +
                     " --compiler onednn --vs compiler=json --no-peaks" + kShort;
  Ran ran = byoc(line);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("outputs agree with json's"));
  EXPECT_THAT(ran.out, HasSubstr("B (compiler=json) takes "));
  EXPECT_THAT(ran.out, HasSubstr(" times as long as A, 95 % interval "));
  EXPECT_THAT(ran.out, HasSubstr(" (3 blocks ABBA)\ncontrol, A again: "));
  EXPECT_THAT(ran.out, HasSubstr("per region, configuration B, 1 thread"));
  Json json = byoc.json(line);
  ASSERT_EQ(json["configurations"].size(), 3u);
  EXPECT_EQ(json["configurations"][2]["name"], "A again");
  EXPECT_EQ(json["configurations"][1]["turns"].size(), 6u) << "two turns in each of three blocks";
  EXPECT_EQ(json["configurations"][1]["regions"][0]["run_by"], "json");
  EXPECT_EQ(json["versus"]["blocks"], 3);
  const Json& ratio = json["versus"]["b_against_a"];
  EXPECT_LE(ratio["low"].get<double>(), ratio["ratio"].get<double>());
  EXPECT_LE(ratio["ratio"].get<double>(), ratio["high"].get<double>());
}

// json's loops over 64 x 64 x 64 take far longer than oneDNN's: a ratio the other way round, or of
// a session with itself, would be near or below 1.
TEST(BenchVersus, HasTheRatioTheRightWayRound) {
  Byoc byoc;
  std::string line = "bench --op matmul --shape a=128x128 --shape b=128x128 --no-peaks" + kShort;
  Json json = byoc.json(line + " --compiler onednn --vs compiler=json");
  ASSERT_EQ(json["ok"], true) << json.dump(1);
  EXPECT_GT(json["versus"]["b_against_a"]["ratio"].get<double>(), 1.5);
  double control = json["versus"]["control"]["ratio"].get<double>();
  EXPECT_GT(control, 0.5);
  EXPECT_LT(control, 2);
}

// One thread has a core, so there is nothing to measure.
TEST(BenchVersus, ShowsWhetherThreadsHadACoreEach) {
  Byoc byoc;
  std::string line = "bench " + byoc.write("m.ir", kProduct) +
                     " --compiler onednn --vs compiler=json --no-peaks" + kShort;
  EXPECT_EQ(byoc.json(line)["versus"]["cores"].size(), 0u);
  line += " --threads 2";
  EXPECT_THAT(byoc(line).out, HasSubstr("multiply-adds of 2 threads over one's: before "));
  Json cores = byoc.json(line)["versus"]["cores"];
  ASSERT_EQ(cores.size(), 2u) << "before and after";
  for (const Json& rates : cores) {
    EXPECT_EQ(rates["threads"], 2);
    EXPECT_NEAR(rates["speedup"].get<double>() * rates["one_gflop_per_s"].get<double>(),
                rates["all_gflop_per_s"].get<double>(), 1e-6);
    EXPECT_TRUE(rates.contains("round_trip_ns"));
  }
}

TEST(BenchVersus, ComparesArtifactsWithEachOther) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kProduct);
  for (const char* plugin : {"onednn", "json"})
    ASSERT_EQ(byoc(cat("compile ", model, " --compiler ", plugin, " -o ",
                       byoc.file(cat(plugin, ".byoc"))))
                  .code,
              0);
  Ran ran = byoc(cat("bench ", byoc.file("onednn.byoc"),
                     " --no-peaks --vs model=", byoc.file("json.byoc"), kShort));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("outputs agree with A's, max error "));
  std::string other = byoc.write("n.ir", "fn main(%x: f32[2]) { %0 = relu(%x) return %0 }");
  ran = byoc(cat("bench ", model, " --no-peaks --vs model=", other, kShort));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--vs: the models have different inputs"));
}

TEST(BenchVersus, RefusesWhatItCannotCompare) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kProduct);
  auto error = [&](const std::string& flags) {
    Ran ran = byoc("bench " + model + flags + kShort);
    EXPECT_EQ(ran.code, 2) << flags;
    return ran.err;
  };
  EXPECT_THAT(error(" --vs colour=red"), HasSubstr("--vs: \"colour=red\" is no setting"));
  EXPECT_THAT(error(" --vs level=two"), HasSubstr("\"level=two\" has no valid value"));
  EXPECT_THAT(error(" --vs ' '"), HasSubstr("names no other configuration"));
  EXPECT_THAT(error(" --vs level=1 --threads 1,2"), HasSubstr("--vs takes one number of threads"));
  EXPECT_THAT(error(" --vs level=1 --region 0"), HasSubstr("--vs takes no --region"));
  EXPECT_THAT(error(" --op relu"), HasSubstr("--op is the model: leave out MODEL"));
  EXPECT_THAT(error(" --attr axis=1"), HasSubstr("--attr and --weight are for --op"));
  EXPECT_EQ(byoc("bench").code, 2);
}

TEST(BenchOp, MakesAModelOfOneOp) {
  Byoc byoc;
  Json json = byoc.json("bench --op matmul --shape a=8x16 --shape b=16x4 --weight b" + kShort);
  ASSERT_EQ(json["ok"], true) << json.dump(1);
  EXPECT_EQ(json["model"], "op matmul");
  ASSERT_EQ(json["inputs"].size(), 1u) << "the weight is a constant";
  EXPECT_EQ(json["inputs"][0]["type"], "f32[8,16]");
  const Json& one = json["configurations"][0];
  EXPECT_EQ(one["flops"], 2 * 8 * 16 * 4);
  EXPECT_EQ(one["bytes"], 4 * (8 * 16 + 16 * 4 + 8 * 4));
  EXPECT_DOUBLE_EQ(one["flop_per_byte"].get<double>(), 1024.0 / 896);
  EXPECT_GT(one["peaks"]["gflop_per_s"].get<double>(), 0);
  EXPECT_GT(one["peaks"]["gb_per_s"].get<double>(), 0);
  EXPECT_GT(one["share_of_peak"].get<double>(), 0);
  EXPECT_GT(json["peak_rss_bytes"].get<uint64_t>(), uint64_t{1} << 20);
  ASSERT_EQ(one["kernels"].size(), 1u);
  EXPECT_EQ(one["kernels"][0]["flops"], 1024);
  EXPECT_EQ(one["regions"][0]["bytes"], 896);
}

TEST(BenchOp, TakesAttributesAndOtherDtypes) {
  Byoc byoc;
  Json json = byoc.json("bench --op gather --shape x=8x4 --shape indices=i64[2] --attr axis=1" +
                        kShort + " --no-peaks");
  ASSERT_EQ(json["ok"], true) << json.dump(1);
  EXPECT_EQ(json["inputs"][1]["type"], "i64[2]");
  EXPECT_EQ(json["configurations"][0]["peaks"], nullptr);
  json = byoc.json("bench --op concat --shape x=2x3 --shape x=4x3 --attr axis=0" + kShort +
                   " --no-peaks");
  ASSERT_EQ(json["ok"], true) << json.dump(1);
  EXPECT_EQ(json["inputs"].size(), 2u);
  json = byoc.json("bench --op max_pool --shape x=1x2x8x8 --attr kernel_shape=[2,2]" + kShort +
                   " --no-peaks");
  EXPECT_EQ(json["ok"], true) << "an op with an optional result: " << json.dump(1);
}

TEST(BenchOp, ReportsWhatIsMissing) {
  Byoc byoc;
  auto error = [&](const std::string& flags) { return byoc("bench --op " + flags + kShort).err; };
  EXPECT_THAT(error("matmul --shape a=8x16"), HasSubstr("matmul needs --shape b=DIMS"));
  EXPECT_THAT(error("matmul --shape c=8x16"), HasSubstr("matmul has no operand \"c\""));
  EXPECT_THAT(error("matmul --shape a=8x16 --shape a=8x16 --shape b=16x4"), HasSubstr("twice"));
  EXPECT_THAT(error("matmull --shape a=1"), HasSubstr("error[unknown-op]"));
  EXPECT_THAT(error("relu --shape x=4 --attr axis=1"), HasSubstr("relu has no attribute \"axis\""));
  EXPECT_THAT(error("relu --shape x=4 --weight y"), HasSubstr("--weight: no operand \"y\""));
  EXPECT_THAT(error("matmul --shape a=8x16 --shape b=15x4"), HasSubstr("--op matmul"));
}

TEST(BenchStoredRegion, IsComparedWithItsStoredOutputs) {
  Byoc byoc;
  std::string model = byoc.write("m.ir", kProduct), folder = byoc.file("regions");
  ASSERT_EQ(byoc("dump " + model + " --compiler onednn -o " + folder).code, 0);
  std::string region = folder + "/onednn_main_0";
  Ran ran = byoc("bench " + region + " --no-peaks" + kShort);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("region onednn_main_0\n"));
  EXPECT_THAT(ran.out, HasSubstr(": stored\n"));
  EXPECT_THAT(ran.out, HasSubstr("outputs agree with json's"));
  Json json = byoc.json("bench " + region + " --no-peaks" + kShort);
  EXPECT_EQ(json["configurations"][0]["flops"], 1056);
  ran = byoc("bench " + region + " --no-peaks --compiler json" + kShort);
  EXPECT_EQ(ran.code, 0) << ran.err;
  ran = byoc("bench " + region + " --shape x=1" + kShort);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("a stored region has its inputs and shapes"));
}

// The keys that compare.py of Google Benchmark 1.7 reads (tools/gbench/report.py and util.py).
TEST(BenchJson, HasTheFormOfGoogleBenchmark) {
  Byoc byoc;
  Json json =
      byoc.json("bench " + byoc.write("m.ir", kProduct) + " --compiler onednn --no-peaks" + kShort);
  ASSERT_TRUE(json["context"].is_object());
  const Json& all = json["benchmarks"];
  ASSERT_EQ(all.size(), 4u) << "three turns and a region";
  for (const Json& one : all) {
    EXPECT_EQ(one["run_type"], "iteration");
    EXPECT_EQ(one["time_unit"], "ns");
    EXPECT_GT(one["real_time"].get<double>(), 0);
    EXPECT_GT(one["cpu_time"].get<double>(), 0);
    EXPECT_GE(one["iterations"].get<uint64_t>(), 1u);
  }
  EXPECT_EQ(all[0]["name"], "model/threads:1");
  EXPECT_EQ(all[2]["repetition_index"], 2);
  EXPECT_EQ(all[3]["name"], "model/threads:1/step:0/onednn_main_0");
}

TEST(BenchLoad, OfABusyMachineIsNamedWithTheTimes) {
  Byoc byoc;
  const std::string line = "bench " + byoc.write("m.ir", kTwoOps) + " --compiler json" + kShort;
  BusyNeighbours neighbours;
  Ran ran = byoc(line + " --no-peaks");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("the machine is busy: other work used "));
  EXPECT_THAT(ran.out, HasSubstr("not reliable; measure again on a quiet machine"));
  Json json = byoc.json(line + " --no-peaks");
  EXPECT_EQ(json["other_load"]["busy"], true) << json["other_load"].dump();
  EXPECT_GT(json["other_load"]["used_by_others"].get<double>(), 0);
}

}  // namespace
}  // namespace byoc::test
