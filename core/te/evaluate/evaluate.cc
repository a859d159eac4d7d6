// SPDX-License-Identifier: Apache-2.0
// Runs code, one element at a time.
#include "byoc/te/evaluate.h"

#include <algorithm>

#include "byoc/base/check.h"
#include "byoc/base/index_error.h"
#include "core/te/evaluate/code.h"

namespace byoc::te {
namespace {

struct Memory {
  std::byte* data = nullptr;  // null: nothing allocates it here
  std::vector<int64_t> extents;
};

class Machine {
 public:
  explicit Machine(const LoopCode& code)
      : code_(code),
        vars_(code.vars.size()),
        is_bound_(code.vars.size()),
        memory_(code.tensors.size()),
        values_(code.exprs.size()),
        epochs_(code.exprs.size()) {}

  void bind(uint32_t var, int64_t value) { set(var, int_number(value)); }
  void place(uint32_t tensor, const void* data);
  void run(uint32_t stmt);
  Number value_of(uint32_t expr) {
    ++epoch_;
    return eval(expr);
  }
  Status take_error() { return std::move(error_); }
  const Status& error() const { return error_; }

 private:
  Number eval(uint32_t at);
  Number compute(const ExprCode& x);
  std::byte* element(uint32_t tensor, uint32_t first, uint32_t count, bool has_offset);
  void run_for(const StmtCode& s);
  void run_alloc(const StmtCode& s);
  void set(uint32_t var, Number value) { vars_[var] = value, is_bound_[var] = true; }
  Number fail(Status error) {
    if (error_.ok()) error_ = std::move(error);
    return {.i = 0};
  }

  const LoopCode& code_;
  std::vector<Number> vars_;
  std::vector<bool> is_bound_;
  std::vector<Memory> memory_;
  std::vector<Number> values_;  // of shared nodes, as of the statement in epochs_
  std::vector<uint64_t> epochs_;
  uint64_t epoch_ = 0;
  Status error_;
  std::byte nowhere_[8] = {};
};

Number Machine::eval(uint32_t at) {
  const ExprCode& x = code_.exprs[at];
  if (!x.is_shared) return compute(x);
  if (epochs_[at] == epoch_) return values_[at];
  const Number value = compute(x);
  values_[at] = value;
  epochs_[at] = epoch_;
  return value;
}

Number Machine::compute(const ExprCode& x) {
  switch (x.kind) {
    case ExprCode::kConstant:
      return x.value;
    case ExprCode::kVar:
      if (!is_bound_[x.a]) return fail(invalid(cat("nothing binds variable ", code_.vars[x.a])));
      return vars_[x.a];
    case ExprCode::kUnary:
      return apply(static_cast<UnaryOp>(x.op), x.from, eval(x.a));
    case ExprCode::kBinary: {
      const Number a = eval(x.a), b = eval(x.b);
      std::optional<Number> result = apply(static_cast<BinaryOp>(x.op), x.from, a, b);
      if (result) return *result;
      return fail(invalid(cat(x.op >= static_cast<uint8_t>(BinaryOp::kShiftLeft)
                                  ? "a shift by too many bits: "
                                  : "a division by 0: ",
                              a.i, " by ", b.i, " of type ", x.from)));
    }
    case ExprCode::kSelect:
      return eval(eval(x.a).i ? x.b : x.c);
    case ExprCode::kCast: {
      const Number from = eval(x.a);
      std::optional<Number> result = converted(x.dtype, x.from, from);
      if (result) return *result;
      return fail(invalid(cat("a cast of ", from.f, " to ", x.dtype)));
    }
    case ExprCode::kBitcast:
      return bits_as(x.dtype, x.from, eval(x.a));
    case ExprCode::kLoad:
      return read_number(x.dtype, element(x.a, x.b, x.c, x.has_offset));
  }
  BYOC_CHECK(false, "kind ", static_cast<int>(x.kind));
}

std::byte* Machine::element(uint32_t tensor, uint32_t first, uint32_t count, bool has_offset) {
  const Memory& memory = memory_[tensor];
  const TensorCode& info = code_.tensors[tensor];
  if (memory.data == nullptr) {
    fail(invalid(cat("nothing allocates tensor ", info.name, " where it is used")));
    return nowhere_;
  }
  int64_t offset = 0, elements = 1;
  for (uint32_t k = 0; k < count; ++k) {
    const int64_t index = eval(code_.lists[first + k]).i;
    if (index < 0 || index >= memory.extents[k]) {
      fail(Status(byoc::Code::kOutOfRange, cat("index ", index, " of dimension ", k, " of ",
                                               info.name, ", which has ", memory.extents[k])));
      return nowhere_;
    }
    offset = offset * memory.extents[k] + index;
    elements *= memory.extents[k];
  }
  if (has_offset) offset += eval(code_.lists[first + count]).i;
  if (has_offset && (offset < 0 || offset >= elements)) {
    fail(Status(byoc::Code::kOutOfRange,
                cat("element ", offset, " of ", info.name, ", which has ", elements)));
    return nowhere_;
  }
  return memory.data + offset * static_cast<int64_t>(dtype_size(info.dtype));
}

void Machine::place(uint32_t tensor, const void* data) {
  const TensorCode& info = code_.tensors[tensor];
  Memory& memory = memory_[tensor];
  memory.extents.clear();
  for (uint32_t k = 0; k < info.count; ++k)
    memory.extents.push_back(value_of(code_.lists[info.first + k]).i);
  // Removes const, because outputs and inputs share this struct: the interpreter writes to outputs
  // and to its own memory alone.
  memory.data = static_cast<std::byte*>(const_cast<void*>(data));
  if (data == nullptr) memory.data = nowhere_;  // of a tensor without elements
}

void Machine::run_for(const StmtCode& s) {
  const int64_t begin = value_of(s.a).i, extent = value_of(s.b).i;
  for (int64_t k = 0; k < extent && error_.ok(); ++k) {
    bind(s.slot, begin + k);
    run(s.children[0]);
  }
}

void Machine::run_alloc(const StmtCode& s) {
  place(s.slot, nowhere_);
  int64_t bytes = static_cast<int64_t>(dtype_size(code_.tensors[s.slot].dtype));
  for (int64_t extent : memory_[s.slot].extents) bytes *= extent;
  std::vector<std::byte> data(static_cast<size_t>(std::max<int64_t>(bytes, 0)), std::byte{0xA5});
  if (!data.empty()) memory_[s.slot].data = data.data();
  run(s.children[0]);
  memory_[s.slot].data = nullptr;
}

void Machine::run(uint32_t stmt) {
  const StmtCode& s = code_.stmts[stmt];
  if (!error_.ok()) return;
  switch (s.kind) {
    case StmtCode::kFor:
      return run_for(s);
    case StmtCode::kStore: {
      const Number value = value_of(s.a);
      std::byte* to = element(s.slot, s.first, s.count, s.has_offset);
      if (error_.ok()) write_number(code_.tensors[s.slot].dtype, to, value);
      return;
    }
    case StmtCode::kIf:
      return run(s.children[value_of(s.a).i ? 0 : 1]);
    case StmtCode::kLet:
      set(s.slot, value_of(s.a));
      return run(s.children[0]);
    case StmtCode::kAlloc:
      return run_alloc(s);
    case StmtCode::kBlock:
      for (uint32_t child : s.children) run(child);
      return;
    case StmtCode::kIntrinsic:
      fail(unimplemented(cat("the interpreter has no intrinsic ", s.name)));
      return;
    case StmtCode::kIndexError:
      fail(index_outside(s.name, value_of(s.a).i, value_of(s.b).i, value_of(s.first).i));
      return;
  }
}

}  // namespace

Status evaluate(const LoopFunction& function, std::span<const void* const> inputs,
                std::span<void* const> outputs, const Bindings& bindings) {
  BYOC_CHECK(inputs.size() == function.inputs.size() && outputs.size() == function.outputs.size(),
             function.name, " has ", function.inputs.size(), " inputs and ",
             function.outputs.size(), " outputs, not ", inputs.size(), " and ", outputs.size());
  Compiler compiler;
  std::vector<uint32_t> tensors, vars;
  for (const Tensor& tensor : function.inputs) tensors.push_back(compiler.tensor(tensor));
  for (const Tensor& tensor : function.outputs) tensors.push_back(compiler.tensor(tensor));
  for (const auto& [var, value] : bindings) vars.push_back(compiler.var(var));
  const uint32_t body = compiler.stmt(function.body);
  Machine machine(compiler.code);
  for (size_t k = 0; k < vars.size(); ++k) machine.bind(vars[k], bindings[k].second);
  for (size_t k = 0; k < tensors.size(); ++k)
    machine.place(tensors[k], k < inputs.size() ? inputs[k] : outputs[k - inputs.size()]);
  machine.run(body);
  return std::move(machine.take_error()).at(cat("loops ", function.name));
}

Result<int64_t> evaluate(const Expr& x, const Bindings& bindings) {
  BYOC_CHECK(!is_float(x.dtype()), "the integer value of an expression of ", x.dtype());
  Compiler compiler;
  std::vector<uint32_t> vars;
  for (const auto& [var, value] : bindings) vars.push_back(compiler.var(var));
  const uint32_t root = compiler.expr(x);
  Machine machine(compiler.code);
  for (size_t k = 0; k < vars.size(); ++k) machine.bind(vars[k], bindings[k].second);
  const int64_t value = machine.value_of(root).i;
  if (!machine.error().ok()) return machine.take_error();
  return value;
}

}  // namespace byoc::te
