// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/ways.h"

#include <algorithm>
#include <unordered_map>

#include "byoc/op/op.h"

namespace byoc::llvm_plugin {
namespace {

constexpr size_t kMostMet = 16;  // nodes that are looked at on a way

}  // namespace

Ways::Ways(const Function& function)
    : function_(function), first_reader_(function.nodes.size() + 1) {
  auto each_read = [&](auto&& visit) {
    for (uint32_t node = 0; node < function.nodes.size(); ++node) {
      for (ValueId arg : function.args(function.nodes[node])) visit(arg.node, node);
    }
    for (ValueId result : function.results) visit(result.node, UINT32_MAX);
  };
  each_read([&](uint32_t of, uint32_t) { ++first_reader_[of + 1]; });
  for (size_t k = 1; k < first_reader_.size(); ++k) first_reader_[k] += first_reader_[k - 1];
  readers_.resize(first_reader_.back());
  std::vector<uint32_t> next(first_reader_.begin(), first_reader_.end() - 1);
  each_read([&](uint32_t of, uint32_t by) { readers_[next[of]++] = by; });
}

std::span<const uint32_t> Ways::readers(uint32_t node) const {
  return std::span(readers_).subspan(first_reader_[node],
                                     first_reader_[node + 1] - first_reader_[node]);
}

bool Ways::is_op(uint32_t node, std::string_view name) const {
  return call(node) != nullptr && call(node)->op->name == name &&
         function_.nodes[node].types.size() == 1 && type(node)->dtype == DType::kF32 &&
         !has_counted(type(node)->shape);
}

// Returns true for an op that computes each element of its result from one of each operand.
bool Ways::passes_on(uint32_t node) const {
  if (call(node) == nullptr || function_.nodes[node].types.size() != 1) return false;
  const FusionKind kind = call(node)->op->kind;
  return kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast;
}

// Follows operands back. A value may come from several ops, as a sum of two does, of which one is
// the end.
std::optional<Ways::Way> Ways::way_back(ValueId from, const std::function<bool(uint32_t)>& is_end,
                                        bool may_fork) const {
  const TypeId wanted = function_.type(from);
  Way met;
  auto add = [&](ValueId value) {
    const bool may_pass = (may_fork && !met.empty()) || readers(value.node).size() == 1;
    if (may_pass && function_.type(value) == wanted &&
        std::ranges::find(met, value.node) == met.end())
      met.push_back(value.node);
  };
  add(from);
  std::optional<uint32_t> end;
  for (size_t k = 0; k < met.size() && k < kMostMet; ++k) {
    const uint32_t node = met[k];
    if (!end && is_end(node)) end = node;
    if (node == end || !passes_on(node)) continue;
    for (ValueId arg : operands(node)) add(arg);
  }
  return end ? closed_way(met, *end) : std::nullopt;
}

// Returns those of the nodes that are computed from `end`, the last one first; nullopt when
// something else reads one of them, except the first.
std::optional<Ways::Way> Ways::closed_way(const Way& met, uint32_t end) const {
  Way sorted = met, out;
  std::ranges::sort(sorted);
  std::unordered_map<uint32_t, uint32_t> reads = {{end, 0}};  // of members, by members
  for (uint32_t node : sorted) {
    bool follows = node == end;
    if (node > end) {
      for (ValueId arg : operands(node)) {
        auto from = reads.find(arg.node);
        if (from == reads.end()) continue;
        ++from->second;
        follows = true;
      }
    }
    if (!follows) continue;
    reads.try_emplace(node, 0);
    out.push_back(node);
  }
  std::ranges::reverse(out);
  const bool is_closed = std::ranges::all_of(
      out, [&](uint32_t node) { return node == met[0] || reads.at(node) == readers(node).size(); });
  return is_closed && out.front() == met[0] ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace byoc::llvm_plugin
