// SPDX-License-Identifier: Apache-2.0
#include "plugins/cuda/code/memory.h"

#include <algorithm>
#include <bit>

#include "byoc/te/rewrite.h"

namespace byoc::cuda {
namespace {

using llvm_plugin::Home;

// Memory that every device has: of a group without a request for more, and of a thread's stack.
constexpr uint64_t kMostShared = 48 << 10, kMostOfThread = 16 << 10;

using Allocs = std::vector<te::Tensor>;

// Removes the allocations inside of kernels.
te::Stmt without_inner(const te::Stmt& stmt, bool is_inside, Allocs& removed) {
  if (stmt.is_empty()) return stmt;
  const auto* alloc = std::get_if<te::Alloc>(&stmt->kind);
  is_inside = is_inside || std::holds_alternative<te::For>(stmt->kind);
  if (alloc != nullptr && is_inside) {
    removed.push_back(alloc->tensor);
    return without_inner(alloc->body, true, removed);
  }
  return te::map_parts(
      stmt, [](const te::Expr& x) { return x; },
      [&](const te::Stmt& inner) { return without_inner(inner, is_inside, removed); });
}

Result<Home> inner_home(const te::Tensor& tensor, const Roles& roles) {
  Home home{Home::kStack, 0, tensor, {}, {}, 1};
  BYOC_TRY(home.dims, numbers_of(tensor.shape(), tensor.name()));
  const bool is_of_registers = roles.registers.contains(tensor.id());
  home.strides.resize(home.dims.size());
  for (size_t d = home.dims.size(); d-- > 0;) {
    const bool counts = d > 0 || !is_of_registers;
    home.strides[d] = counts ? home.elements : 0;
    if (counts) home.elements *= home.dims[d];
  }
  for (int64_t stride : home.strides) home.steps.emplace_back(stride);
  const bool is_shared = roles.shared.contains(tensor.id());
  if (home.bytes() > (is_shared ? kMostShared : kMostOfThread))
    return unimplemented(cat(tensor.name(), " takes ", home.bytes(), " bytes of a ",
                             is_shared ? "group" : "thread", " of a device"));
  return home;
}

bool is_plain(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || !is_float(dtype);
}

te::Expr hidden_constant(const te::Expr& x) {
  if (const auto* number = std::get_if<te::FloatImm>(&x->kind)) {
    if (x.dtype() == DType::kF64)
      return te::bitcast(x.dtype(),
                         te::int_constant(DType::kI64, std::bit_cast<int64_t>(number->value)));
    if (x.dtype() == DType::kF32)
      return te::bitcast(
          x.dtype(),
          te::int_constant(DType::kI32, std::bit_cast<int32_t>(static_cast<float>(number->value))));
  }
  if (const auto* number = std::get_if<te::IntImm>(&x->kind); number && x.dtype() == DType::kI64)
    return te::bitcast(x.dtype(), te::int_constant(DType::kU64, number->value));
  if (const auto* number = std::get_if<te::IntImm>(&x->kind); number && x.dtype() == DType::kI32)
    return te::bitcast(x.dtype(), te::int_constant(DType::kU32, number->value));
  return x;
}

class Preparer {
 public:
  te::Expr operator()(const te::Expr& x) {
    auto known = done_.find(&*x);
    if (known != done_.end()) return known->second.second;
    te::Expr out = te::map_operands(x, [&](const te::Expr& operand) { return (*this)(operand); });
    const auto* select = std::get_if<te::Select>(&out->kind);
    if (select != nullptr && is_plain(out.dtype()) &&
        std::holds_alternative<std::shared_ptr<const te::Load>>(select->yes->kind))
      out = te::select(select->condition, select->yes, hidden_constant(select->no));
    done_.emplace(&*x, std::pair(x, out));
    return out;
  }
  te::Stmt operator()(const te::Stmt& stmt) {
    return te::map_parts(
        stmt, [&](const te::Expr& x) { return (*this)(x); },
        [&](const te::Stmt& inner) { return (*this)(inner); });
  }

 private:
  std::unordered_map<const te::ExprNode*, std::pair<te::Expr, te::Expr>> done_;
};

}  // namespace

Result<llvm_plugin::MemoryPlan> plan_of(const GroupFunction& function) {
  Allocs inner;
  te::LoopFunction outer = function.loops;
  outer.body = without_inner(outer.body, false, inner);
  BYOC_TRY(llvm_plugin::MemoryPlan out, llvm_plugin::plan_memory(outer, 1));
  for (const te::Tensor& tensor : inner) {
    BYOC_TRY(Home home, inner_home(tensor, function.roles));
    out.homes.insert_or_assign(tensor.id(), std::move(home));
  }
  return out;
}

te::LoopFunction prepared_loads(const te::LoopFunction& function) {
  te::LoopFunction out = function;
  out.body = Preparer()(function.body);
  return out;
}

}  // namespace byoc::cuda
