// SPDX-License-Identifier: Apache-2.0
#include "core/te/lower/region.h"

#include <algorithm>

#include "byoc/te/rewrite.h"

namespace byoc::te {
namespace {

constexpr int64_t kWide = int64_t{1} << 40;  // wider reaches are the whole dimension

}  // namespace

void RegionFinder::scan(const Stmt& stmt) {
  if (stmt.is_empty()) return;
  if (const For* v = std::get_if<For>(&stmt->kind)) return loop(*v);
  if (const Let* v = std::get_if<Let>(&stmt->kind))
    inner_[v->var.id()] =
        v->value.dtype() == DType::kI64 ? reach(simplify_(v->value)) : std::nullopt;
  map_parts(
      stmt,
      [&](const Expr& x) {
        scan(x);
        return x;
      },
      [&](const Stmt& inner) {
        scan(inner);
        return inner;
      });
}

void RegionFinder::loop(const For& v) {
  scan(v.begin);
  scan(v.extent);
  std::optional<Reach> begin = reach(simplify_(v.begin));
  const int64_t count = simplify_.bounds(v.extent).hi;
  const bool is_open = begin && begin->width == 0 && is_of_sizes(v.extent);
  if (is_open) begin->count = v.extent;
  if (begin && count < kWide) begin->width += std::max<int64_t>(count - 1, 0);
  else begin.reset();
  inner_[v.var.id()] = begin;
  scan(v.body);
}

void RegionFinder::scan(const Expr& x) {
  if (!scanned_.insert(&*x).second) return;
  kept_.push_back(x);
  map_operands(x, [&](const Expr& operand) {
    scan(operand);
    return operand;
  });
  const auto* load = std::get_if<std::shared_ptr<const Load>>(&x->kind);
  if (load == nullptr) return;
  auto watched = watched_.find((*load)->tensor.id());
  if (watched != watched_.end()) add(watched->second, (*load)->indices);
}

void RegionFinder::add(size_t stage, const Exprs& indices) {
  Reaches reaches;
  for (const Expr& index : indices) reaches.push_back(reach(simplify_(index)));
  auto [known, is_new] = reaches_.try_emplace(stage, reaches);
  if (is_new) return;
  for (size_t k = 0; k < reaches.size(); ++k) known->second[k] = join(known->second[k], reaches[k]);
}

// Returns the union of two reaches, whose distance must be known, at least within constants.
std::optional<Reach> RegionFinder::join(const std::optional<Reach>& a,
                                        const std::optional<Reach>& b) {
  if (!a || !b) return std::nullopt;
  const bool is_same = !a->count.is_empty() && !b->count.is_empty() && a->width == b->width &&
                       structural_equal(a->count, b->count) &&
                       as_int(simplify_(b->lo - a->lo)) == 0;
  if (is_same) return a;
  const Interval distance = simplify_.bounds(simplify_(b->lo - a->lo));
  if (distance.lo < -kWide || distance.hi > kWide) return std::nullopt;
  const int64_t before = std::min<int64_t>(distance.lo, 0);
  const int64_t end = std::max(a->width, distance.hi + b->width);
  return Reach{simplify_(a->lo + before), end - before};
}

std::optional<std::vector<Range>> RegionFinder::region(size_t stage, const Exprs& shape) {
  auto known = reaches_.find(stage);
  if (known == reaches_.end()) return std::nullopt;
  std::vector<Range> out;
  for (size_t k = 0; k < shape.size(); ++k) out.push_back(within(known->second[k], shape[k]));
  return out;
}

// Limits a box to the dimension. A box that would leave it is moved, not cut: its
// extent stays constant.
Range RegionFinder::within(const std::optional<Reach>& reach, const Expr& extent) {
  const std::optional<int64_t> size = as_int(extent);
  if (!size && reach && is_of_sizes(extent)) return within_open(*reach, extent);
  if (!size || !reach || reach->width + 1 >= *size) return {0, extent};
  const int64_t count = reach->width + 1, last = *size - count;
  Expr lo = reach->lo;
  const Interval bounds = simplify_.bounds(lo);
  if (bounds.hi > last) lo = min(lo, last);
  if (bounds.lo < 0) lo = max(lo, 0);
  return {simplify_(lo), count};
}

// Limits a box to a dimension that a run gives: where the box may leave it, to the rest of it, if
// that is a number of the sizes alone, else to the whole.
Range RegionFinder::within_open(const Reach& reach, const Expr& extent) {
  const Expr count = reach.count.is_empty() ? Expr(reach.width + 1) : reach.count;
  if (simplify_.bounds(reach.lo).lo < 0) return {0, extent};
  if (simplify_.is_natural(extent - reach.lo - count)) return {reach.lo, count};
  const Expr lo = simplify_.with_values(reach.lo);
  std::optional<Expr> rest = rest_of(extent, lo);
  const Expr left = simplify_(extent - lo);
  if (!rest && is_of_sizes(left) && simplify_.is_natural(left)) rest = left;
  return rest ? Range{reach.lo, *rest} : Range{0, extent};
}

// Returns what whole tiles, as many as begin at `lo`, leave of an extent: T % 6 from T / 6 * 6 on.
std::optional<Expr> RegionFinder::rest_of(const Expr& extent, const Expr& lo) {
  std::optional<Expr> out;
  any_node(lo, [&](const Expr& node) {
    const Binary* v = std::get_if<Binary>(&node->kind);
    const std::optional<int64_t> factor = v == nullptr ? std::nullopt : as_int(v->b);
    if (v == nullptr || v->op != BinaryOp::kMultiply || factor.value_or(0) < 2) return false;
    const Expr rest = simplify_(floor_mod(extent, *factor));
    if (is_of_sizes(rest) && as_int(simplify_(extent - lo - rest)) == 0) out = rest;
    return out.has_value();
  });
  return out;
}

std::optional<Reach> RegionFinder::reach(const Expr& x) {
  auto known = known_.find(&*x);
  if (known != known_.end()) return known->second.second;
  std::optional<Reach> result = reach_of(x);
  if (result) result->lo = simplify_(result->lo);
  else result = by_bounds(x);
  if (result && result->width > kWide) result.reset();
  known_.emplace(&*x, std::pair(x, result));
  return result;
}

std::optional<Reach> RegionFinder::by_bounds(const Expr& x) {
  const Interval bounds = simplify_.bounds(x);
  if (bounds.lo < -kWide || bounds.hi > kWide) return std::nullopt;
  return Reach{bounds.lo, bounds.hi - bounds.lo};
}

std::optional<Reach> RegionFinder::reach_of(const Expr& x) {
  return std::visit(overloaded{
                        [&](const IntImm&) -> std::optional<Reach> {
                          return Reach{x, 0};
                        },
                        [&](const VarRef& v) -> std::optional<Reach> {
                          auto inner = inner_.find(v.var.id());
                          return inner == inner_.end() ? Reach{x, 0} : inner->second;
                        },
                        [&](const Binary& v) { return reach_of_binary(x, v); },
                        [&](const Select& v) -> std::optional<Reach> {
                          if (!moves_inside(x)) return Reach{x, 0};
                          return join(reach(v.yes), reach(v.no));
                        },
                        [&](const auto&) -> std::optional<Reach> { return std::nullopt; },
                    },
                    x->kind);
}

// Returns true for a value that loops inside may change.
bool RegionFinder::moves_inside(const Expr& x) const {
  return any_node(x, [&](const Expr& node) {
    const auto* v = std::get_if<VarRef>(&node->kind);
    const bool is_load = std::holds_alternative<std::shared_ptr<const Load>>(node->kind);
    return is_load || (v != nullptr && inner_.contains(v->var.id()));
  });
}

std::optional<Reach> RegionFinder::reach_of_binary(const Expr& x, const Binary& v) {
  if (x.dtype() != DType::kI64) return std::nullopt;
  const std::optional<Reach> a = reach(v.a), b = reach(v.b);
  const std::optional<int64_t> constant = as_int(v.b);
  if (!a || !b) return std::nullopt;
  switch (v.op) {
    case BinaryOp::kAdd:
      return Reach{a->lo + b->lo, a->width + b->width,
                   b->width == 0   ? a->count
                   : a->width == 0 ? b->count
                                   : Expr()};
    case BinaryOp::kSubtract:
      return Reach{a->lo - b->lo - b->width, a->width + b->width};
    case BinaryOp::kMultiply:
      if (!constant || *constant > kWide || *constant < -kWide) break;
      if (a->width > kWide / std::max<int64_t>(std::abs(*constant), 1)) return std::nullopt;
      return Reach{(*constant < 0 ? a->lo + a->width : a->lo) * v.b,
                   a->width * std::abs(*constant)};
    case BinaryOp::kFloorDivide:
    case BinaryOp::kFloorModulo:
      if (!constant || *constant <= 0) break;
      return reach_of_division(*a, *constant, v.op == BinaryOp::kFloorModulo);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return Reach{binary(v.op, a->lo, b->lo), std::max(a->width, b->width)};
    default:
      break;
  }
  if (a->width == 0 && b->width == 0) return Reach{binary(v.op, a->lo, b->lo), 0};
  return std::nullopt;
}

std::optional<Reach> RegionFinder::reach_of_division(const Reach& a, int64_t divisor,
                                                     bool is_modulo) {
  const Expr lo = simplify_.with_values(a.lo);
  const std::optional<int64_t> first = as_int(simplify_(floor_mod(lo, divisor)));
  if (!is_modulo) {
    const int64_t rest = a.width == 0 ? 0 : first.value_or(divisor - 1);
    return Reach{floor_div(a.lo, divisor), (rest + a.width) / divisor};
  }
  const bool stays = a.width == 0 || (first && *first + a.width < divisor);
  if (stays) return Reach{floor_mod(a.lo, divisor), a.width};
  return Reach{0, divisor - 1};
}

}  // namespace byoc::te
