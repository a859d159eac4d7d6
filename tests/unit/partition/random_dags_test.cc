// SPDX-License-Identifier: Apache-2.0
// 10,000 random DAGs with three plugins. After merge_compiler_regions the quotient by the
// region numbers in the module is acyclic, by Kahn's algorithm. After partition_graph
// each op is in exactly one function.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "byoc/pass/partition.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

const TensorType kType{DType::kF32, {2}};

// Returns a module of ops with distinct locs. Each op either belongs to one of three plugins and
// has its own open region, or is outside of all regions.
IRModule random_module(std::mt19937& random) {
  const OpDef *add = all_ops().find("add"), *begin = all_ops().find("compiler_begin"),
              *end = all_ops().find("compiler_end");
  const Attrs* none = intern(*complete_attrs(*add, {}));
  Function f;
  std::vector<ValueId> values = {{f.add_param("p", kType), 0}, {f.add_param("q", kType), 0}};
  uint32_t n = 2 + random() % 40, sticky = 1 + random() % 5;
  int plugin = 0;
  std::set<uint32_t> unread;  // nodes
  for (uint32_t k = 0; k < n; ++k) {
    if (random() % sticky == 0) plugin = static_cast<int>(random() % 4);
    auto pick = [&] {
      size_t reach = random() % 4 == 0 ? values.size() : std::min<size_t>(values.size(), 5);
      return values[values.size() - 1 - random() % reach];
    };
    std::vector<ValueId> args = {pick(), pick()};
    for (ValueId arg : args) unread.erase(arg.node);
    const Attrs* attrs =
        plugin == 3 ? nullptr
                    : intern(*complete_attrs(*begin, {{"compiler", std::string(1, "abc"[plugin])},
                                                      {"region", int64_t{k}},
                                                      {"open", true}}));
    for (ValueId& arg : args) {
      if (attrs) arg = {f.add_call(begin, attrs, std::span(&arg, 1), TypeId(kType)), 0};
    }
    ValueId out{f.add_call(add, none, args, TypeId(kType), cat("op", k)), 0};
    if (attrs) out = {f.add_call(end, attrs, std::span(&out, 1), TypeId(kType)), 0};
    values.push_back(out);
    unread.insert(out.node);
  }
  f.results = {values.back(), values[values.size() / 2]};
  for (uint32_t node : unread) {  // a region that nothing reads is dropped
    if (node != values.back().node) f.results.push_back({node, 0});
  }
  IRModule module;
  module.functions["main"] = std::move(f);
  return module;
}

// Maps each begin, end and op of `main` to its place in the quotient: its region. An op outside of
// all regions is a place of its own.
std::map<uint32_t, std::string> places_in_quotient(const Function& f) {
  std::map<uint32_t, std::string> item;
  auto name_of = [](const Node& node) { return std::get<Call>(node.kind).op->name; };
  for (uint32_t node = 0; node < f.nodes.size(); ++node) {
    const Node& n = f.nodes[node];
    if (std::holds_alternative<Param>(n.kind)) continue;
    if (name_of(n) == "compiler_begin")
      item[node] = cat("r", std::get<Call>(n.kind).attrs->i("region"));
    else if (name_of(n) == "compiler_end") item[node] = item.at(f.args(n)[0].node);
    else {
      item[node] = cat("n", node);
      for (ValueId arg : f.args(n)) {
        const Node& from = f.nodes[arg.node];
        bool is_op = !std::holds_alternative<Param>(from.kind) && name_of(from) != "compiler_end";
        if (is_op && item.at(arg.node)[0] == 'r') item[node] = item.at(arg.node);
      }
    }
  }
  return item;
}

// Returns whether a topological order reaches all nodes; `waiting` counts the predecessors of each.
bool is_acyclic(std::map<std::string, std::set<std::string>> out,
                std::map<std::string, int> waiting) {
  std::vector<std::string> ready;
  for (auto& [name, count] : waiting) {
    if (count == 0) ready.push_back(name);
  }
  size_t done = 0;
  while (!ready.empty()) {
    std::string name = ready.back();
    ready.pop_back();
    ++done;
    for (const std::string& next : out[name]) {
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  return done == waiting.size();
}

bool quotient_is_acyclic(const Function& f) {
  std::map<uint32_t, std::string> item = places_in_quotient(f);
  std::map<std::string, std::set<std::string>> out;
  std::map<std::string, int> waiting;
  for (auto& [node, name] : item) waiting[name];
  for (auto& [node, name] : item) {
    for (ValueId arg : f.args(f.nodes[node])) {
      if (item.contains(arg.node) && item[arg.node] != name &&
          out[item[arg.node]].insert(name).second)
        ++waiting[name];
    }
  }
  return is_acyclic(std::move(out), std::move(waiting));
}

std::multiset<std::string> locs_of(const IRModule& module) {
  std::multiset<std::string> out;
  for (const auto& [name, f] : module.functions) {
    for (const Node& node : f.nodes) {
      auto* call = std::get_if<Call>(&node.kind);
      if (call && !call->op->is_annotation) out.insert(node.loc.str());
    }
  }
  return out;
}

TEST(TenThousandRandomDags, QuotientsAreAcyclicAndEachOpStandsInOneFunction) {
  std::mt19937 random(7);
  PassContext context;
  for (int round = 0; round < 10000; ++round) {
    IRModule module = random_module(random);
    std::multiset<std::string> before = locs_of(module);
    Result<IRModule> merged = merge_compiler_regions(module, context);
    ASSERT_TRUE(merged.ok()) << merged.status().to_string() << print(module);
    ASSERT_TRUE(quotient_is_acyclic(merged->function("main"))) << print(*merged);
    Result<IRModule> cut = partition_graph(*merged, context);
    ASSERT_TRUE(cut.ok()) << cut.status().to_string() << print(*merged);
    ASSERT_EQ(locs_of(*cut), before) << print(*cut);
    if (round % 100 == 0) {
      ASSERT_TRUE(verify(*cut).ok()) << verify(*cut).to_string() << print(*cut);
    }
  }
}

}  // namespace
}  // namespace byoc
