// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors as memory, and statements: the result of lowering scheduled stages, the language of
// procedures, and the input of code generation. Immutable; nested as deep as the loops.
#include <span>

#include "byoc/te/expr.h"

namespace byoc::te {

/// Memory of one dtype and shape, compact row-major. Two Tensors are one when copied from one.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::string name, DType dtype, Exprs shape);
  const std::string& name() const { return info_->name; }
  DType dtype() const { return info_->dtype; }
  const Exprs& shape() const { return info_->shape; }
  size_t rank() const { return info_->shape.size(); }
  const void* id() const { return info_.get(); }
  bool is_empty() const { return info_ == nullptr; }
  /// Loads one element. Takes as many indices as dims, of type i64.
  Expr operator()(Exprs indices) const;
  template <class... Index>
  Expr operator()(Index... indices) const {
    return (*this)(Exprs{Expr(indices)...});
  }
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.info_ == b.info_; }

 private:
  struct Info {
    std::string name;
    DType dtype;
    Exprs shape;
  };
  std::shared_ptr<const Info> info_;
};

struct Load {
  Tensor tensor;
  Exprs indices;
};

struct StmtNode;
/// Empty (does nothing), or a statement.
class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  bool is_empty() const { return node_ == nullptr; }
  const StmtNode& operator*() const { return *node_; }
  const StmtNode* operator->() const { return node_.get(); }

 private:
  std::shared_ptr<const StmtNode> node_;
};

/// kParallel: iterations in any order, at the same time, over the thread pool. kVectorized: all
/// iterations as one vector operation. kUnrolled: written out. The last two have constant extents.
enum class LoopKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled };
struct For {
  Var var;
  Expr begin, extent;
  LoopKind kind;
  Stmt body;
};
struct Store {
  Tensor tensor;
  Exprs indices;
  Expr value;
};
struct If {
  Expr condition;
  Stmt yes, no;
};
struct Let {
  Var var;
  Expr value;
  Stmt body;
};
/// kStack: small and of constant extent, may become registers. kWorkspace: from the call's
/// workspace, one per worker when inside a parallel loop.
enum class Scope : uint8_t { kStack, kWorkspace };
struct Alloc {
  Tensor tensor;
  Scope scope;
  Stmt body;
};
struct Block {
  std::vector<Stmt> stmts;
};
/// The address of an element.
struct Place {
  Tensor tensor;
  Exprs indices;
};
struct TensorIntrin;  // te/tensor.h
/// A micro-kernel of the code generator, by name. The name, or its declaration, defines what it
/// does to the places.
struct Intrinsic {
  std::string name;
  std::vector<Place> places;
  Exprs args;
  std::shared_ptr<const TensorIntrin> declaration;  // null: none
};
struct StmtNode {
  std::variant<For, Store, If, Let, Alloc, Block, Intrinsic> kind;
};

Stmt make_for(Var var, Expr begin, Expr extent, LoopKind kind, Stmt body);
Stmt make_store(Tensor tensor, Exprs indices, Expr value);
Stmt make_if(Expr condition, Stmt yes, Stmt no = {});
Stmt make_let(Var var, Expr value, Stmt body);
Stmt make_alloc(Tensor tensor, Scope scope, Stmt body);
Stmt make_block(std::vector<Stmt> stmts);  // empty ones are left out, nested blocks dissolved
Stmt make_intrinsic(std::string name, std::vector<Place> places, Exprs args,
                    std::shared_ptr<const TensorIntrin> declaration = nullptr);
/// Makes a statement that ends the function with an error: `index`, an operand of `op`, is outside
/// of [low, extent). It must not be inside a parallel loop.
Stmt make_index_error(std::string_view op, Expr index, Expr low, Expr extent);
/// Returns the op of a statement that make_index_error made; "" for other intrinsics. The index,
/// low and extent are its args.
std::string_view index_error_op(const Intrinsic& intrinsic);
/// Makes a serial loop from 0: `loop("i", n, [&](Expr i) { return make_store(...); })`.
template <class Body>
Stmt loop(const std::string& name, Expr extent, Body&& body, LoopKind kind = LoopKind::kSerial) {
  Var var(name);
  Stmt inside = body(Expr(var));
  return make_for(var, 0, std::move(extent), kind, std::move(inside));
}

/// A function as loops: what is emitted.
struct LoopFunction {
  std::string name;
  std::vector<Tensor> inputs, outputs;  // inputs: parameters, then constants
  Stmt body;
};
std::string print(const Stmt& stmt);
std::string print(const LoopFunction& function);

}  // namespace byoc::te
