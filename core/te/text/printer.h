// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prints expressions and statements.
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "byoc/te/tensor.h"

namespace byoc::te {

/// Returns the name, in quotes where it would be read as something else.
std::string quoted_name(const std::string& name);

/// Returns the text in quotes.
std::string quoted_text(std::string_view text);

/// Gives each variable and tensor a distinct name, as several may have the same one.
class Printer {
 public:
  std::string out;

  void expr(const Expr& x);
  void list(const Exprs& xs);
  /// Prints statements, each at a new line.
  void stmt(const Stmt& s, int depth);
  void tensor_type(const Tensor& tensor);
  /// Prints "x: f32[2], y: f32[3]".
  void tensors(const std::vector<Tensor>& tensors);
  /// Prints " sizes 1<=B<=4, 1<=T<=64 "; nothing without sizes.
  void sizes(const std::vector<Var>& sizes);
  void line(int depth) { out += '\n', out.append(static_cast<size_t>(2 * depth), ' '); }
  std::string name(const Var& var) { return name(var.id(), var.name(), is_scope_); }
  std::string name(const Tensor& tensor) { return name(tensor.id(), tensor.name()); }
  /// Returns the name of what a statement introduces: a new one when it had one before.
  template <class Named>
  std::string introduce(const Named& named) {
    if (!introduced_.insert(named.id()).second) names_.erase(named.id());
    return name(named);
  }
  /// Declares the micro-kernels that a statement calls, each once.
  void kernels_of(const Stmt& body);
  void compute(const Compute& compute, int depth);
  /// Prints the compute of a stage, with names for long parts that have several readers.
  void shared_compute(const Compute& compute);
  /// Frees the names that variables got since begin_scope().
  void begin_scope() { is_scope_ = true; }
  void end_scope();

 private:
  // The readers of a node in one statement, and the size of its text.
  struct Shared {
    uint32_t readers = 0;
    uint64_t size = 0;
  };
  std::string name(const void* id, const std::string& suggested, bool is_scoped = false);
  void binary(const Binary& x);
  void node(const Expr& x);
  void float_value(double value, DType dtype);
  uint64_t count(const Expr& x, std::vector<Expr>& order);
  void define(std::initializer_list<const Exprs*> lists, const std::function<void()>& before);
  void share(std::initializer_list<const Exprs*> lists, int depth);
  void forget() { shared_.clear(), numbers_.clear(); }

  bool nested(const Stmt& s, int depth, std::vector<const Stmt*>& rest);
  void statement(const StmtNode& s, int depth);
  void for_loop(const For& loop, int depth);
  void branch(const If& branch, int depth);
  void intrinsic(const Intrinsic& call, int depth);
  void axes(const std::vector<Axis>& axes);
  void combiner(const Combiner& combiner, int depth);
  void kernel(const TensorIntrin& intrin);

  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<std::string, int> taken_;  // names, with the number of the last one made of it
  std::unordered_map<const void*, Shared> shared_;
  std::unordered_map<const void*, uint32_t> numbers_;  // of nodes that are printed as $0, $1, ...
  std::unordered_set<const void*> introduced_;
  std::vector<std::pair<const void*, std::string>> scoped_;  // variables and their names
  bool is_scope_ = false;
  std::unordered_set<std::string> kernels_;
};

}  // namespace byoc::te
