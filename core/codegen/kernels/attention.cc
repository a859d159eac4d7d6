// SPDX-License-Identifier: Apache-2.0
#include "core/codegen/kernels/attention.h"

#include <algorithm>

#include "byoc/op/op.h"
#include "core/codegen/kernels/ways.h"

namespace byoc {
namespace {

constexpr int64_t kLeastScores = 16;  // rows, and columns

class AttentionFinder : Ways {
 public:
  explicit AttentionFinder(const Function& function) : Ways(function) {}
  std::vector<Attention> run() const;

 private:
  bool is_product(uint32_t node) const;
  bool is_softmax(uint32_t node) const;
  std::optional<Attention> attention_of(uint32_t values) const;
};

bool AttentionFinder::is_product(uint32_t node) const {
  if (!is_op(node, "matmul")) return false;
  return std::ranges::all_of(function().args(function().nodes[node]), [&](ValueId arg) {
    const Shape& shape = function().type(arg)->shape;
    return shape.size() >= 2 && is_static(shape);
  });
}

bool AttentionFinder::is_softmax(uint32_t node) const {
  if (!is_op(node, "softmax")) return false;
  const auto rank = static_cast<int64_t>(type(node)->shape.size());
  const int64_t axis = call(node)->attrs->i("axis", -1);
  return axis == -1 || axis == rank - 1;
}

std::optional<Attention> AttentionFinder::attention_of(uint32_t values) const {
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
  const Shape& queries = function().type(operand(out.scores, 0))->shape;
  if (!is_large || result.back() == 0 || queries.back().extent() == 0) return std::nullopt;
  out.between.insert(out.between.end(), to_scores->begin(), to_scores->end() - 1);
  return out;
}

std::vector<Attention> AttentionFinder::run() const {
  std::vector<Attention> out;
  for (uint32_t node = 0; node < function().nodes.size(); ++node) {
    if (std::optional<Attention> found = attention_of(node)) out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace

std::vector<Attention> find_attentions(const Function& function) {
  return AttentionFinder(function).run();
}

}  // namespace byoc
