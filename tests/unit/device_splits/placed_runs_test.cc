// SPDX-License-Identifier: Apache-2.0
// A device whose link is slow: large ops move to it, small ones stay at home, and a run takes the
// predicted time.
#include <gmock/gmock.h>

#include "byoc/base/clock.h"
#include "core/placement/place.h"
#include "core/tools/place/links.h"
#include "split.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

using namespace placement;

// The waits of the device. A busy machine adds little to waits of this length.
constexpr uint64_t kKernel_us = 20'000, kCopy_us = 18'000, kCopyPerMib_us = 8000;

std::map<std::string, std::string> slow_link(const std::string& wraps) {
  return {{"wraps", cat(BYOC_PLUGIN_DIR, "/libbyoc_", wraps, ".so")},
          {"kernel_us", cat(kKernel_us)},
          {"copy_us", cat(kCopy_us)},
          {"copy_us_per_mib", cat(kCopyPerMib_us)}};
}

TEST(PlacedRuns, TheLinkIsMeasured) {
  const auto plugins = sim_plugins(slow_link("json"));
  const std::vector<Link> links =
      driver::measure_links({*plugins->get("sim"), *plugins->get("json")});
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].plugin, "sim");
  EXPECT_TRUE(links[0].is_measured);
  // At least the waits; a busy machine adds to them.
  for (const Link::Direction& direction : {links[0].in, links[0].out}) {
    EXPECT_GE(direction.ns(0), kCopy_us * 1e3);
    EXPECT_GE(direction.ns(4 << 20), (kCopy_us + 4 * kCopyPerMib_us) * 1e3);
  }
}

TEST(PlacedRuns, ACalibrationKeepsLinks) {
  Machine machine;
  machine.links = {{"sim", "1.0.0+ab", 2, {100, 3}, {200, 4}, true}};
  const Result<Machine> read = machine_from_json(to_json(machine));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  const Link link = read->link_of("sim", "1.0.0+ab", 2);
  EXPECT_TRUE(link.is_measured);
  EXPECT_EQ(link.in.ns(300), 100 + 300 / 3.0);
  EXPECT_EQ(link.out.ns(400), 200 + 400 / 4.0);
  EXPECT_FALSE(read->link_of("sim", "1.0.0+cd", 2).is_measured) << "another build of the plugin";
  Json damaged = to_json(machine);
  damaged["links"][0]["out"]["gb_per_s"] = 0;
  EXPECT_EQ(machine_from_json(damaged).status().slug(), "calibration");
  damaged.erase("links");
  EXPECT_TRUE(machine_from_json(damaged).ok()) << "earlier files have none";
}

// 20 ms for a kernel, and 44 ms for its copies; the host takes less than 1 ms.
constexpr const char* kLargeAndSmall = R"(
fn main(%x: f32[131072], %s: f32[8]) {
  %0 = relu(%x)
  %1 = tanh(%s)
  %2 = exp(%1)
  return %0, %2
})";

/// Places kLargeAndSmall with a cost of 100 ms for the large op on the host, 1 us for the
/// small ones, and the waits of sim on the device.
FunctionPlacement placed_by_waits(IRModule& module,
                                  const std::shared_ptr<const PluginSet>& plugins) {
  PassContext context = context_of(module, plugins, {"sim"});
  context.machine = nullptr;
  context.defaults = {"json"};
  Costs costs;
  const Link::Direction direction{kCopy_us * 1e3, (1 << 20) / (kCopyPerMib_us * 1e3)};
  costs.machine.links = {
      {"sim", version_and_build(**plugins->get("sim")), 0, direction, direction, true}};
  const std::vector<std::string> ids{"sim"};
  auto candidates = find_candidates(module, module.entry, ids, costs, context);
  EXPECT_TRUE(candidates.ok()) << candidates.status().to_string();
  for (const Candidate& one : candidates->all) {
    const Plugin& plugin = *candidates->plugins[one.plugin];
    const bool is_small = one.root > 2;
    const double here = is_small ? 1e3 : 100e6;
    costs.store.put(costs.key_of(plugin, one.text),
                    {plugin.id() == "sim" ? kKernel_us * 1e3 : here, "", 0, {}, ""});
  }
  auto placed = place_function(module, module.entry, ids, costs, context);
  EXPECT_TRUE(placed.ok()) << placed.status().to_string();
  return *std::move(placed);
}

TEST(PlacedRuns, LargeOpsMoveSmallOnesStayAndTheRunTakesThePredictedTime) {
  sim::Counts counts;
  auto options = slow_link("json");
  options["counts"] = counted(counts)["counts"];
  const auto plugins = sim_plugins(options);
  IRModule module = parse(kLargeAndSmall);
  const FunctionPlacement placed = placed_by_waits(module, plugins);
  std::vector<std::string> chosen;
  for (uint32_t index : placed.chosen)
    if (index != kNone)
      chosen.push_back(placed.candidates.plugins[placed.candidates.all[index].plugin]->id());
  EXPECT_THAT(chosen, testing::ElementsAre("sim", "json", "json"));
  EXPECT_EQ(copies_of(placed, placed.solution.state).size(), 2u);

  const Executable executable = split(
      module, [&](size_t op) { return chosen[op] == "sim"; }, plugins);
  auto session = Session::load(executable, plugins);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const auto context = *(*session)->make_context();
  std::vector<Tensor> tensors;
  for (const NamedTensor& input : (*session)->inputs())
    tensors.push_back(*Tensor::make(input.type));
  for (const NamedTensor& output : (*session)->outputs())
    tensors.push_back(*Tensor::make(output.type));
  std::vector<DLTensor> in{tensors[0].view(), tensors[1].view()};
  std::vector<DLTensor> out{tensors[2].view(), tensors[3].view()};
  const double predicted = to_ns(placed.solution.cost);
  double best = 1e18;  // of the times without what the waits took too long
  for (int run = 0; run < 10; ++run) {
    counts.in_ns = counts.out_ns = counts.kernel_ns = 0;
    const uint64_t begin = now_ns();
    ASSERT_TRUE((*session)->run(*context, in, out).ok());
    const auto work = static_cast<double>(counts.in_ns + counts.out_ns + counts.kernel_ns);
    best = std::min(best, ns_since(begin) - std::max(work - predicted, 0.0));
  }
  RecordProperty("permille_of_the_predicted_time", static_cast<int>(best / predicted * 1000));
  EXPECT_GE(best / predicted, 0.95);
  EXPECT_LE(best / predicted, 1.1) << "on a quiet machine 1.0; the run waits for four threads";
}

}  // namespace
}  // namespace byoc::test
