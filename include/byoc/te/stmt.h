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
  /// Makes a tensor that differs from every other; the name is for printing.
  Tensor(std::string name, DType dtype, Exprs shape);
  const std::string& name() const { return info_->name; }  ///< for printing
  DType dtype() const { return info_->dtype; }             ///< element type
  const Exprs& shape() const { return info_->shape; }      ///< the extents
  size_t rank() const { return info_->shape.size(); }      ///< the number of dims
  const void* id() const { return info_.get(); }      ///< the same for copies of the tensor alone
  bool is_empty() const { return info_ == nullptr; }  ///< true without a tensor
  /// Loads one element. Takes as many indices as dims, of type i64.
  Expr operator()(Exprs indices) const;
  /// Loads one element.
  template <class... Index>
  Expr operator()(Index... indices) const {
    return (*this)(Exprs{Expr(indices)...});
  }
  /// True for copies of one tensor.
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.info_ == b.info_; }

 private:
  struct Info {
    std::string name;
    DType dtype;
    Exprs shape;
  };
  std::shared_ptr<const Info> info_;
};

/// Reads one element.
struct Load {
  Tensor tensor;  ///< the tensor that is read
  Exprs indices;  ///< one per dim, of type i64
};

struct StmtNode;
/// Empty (does nothing), or a statement.
class Stmt {
 public:
  Stmt() = default;
  /// Wraps a node.
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  bool is_empty() const { return node_ == nullptr; }          ///< true without a node: a no-op
  const StmtNode& operator*() const { return *node_; }        ///< the node; there must be one
  const StmtNode* operator->() const { return node_.get(); }  ///< the node; there must be one

 private:
  std::shared_ptr<const StmtNode> node_;
};

/// kParallel: iterations in any order, at the same time, over the thread pool. kVectorized: all
/// iterations as one vector operation. kUnrolled: written out. The last two have constant extents.
enum class LoopKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled };
/// A loop over [begin, begin + extent).
struct For {
  Var var;             ///< the index
  Expr begin, extent;  ///< both have type i64
  LoopKind kind;       ///< the order of the iterations
  Stmt body;           ///< one iteration
};
/// Writes one element.
struct Store {
  Tensor tensor;  ///< to which tensor
  Exprs indices;  ///< one per dim, of type i64
  Expr value;     ///< its type is the tensor's dtype
};
/// Runs one of two statements.
struct If {
  Expr condition;  ///< a bool
  Stmt yes, no;    ///< `no` may be empty
};
/// Names a value.
struct Let {
  Var var;     ///< the name
  Expr value;  ///< computed once
  Stmt body;   ///< the statement that may use the name
};
/// kStack: small and of constant extent, may become registers. kWorkspace: from the call's
/// workspace, one per worker when inside a parallel loop.
enum class Scope : uint8_t { kStack, kWorkspace };
/// Memory for the body.
struct Alloc {
  Tensor tensor;  ///< the tensor that is stored there
  Scope scope;    ///< the kind of memory
  Stmt body;      ///< the statement that may use the memory
};
/// Statements, one after another.
struct Block {
  std::vector<Stmt> stmts;  ///< in order
};
/// The address of an element.
struct Place {
  Tensor tensor;  ///< the tensor of the element
  Exprs indices;  ///< one per dim, of type i64
};
struct TensorIntrin;  // te/tensor.h
/// A micro-kernel of the code generator, by name. The name, or its declaration, defines what it
/// does to the places.
struct Intrinsic {
  std::string name;                                 ///< the name of the kernel
  std::vector<Place> places;                        ///< the elements where it reads and writes
  Exprs args;                                       ///< values that it receives
  std::shared_ptr<const TensorIntrin> declaration;  ///< null: none
};
/// A node of a statement.
struct StmtNode {
  std::variant<For, Store, If, Let, Alloc, Block, Intrinsic> kind;  ///< the kind of node
};

Stmt make_for(Var var, Expr begin, Expr extent, LoopKind kind, Stmt body);  ///< Makes the loop.
Stmt make_store(Tensor tensor, Exprs indices, Expr value);                  ///< Makes the store.
Stmt make_if(Expr condition, Stmt yes, Stmt no = {});    ///< Makes the condition.
Stmt make_let(Var var, Expr value, Stmt body);           ///< Makes the name.
Stmt make_alloc(Tensor tensor, Scope scope, Stmt body);  ///< Makes the memory.
Stmt make_block(std::vector<Stmt> stmts);  ///< empty ones are left out, nested blocks dissolved
/// Makes the call of a kernel.
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
  std::string name;                     ///< the name of the symbol
  std::vector<Tensor> inputs, outputs;  ///< inputs: parameters, then constants
  Stmt body;                            ///< the whole function
  std::vector<Var> sizes = {};          ///< variables that each run gives values to, by name
};
std::string print(const Stmt& stmt);  ///< Returns the loops as text, for tests and messages.
/// Returns the loops as text, for tests and messages.
std::string print(const LoopFunction& function);

}  // namespace byoc::te
