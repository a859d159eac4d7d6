// SPDX-License-Identifier: Apache-2.0
// Cuts a region where its plugin declined it. A stretch of the ops in their order is convex: a path
// from one op to another of it stays between the two.
//   before: fn a_main_0(%i0) {compiler="a", ...} {    // declined at node 1
//             %0 = softmax(%i0)
//             %1 = relu(%0)
//             return %1
//           }
//   after:  fn a_main_0(%i0) {
//             %0 = compiler_begin(%i0) {compiler="a", region=0}
//             %1 = softmax(%0)
//             %2 = compiler_end(%1) {compiler="a", region=0}
//             %3 = compiler_begin(%2) {compiler="a", region=1}
//             %4 = relu(%3)
//             %5 = compiler_end(%4) {compiler="a", region=1}
//             return %5
//           }
#include "core/codegen/split_region.h"

#include "byoc/base/disjoint_sets.h"
#include "core/region/rewrite_annotations.h"

namespace byoc {
namespace {

bool is_op(const Node& node) {
  return !std::holds_alternative<Param>(node.kind) && !std::holds_alternative<Constant>(node.kind);
}

std::vector<uint32_t> ops_of(const Function& function) {
  std::vector<uint32_t> out;
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    if (is_op(function.nodes[k])) out.push_back(k);
  }
  return out;
}

// Numbers the parts per node: 0 before the cut, 1 from it on; kOutside for no op, and for the first
// op when the cut is before it.
std::vector<uint32_t> sides_of(const Function& function, std::span<const uint32_t> ops,
                               size_t cut) {
  std::vector<uint32_t> out(function.nodes.size(), kOutside);
  for (size_t k = 0; k < ops.size(); ++k) out[ops[k]] = k < cut ? 0 : 1;
  if (cut == 0) out[ops[0]] = kOutside;
  return out;
}

// Joins the ops of a side that values connect, or all of them.
void join(const Function& function, std::span<const uint32_t> ops,
          const std::vector<uint32_t>& side, bool is_horizontal, DisjointSets& sets) {
  uint32_t first[2] = {kOutside, kOutside};
  for (uint32_t op : ops) {
    if (side[op] == kOutside) continue;
    if (is_horizontal && first[side[op]] != kOutside) sets.join(first[side[op]], op);
    first[side[op]] = op;
    for (ValueId arg : function.args(function.nodes[op])) {
      if (side[arg.node] == side[op]) sets.join(arg.node, op);
    }
  }
}

Annotations annotations_of(const Function& function, std::span<const uint32_t> ops,
                           const std::vector<uint32_t>& side, DisjointSets& sets, Symbol plugin) {
  Annotations out;
  out.region_of.assign(function.nodes.size(), kOutside);
  std::vector<uint32_t> number(function.nodes.size(), kOutside);
  for (uint32_t op : ops) {
    if (side[op] == kOutside) continue;
    uint32_t& region = number[sets.find(op)];
    if (region == kOutside) {
      region = static_cast<uint32_t>(out.regions.size());
      out.regions.push_back({static_cast<int64_t>(region), plugin, false});
    }
    out.region_of[op] = region;
  }
  return out;
}

}  // namespace

std::optional<SplitRegion> split_region(const Function& function, int64_t index,
                                        const std::string& plugin, bool is_horizontal,
                                        const OpRegistry& ops) {
  const std::vector<uint32_t> nodes = ops_of(function);
  if (index < 0 || nodes.size() < 2 || static_cast<size_t>(index) >= nodes.size())
    return std::nullopt;
  const auto cut = static_cast<size_t>(index);
  const std::vector<uint32_t> side = sides_of(function, nodes, cut);
  DisjointSets sets(function.nodes.size());
  join(function, nodes, side, is_horizontal, sets);
  Function plain = function;
  plain.attrs = {};
  return SplitRegion{
      rewrite_annotations(plain, annotations_of(function, nodes, side, sets, plugin), ops),
      nodes[cut], cut == 0};
}

}  // namespace byoc
