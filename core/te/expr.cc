// SPDX-License-Identifier: Apache-2.0
// The factories of expressions, which check types once.
#include "byoc/te/expr.h"

#include "byoc/base/check.h"
#include "byoc/te/stmt.h"
#include "core/te/number.h"
#include "core/te/typing.h"

namespace byoc::te {
namespace {

Expr make(DType dtype, decltype(ExprNode::kind) kind) {
  return Expr(std::make_shared<const ExprNode>(ExprNode{dtype, std::move(kind)}));
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEqual; }

}  // namespace

bool fits(UnaryOp op, DType dtype) {
  if (op == UnaryOp::kNot) return dtype == DType::kBool;
  if (op == UnaryOp::kBitwiseNot) return is_int(dtype);
  return op <= UnaryOp::kAbs ? dtype != DType::kBool : is_float(dtype);
}

bool fits(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kFloorDivide:
    case BinaryOp::kFloorModulo:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
      return is_int(dtype);
    case BinaryOp::kPower:
      return is_float(dtype);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
      return !is_float(dtype);
    case BinaryOp::kEqual:
    case BinaryOp::kNotEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual:
      return true;
    default:
      return dtype != DType::kBool;
  }
}

Expr::Expr(int64_t value) : Expr(int_constant(DType::kI64, value)) {}
DType Expr::dtype() const { return node_->dtype; }

Var::Var(std::string name, DType dtype)
    : info_(std::make_shared<const Info>(Info{std::move(name), dtype})) {}
Var::operator Expr() const { return make(dtype(), VarRef{*this}); }

Expr int_constant(DType dtype, int64_t value) {
  BYOC_CHECK(!is_float(dtype), "an integer constant of type ", dtype);
  return make(dtype, IntImm{wrapped(dtype, value)});
}

Expr constant(DType dtype, double value) {
  if (!is_float(dtype)) return int_constant(dtype, static_cast<int64_t>(value));
  return make(dtype, FloatImm{rounded(dtype, value)});
}

Expr unary(UnaryOp op, Expr x) {
  BYOC_CHECK(fits(op, x.dtype()), "unary op ", static_cast<int>(op), " of ", x.dtype());
  bool gives_bool = op == UnaryOp::kIsNan || op == UnaryOp::kIsInf;
  DType dtype = gives_bool ? DType::kBool : x.dtype();
  return make(dtype, Unary{op, std::move(x)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  BYOC_CHECK(a.dtype() == b.dtype(), "binary op ", static_cast<int>(op), " of ", a.dtype(), " and ",
             b.dtype());
  BYOC_CHECK(fits(op, a.dtype()), "binary op ", static_cast<int>(op), " of ", a.dtype());
  DType dtype = is_comparison(op) ? DType::kBool : a.dtype();
  return make(dtype, Binary{op, std::move(a), std::move(b)});
}

Expr select(Expr condition, Expr yes, Expr no) {
  BYOC_CHECK(condition.dtype() == DType::kBool, "a condition of type ", condition.dtype());
  BYOC_CHECK(yes.dtype() == no.dtype(), "a choice of ", yes.dtype(), " or ", no.dtype());
  DType dtype = yes.dtype();
  return make(dtype, Select{std::move(condition), std::move(yes), std::move(no)});
}

Expr cast(DType to, Expr x) { return x.dtype() == to ? x : make(to, Cast{std::move(x)}); }

Expr bitcast(DType to, Expr x) {
  BYOC_CHECK(dtype_size(to) == dtype_size(x.dtype()), "bits of ", x.dtype(), " as ", to);
  return x.dtype() == to ? x : make(to, Bitcast{std::move(x)});
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::kAdd, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::kSubtract, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::kMultiply, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(BinaryOp::kDivide, std::move(a), std::move(b)); }
Expr operator-(Expr x) { return unary(UnaryOp::kNegate, std::move(x)); }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::kLess, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::kLessEqual, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return std::move(b) < std::move(a); }
Expr operator>=(Expr a, Expr b) { return std::move(b) <= std::move(a); }
Expr operator==(Expr a, Expr b) { return binary(BinaryOp::kEqual, std::move(a), std::move(b)); }
Expr operator!=(Expr a, Expr b) { return binary(BinaryOp::kNotEqual, std::move(a), std::move(b)); }
Expr operator&&(Expr a, Expr b) {
  BYOC_CHECK(a.dtype() == DType::kBool, "&& of ", a.dtype());
  return binary(BinaryOp::kAnd, std::move(a), std::move(b));
}
Expr operator||(Expr a, Expr b) {
  BYOC_CHECK(a.dtype() == DType::kBool, "|| of ", a.dtype());
  return binary(BinaryOp::kOr, std::move(a), std::move(b));
}
Expr operator!(Expr x) { return unary(UnaryOp::kNot, std::move(x)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::kMin, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::kMax, std::move(a), std::move(b)); }
Expr floor_div(Expr a, Expr b) {
  return binary(BinaryOp::kFloorDivide, std::move(a), std::move(b));
}
Expr floor_mod(Expr a, Expr b) {
  return binary(BinaryOp::kFloorModulo, std::move(a), std::move(b));
}

std::optional<int64_t> as_int(const Expr& x) {
  if (const IntImm* imm = std::get_if<IntImm>(&x->kind)) return imm->value;
  return std::nullopt;
}

Expr Tensor::operator()(Exprs indices) const {
  BYOC_CHECK(indices.size() == rank(), name(), " has rank ", rank(), ", read with ", indices.size(),
             " indices");
  for (const Expr& index : indices) BYOC_CHECK(index.dtype() == DType::kI64, "index of ", name());
  return make(dtype(), std::make_shared<const Load>(Load{*this, std::move(indices)}));
}

}  // namespace byoc::te
