// SPDX-License-Identifier: Apache-2.0
#include "core/partition/partition_metrics.h"

#include <algorithm>

#include "byoc/base/check.h"

namespace byoc {
namespace {

bool is_compiled(const IRModule& module, const Node& node) {
  if (std::holds_alternative<Extern>(node.kind) || std::holds_alternative<Control>(node.kind))
    return true;
  auto* invoke = std::get_if<Invoke>(&node.kind);
  const Function* callee = invoke ? module.find(invoke->function) : nullptr;
  return callee != nullptr && callee->attrs.has("compiler");
}

// Places that are not regions; parameters and constants are in kNoPlace.
constexpr uint32_t kRest = UINT32_MAX, kNoPlace = UINT32_MAX - 1;

}  // namespace

PartitionMetrics& PartitionMetrics::operator+=(const PartitionMetrics& other) {
  regions += other.regions;
  tensors += other.tensors;
  bytes += other.bytes;
  return *this;
}

PartitionMetrics measure_partition(const IRModule& module, const Function& function,
                                   const Annotations& annotations) {
  PartitionMetrics count;
  BYOC_CHECK(annotations.region_of.empty() || annotations.region_of.size() == function.nodes.size(),
             annotations.region_of.size(), " of ", function.nodes.size(), " nodes have a region");
  std::vector<uint32_t> place(function.nodes.size(), kRest);
  auto next = static_cast<uint32_t>(annotations.regions.size());
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    const Node& n = function.nodes[node];
    uint32_t region = annotations.region_of.empty() ? kOutside : annotations.region_of[node];
    if (std::holds_alternative<Param>(n.kind) || std::holds_alternative<Constant>(n.kind))
      place[node] = kNoPlace;
    else if (region != kOutside) place[node] = region;
    else if (is_compiled(module, n)) place[node] = next++;
  }
  count.regions = next;
  std::vector<ValueId> crossing;
  for (uint32_t node = 0; node < function.nodes.size(); ++node) {
    if (is_annotation(function.nodes[node])) continue;
    for (ValueId arg : function.args(function.nodes[node])) {
      ValueId value = through_annotations(function, arg);
      if (place[value.node] != kNoPlace && place[value.node] != place[node])
        crossing.push_back(value);
    }
  }
  std::sort(crossing.begin(), crossing.end());
  crossing.erase(std::unique(crossing.begin(), crossing.end()), crossing.end());
  count.tensors = crossing.size();
  for (ValueId value : crossing) {
    Result<int64_t> bytes = size_bytes(*function.type(value));
    if (bytes.ok()) count.bytes += static_cast<uint64_t>(*bytes);
  }
  return count;
}

Result<PartitionMetrics> measure_partition(const IRModule& module) {
  PartitionMetrics count;
  for (const auto& [name, function] : module.functions) {
    bool is_cut = function.attrs.has("compiler") && name != module.entry;
    if (is_cut || function.attrs.has("composite")) continue;
    BYOC_TRY(Annotations annotations, read_annotations(function, name));
    count += measure_partition(module, function, annotations);
  }
  return count;
}

}  // namespace byoc
