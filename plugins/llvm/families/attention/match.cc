// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/families/attention/match.h"

#include <algorithm>
#include <set>

#include "byoc/ir/dim.h"
#include "byoc/op/op.h"
#include "plugins/llvm/families/ways.h"

namespace byoc::llvm_plugin::attention {
namespace {

constexpr int64_t kLeastScores = 16;  // rows, and columns

// Returns the number of elements; nullopt where dims are counted.
std::optional<Dim> elements(TypeId type) {
  Result<Dim> count = element_count(type->shape);
  return count.ok() ? std::optional(*count) : std::nullopt;
}

// Returns true where every run has as many elements of both.
bool have_as_many(TypeId a, TypeId b) {
  const std::optional<Dim> own = elements(a), other = elements(b);
  return own && other && *own == *other;
}

// Returns true where no run has more elements of `a` than of `b`: b has them some times over.
bool never_exceeds(TypeId a, TypeId b) {
  const std::optional<Dim> own = elements(a), other = elements(b);
  if (!own || !other) return false;
  if (own->is_static() && other->is_static()) return own->extent() <= other->extent();
  const std::optional<Dim> times = dim_exact_quotient(*other, *own);
  return times && times->min() >= 1;
}

class Finder : Ways {
 public:
  Finder(const Function& function, int64_t least_scores)
      : Ways(function), least_scores_(least_scores), is_taken_(function.nodes.size()) {}
  std::vector<Match> run();

 private:
  bool is_product(uint32_t node) const;
  bool is_softmax(uint32_t node) const;
  bool is_large(uint32_t scores, uint32_t values) const;
  std::optional<Match> match_of(uint32_t values) const;
  void add_operands(Match& match) const;
  void add_masks(Match& match, uint32_t scores) const;
  bool may_copy(uint32_t node, const std::set<uint32_t>& copies) const;
  bool may_feed(uint32_t node, const std::set<uint32_t>& own, TypeId scores) const;
  bool reads_again(uint32_t reader, uint32_t node) const;
  bool scales_moved(uint32_t node) const;

  const int64_t least_scores_;
  std::vector<bool> is_taken_;  // per node: it is in a match
};

bool Finder::is_product(uint32_t node) const {
  if (!is_op(node, "matmul")) return false;
  return std::ranges::all_of(operands(node), [&](ValueId arg) {
    const byoc::Shape& shape = function().type(arg)->shape;
    return shape.size() >= 2 && !has_counted(shape);
  });
}

bool Finder::is_softmax(uint32_t node) const {
  if (!is_op(node, "softmax")) return false;
  const auto rank = static_cast<int64_t>(type(node)->shape.size());
  const int64_t axis = call(node)->attrs->i("axis", -1);
  return axis == -1 || axis == rank - 1;
}

// Returns true for scores with the rows of the result, and enough of them, of open ones in the
// largest run. No run has an empty product.
bool Finder::is_large(uint32_t scores, uint32_t values) const {
  const byoc::Shape &of = type(scores)->shape, &result = type(values)->shape;
  const bool has_rows = of.size() == result.size() &&
                        std::equal(of.begin(), of.end() - 1, result.begin(), result.end() - 1);
  const byoc::Shape& queries = function().type(operands(scores)[0])->shape;
  auto is_large = [&](Dim dim) { return dim.min() > 0 && dim.max() >= least_scores_; };
  return has_rows && is_large(of[of.size() - 2]) && is_large(of.back()) &&
         result.back().is_static() && result.back().min() > 0 && queries.back().is_static() &&
         queries.back().min() > 0;
}

std::optional<Match> Finder::match_of(uint32_t values) const {
  if (!is_product(values)) return std::nullopt;
  auto to_softmax = way_back(operands(values)[0], [&](uint32_t node) { return is_softmax(node); });
  if (!to_softmax) return std::nullopt;
  auto to_scores =
      way_back(operands(to_softmax->back())[0], [&](uint32_t node) { return is_product(node); });
  if (!to_scores || !is_large(to_scores->back(), values)) return std::nullopt;
  Match out;
  out.nodes = *std::move(to_softmax);
  out.nodes.insert(out.nodes.end(), to_scores->begin(), to_scores->end());
  out.nodes.push_back(values);
  if (std::ranges::any_of(out.nodes, [&](uint32_t node) { return is_taken_[node]; }))
    return std::nullopt;
  out.roles = {{to_scores->back(), kScoresRole}, {values, kValuesRole}};
  add_masks(out, to_scores->back());
  add_operands(out);
  return out;
}

// Returns whether a reader that is computed where its own result is read would compute an element
// of the node more than once.
bool Finder::reads_again(uint32_t reader, uint32_t node) const {
  switch (call(reader)->op->kind) {
    case FusionKind::kElementwise:
      return false;
    case FusionKind::kBroadcast:
      return !have_as_many(type(reader), type(node));
    case FusionKind::kInjective:
      return !never_exceeds(type(reader), type(node));
    default:
      return true;
  }
}

// Returns true for a factor and the like of an operand that was moved before, or comes from another
// kernel. What follows a product or other arithmetic is better computed there.
bool Finder::scales_moved(uint32_t node) const {
  std::optional<uint32_t> moved;
  for (ValueId arg : operands(node)) {
    if (elements(function().type(arg)) == Dim(1)) continue;
    if (moved) return false;
    moved = arg.node;
  }
  return moved && (call(*moved) == nullptr || call(*moved)->op->kind == FusionKind::kInjective);
}

// Returns true for an op that is computed while an operand is copied: all that reads it is one of
// `copies`, a product or such an op itself.
bool Finder::may_copy(uint32_t node, const std::set<uint32_t>& copies) const {
  if (call(node) == nullptr || is_taken_[node] || function().nodes[node].types.size() != 1)
    return false;
  for (uint32_t reader : readers(node)) {
    if (!copies.contains(reader)) return false;
    if (!is_product(reader) && reads_again(reader, node)) return false;
  }
  switch (call(node)->op->kind) {
    case FusionKind::kElementwise:
    case FusionKind::kBroadcast:
      return scales_moved(node);
    case FusionKind::kInjective:  // a resize has sums of its own
      return call(node)->args.count == 1 && call(node)->op->facts.family != OpFamily::kResize;
    default:
      return false;
  }
}

// Adds what both products copy, readers first.
void Finder::add_operands(Match& match) const {
  std::set<uint32_t> copies, next;
  for (const auto& [product, role] : match.roles) {
    copies.insert(product);
    for (ValueId arg : operands(product)) next.insert(arg.node);
  }
  std::set<uint32_t> own(match.nodes.begin(), match.nodes.end());
  while (!next.empty()) {
    const uint32_t node = *next.rbegin();
    next.erase(node);
    if (own.contains(node) || !may_copy(node, copies)) continue;
    copies.insert(node);
    for (ValueId arg : operands(node)) next.insert(arg.node);
  }
  own.insert(copies.begin(), copies.end());
  match.nodes.assign(own.begin(), own.end());
}

// Returns true for arithmetic on as many elements as there are scores, such as of a mask, which is
// done where it is read: its readers are in the kernel, and read each element once.
bool Finder::may_feed(uint32_t node, const std::set<uint32_t>& own, TypeId scores) const {
  if (call(node) == nullptr || is_taken_[node] || function().nodes[node].types.size() != 1)
    return false;
  const FusionKind kind = call(node)->op->kind;
  const bool is_arithmetic = kind == FusionKind::kElementwise || kind == FusionKind::kBroadcast;
  return is_arithmetic && have_as_many(type(node), scores) &&
         std::ranges::all_of(readers(node), [&](uint32_t reader) {
           return own.contains(reader) && !reads_again(reader, node);
         });
}

// Adds the arithmetic on what is added to the scores and the like, readers first.
void Finder::add_masks(Match& match, uint32_t scores) const {
  std::set<uint32_t> own(match.nodes.begin(), match.nodes.end()), next;
  for (uint32_t node : own) {
    if (!match.role(node).empty()) continue;
    for (ValueId arg : operands(node)) next.insert(arg.node);
  }
  while (!next.empty()) {
    const uint32_t node = *next.rbegin();
    next.erase(node);
    if (own.contains(node) || !may_feed(node, own, type(scores))) continue;
    own.insert(node);
    for (ValueId arg : operands(node)) next.insert(arg.node);
  }
  match.nodes.assign(own.begin(), own.end());
}

std::vector<Match> Finder::run() {
  std::vector<Match> out;
  for (uint32_t node = 0; node < function().nodes.size(); ++node) {
    std::optional<Match> found = match_of(node);
    if (!found) continue;
    for (uint32_t of : found->nodes) is_taken_[of] = true;
    out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace

std::vector<Match> find(const Function& function, bool anywhere) {
  return Finder(function, anywhere ? 1 : kLeastScores).run();
}

}  // namespace byoc::llvm_plugin::attention
