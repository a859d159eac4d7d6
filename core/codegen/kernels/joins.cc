// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/joins.h"

#include <algorithm>

#include "byoc/op/op.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

constexpr int64_t kAlign = 64;  // of places in the arena

// Returns true for a concat of static types along the first axis whose extent is not 1.
bool is_outer_concat(const Function& function, const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  if (call == nullptr || call->op->facts.family != OpFamily::kConcat || node.types.size() != 1)
    return false;
  const Shape& shape = node.types[0]->shape;
  if (!is_static(shape)) return false;
  int64_t axis = call->attrs->i("axis");
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < axis; ++d) {
    if (shape[static_cast<size_t>(d)].extent() != 1) return false;
  }
  return std::ranges::all_of(function.args(node),
                             [&](ValueId arg) { return size_bytes(*function.type(arg)).ok(); });
}

bool is_view(const Function& function, const Node& node) {
  auto* call = std::get_if<Call>(&node.kind);
  return call != nullptr && call->op->facts.is_view && node.types.size() == 1 &&
         function.args(node).size() == 1 && function.args(node)[0] == ValueId{0, 0} &&
         is_static(node.types[0]->shape) && is_static(function.type({0, 0})->shape);
}

bool is_computed(const Node& node) {
  return std::holds_alternative<Call>(node.kind) || std::holds_alternative<Invoke>(node.kind) ||
         std::holds_alternative<Extern>(node.kind);
}

// The readers of each value; annotations are no readers.
class Readers {
 public:
  explicit Readers(const Function& function) : function_(function), first_(1, 0) {
    for (const Node& node : function.nodes)
      first_.push_back(first_.back() + static_cast<uint32_t>(node.types.size()));
    reads_.assign(first_.back(), 0);
    for (const Node& node : function.nodes) {
      if (!is_annotation(node)) count(function.args(node), 1);
    }
    count(function.results, kMany);
  }
  bool has_one(ValueId value) const { return reads_[first_[value.node] + value.output] == 1; }
  bool is_result(ValueId value) const { return reads_[first_[value.node] + value.output] >= kMany; }

 private:
  static constexpr uint64_t kMany = uint64_t{1} << 32;
  void count(std::span<const ValueId> values, uint64_t times) {
    for (ValueId value : values) {
      const ValueId from = through_annotations(function_, value);
      reads_[first_[from.node] + from.output] += times;
    }
  }

  const Function& function_;
  std::vector<uint32_t> first_;
  std::vector<uint64_t> reads_;
};

}  // namespace

std::vector<bool> find_joins(const Function& function) {
  std::vector<bool> out(function.nodes.size());
  auto is_concat = [&](const Node& node) { return is_outer_concat(function, node); };
  if (std::ranges::none_of(function.nodes, is_concat)) return out;
  const Readers readers(function);
  for (uint32_t k = 0; k < function.nodes.size(); ++k) {
    const Node& node = function.nodes[k];
    if (!is_concat(node) || readers.is_result({k, 0})) continue;
    const std::span<const ValueId> args = function.args(node);
    out[k] = args.size() > 1;
    for (size_t a = 0; a < args.size() && out[k]; ++a) {
      const ValueId from = through_annotations(function, args[a]);
      const bool is_last = a + 1 == args.size();
      out[k] = readers.has_one(from) && is_computed(function.nodes[from.node]) &&
               (is_last || *size_bytes(*function.type(from)) % kAlign == 0);
    }
  }
  return out;
}

bool is_join(const Function& function) {
  const size_t params = function.num_params();
  if (function.nodes.size() != params + 1 || params < 1) return false;
  if (function.results != std::vector<ValueId>{{static_cast<uint32_t>(params), 0}}) return false;
  if (params == 1) return is_view(function, function.nodes[params]);
  if (!is_outer_concat(function, function.nodes[params])) return false;
  const std::span<const ValueId> args = function.args(function.nodes[params]);
  for (uint32_t k = 0; k < args.size(); ++k) {
    if (args[k] != ValueId{k, 0}) return false;
  }
  return args.size() == params;
}

}  // namespace byoc
