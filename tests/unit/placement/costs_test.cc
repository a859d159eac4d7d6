// SPDX-License-Identifier: Apache-2.0
// Rules, the analytic model and stored costs.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cmath>
#include <filesystem>

#include "byoc/base/file.h"
#include "core/placement/costs.h"
#include "core/placement/rules.h"
#include "support/faults.h"
#include "support/paths.h"

namespace byoc::placement {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / cat("byoc-costs-", getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Rules rules(std::string_view text) {
  Result<Rules> parsed = Rules::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().to_string();
  return parsed.ok() ? *parsed : Rules();
}

TEST(Rules, ABanKeepsOnePluginAway) {
  const Rules r = rules("relu!=a");
  EXPECT_EQ(r.forbids("a", "relu", "n", "main"), "relu!=a");
  EXPECT_EQ(r.forbids("b", "relu", "n", "main"), "");
  EXPECT_EQ(r.forbids("a", "tanh", "n", "main"), "");
}

TEST(Rules, APinKeepsAllOthersAway) {
  const Rules r = rules("relu=a");
  EXPECT_EQ(r.forbids("a", "relu", "n", "main"), "");
  EXPECT_EQ(r.forbids("b", "relu", "n", "main"), "relu=a");
}

TEST(Rules, TheMostSpecialPinCountsAndThenTheLast) {
  const Rules r = rules("*=a,@main=b,relu=c,#Relu_1=d,relu=e");
  EXPECT_EQ(r.forbids("d", "relu", "Relu_1", "main"), "");
  EXPECT_EQ(r.forbids("e", "relu", "Relu_2", "main"), "");
  EXPECT_EQ(r.forbids("c", "relu", "Relu_2", "main"), "relu=e");
  EXPECT_EQ(r.forbids("b", "tanh", "Tanh_1", "main"), "");
  EXPECT_EQ(r.forbids("a", "tanh", "Tanh_1", "other"), "");
}

TEST(Rules, NamesMayBeQuotedAndHaveEqualsSigns) {
  EXPECT_EQ(rules("#\"a,b\"=x").all()[0].name, "a,b");
  EXPECT_EQ(rules("#a=b=x").all()[0].name, "a=b");
  EXPECT_EQ(rules("relu!=a\ntanh=b, ").all().size(), 2u);
}

TEST(Rules, FaultsNameTheRule) {
  for (const char* text : {"relu", "=a", "relu=", "#=a", "@!=a"}) {
    Result<Rules> parsed = Rules::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().slug(), "placement-rule");
    EXPECT_NE(parsed.status().message().find(text), std::string::npos);
  }
}

Machine round_machine() {
  Machine machine;
  machine.gflop_per_s = 100, machine.cache_bytes = 1000;
  machine.cache_gb_per_s = 10, machine.memory_gb_per_s = 2;
  machine.call_ns = 50;
  return machine;
}

TEST(Machine, RooflineIsTheLargerOfArithmeticAndMemory) {
  const Machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.roofline_ns({10'000, 500, OpClass::kMatmul}), 100);  // 10,000 / 100
  EXPECT_DOUBLE_EQ(m.roofline_ns({100, 500, OpClass::kMatmul}), 50);      // 500 / 10
  EXPECT_DOUBLE_EQ(m.roofline_ns({100, 4000, OpClass::kMatmul}), 2000);   // 4000 / 2
  EXPECT_DOUBLE_EQ(m.roofline_ns({100, 4000, OpClass::kFree}), 0);
}

// A plugin that runs none of the ops has a sample of 0 ns, so that it is not tried again.
TEST(Machine, ASampleWithoutATimeIsKnownAndPredictsNothing) {
  Machine m;
  m.samples = {{"a", "1", {}, 0}};
  EXPECT_TRUE(m.has_samples("a", "1"));
  EXPECT_FALSE(m.has_samples("a", "2"));
  EXPECT_FALSE(m.has_samples("b", "1"));
  const Work work{10'000, 1, OpClass::kMatmul};
  EXPECT_EQ(m.predicted_ns("a", work), m.roofline_ns(work));
}

TEST(Machine, SamplesGiveTheFactorOfTheirClass) {
  Machine m = round_machine();
  // Rooflines 100 and 10,000 ns; factors 4 and 2 without the call.
  m.samples.push_back({"a", "1", {10'000, 1, OpClass::kMatmul}, 450});
  m.samples.push_back({"a", "1", {1'000'000, 1, OpClass::kMatmul}, 20'050});
  EXPECT_NEAR(m.predicted_ns("a", {10'000, 1, OpClass::kMatmul}), 400, 1e-9);
  EXPECT_NEAR(m.predicted_ns("a", {1'000'000, 1, OpClass::kMatmul}), 20'000, 1e-9);
  EXPECT_NEAR(m.predicted_ns("a", {1000, 1, OpClass::kMatmul}), 40, 1e-9);  // as the smallest
  // In the middle of the logarithms the factor is the geometric mean, the square root of 8.
  EXPECT_NEAR(m.predicted_ns("a", {100'000, 1, OpClass::kMatmul}), 1000 * std::sqrt(8.0), 1e-6);
  // Without samples: twice the slowest of the others.
  EXPECT_NEAR(m.predicted_ns("b", {10'000, 1, OpClass::kMatmul}), 800, 1e-9);
  // Another class: the mean of all factors.
  EXPECT_NEAR(m.predicted_ns("a", {10'000, 1, OpClass::kPooling}), 100 * std::sqrt(8.0), 1e-6);
}

TEST(Machine, IsTheSameAfterJson) {
  Machine m = round_machine();
  m.name = "x";
  m.samples.push_back({"a", "1", {10'000, 1, OpClass::kReduction}, 450});
  Result<Machine> read = machine_from_json(to_json(m));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(to_json(*read), to_json(m));
}

TEST(Machine, FaultsOfAFileNameTheMember) {
  Json json = to_json(round_machine());
  json["call_ns"] = "much";
  EXPECT_NE(machine_from_json(json).status().message().find("call_ns"), std::string::npos);
  json["format"] = "other";
  EXPECT_EQ(machine_from_json(json).status().slug(), "calibration");
  EXPECT_EQ(machine_from_json(Json::array()).status().slug(), "calibration");
}

TEST(Calibration, OfAnotherMachineIsRefused) {
  Folder folder;
  Machine m = round_machine();
  m.name = "another processor";
  ASSERT_TRUE(write_calibration(m, folder.path()).ok());
  Result<Machine> read = read_calibration(folder.path(), 1);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().slug(), "calibration");
  EXPECT_NE(read.status().message().find("another processor"), std::string::npos);
  const Costs costs = Costs::read(folder.path(), 1);
  EXPECT_EQ(costs.machine.name, "assumed");
  EXPECT_EQ(costs.remarks.size(), 1u);
}

TEST(Calibration, OfThisMachineIsRead) {
  Folder folder;
  Machine m = round_machine();
  m.name = machine_name();
  ASSERT_TRUE(write_calibration(m, folder.path()).ok());
  Result<Machine> read = read_calibration(folder.path(), 1);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->gflop_per_s, 100);
  EXPECT_EQ(read_calibration(folder.path(), 2)->name, "assumed");  // other threads: another file
}

// Kernels change while the version of a plugin stays.
TEST(StoredCosts, AreOfOneFileOfAPlugin) {
  Folder folder;
  auto plugin_of = [&](const std::string& name, const std::string& more) {
    Result<std::string> bytes = read_file(cat(BYOC_PLUGIN_DIR, "/libbyoc_json.so"));
    EXPECT_TRUE(bytes.ok() && write_file(folder.file(name), *bytes + more).ok());
    PluginSearch search;
    search.files = {folder.file(name)};
    return PluginSet::load(search);
  };
  const auto old = plugin_of("old.so", ""), same = plugin_of("same.so", ""),
             changed = plugin_of("changed.so", "another build");
  ASSERT_TRUE(old->find("json") && same->find("json") && changed->find("json"));
  const Plugin &a = *old->find("json"), &b = *changed->find("json");
  Costs costs;
  costs.store.put(costs.key_of(a, "relu"), {12.5, ""});
  EXPECT_TRUE(costs.store.find(costs.key_of(*same->find("json"), "relu")).has_value());
  EXPECT_FALSE(costs.store.find(costs.key_of(b, "relu")).has_value());
  EXPECT_EQ(version_and_build(a).find(a.version() + "+"), 0u) << version_and_build(a);
}

TEST(StoredCosts, AreOfOneSetOfOptionsOfAPlugin) {
  auto crasher_with = [&](const std::string& signal) {
    PluginSearch search;
    search.files = {test::fault_path("crasher")};
    if (!signal.empty()) search.options["crasher"]["signal"] = signal;
    return PluginSet::load(search);
  };
  const auto without = crasher_with(""), with = crasher_with("BUS"), again = crasher_with("BUS");
  Costs costs;
  costs.store.put(costs.key_of(*with->find("crasher"), "relu"), {0, "crashed"});
  EXPECT_TRUE(costs.store.find(costs.key_of(*again->find("crasher"), "relu")).has_value());
  EXPECT_FALSE(costs.store.find(costs.key_of(*without->find("crasher"), "relu")).has_value());
}

}  // namespace
}  // namespace byoc::placement
