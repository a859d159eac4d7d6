// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/values/values.h"

#include <algorithm>
#include <numeric>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "llvm/IR/Function.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {

using te::BinaryOp;

namespace {

bool is_one(const te::Expr& x) {
  auto* number = std::get_if<te::FloatImm>(&x->kind);
  return number != nullptr && number->value == 1;
}

const te::Unary* unary_of(const te::Expr& x, te::UnaryOp op) {
  auto* unary = std::get_if<te::Unary>(&x->kind);
  return unary != nullptr && unary->op == op ? unary : nullptr;
}

// Returns 1 + e^-x if `factor` is 1 / (1 + e^-x); null for others.
const te::Expr* divisor_of_sigmoid(const te::Expr& factor, const te::Expr& x) {
  auto* quotient = std::get_if<te::Binary>(&factor->kind);
  if (quotient == nullptr || quotient->op != BinaryOp::kDivide || !is_one(quotient->a))
    return nullptr;
  auto* sum = std::get_if<te::Binary>(&quotient->b->kind);
  if (sum == nullptr || sum->op != BinaryOp::kAdd || !is_one(sum->a)) return nullptr;
  const te::Unary* power = unary_of(sum->b, te::UnaryOp::kExp);
  const te::Unary* negated = power ? unary_of(power->x, te::UnaryOp::kNegate) : nullptr;
  return negated && te::structural_equal(negated->x, x) ? &quotient->b : nullptr;
}

}  // namespace

void Values::bind_value(const te::Var& var, const te::Expr& value) {
  auto stride = value.dtype() == DType::kI64 ? stride_of(value) : std::nullopt;
  if (stride) vars_[var.id()] = {first_of(value), *stride, true};
  else vars_[var.id()] = {this->value(value), 0, !varies(value)};
  if (value.dtype() == DType::kI64) {
    ranges_.set(var, ranges_.of(value));
    ranges_.set_factor(var, ranges_.factor_of(value));
  }
}

llvm::Value* Values::bound(const void* var) const {
  auto found = vars_.find(var);
  return found == vars_.end() ? nullptr : found->second.value;
}

llvm::Value* Values::base(const void* tensor) const {
  auto found = bases_.find(tensor);
  return found == bases_.end() ? nullptr : found->second;
}

void Values::begin_lanes(const te::Var& var, Value first, unsigned lanes) {
  BYOC_CHECK(lanes_ == 0 && lanes > 1, lanes, " lanes inside of ", lanes_);
  lanes_ = lanes;
  varies_.clear();
  vars_[var.id()] = {first, 1, true};
}

void Values::end_lanes() {
  lanes_ = 0;
  varies_.clear();
}

void Values::begin_statement() {
  BYOC_CHECK(known_.size() == 1, "a statement begins inside of a branch of an expression");
  known_.assign(1, {});
  needs_guard_.clear();
}

llvm::Value* Values::mask_and(Value condition) {
  condition = splat(condition);
  return mask_ ? b_.CreateAnd(mask_, condition) : condition;
}

llvm::Value* Values::any_lane(Value mask) { return b_.CreateOrReduce(mask); }

void Values::assume(const te::Var& var, const te::Expr& value) {
  auto stride = stride_of(value);
  vars_[var.id()] = {nullptr, stride.value_or(0), stride || !varies(value)};
}

bool Values::varies(const te::Expr& x) {
  if (lanes_ == 0) return false;
  auto [known, is_new] = varies_.try_emplace(&*x, false);
  if (!is_new) return known->second;
  bool out = std::visit(
      overloaded{
          [](const te::IntImm&) { return false; },
          [](const te::FloatImm&) { return false; },
          [&](const te::VarRef& v) {
            auto found = vars_.find(v.var.id());
            return found != vars_.end() && (!found->second.is_affine || found->second.stride != 0);
          },
          [&](const te::Unary& v) { return varies(v.x); },
          [&](const te::Binary& v) {
            bool a = varies(v.a), b = varies(v.b);
            return (a || b) && stride_of(x) != 0;
          },
          [&](const te::Select& v) { return varies(v.condition) || varies(v.yes) || varies(v.no); },
          [&](const te::Cast& v) { return varies(v.x); },
          [&](const te::Bitcast& v) { return varies(v.x); },
          [&](const std::shared_ptr<const te::Load>& v) {
            return std::any_of(v->indices.begin(), v->indices.end(),
                               [&](const te::Expr& index) { return varies(index); });
          },
      },
      x->kind);
  varies_[&*x] = out;
  return out;
}

// Returns a stride where the lanes stay within one multiple of the divisor, or step over
// whole multiples.
std::optional<int64_t> Values::stride_of_division(const te::Binary& x) {
  auto divisor = te::as_int(x.b);
  auto stride = stride_of(x.a);
  if (!divisor || *divisor <= 0 || !stride) return std::nullopt;
  bool is_quotient = x.op == BinaryOp::kFloorDivide;
  if (*stride % *divisor == 0) return is_quotient ? *stride / *divisor : 0;
  int64_t step = std::gcd(ranges_.factor_of(x.a), *divisor);
  int64_t reach = *stride * (static_cast<int64_t>(lanes_) - 1);
  if (*stride < 0 || step <= reach) return std::nullopt;
  return is_quotient ? 0 : *stride;
}

std::optional<int64_t> Values::stride_of(const te::Expr& x) {
  if (x.dtype() != DType::kI64) return std::nullopt;
  if (auto* var = std::get_if<te::VarRef>(&x->kind)) {
    auto found = vars_.find(var->var.id());
    if (found == vars_.end() || !found->second.is_affine) return std::nullopt;
    return found->second.stride;
  }
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr) return varies(x) ? std::nullopt : std::optional<int64_t>(0);
  if (binary->op == BinaryOp::kFloorDivide || binary->op == BinaryOp::kFloorModulo) {
    if (!varies(binary->a) && !varies(binary->b)) return 0;
    return stride_of_division(*binary);
  }
  auto a = stride_of(binary->a), b = stride_of(binary->b);
  if (!a || !b) return std::nullopt;
  if (*a == 0 && *b == 0) return 0;
  if (binary->op == BinaryOp::kAdd) return *a + *b;
  if (binary->op == BinaryOp::kSubtract) return *a - *b;
  if (binary->op != BinaryOp::kMultiply) return std::nullopt;
  if (auto factor = te::as_int(binary->b)) return *a * *factor;
  if (auto factor = te::as_int(binary->a)) return *b * *factor;
  return std::nullopt;
}

// Returns the distances of all lanes from the first one where they are constants: also those of
// divisions whose operand is a multiple of the divisor in the first lane.
std::optional<Ints> Values::steps_of(const te::Expr& x) {
  if (auto stride = stride_of(x)) {
    Ints out;
    for (unsigned k = 0; k < lanes_; ++k) out.push_back(*stride * static_cast<int64_t>(k));
    return out;
  }
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr || x.dtype() != DType::kI64) return std::nullopt;
  std::optional<Ints> a = steps_of(binary->a);
  if (!a) return std::nullopt;
  if (auto by = te::as_int(binary->b)) {
    const bool is_quotient = binary->op == BinaryOp::kFloorDivide;
    if (is_quotient || binary->op == BinaryOp::kFloorModulo) {
      if (*by <= 0 || ranges_.factor_of(binary->a) % *by != 0 || std::ranges::min(*a) < 0)
        return std::nullopt;
      for (int64_t& step : *a) step = is_quotient ? step / *by : step % *by;
      return a;
    }
    if (binary->op == BinaryOp::kMultiply) {
      for (int64_t& step : *a) step *= *by;
      return a;
    }
  }
  const std::optional<Ints> b = steps_of(binary->b);
  const bool is_sum = binary->op == BinaryOp::kAdd;
  if (!b || (!is_sum && binary->op != BinaryOp::kSubtract)) return std::nullopt;
  for (size_t k = 0; k < a->size(); ++k) (*a)[k] += is_sum ? (*b)[k] : -(*b)[k];
  return a;
}

// Returns the value in the first lane. Mirrors stride_of and steps_of.
llvm::Value* Values::first_of(const te::Expr& x) {
  if (auto* var = std::get_if<te::VarRef>(&x->kind)) {
    const Binding& binding = vars_.at(var->var.id());
    BYOC_CHECK(binding.value != nullptr, "variable ", var->var.name(), " has no value yet");
    return binding.value;
  }
  auto* binary = std::get_if<te::Binary>(&x->kind);
  if (binary == nullptr || (!varies(binary->a) && !varies(binary->b))) return value(x);
  Value a = first_of(binary->a), b = first_of(binary->b);
  if (binary->op == BinaryOp::kFloorDivide || binary->op == BinaryOp::kFloorModulo)
    return division(*binary, a, b);
  return ops_.binary(binary->op, DType::kI64, a, b);
}

llvm::Value* Values::iota(llvm::Type* type, int64_t stride) {
  BYOC_CHECK(lanes_ > 0, "the numbers of lanes outside of a vectorized loop");
  std::vector<llvm::Constant*> lanes;
  for (unsigned k = 0; k < lanes_; ++k)
    lanes.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(stride * k), true));
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* Values::lanes_of_binding(const Binding& binding) {
  if (lanes_ == 0 || !binding.is_affine || binding.stride == 0) return binding.value;
  return b_.CreateAdd(splat(binding.value), iota(b_.getInt64Ty(), binding.stride));
}

llvm::Value* Values::value(const te::Expr& x) {
  for (size_t k = known_.size(); k-- > 0;) {
    auto found = known_[k].find(&*x);
    if (found != known_[k].end()) return found->second;
  }
  Value out = make(x);
  known_.back()[&*x] = out;
  return out;
}

llvm::Value* Values::make(const te::Expr& x) {
  return std::visit(
      overloaded{
          [&](const te::IntImm& v) { return ops_.int_constant(x.dtype(), v.value); },
          [&](const te::FloatImm& v) { return ops_.constant(x.dtype(), v.value); },
          [&](const te::VarRef& v) {
            auto found = vars_.find(v.var.id());
            BYOC_CHECK(found != vars_.end(), "variable ", v.var.name(), " is bound nowhere");
            return lanes_of_binding(found->second);
          },
          [&](const te::Unary& v) { return ops_.unary(v.op, v.x.dtype(), value(v.x)); },
          [&](const te::Binary& v) {
            if (lanes_ != 0 && x.dtype() == DType::kI64 && !varies(x) &&
                (varies(v.a) || varies(v.b)))
              return first_of(x);  // lanes that stay within one multiple
            if (v.op == BinaryOp::kAdd) {
              if (Value sum = dot(x)) return sum;
            }
            return make_binary(v);
          },
          [&](const te::Select& v) { return make_select(v); },
          [&](const te::Cast& v) { return make_cast(x.dtype(), v.x); },
          [&](const te::Bitcast& v) { return ops_.bitcast(v.x.dtype(), x.dtype(), value(v.x)); },
          [&](const std::shared_ptr<const te::Load>& v) { return load(*v); },
      },
      x->kind);
}

bool Values::is_natural_division(const te::Binary& x) const {
  return x.a.dtype() == DType::kI64 && x.op >= BinaryOp::kDivide &&
         x.op <= BinaryOp::kFloorModulo && ranges_.of(x.a).low >= 0 && ranges_.of(x.b).low > 0;
}

llvm::Value* Values::division(const te::Binary& x, Value a, Value b) {
  if (!is_natural_division(x)) return ops_.binary(x.op, DType::kI64, a, b);
  unsigned lanes = std::max(lanes_of(a), lanes_of(b));
  return ops_.natural_division(x.op, ops_.splat(a, lanes), ops_.splat(b, lanes));
}

llvm::Value* Values::make_binary(const te::Binary& x) {
  DType dtype = x.a.dtype();
  if (dtype == DType::kI64 && x.op >= BinaryOp::kEqual && (varies(x.a) || varies(x.b))) {
    auto a = stride_of(x.a), b = stride_of(x.b);
    bool is_small = ranges_.of(x.a).is_within(-(1 << 29), 1 << 29) &&
                    ranges_.of(x.b).is_within(-(1 << 29), 1 << 29);
    if (a && b && is_small) return compare_indices(x, *a - *b);
  }
  if (Value ratio = silu(x)) return ratio;
  if (Value sum = one_and_exp(x)) return sum;
  if (Value number = number_of_nibble(x)) return number;
  Value a = value(x.a), b = value(x.b);
  if (is_natural_division(x)) return division(x, a, b);
  return ops_.binary(x.op, dtype, a, b);
}

// Computes x (1 / (1 + e^-x)) as x / (1 + e^-x), with one rounding less; null: x is something else.
llvm::Value* Values::silu(const te::Binary& x) {
  const DType dtype = x.a.dtype();
  const bool may_divide = ops_.may_contract() && (dtype == DType::kF32 || dtype == DType::kF64);
  if (x.op != BinaryOp::kMultiply || !may_divide) return nullptr;
  const te::Expr* divisor = divisor_of_sigmoid(x.b, x.a);
  const te::Expr& numerator = divisor ? x.a : x.b;
  if (!divisor) divisor = divisor_of_sigmoid(x.a, x.b);
  if (!divisor) return nullptr;
  if (dtype == DType::kF32) return emit_silu(b_, machine_, value(numerator));
  return ops_.binary(BinaryOp::kDivide, dtype, value(numerator), value(*divisor));
}

// Computes 1 + e^x of f32, the divisor of a sigmoid; null: x is something else.
llvm::Value* Values::one_and_exp(const te::Binary& x) {
  const te::Unary* power = unary_of(x.b, te::UnaryOp::kExp);
  if (x.op != BinaryOp::kAdd || !is_one(x.a) || !power || x.a.dtype() != DType::kF32)
    return nullptr;
  return ops_.binary(x.op, DType::kF32, value(x.a),
                     emit_exp_beside_one(b_, machine_, value(power->x)));
}

// Compares base + lane * stride OP 0 as lane * stride OP -base, in 32 bits and with a
// constant on the left.
llvm::Value* Values::compare_indices(const te::Binary& x, int64_t stride) {
  Value base = b_.CreateSub(first_of(x.b), first_of(x.a));
  Value limit = splat(b_.CreateTrunc(base, b_.getInt32Ty()));
  return ops_.binary(x.op, DType::kI32, iota(b_.getInt32Ty(), stride), limit);
}

// Casts in 32 bits where the lanes of a small index allow it, because that is cheaper.
llvm::Value* Values::make_cast(DType to, const te::Expr& x) {
  auto stride = x.dtype() == DType::kI64 && varies(x) ? stride_of(x) : std::nullopt;
  if (!stride || !ranges_.of(x).is_within(-(1 << 30), 1 << 30))
    return ops_.cast(x.dtype(), to, value(x));
  Value first = b_.CreateTrunc(first_of(x), b_.getInt32Ty());
  return ops_.cast(DType::kI32, to, b_.CreateAdd(splat(first), iota(b_.getInt32Ty(), *stride)));
}

bool Values::needs_guard(const te::Expr& x) {
  auto [known, is_new] = needs_guard_.try_emplace(&*x, false);
  if (!is_new) return known->second;
  bool out = false;
  Seen seen;
  walk_expr(x, seen, [&](const te::Expr& inner) {
    auto* load = std::get_if<std::shared_ptr<const te::Load>>(&inner->kind);
    if (load) out = out || !ranges_.is_inside(**load);
  });
  needs_guard_[&*x] = out;
  return out;
}

llvm::Value* Values::value_under(const te::Expr& x, Value condition) {
  if (!needs_guard(x)) return value(x);
  Value outer = set_mask(mask_and(condition));
  enter_branch();
  Value out = value(x);
  leave_branch();
  set_mask(outer);
  return out;
}

// Returns the greater or the lesser of two floats, or the NaN among them, for
// select(is_nan(a), a, max(a, b)). One intrinsic needs a compare less than the two selects, and
// does not wait for `b` to find out that `a` is a NaN. `a` is read in any case, for the condition.
// As two selects, LLVM 19 takes is_nan(|x|) | |x| > 0 for !(x <= 0), which is wrong for negative x.
// nullptr: the select is another one.
llvm::Value* Values::make_extremum(const te::Select& x) {
  auto* is_nan = std::get_if<te::Unary>(&x.condition->kind);
  auto* no = std::get_if<te::Binary>(&x.no->kind);
  if (is_nan == nullptr || is_nan->op != te::UnaryOp::kIsNan || no == nullptr) return nullptr;
  const bool is_max = no->op == BinaryOp::kMax;
  const DType dtype = x.no.dtype();
  if ((!is_max && no->op != BinaryOp::kMin) || (dtype != DType::kF32 && dtype != DType::kF64) ||
      !te::structural_equal(is_nan->x, no->a) || !te::structural_equal(x.yes, no->a))
    return nullptr;
  if (needs_guard(no->b)) return nullptr;
  Value a = value(no->a), b = value(no->b);
  const unsigned lanes = std::max(lanes_of(a), lanes_of(b));
  return ops_.nan_or(is_max, ops_.splat(a, lanes), ops_.splat(b, lanes));
}

llvm::Value* Values::make_select(const te::Select& x) {
  if (std::optional<bool> known = ranges_.decide(x.condition)) return value(*known ? x.yes : x.no);
  if (Value extremum = make_extremum(x)) return extremum;
  Value condition = value(x.condition);
  if (lanes_of(condition) != 0) {
    BYOC_CHECK(lanes_of(condition) == lanes_, "a condition of ", lanes_of(condition),
               " lanes in a loop of ", lanes_);
    Value yes = value_under(x.yes, condition);
    Value no = value_under(x.no, b_.CreateNot(condition));
    return b_.CreateSelect(condition, splat(yes), splat(no));
  }
  if (needs_guard(x.yes) || needs_guard(x.no)) {
    if (Value out = load_or_constant(x, condition)) return out;
    return select_by_branch(condition, x.yes, x.no);
  }
  Value yes = value(x.yes), no = value(x.no);
  unsigned lanes = std::max(lanes_of(yes), lanes_of(no));
  return b_.CreateSelect(condition, ops_.splat(yes, lanes), ops_.splat(no, lanes));
}

llvm::Value* Values::select_by_branch(Value condition, const te::Expr& yes, const te::Expr& no) {
  unsigned lanes = varies(yes) || varies(no) ? lanes_ : 0;
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, function);
  };
  llvm::BasicBlock *on_yes = block("yes"), *on_no = block("no"), *join = block("join");
  b_.CreateCondBr(condition, on_yes, on_no);
  auto fill = [&](llvm::BasicBlock*& at, const te::Expr& x) {
    b_.SetInsertPoint(at);
    enter_branch();
    Value out = ops_.splat(value(x), lanes);
    leave_branch();
    at = b_.GetInsertBlock();
    b_.CreateBr(join);
    return out;
  };
  Value a = fill(on_yes, yes), b = fill(on_no, no);
  b_.SetInsertPoint(join);
  llvm::PHINode* out = b_.CreatePHI(a->getType(), 2);
  out->addIncoming(a, on_yes);
  out->addIncoming(b, on_no);
  return out;
}

}  // namespace byoc::llvm_plugin
