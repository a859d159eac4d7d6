// SPDX-License-Identifier: Apache-2.0
#pragma once
// A LoopFunction with every variable and tensor resolved to a slot, ready to be run.
#include <unordered_map>

#include "byoc/te/stmt.h"
#include "core/te/number.h"

namespace byoc::te {

/// One node of an expression; operands are earlier nodes. A node with several readers is computed
/// once per statement, so that shared expressions cost no more than their nodes.
struct ExprCode {
  enum Kind : uint8_t { kConstant, kVar, kUnary, kBinary, kSelect, kCast, kBitcast, kLoad };
  Kind kind;
  DType dtype, from;             // of the result, of the (first) operand
  uint8_t op = 0;                // UnaryOp or BinaryOp
  bool is_shared = false;        // it has several readers
  bool has_offset = false;       // kLoad: a distance in elements follows the indices
  uint32_t a = 0, b = 0, c = 0;  // operands; kVar: its slot; kLoad: tensor, first index, count
  Number value = {.i = 0};       // kConstant
};

struct StmtCode {
  enum Kind : uint8_t { kFor, kStore, kIf, kLet, kAlloc, kBlock, kIntrinsic, kIndexError };
  Kind kind;
  uint32_t slot = 0;               // variable (kFor, kLet) or tensor (kStore, kAlloc)
  uint32_t a = 0, b = 0;           // begin and extent; value; condition; index and low
  uint32_t first = 0, count = 0;   // kStore: indices; kIndexError: the extent
  std::vector<uint32_t> children;  // statements
  std::string name;                // kIntrinsic; kIndexError: the op
  bool has_offset = false;         // kStore: as in ExprCode
};

struct TensorCode {
  std::string name;
  DType dtype;
  uint32_t first, count;  // extents
};

struct LoopCode {
  std::vector<ExprCode> exprs;
  std::vector<uint32_t> lists;  // indices and extents: expressions
  std::vector<StmtCode> stmts;
  std::vector<TensorCode> tensors;
  std::vector<std::string> vars;
};

class Compiler {
 public:
  LoopCode code;
  uint32_t expr(const Expr& x);
  uint32_t stmt(const Stmt& s);
  uint32_t var(const Var& v);
  uint32_t tensor(const Tensor& t);

 private:
  uint32_t list(const Exprs& xs);  // the position of its first element
  uint32_t node(const Expr& x);
  StmtCode stmt_of(const StmtNode& s);
  StmtCode store(const Store& v);
  StmtCode copy(const Intrinsic& v);
  StmtCode intrinsic(const Intrinsic& v);
  Exprs with_offset(const Place& first, const Exprs& strides, const Exprs& indices);
  std::unordered_map<const void*, uint32_t> exprs_, vars_, tensors_;
  struct Declared {
    Place first;
    Exprs strides;
  };
  std::unordered_map<const void*, Declared> declared_;  // tensors of an Intrinsic's declaration
  Exprs kept_;  // so that addresses in exprs_ are not used again
};

}  // namespace byoc::te
