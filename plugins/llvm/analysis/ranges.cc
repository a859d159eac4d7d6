// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/analysis/ranges.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/te/simplify.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {

using te::BinaryOp;

namespace {

int64_t clamped(__int128 x) {
  return static_cast<int64_t>(std::clamp<__int128>(x, -Range::kUnknown, Range::kUnknown));
}

bool is_known(Range r) { return r.low > -Range::kUnknown && r.high < Range::kUnknown; }

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Range multiplied(Range a, Range b) {
  __int128 ends[] = {__int128{a.low} * b.low, __int128{a.low} * b.high, __int128{a.high} * b.low,
                     __int128{a.high} * b.high};
  return {clamped(*std::min_element(ends, ends + 4)), clamped(*std::max_element(ends, ends + 4))};
}

}  // namespace

Range Ranges::of_binary(const te::Binary& x) const {
  Range a = of(x.a), b = of(x.b);
  switch (x.op) {
    case BinaryOp::kAdd:
      return {clamped(__int128{a.low} + b.low), clamped(__int128{a.high} + b.high)};
    case BinaryOp::kSubtract:
      return {clamped(__int128{a.low} - b.high), clamped(__int128{a.high} - b.low)};
    case BinaryOp::kMultiply:
      return multiplied(a, b);
    case BinaryOp::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case BinaryOp::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case BinaryOp::kFloorDivide:
    case BinaryOp::kDivide:
      if (b.low != b.high || b.low <= 0 || (x.op == BinaryOp::kDivide && a.low < 0)) return {};
      if (!is_known(a)) return {};
      return {floor_div(a.low, b.low), floor_div(a.high, b.low)};
    case BinaryOp::kFloorModulo:
    case BinaryOp::kRemainder:
      if (b.low != b.high || b.low <= 0 || (x.op == BinaryOp::kRemainder && a.low < 0)) return {};
      return a.low >= 0 && a.high < b.low ? a : Range{0, b.low - 1};
    default:
      return {};
  }
}

Range Ranges::of(const te::Expr& x) const {
  if (x.dtype() != DType::kI64) return {};
  if (auto value = te::as_int(x)) return {clamped(*value), clamped(*value)};
  if (auto* var = std::get_if<te::VarRef>(&x->kind)) {
    auto known = vars_.find(var->var.id());
    if (known != vars_.end()) return known->second;
    return var->var.is_size() ? Range{clamped(var->var.min()), clamped(var->var.max())} : Range{};
  }
  if (auto* binary = std::get_if<te::Binary>(&x->kind)) return of_binary(*binary);
  if (auto* select = std::get_if<te::Select>(&x->kind)) {
    if (const auto holds = decide(select->condition)) return of(*holds ? select->yes : select->no);
    Range a = of(select->yes), b = of(select->no);
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
  return {};
}

std::optional<bool> Ranges::decide_comparison(const te::Binary& x) const {
  if (x.a.dtype() != DType::kI64) return std::nullopt;
  const Range a = of(x.a), b = of(x.b);
  if (!is_known(a) || !is_known(b)) return std::nullopt;
  const bool is_apart = a.high < b.low || b.high < a.low;
  const bool is_same = a.low == a.high && b.low == b.high && a.low == b.low;
  switch (x.op) {
    case BinaryOp::kLess:
      if (a.high < b.low) return true;
      return a.low >= b.high ? std::optional(false) : std::nullopt;
    case BinaryOp::kLessEqual:
      if (a.high <= b.low) return true;
      return a.low > b.high ? std::optional(false) : std::nullopt;
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
      if (is_apart || is_same) return is_same == (x.op == BinaryOp::kEqual);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<bool> Ranges::decide(const te::Expr& x) const {
  if (auto value = te::as_int(x)) return *value != 0;
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr || x.dtype() != DType::kBool) return std::nullopt;
  if (binary->op != BinaryOp::kAnd && binary->op != BinaryOp::kOr)
    return decide_comparison(*binary);
  const bool settles = binary->op == BinaryOp::kOr;  // the value that decides the result alone
  const std::optional<bool> a = decide(binary->a), b = decide(binary->b);
  if (a == settles || b == settles) return settles;
  return a && b ? std::optional(!settles) : std::nullopt;
}

int64_t Ranges::factor_of(const te::Expr& x) const {
  if (auto value = te::as_int(x)) return *value < 0 ? -*value : *value;
  if (auto* var = std::get_if<te::VarRef>(&x->kind)) {
    auto known = factors_.find(var->var.id());
    return known == factors_.end() ? 1 : known->second;
  }
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr) return 1;
  int64_t product = 0;
  switch (binary->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSubtract:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return std::gcd(factor_of(binary->a), factor_of(binary->b));
    case BinaryOp::kMultiply:
      if (__builtin_mul_overflow(factor_of(binary->a), factor_of(binary->b), &product)) return 1;
      return product;
    default:
      return 1;
  }
}

te::Expr Ranges::simplified(const te::Expr& x) const {
  te::Ranges known;
  Seen seen;
  walk_expr(x, seen, [&](const te::Expr& inner) {
    auto* var = std::get_if<te::VarRef>(&inner->kind);
    auto range = var ? vars_.find(var->var.id()) : vars_.end();
    if (range != vars_.end() && is_known(range->second))
      known[var->var.id()] = {range->second.low, range->second.high};
  });
  return te::simplify(x, known);
}

bool Ranges::is_inside(const te::Load& load) const {
  BYOC_CHECK(load.indices.size() == load.tensor.rank(), "tensor ", load.tensor.name(), " has rank ",
             load.tensor.rank(), " and is read by ", load.indices.size(), " indices");
  for (size_t k = 0; k < load.indices.size(); ++k) {
    auto extent = te::as_int(load.tensor.shape()[k]);
    if (!extent || !of(load.indices[k]).is_within(0, *extent - 1)) return false;
  }
  return true;
}

}  // namespace byoc::llvm_plugin
