// SPDX-License-Identifier: Apache-2.0
// Named sizes as variables, and dims as expressions of them.
#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>

#include "byoc/base/check.h"
#include "byoc/base/size_expression.h"
#include "byoc/ir/dim.h"
#include "byoc/te/module.h"
#include "byoc/te/rewrite.h"
#include "byoc/te/tensor.h"

namespace byoc::te {
namespace {

Var variable_of(Dim size) { return Var::size(size.name().text(), size.min(), size.max()); }

Expr applied(SizeExpression::Step::Kind kind, const Expr& a, const Expr& b) {
  switch (kind) {
    case SizeExpression::Step::kAdd:
      return a + b;
    case SizeExpression::Step::kSubtract:
      return a - b;
    case SizeExpression::Step::kMultiply:
      return a * b;
    case SizeExpression::Step::kDivide:
      return floor_div(a, b);
    case SizeExpression::Step::kMin:
      return min(a, b);
    default:
      return max(a, b);
  }
}

// Returns the expression of a dim whose text the canonical form of dims is.
Expr expression_of(Dim dim) {
  const std::vector<Dim> sizes = sizes_in(dim);
  const Result<SizeExpression> parsed = SizeExpression::parse(dim.name().text());
  BYOC_CHECK(parsed.ok(), parsed.status().message());
  Exprs vars, stack;
  for (const std::string& name : parsed->names()) {
    const auto at = std::ranges::find(sizes, Symbol(name), &Dim::name);
    BYOC_CHECK(at != sizes.end(), "the sizes of ", dim, " lack ", name);
    vars.push_back(variable_of(*at));
  }
  for (const SizeExpression::Step& step : parsed->steps()) {
    if (step.kind == SizeExpression::Step::kNumber) {
      stack.emplace_back(step.value);
    } else if (step.kind == SizeExpression::Step::kSize) {
      stack.push_back(vars[static_cast<size_t>(step.value)]);
    } else {
      const Expr b = stack.back();
      stack.pop_back();
      stack.back() = applied(step.kind, stack.back(), b);
    }
  }
  BYOC_CHECK(stack.size() == 1, "the steps of ", dim, " leave ", stack.size(), " values");
  return stack[0];
}

}  // namespace

Var Var::size(std::string_view name, int64_t min, int64_t max) {
  BYOC_CHECK(min <= max, "the size ", name, " is from ", min, " to ", max);
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::tuple<std::string, int64_t, int64_t>, Var>;
  std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({std::string(name), min, max});
  if (is_new)
    at->second.info_ = std::make_shared<const Info>(Info{std::string(name), DType::kI64, min, max});
  return at->second;
}

Expr extent_of(Dim dim) {
  if (dim.is_static()) return dim.extent();
  BYOC_CHECK(!dim.is_counted(), "the extent ", dim, " is counted by each run");
  return dim.is_expression() ? expression_of(dim) : Expr(variable_of(dim));
}

namespace {

Status no_dim(const Expr& extent) {
  return invalid(cat("the extent ", print(extent),
                     "; in a module extents are numbers, or are made of `sizes` of the function"))
      .with_slug("loops-type");
}

Result<Dim> dim_of_two(const Binary& x, const Expr& whole) {
  BYOC_TRY(const Dim a, dim_of(x.a));
  const bool is_rounded_down =  // kDivide rounds towards 0; a named size is not negative
      x.op == BinaryOp::kFloorDivide || (x.op == BinaryOp::kDivide && !a.is_expression());
  if (is_rounded_down) {
    const std::optional<int64_t> divisor = as_int(x.b);
    if (!divisor || *divisor < 1) return no_dim(whole);
    return dim_quotient(a, *divisor);
  }
  BYOC_TRY(const Dim b, dim_of(x.b));
  if (x.op == BinaryOp::kAdd) return dim_sum(a, b);
  if (x.op == BinaryOp::kSubtract) return dim_difference(a, b);
  if (x.op == BinaryOp::kMultiply) return dim_product(a, b);
  if (x.op == BinaryOp::kMin) return dim_min(a, b);
  if (x.op == BinaryOp::kMax) return dim_max(a, b);
  return no_dim(whole);
}

}  // namespace

// Calls itself for the operands of an extent, which are few.
Result<Dim> dim_of(const Expr& extent) {
  if (const std::optional<int64_t> n = as_int(extent)) {
    if (*n < 0) return no_dim(extent);
    return Dim(*n);
  }
  if (const auto* ref = std::get_if<VarRef>(&extent->kind); ref != nullptr && ref->var.is_size())
    return Dim::symbol(Symbol(ref->var.name()), ref->var.min(), ref->var.max());
  const auto* two = std::get_if<Binary>(&extent->kind);
  return two == nullptr ? no_dim(extent) : dim_of_two(*two, extent);
}

Exprs extents_of(const TensorType& type) {
  Exprs out;
  for (Dim dim : type.shape) out.push_back(extent_of(dim));
  return out;
}

bool is_of_sizes(const Expr& x) {
  if (as_int(x) || is_float(x.dtype())) return false;
  return !any_node(x, [](const Expr& node) {
    if (const VarRef* ref = std::get_if<VarRef>(&node->kind)) return !ref->var.is_size();
    return !std::holds_alternative<IntImm>(node->kind) &&
           !std::holds_alternative<Binary>(node->kind);
  });
}

std::vector<Var> sizes_of(const Exprs& xs) {
  std::map<std::string, Var> out;
  for (const Expr& x : xs) {
    any_node(x, [&](const Expr& node) {
      const VarRef* ref = std::get_if<VarRef>(&node->kind);
      if (ref != nullptr && ref->var.is_size()) out.emplace(ref->var.name(), ref->var);
      return false;
    });
  }
  std::vector<Var> list;
  for (const auto& [name, var] : out) list.push_back(var);
  return list;
}

}  // namespace byoc::te
