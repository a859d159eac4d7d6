// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/attention.h"

#include <algorithm>

#include "byoc/op/op.h"
#include "core/region/annotations.h"

namespace byoc {
namespace {

constexpr int64_t kLeastScores = 16;  // rows, and columns
constexpr size_t kMostMet = 16;       // nodes that are looked at before each softmax and after it

class Finder {
 public:
  explicit Finder(const Function& function);
  std::vector<Attention> run() const;

 private:
  /// The nodes from a value back to the end of the way.
  using Way = std::vector<uint32_t>;

  const Call* call(uint32_t node) const { return std::get_if<Call>(&function_.nodes[node].kind); }
  ValueId operand(uint32_t node, size_t k) const {
    return through_annotations(function_, function_.args(function_.nodes[node])[k]);
  }
  TypeId type(uint32_t node) const { return function_.nodes[node].types[0]; }
  bool is_op(uint32_t node, std::string_view name) const;
  bool is_product(uint32_t node) const;
  bool is_softmax(uint32_t node) const;
  bool passes_on(uint32_t node) const;
  template <class IsEnd>
  std::optional<Way> way_back(ValueId from, IsEnd is_end) const;
  std::optional<Attention> attention_of(uint32_t values) const;

  const Function& function_;
  std::vector<uint32_t> readers_;  // per node
};

Finder::Finder(const Function& function) : function_(function), readers_(function.nodes.size()) {
  for (const Node& node : function.nodes) {
    if (is_annotation(node)) continue;
    for (ValueId arg : function.args(node)) ++readers_[through_annotations(function, arg).node];
  }
  for (ValueId result : function.results) ++readers_[through_annotations(function, result).node];
}

bool Finder::is_op(uint32_t node, std::string_view name) const {
  return call(node) != nullptr && call(node)->op->name == name &&
         function_.nodes[node].types.size() == 1 && type(node)->dtype == DType::kF32 &&
         is_static(type(node)->shape);
}

bool Finder::is_product(uint32_t node) const {
  if (!is_op(node, "matmul")) return false;
  return std::ranges::all_of(function_.args(function_.nodes[node]), [&](ValueId arg) {
    const Shape& shape = function_.type(arg)->shape;
    return shape.size() >= 2 && is_static(shape);
  });
}

bool Finder::is_softmax(uint32_t node) const {
  if (!is_op(node, "softmax")) return false;
  const auto rank = static_cast<int64_t>(type(node)->shape.size());
  const int64_t axis = call(node)->attrs->i("axis", -1);
  return axis == -1 || axis == rank - 1;
}

// Returns true for an op that computes each element of its result from one of each operand.
bool Finder::passes_on(uint32_t node) const {
  if (call(node) == nullptr || function_.nodes[node].types.size() != 1) return false;
  const FusionKind kind = call(node)->op->kind;
  return kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast;
}

// Follows operands of the same type back from a value that has one reader. Such a value may come
// from several ops, as a sum of two does, of which one is the end.
template <class IsEnd>
std::optional<Finder::Way> Finder::way_back(ValueId from, IsEnd is_end) const {
  struct Met {
    uint32_t node;
    size_t reader;  // in `met`
  };
  const TypeId wanted = function_.type(from);
  std::vector<Met> met;
  auto add = [&](ValueId value, size_t reader) {
    if (function_.type(value) == wanted && readers_[value.node] == 1)
      met.push_back({value.node, reader});
  };
  add(from, SIZE_MAX);
  for (size_t k = 0; k < met.size() && k < kMostMet; ++k) {
    const uint32_t node = met[k].node;
    if (is_end(node)) {
      Way out;
      for (size_t at = k; at != SIZE_MAX; at = met[at].reader) out.push_back(met[at].node);
      std::ranges::reverse(out);
      return out;
    }
    if (!passes_on(node)) continue;
    for (size_t arg = 0; arg < function_.args(function_.nodes[node]).size(); ++arg)
      add(operand(node, arg), k);
  }
  return std::nullopt;
}

std::optional<Attention> Finder::attention_of(uint32_t values) const {
  if (!is_product(values)) return std::nullopt;
  auto to_softmax = way_back(operand(values, 0), [&](uint32_t node) { return is_softmax(node); });
  if (!to_softmax) return std::nullopt;
  auto to_scores =
      way_back(operand(to_softmax->back(), 0), [&](uint32_t node) { return is_product(node); });
  if (!to_scores) return std::nullopt;
  Attention out{to_scores->back(), values, *std::move(to_softmax)};
  const Ints shape = static_extents(type(out.scores)->shape);
  const Ints result = static_extents(type(values)->shape);
  const bool has_rows_of_scores =
      shape.size() == result.size() &&
      std::equal(shape.begin(), shape.end() - 1, result.begin(), result.end() - 1);
  const bool is_large =
      has_rows_of_scores && shape[shape.size() - 2] >= kLeastScores && shape.back() >= kLeastScores;
  const Shape& queries = function_.type(operand(out.scores, 0))->shape;
  if (!is_large || result.back() == 0 || queries.back().extent() == 0) return std::nullopt;
  out.between.insert(out.between.end(), to_scores->begin(), to_scores->end() - 1);
  return out;
}

std::vector<Attention> Finder::run() const {
  std::vector<Attention> out;
  for (uint32_t node = 0; node < function_.nodes.size(); ++node) {
    if (std::optional<Attention> found = attention_of(node)) out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace

std::vector<Attention> find_attentions(const Function& function) { return Finder(function).run(); }

}  // namespace byoc
