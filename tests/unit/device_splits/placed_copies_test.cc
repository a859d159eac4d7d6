// SPDX-License-Identifier: Apache-2.0
// The choice by cost pays for copies: each value once per direction and device.
#include <gmock/gmock.h>

#include <random>

#include "core/placement/choose_base.h"
#include "split.h"

namespace byoc::test {
namespace {

using namespace placement;

/// The time of an op by each plugin, ns.
using CostOf = std::function<double(const std::string& plugin, const std::string& op)>;

struct Placed {
  IRModule module;
  FunctionPlacement placement;
  std::vector<std::string> plugins() const {
    std::vector<std::string> out;
    for (uint32_t index : placement.chosen) {
      if (index == kNone) continue;
      out.push_back(placement.candidates.plugins[placement.candidates.all[index].plugin]->id());
    }
    return out;
  }
  std::vector<CopiedValue> copies() const { return copies_of(placement, placement.solution.state); }
};

/// Places a function on sim and json with measured costs. Copies to sim take 1,000 ns and 1 ns per
/// byte, from it 2,000 ns and 0.5 ns per byte; a border 300 ns.
Placed place(IRModule module, const CostOf& cost_of, PlaceNotes* notes = nullptr) {
  static const auto plugins = sim_plugins();
  Placed out;
  out.module = std::move(module);
  PassContext context = context_of(out.module, plugins, {"sim"});
  context.machine = nullptr;
  context.defaults = {"json"};
  Costs costs;
  const std::string version = version_and_build(**plugins->get("sim"));
  costs.machine.links = {{"sim", version, 0, {1000, 1}, {2000, 2}, true}};
  const std::vector<std::string> ids{"sim"};
  auto first = find_candidates(out.module, out.module.entry, ids, costs, context);
  EXPECT_TRUE(first.ok()) << first.status().to_string();
  for (const Candidate& one : first->all) {
    const Plugin& plugin = *first->plugins[one.plugin];
    const std::string op =
        op_label(out.module, out.module.function(out.module.entry).nodes[one.root]);
    costs.store.put(costs.key_of(plugin, one.text), {cost_of(plugin.id(), op), "", 0, {}, ""});
  }
  auto placed = place_function(out.module, out.module.entry, ids, costs, context);
  EXPECT_TRUE(placed.ok()) << placed.status().to_string();
  out.placement = *std::move(placed);
  if (notes == nullptr) return out;
  const auto again = place_functions(out.module, ids, costs, context, *notes);
  EXPECT_TRUE(again.ok()) << again.status().to_string();
  return out;
}

std::string chain(int ops) {
  std::string out = "fn main(%x: f32[1024]) {\n";
  for (int k = 0; k < ops; ++k)
    out += cat("  %", k, " = tanh(%", k == 0 ? "x" : std::to_string(k - 1), ")\n");
  return cat(out, "  return %", ops - 1, "\n}");
}

double fast_device(const std::string& plugin, const std::string&) {
  return plugin == "sim" ? 100 : 9000;
}

constexpr double kIn = 1000 + 4096, kOut = 2000 + 4096 / 2.0;

TEST(PlacedCopies, AnOpStaysAtHomeWhenItsCopiesCostMoreThanItSaves) {
  const Placed placed = place(parse(chain(1)), fast_device);
  EXPECT_THAT(placed.plugins(), testing::ElementsAre("json"));
  EXPECT_EQ(to_ns(placed.placement.solution.cost), 9000);
  EXPECT_THAT(placed.copies(), testing::IsEmpty());
  const auto others = alternatives(placed.placement, 1);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].total_ns, 100 + kIn + kOut);
  EXPECT_EQ(others[0].border_ns, kIn + kOut);
}

TEST(PlacedCopies, AChainMovesWhenItSavesMoreThanItsCopies) {
  const Placed placed = place(parse(chain(2)), fast_device);  // 9,900 ns on the host, in one loop
  EXPECT_THAT(placed.plugins(), testing::ElementsAre("sim", "sim"));
  EXPECT_EQ(to_ns(placed.placement.solution.cost), 2 * 100 + kIn + kOut);
  const std::vector<CopiedValue> copies = placed.copies();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_TRUE(copies[0].goes_in);
  EXPECT_EQ(copies[0].ns, kIn);
  EXPECT_FALSE(copies[1].goes_in);
  EXPECT_EQ(copies[1].bytes, 4096);
}

TEST(PlacedCopies, TheReportOfAChoiceHasTheOpsThatStayAndTheirCopies) {
  PlaceNotes notes;
  Placed placed = place(parse(chain(1)), fast_device, &notes);
  EXPECT_THAT(notes.certificates,
              testing::Contains(testing::HasSubstr(
                  "1 op stays on the host: sim takes 0.1 us instead of 9 us, and 9.144 us for 2 "
                  "more copies")));
  notes = {};
  placed = place(parse(chain(2)), fast_device, &notes);
  EXPECT_THAT(notes.certificates,
              testing::Contains(testing::HasSubstr("2 copies of 8192 bytes, 9.144 us")));
}

TEST(PlacedCopies, AValueWithManyReadersIsPaidOnce) {
  // exp runs on the host; its result is read by three ops of the device.
  const Placed placed = place(parse(R"(
fn main(%x: f32[1024]) {
  %0 = exp(%x)
  %1 = tanh(%0)
  %2 = relu(%0)
  %3 = sqrt(%0)
  return %1, %2, %3
})"),
                              [](const std::string& plugin, const std::string& op) {
                                if (op == "exp") return plugin == "sim" ? 90'000.0 : 10.0;
                                return plugin == "sim" ? 1000.0 : 20'000.0;
                              });
  EXPECT_EQ(placed.plugins(), (std::vector<std::string>{"json", "sim", "sim", "sim"}));
  const double calls = 3 * 300;  // of the three borders
  EXPECT_EQ(to_ns(placed.placement.solution.cost), 10 + 3 * 1000 + kIn + 3 * kOut + calls);
}

/// The copies of a choice, by the rules of docs/devices.md, counted apart from the solver.
double counted_ns(const Function& function, const std::map<uint32_t, bool>& on_device) {
  auto place = [&](uint32_t node) {
    const auto at = on_device.find(node);
    return at != on_device.end() && at->second;
  };
  double ns = 0;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    bool by_host = false, by_device = false;
    for (uint32_t reader = 0; reader < function.nodes.size(); ++reader) {
      for (ValueId arg : function.args(function.nodes[reader])) {
        if (arg.node == node) (place(reader) ? by_device : by_host) = true;
      }
    }
    for (ValueId result : function.results) by_host |= result.node == node;
    const double bytes = static_cast<double>(*size_bytes(*function.nodes[node].types[0]));
    if (place(node) && by_host) ns += 2000 + bytes / 2;
    if (!place(node) && by_device) ns += 1000 + bytes;
  }
  return ns;
}

/// The cost of a choice, a bit per op: its ops and copies, 300 ns per border, and 0.9 of an op that
/// json computes in the loop of the op before.
double total_ns(const Function& function, const CostOf& costs, uint32_t choice) {
  std::map<uint32_t, bool> on_device;
  const UseCounts uses(function);
  double ns = 0;
  for (uint32_t node = 1; node < function.nodes.size(); ++node) {
    on_device[node] = (choice >> (node - 1) & 1) != 0;
    const std::string op = std::get<Call>(function.nodes[node].kind).op->name;
    ns += costs(on_device[node] ? "sim" : "json", op);
    std::set<uint32_t> makers;
    for (ValueId arg : function.args(function.nodes[node])) {
      if (arg.node != 0) makers.insert(arg.node);
    }
    for (uint32_t maker : makers) {
      if (on_device[maker] != on_device[node]) ns += 300.0 / static_cast<double>(makers.size());
      else if (!on_device[node] && maker == *makers.rbegin() && uses.of_node(maker) == 1)
        ns -= 0.9 * costs("json", op);
    }
  }
  return ns + counted_ns(function, on_device);
}

TEST(PlacedCopies, AreTheLeastOfAllChoicesOnRandomGraphs) {
  std::minstd_rand random(7);
  const char* const ops[] = {"tanh", "relu", "exp", "sqrt"};
  for (int round = 0; round < 60; ++round) {
    const uint32_t n = 3 + random() % 6;
    std::string text = "fn main(%x: f32[512]) {\n";
    auto value = [&](uint32_t before) {
      const uint32_t k = random() % (before + 1);
      return k == 0 ? std::string("%x") : cat("%", k - 1);
    };
    for (uint32_t k = 0; k < n; ++k) {
      if (random() % 3 == 0) text += cat("  %", k, " = add(", value(k), ", ", value(k), ")\n");
      else text += cat("  %", k, " = ", ops[random() % 4], "(", value(k), ")\n");
    }
    text += cat("  return %", n - 1, "\n}");
    SCOPED_TRACE(text);
    const uint32_t seed = random();
    const CostOf costs = [&](const std::string& plugin, const std::string& op) {
      const auto hash = static_cast<uint32_t>(op[0] * 31 + op[1] + (plugin == "sim" ? 977 : 0));
      return static_cast<double>(std::minstd_rand(seed + hash)() % 6000);
    };
    const Placed placed = place(parse(text), costs);
    const Function& function = placed.module.function(placed.module.entry);
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t choice = 0; choice < (1u << n); ++choice)
      least = std::min(least, total_ns(function, costs, choice));
    const Solution without_cuts = solve(placed.placement.problem);
    EXPECT_TRUE(without_cuts.is_optimal());
    EXPECT_NEAR(to_ns(without_cuts.cost), least, 1);
    std::map<uint32_t, bool> chosen;
    double copies = 0;
    for (uint32_t k = 1; k <= n; ++k) chosen[k] = placed.plugins()[k - 1] == "sim";
    for (const CopiedValue& copy : placed.copies()) copies += copy.ns;
    EXPECT_EQ(copies, counted_ns(function, chosen));
  }
}

}  // namespace
}  // namespace byoc::test
