// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/program/joined_places.h"

#include <unordered_set>

#include "byoc/ir/dim.h"
#include "byoc/pass/codegen.h"
#include "core/codegen/program/control_scratch.h"

namespace byoc {
namespace {

constexpr int64_t kTensorAlign = 64;  // of tensors in the arena

class Joiner {
 public:
  Joiner(const Function& function, const std::vector<uint32_t>& first, const ValueDevices& devices)
      : function_(function),
        devices_(devices),
        first_(first),
        reads_(first.back()),
        is_result_(first.back()),
        places_(first.back()) {}
  Result<std::vector<JoinedPlace>> run();

 private:
  uint32_t number(ValueId value) const { return first_[value.node] + value.output; }
  void count_reads();
  bool is_part(ValueId value) const;
  Result<std::vector<int64_t>> sizes_of(const Node& node) const;
  Status join(uint32_t node);

  const Function& function_;
  const ValueDevices& devices_;
  const std::vector<uint32_t>& first_;
  std::vector<uint32_t> reads_;  // per value: by nodes
  std::vector<bool> is_result_;
  std::vector<JoinedPlace> places_;
};

void Joiner::count_reads() {
  for (const Node& node : function_.nodes) {
    for (ValueId arg : function_.args(node)) ++reads_[number(arg)];
  }
  for (ValueId result : function_.results) is_result_[number(result)] = true;
}

bool Joiner::is_part(ValueId value) const {
  return std::holds_alternative<Extern>(function_.nodes[value.node].kind) &&
         devices_.of(function_, value) == ValueDevices::kHost && reads_[number(value)] == 1 &&
         !is_result_[number(value)];
}

// Returns the bytes of the operands; none when one of them cannot be a part of the result.
Result<std::vector<int64_t>> Joiner::sizes_of(const Node& node) const {
  std::vector<int64_t> sizes;
  for (ValueId arg : function_.args(node)) {
    if (!is_part(arg) || !is_static(at_bounds(function_.type(arg)->shape)) ||
        has_open(function_.type(arg)->shape) ||
        (!sizes.empty() && sizes.back() % kTensorAlign != 0))
      return std::vector<int64_t>();
    BYOC_TRY(int64_t bytes, size_bytes(*function_.type(arg)));
    sizes.push_back(bytes);
  }
  return sizes;
}

Status Joiner::join(uint32_t node) {
  const Node& extern_node = function_.nodes[node];
  const uint32_t result = number({node, 0});
  if (extern_node.types.size() != 1 || is_result_[result]) return {};
  BYOC_TRY(std::vector<int64_t> sizes, sizes_of(extern_node));
  if (sizes.empty()) return {};
  JoinedPlace place = places_[result];
  if (!place.is_part) {
    BYOC_TRY(uint64_t bytes, arena_bytes(*extern_node.types[0]));
    place = {true, result, 0, bytes};
  }
  const std::span<const ValueId> args = function_.args(extern_node);
  for (size_t k = 0; k < sizes.size(); ++k) {
    places_[number(args[k])] = place;
    place.offset += static_cast<uint64_t>(sizes[k]);
  }
  return {};
}

// Visits nodes from the last to the first, so that the place of a concat that is an operand of
// another one is known before it is visited.
Result<std::vector<JoinedPlace>> Joiner::run() {
  const Strings names = function_.attrs.strings(kJoinsAttr);
  const std::unordered_set<std::string> joins(names.begin(), names.end());
  if (joins.empty()) return std::move(places_);
  count_reads();
  for (uint32_t node = static_cast<uint32_t>(function_.nodes.size()); node-- > 0;) {
    auto* external = std::get_if<Extern>(&function_.nodes[node].kind);
    if (external == nullptr || devices_.runs_on_device(function_.nodes[node])) continue;
    if (joins.contains(external->symbol.str())) BYOC_TRY_STATUS(join(node));
  }
  return std::move(places_);
}

}  // namespace

Result<std::vector<JoinedPlace>> joined_places(const Function& function,
                                               const std::vector<uint32_t>& first,
                                               const ValueDevices& devices) {
  return Joiner(function, first, devices).run();
}

}  // namespace byoc
