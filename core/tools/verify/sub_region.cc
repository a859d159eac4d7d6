// SPDX-License-Identifier: Apache-2.0
#include "core/tools/verify/sub_region.h"

#include <algorithm>
#include <map>

#include "byoc/ir/visit.h"

namespace byoc::driver {
namespace {

class SubRegionMaker {
 public:
  SubRegionMaker(const Function& whole, std::span<const uint32_t> nodes)
      : whole_(whole), nodes_(nodes) {}

  SubRegion make() {
    sub_region_.function.attrs = whole_.attrs;
    sub_region_.function.attrs.erase("compute");  // chosen again: it may not have this one
    for (uint32_t node : nodes_) find_reads(node);
    for (uint32_t node : nodes_) copy(node);
    uint32_t last = nodes_.back();
    for (uint32_t k = 0; k < whole_.nodes[last].types.size(); ++k) {
      sub_region_.function.results.push_back(copy_of_.at({last, k}));
    }
    return std::move(sub_region_);
  }

 private:
  bool is_inside(uint32_t node) const {
    return std::binary_search(nodes_.begin(), nodes_.end(), node);
  }

  void find_reads(uint32_t node) {
    for (ValueId arg : whole_.args(whole_.nodes[node])) {
      bool known = copy_of_.count(arg) > 0 || is_inside(arg.node);
      if (known || std::holds_alternative<Constant>(whole_.nodes[arg.node].kind)) continue;
      copy_of_[arg] = {
          sub_region_.function.add_param(cat("i", sub_region_.reads.size()), whole_.type(arg)), 0};
      sub_region_.reads.push_back(arg);
    }
  }

  void copy(uint32_t node) {
    std::vector<ValueId> args;
    for (ValueId arg : whole_.args(whole_.nodes[node])) {
      if (!copy_of_.count(arg))
        copy_of_[arg] = {sub_region_.function.add_copy(whole_.nodes[arg.node], {}), 0};
      args.push_back(copy_of_.at(arg));
    }
    uint32_t added = sub_region_.function.add_copy(whole_.nodes[node], args);
    for (uint32_t k = 0; k < whole_.nodes[node].types.size(); ++k) copy_of_[{node, k}] = {added, k};
  }

  const Function& whole_;
  std::span<const uint32_t> nodes_;
  std::map<ValueId, ValueId> copy_of_;
  SubRegion sub_region_;
};

bool has_small_integers(const Node& node) {
  for (size_t k = 0; k < node.types.size(); ++k) {
    const DType dtype = node.types[k]->dtype;
    if (is_int(dtype) && dtype_size(dtype) <= 2) return true;
  }
  return false;
}

}  // namespace

bool is_work(const Node& node) {
  return !std::holds_alternative<Param>(node.kind) && !std::holds_alternative<Constant>(node.kind);
}

SubRegion sub_region(const Function& whole, std::span<const uint32_t> nodes) {
  return SubRegionMaker(whole, nodes).make();
}

std::vector<Piece> pieces_of(const Function& region) {
  const UseCounts uses(region);
  const auto count = static_cast<uint32_t>(region.nodes.size());
  std::vector<uint32_t> end(count, UINT32_MAX);  // of each node: the last node of its piece
  std::vector<bool> is_result(count);
  for (ValueId result : region.results) is_result[result.node] = true;
  for (uint32_t k = count; k-- > 0;) {
    const Node& node = region.nodes[k];
    if (!is_work(node) || uses.of_node(k) == 0) continue;
    if (is_result[k] || uses.of_node(k) > 1 || has_small_integers(node)) end[k] = k;
    for (ValueId arg : region.args(node)) {
      // Its only reader; one with several gets its own number when its turn comes.
      end[arg.node] = end[k];
    }
  }
  std::vector<Piece> out;
  std::map<uint32_t, size_t> piece_of;  // by its last node
  for (uint32_t k = 0; k < count; ++k) {
    if (!is_work(region.nodes[k]) || end[k] == UINT32_MAX) continue;
    auto [found, is_new] = piece_of.emplace(end[k], out.size());
    if (is_new) out.emplace_back();
    out[found->second].nodes.push_back(k);
  }
  std::ranges::sort(out, {}, [](const Piece& piece) { return piece.nodes.back(); });
  return out;
}

}  // namespace byoc::driver
