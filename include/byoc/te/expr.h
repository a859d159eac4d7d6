// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scalar expressions: cheap handles on immutable nodes, made by factories that check types. They
// are shallow on purpose: an expression is one element of a tensor, or an index. Thread-safe to
// read and to copy.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "byoc/base/dtype.h"

namespace byoc::te {

struct ExprNode;
class Tensor;

/// Empty, or an expression of one type. Indices and extents are i64.
class Expr {
 public:
  Expr() = default;
  /// A constant of type i64.
  Expr(int64_t value);                       // NOLINT: implicit by design; a constant of type i64
  Expr(int value) : Expr(int64_t{value}) {}  ///< A constant of type i64. NOLINT
  /// Wraps a node.
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  bool is_empty() const { return node_ == nullptr; }          ///< true without a node
  const ExprNode& operator*() const { return *node_; }        ///< the node; there must be one
  const ExprNode* operator->() const { return node_.get(); }  ///< the node; there must be one
  /// Compares nodes, not meanings; `structural_equal` compares meanings.
  bool same_as(const Expr& other) const { return node_ == other.node_; }
  DType dtype() const;  ///< the type of the value

 private:
  std::shared_ptr<const ExprNode> node_;
};
using Exprs = std::vector<Expr>;  ///< Expressions, in order.

/// A name for a value that loops, combiners or `Let` give. Two Vars are one when copied from one.
class Var {
 public:
  /// Makes a variable that differs from every other; the name is for printing.
  explicit Var(std::string name = "", DType dtype = DType::kI64);
  const std::string& name() const { return info_->name; }  ///< for printing
  DType dtype() const { return info_->dtype; }             ///< the type of its value
  const void* id() const { return info_.get(); }  ///< the same for copies of the variable alone
  operator Expr() const;                          ///< A VarRef. NOLINT: implicit by design
  /// Returns the i64 that each run gives a named size: the same one for equal names and bounds.
  static Var size(std::string_view name, int64_t min, int64_t max);
  bool is_size() const { return info_->min <= info_->max; }  ///< true for what size() returns
  int64_t min() const { return info_->min; }                 ///< of a size
  int64_t max() const { return info_->max; }                 ///< of a size
  /// True for copies of one variable.
  friend bool operator==(const Var& a, const Var& b) { return a.info_ == b.info_; }

 private:
  struct Info {
    std::string name;
    DType dtype;
    int64_t min = 1, max = 0;  // of a size min <= max
  };
  std::shared_ptr<const Info> info_;
};

/// Floats: IEEE, rounding to nearest even. Integers wrap around.
enum class UnaryOp : uint8_t {
  kNegate,
  kNot,         // of a bool
  kBitwiseNot,  ///< the operand is an integer
  kAbs,
  kSqrt,
  kExp,
  kLog,
  kErf,
  kTanh,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kFloor,
  kCeil,
  kTrunc,
  kRound,  ///< halves to even
  kIsNan,  ///< -> bool
  kIsInf   // -> bool
};
/// Operations on two operands of one type. Comparisons give bool.
enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,       // integers: towards 0; undefined for a divisor of 0
  kRemainder,    // of kDivide; floats: as fmod
  kFloorDivide,  ///< integers alone: towards -infinity
  kFloorModulo,  ///< integers alone: sign of the divisor
  kMin,          // a < b ? a : b, so b when one is NaN
  kMax,          // a > b ? a : b, so b when one is NaN
  kPower,        // floats alone: pow
  kAnd,          // bool: both are evaluated; integers: every bit
  kOr,
  kXor,
  kShiftLeft,   // undefined from the number of bits on
  kShiftRight,  ///< arithmetic for signed types
  kEqual,
  kNotEqual,  ///< true for NaN
  kLess,
  kLessEqual
};

/// A constant integer or bool.
struct IntImm {
  int64_t value;  ///< a value of any integer type or bool; u64 as its bits
};
/// A constant float.
struct FloatImm {
  double value;  ///< a value of any float type
};
/// The value of a variable.
struct VarRef {
  Var var;  ///< the variable
};
/// One operand.
struct Unary {
  UnaryOp op;  ///< the operation
  Expr x;      ///< the operand
};
/// Two operands of one type.
struct Binary {
  BinaryOp op;  ///< the operation
  Expr a, b;    ///< the operands
};
/// The branch not taken is not evaluated: a condition may guard loads that leave their tensor.
struct Select {
  Expr condition, yes, no;  ///< a bool; two values of one type
};
/// Floats round to nearest even; to an integer: towards 0, undefined outside its range; integers
/// wrap around; to bool: != 0.
struct Cast {
  Expr x;  ///< the operand
};
/// Reads the same bits as another type of the same size.
struct Bitcast {
  Expr x;  ///< the operand
};
struct Load;  // te/tensor.h: it names a tensor

/// A node of an expression.
struct ExprNode {
  DType dtype;  ///< the type of the value
  std::variant<IntImm, FloatImm, VarRef, Unary, Binary, Select, Cast, Bitcast,
               std::shared_ptr<const Load>>
      kind;  ///< the kind of node
};

/// Factories. All abort when operand types do not fit, because computes are byoc's own code.
/// `constant` makes a constant of any type, rounded to it.
Expr constant(DType dtype, double value);
Expr int_constant(DType dtype, int64_t value);  ///< A constant of an integer type or bool.
Expr unary(UnaryOp op, Expr x);                 ///< Makes the node.
Expr binary(BinaryOp op, Expr a, Expr b);       ///< Makes the node; operands have one type.
/// Makes the node; `yes` and `no` have one type.
Expr select(Expr condition, Expr yes, Expr no);
Expr cast(DType to, Expr x);     ///< x itself when it has the type
Expr bitcast(DType to, Expr x);  ///< x itself when it has the type

Expr operator+(Expr a, Expr b);   ///< kAdd
Expr operator-(Expr a, Expr b);   ///< kSubtract
Expr operator*(Expr a, Expr b);   ///< kMultiply
Expr operator/(Expr a, Expr b);   ///< kDivide
Expr operator-(Expr x);           ///< kNegate
Expr operator<(Expr a, Expr b);   ///< kLess
Expr operator<=(Expr a, Expr b);  ///< kLessEqual
Expr operator>(Expr a, Expr b);   ///< kLess with the operands exchanged
Expr operator>=(Expr a, Expr b);  ///< kLessEqual with the operands exchanged
Expr operator==(Expr a, Expr b);  ///< kEqual; builds a node, see Expr::same_as
Expr operator!=(Expr a, Expr b);  ///< kNotEqual
Expr operator&&(Expr a, Expr b);  ///< kAnd of bools
Expr operator||(Expr a, Expr b);  ///< kOr of bools
Expr operator!(Expr x);           ///< kNot of a bool
Expr min(Expr a, Expr b);         ///< kMin
Expr max(Expr a, Expr b);         ///< kMax
Expr floor_div(Expr a, Expr b);   ///< kFloorDivide
Expr floor_mod(Expr a, Expr b);   ///< kFloorModulo

/// Returns the value of an integer constant.
std::optional<int64_t> as_int(const Expr& x);
/// Returns true for the same structure, the same vars and the same tensors.
bool structural_equal(const Expr& a, const Expr& b);
std::string print(const Expr& x);  ///< Returns the expression as text, for tests and messages.

}  // namespace byoc::te
