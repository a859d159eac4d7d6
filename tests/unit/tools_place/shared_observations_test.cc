// SPDX-License-Identifier: Apache-2.0
// `byoc tune`, `place` and `bench` read each other's observations: what one of them has measured,
// the others do not measure again. They print how many these are.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "byoc/base/file.h"
#include "byoc/tune/record.h"
#include "unit/driver/command.h"

namespace byoc::test {
namespace {

using testing::HasSubstr;

/// One op, for which the llvm plugin has choices.
constexpr const char* kProduct = R"(fn main(%a: f32[48,64], %b: f32[64,96]) {
  %0 = matmul(%a, %b) loc("product")
  return %0
})";

class SharedObservations : public ::testing::Test {
 protected:
  SharedObservations() : model_(byoc_.write("m.ir", kProduct) + " --compiler llvm ") {
    setenv("XDG_CACHE_HOME", byoc_.file("cache").c_str(), 1);
  }
  ~SharedObservations() override { unsetenv("XDG_CACHE_HOME"); }

  Json tune(int trials, const std::string& more = "") {
    return byoc_.json("tune " + model_ + "--jobs 1 --trials " + std::to_string(trials) + " --log " +
                      byoc_.file("log.jsonl") + more);
  }
  Json place(const std::string& more = "") { return byoc_.json("place " + model_ + kPlace + more); }
  Json bench(const std::string& more = "") { return byoc_.json("bench " + model_ + kBench + more); }
  static constexpr const char* kPlace = "--improve 0 --rounds 1 --min-time 0.01";
  static constexpr const char* kOtherTarget = " --target x86-64-v2";
  static constexpr const char* kBench = "--min-time 0.05 --warmup 0.01 --no-peaks";
  size_t records() {
    size_t out = 0;
    EXPECT_TRUE(tune::read_log(byoc_.file("log.jsonl"), [&](const tune::Record&) { ++out; }).ok());
    return out;
  }

  Byoc byoc_;
  std::string model_;
};

TEST_F(SharedObservations, PlaceMeasuresNothingThatTuneHas) {
  const Json tuned = tune(2);
  ASSERT_EQ(tuned["ok"], true) << tuned.dump();
  EXPECT_EQ(tuned["observations"]["known"], 0);
  EXPECT_EQ(tuned["observations"]["measured"], 2);
  const Json placed = place();
  ASSERT_EQ(placed["ok"], true) << placed.dump();
  EXPECT_EQ(placed["candidates"], 1);
  EXPECT_EQ(placed["measured"], 0) << placed.dump();
  EXPECT_EQ(placed["observations"]["known"], 1);
  EXPECT_EQ(placed["observations"]["known_by"]["tune"], 1);
  EXPECT_EQ(placed["observations"]["usable"], 2);
}

TEST_F(SharedObservations, TuneMeasuresNothingThatPlaceHas) {
  const Json placed = place();
  ASSERT_EQ(placed["ok"], true) << placed.dump();
  EXPECT_EQ(placed["measured"], 1);
  const Json tuned = tune(1);
  ASSERT_EQ(tuned["ok"], true) << tuned.dump();
  EXPECT_EQ(tuned["measured"], 0) << tuned.dump();
  EXPECT_EQ(tuned["observations"]["known"], 1);
  EXPECT_EQ(tuned["observations"]["known_by"]["place"], 1);
  EXPECT_GT(tuned["tasks"][0]["untuned_ns"], 0);
  EXPECT_EQ(records(), 1u) << "the log has the known points, too";
}

TEST_F(SharedObservations, BenchReadsAndAddsThem) {
  const Json first = bench();
  ASSERT_EQ(first["ok"], true) << first.dump();
  EXPECT_EQ(first["observations"]["known"], 0);
  EXPECT_EQ(first["observations"]["measured"], 1);
  EXPECT_EQ(place()["observations"]["known_by"]["bench"], 1);
  EXPECT_EQ(tune(1)["observations"]["known"], 1);
  EXPECT_EQ(bench()["observations"]["known"], 1);
}

TEST_F(SharedObservations, AreThoseOfTheSameTargetAndSums) {
  ASSERT_EQ(place()["measured"], 1);
  for (const std::string more : {" --exact-sums", kOtherTarget}) {
    const Json placed = place(more);
    ASSERT_EQ(placed["ok"], true) << placed.dump();
    EXPECT_EQ(placed["measured"], 1) << more << placed.dump();
    EXPECT_EQ(tune(1, more)["observations"]["known_by"]["place"], 1) << more;
    EXPECT_EQ(bench(more)["observations"]["known_by"]["place"], 1) << more;
    EXPECT_EQ(place(more)["measured"], 0) << more;
    std::filesystem::remove(byoc_.file("log.jsonl"));
  }
  EXPECT_EQ(bench()["observations"]["usable"], 2) << "the candidate, and the task of the tuner";
}

// All three measure the same kernel at the same point, each in its own way. Other work may slow any
// of them down for long, so each has its least time of several.
TEST_F(SharedObservations, HaveTheSameTimeOfTheSameKernel) {
  const auto ns = [&](const std::string& command) {
    std::filesystem::remove_all(byoc_.file("cache"));
    std::filesystem::remove(byoc_.file("log.jsonl"));
    EXPECT_EQ(byoc_(command).code, 0) << command;
    const std::string text = get(byoc_.file("cache") + "/byoc/placement/observations-1.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      const auto line = parse_json(text.substr(begin, text.find('\n', begin) - begin));
      if (line.ok() && line->contains("point")) return (*line)["ns"].get<double>();
    }
    ADD_FAILURE() << command << ": " << text;
    return 0.0;
  };
  const std::string commands[] = {"tune " + model_ + "--trials 1 --log " + byoc_.file("log.jsonl"),
                                  "place " + model_ + kPlace, "bench " + model_ + kBench};
  double least[] = {INFINITY, INFINITY, INFINITY}, most = 0;
  for (int round = 0; round < 5 && !HasFailure(); ++round) {
    for (size_t k = 0; k < 3; ++k) least[k] = std::min(least[k], ns(commands[k]));
    most = *std::ranges::max_element(least) / *std::ranges::min_element(least);
    if (most < 1.5) break;
  }
  EXPECT_LT(most, 1.5) << least[0] << ", " << least[1] << " and " << least[2] << " ns";
}

TEST_F(SharedObservations, AreNotUsedWithNoneOrForAnotherBuild) {
  ASSERT_EQ(place()["measured"], 1);
  EXPECT_EQ(tune(1, " --observations none")["measured"], 1);
  const std::string file = byoc_.file("cache") + "/byoc/placement/observations-1.jsonl";
  std::string text = get(file);
  const std::string version = "\"version\":\"";
  for (size_t at = 0; (at = text.find(version, at)) != text.npos; at += version.size())
    text.insert(at + version.size(), "older-");
  put(file, text);
  const Ran placed = byoc_("place " + model_ + kPlace);
  EXPECT_THAT(placed.out, HasSubstr("observations: 0 usable, 0 known, 1 measured now; unusable: 2 "
                                    "another build of llvm\n"));
}

}  // namespace
}  // namespace byoc::test
