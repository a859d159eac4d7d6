// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses loop functions. Types, scopes and the numbers of indices are checked, so that what it
// returns is as well-formed as what the factories make.
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "byoc/te/text.h"
#include "core/te/text/reader.h"

namespace byoc::te {

/// An expression with the length of its longest path.
struct Deep {
  Expr x;
  int depth = 0;
};

/// Names with a meaning up to the end of a scope.
template <class Value>
class Scopes {
 public:
  void add(const std::string& name, Value value) {
    Value& known = now_[name];
    hidden_.emplace_back(name, std::exchange(known, std::move(value)));
  }
  const Value* find(const std::string& name) const {
    auto at = now_.find(name);
    return at == now_.end() || !at->second ? nullptr : &at->second;
  }
  size_t mark() const { return hidden_.size(); }
  void close(size_t mark) {
    for (; hidden_.size() > mark; hidden_.pop_back())
      now_[hidden_.back().first] = std::move(hidden_.back().second);
  }

 private:
  std::unordered_map<std::string, Value> now_;  // null: no meaning any more
  std::vector<std::pair<std::string, Value>> hidden_;
};

/// Returns false for tensors of a negative or an enormous size.
bool is_countable(const Tensor& tensor);

class Parser {
 public:
  Parser(std::string_view text, size_t at) : in_(text, at) {}
  Result<LoopFunction> function();
  Result<ScheduledDag> te();
  size_t at() const { return in_.at(); }

 private:
  struct Variable {
    std::optional<Expr> ref;
    explicit operator bool() const { return ref.has_value(); }
  };
  struct Memory {
    std::optional<Tensor> tensor;
    bool is_input = false;
    explicit operator bool() const { return tensor.has_value(); }
  };
  /// The head of a statement whose body is the rest of its block.
  struct Head {
    std::optional<Var> var;
    Expr value;
    Tensor tensor;
    Scope scope = Scope::kStack;
  };
  struct Item {
    Stmt stmt;
    std::optional<Head> head;  // instead of `stmt`
  };
  using Kernel = std::shared_ptr<const TensorIntrin>;

  // parse_expr.cc
  Result<Expr> expression();
  Result<Deep> expression(int level, int depth);
  Result<Deep> operand(int depth);
  Result<Deep> literal();
  Result<Deep> named(int depth);
  Result<Deep> call(const std::string& name, size_t at, int depth);
  Result<Deep> one_operand(UnaryOp op, size_t at, int depth);
  Result<Deep> apply(UnaryOp op, Deep x, size_t at);
  Result<Deep> apply(BinaryOp op, Deep a, Deep b, size_t at);
  Result<Deep> load(const std::string& name, size_t at, int depth);
  Result<std::vector<Deep>> arguments(size_t count, std::string_view close, int depth);
  Result<Exprs> indices(const Tensor& tensor, size_t at);
  Result<const Memory*> memory(const std::string& name, size_t at);
  Result<Tensor> tensor(const std::string& name, bool declares);

  // parse_stmt.cc
  Result<Stmt> block();
  Result<bool> item(std::vector<Item>& items);
  Result<Stmt> loop(LoopKind kind);
  Result<Stmt> body_of_loop(LoopKind kind);
  Result<Stmt> branch();
  Result<Stmt> store_or_call();
  Result<Stmt> store(const std::string& name, size_t at);
  Result<Stmt> intrinsic(const std::string& name, size_t at);
  Status check_call(const Intrinsic& call, size_t at) const;
  Result<Head> let();
  Result<Head> alloc(Scope scope);
  Status short_name();
  Status too_deep() const;

  // parse_loops.cc
  Status sizes(std::vector<Var>& out);
  Status tensors(std::vector<Tensor>& out, bool is_input);
  Status kernel();
  Status strides(TensorIntrin& intrin);
  Result<Compute> compute(bool has_combiner = false);
  Result<std::vector<Axis>> axes();
  Status combiner(Compute& compute);
  bool is_at_definition();
  Result<Exprs> list_of_values();
  static Status check_types(const TensorIntrin& intrin);

  // parse_te.cc
  Result<LoopFunction> te_function();
  Result<LoopFunction> scheduled(Dag dag, size_t at);
  Status stage(Dag& dag);
  Result<Compute> stage_compute(const std::vector<std::string>& names, size_t at);
  Status procedure(Stage& stage);
  Status origin(Stage& stage);
  Result<Dag> dag();
  Result<Trace> trace();
  Status place_input(Dag& dag, size_t at);
  static Stage input_stage(const Tensor& input);

  Reader in_;
  Scopes<Variable> vars_;
  Scopes<Memory> tensors_;
  std::vector<Deep> short_;  // $0, $1, ... of the next statement
  std::unordered_map<std::string, Kernel> kernels_;
  std::unordered_set<const void*> placed_;  // inputs of a Dag that have a line
  int nesting_ = 0;
  bool declares_ = false;  // names in shapes that have no meaning yet become variables
  bool is_parallel_ = false;
};

}  // namespace byoc::te
