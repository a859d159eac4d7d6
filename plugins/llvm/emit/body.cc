// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/emit/body.h"

#include <algorithm>
#include <cstddef>

#include "byoc/base/check.h"
#include "byoc/ir/visit.h"
#include "byoc/te/rewrite.h"
#include "byoc/te/simplify.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/analysis/walk.h"

namespace byoc::llvm_plugin {

using te::LoopKind;

namespace {

constexpr size_t kMostRows = 16;  // whose lanes are stored in turns

bool reads(const te::Expr& value, const te::Tensor& tensor) {
  bool out = false;
  Seen seen;
  walk_expr(value, seen, [&](const te::Expr& x) {
    const auto* load = std::get_if<std::shared_ptr<const te::Load>>(&x->kind);
    out = out || (load != nullptr && (*load)->tensor == tensor);
  });
  return out;
}

}  // namespace

Body::Body(Unit& unit, llvm::Function* function)
    : unit_(unit),
      function_(function),
      builder_(llvm::BasicBlock::Create(unit.module.getContext(), "entry", function)),
      ops_(builder_, unit.machine, unit.contract),
      values_(ops_, unit.machine, unit.plan),
      control_(function, builder_, values_) {}

void Body::bind_sizes() {
  if (unit_.sizes.empty()) return;
  llvm::Type *ptr = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
  Value field =
      builder_.CreateConstGEP1_64(builder_.getInt8Ty(), call_, offsetof(byoc_native_call, sizes));
  Value list = builder_.CreateAlignedLoad(ptr, field, llvm::Align(8));
  for (size_t k = 0; k < unit_.sizes.size(); ++k) {
    const te::Var& size = unit_.sizes[k];
    llvm::LoadInst* value =
        builder_.CreateAlignedLoad(i64, builder_.CreateConstGEP1_64(i64, list, k), llvm::Align(8));
    const llvm::APInt least(64, static_cast<uint64_t>(size.min())),
        end(64, static_cast<uint64_t>(size.max()) + 1);
    value->setMetadata(llvm::LLVMContext::MD_range,
                       llvm::MDBuilder(builder_.getContext()).createRange(least, end));
    values_.bind(size, value);
  }
}

Status Body::emit(const te::Stmt& stmt) {
  if (stmt.is_empty()) return {};
  return std::visit(overloaded{
                        [&](const te::For& v) { return emit_for(*stmt, v); },
                        [&](const te::Store& v) {
                          values_.begin_statement();
                          values_.store(v.tensor, v.indices, values_.value(v.value));
                          return Status();
                        },
                        [&](const te::If& v) { return emit_if(v); },
                        [&](const te::Let& v) { return emit_let(v); },
                        [&](const te::Alloc& v) { return emit_alloc(v); },
                        [&](const te::Block& v) { return emit_block(v); },
                        [&](const te::Intrinsic& v) { return emit_intrinsic(v); },
                    },
                    stmt->kind);
}

Status Body::emit_block(const te::Block& block) {
  for (size_t s = 0; s < block.stmts.size();) {
    const size_t rows = values_.lanes() == 0 ? 0 : emit_rows(std::span(block.stmts).subspan(s));
    if (rows == 0) BYOC_TRY_STATUS(emit(block.stmts[s]));
    s += std::max<size_t>(rows, 1);
  }
  return {};
}

// Emits the first of these statements as one where they are stores whose lanes together fill
// adjacent elements. Returns their number, or 0.
size_t Body::emit_rows(std::span<const te::Stmt> stmts) {
  std::vector<const te::Store*> stores;
  for (const te::Stmt& stmt : stmts) {
    const auto* store = std::get_if<te::Store>(&stmt->kind);
    if (store == nullptr || stores.size() == kMostRows) break;
    if (!stores.empty() && store->tensor != stores[0]->tensor) break;
    if (reads(store->value, store->tensor)) break;
    stores.push_back(store);
  }
  for (size_t count = stores.size(); count > 1; --count) {
    values_.begin_statement();
    if (values_.store_rows(std::span(stores).first(count))) return count;
  }
  return 0;
}

Status Body::emit_for(const te::StmtNode& node, const te::For& loop) {
  switch (loop.kind) {
    case LoopKind::kSerial:
      return emit_serial(loop);
    case LoopKind::kUnrolled:
      return emit_unrolled(loop);
    case LoopKind::kVectorized:
      return values_.lanes() == 0 ? emit_vectorized(loop) : emit_serial(loop);
    case LoopKind::kParallel:
      return is_parallel_ ? emit_serial(loop) : emit_parallel(node, loop);
  }
  return {};
}

Status Body::emit_once(const te::For& loop, Value at, Range range) {
  return control_.once(loop, at, range, inner());
}

// Returns an unrolled loop around vectors as one loop with a store per iteration, where the stores
// together fill rows of adjacent elements: lane 0 of each, then lane 1 of each.
std::optional<te::For> Body::in_turns(const te::For& loop) const {
  const auto* inner = std::get_if<te::For>(&loop.body->kind);
  if (inner == nullptr || inner->kind != LoopKind::kVectorized || inner->body.is_empty())
    return std::nullopt;
  const auto* store = std::get_if<te::Store>(&inner->body->kind);
  const std::optional<int64_t> begin = te::as_int(loop.begin), count = te::as_int(loop.extent);
  if (store == nullptr || !begin || !count || *count > static_cast<int64_t>(kMostRows) ||
      !te::as_int(inner->begin) || !te::as_int(inner->extent) || reads(store->value, store->tensor))
    return std::nullopt;
  te::Expr flat = 0;
  const Home& home = unit_.plan.homes.at(store->tensor.id());
  for (size_t d = 0; d < home.strides.size(); ++d)
    flat = flat + store->indices[d] * home.strides[d];
  auto grows_by = [&](const te::Var& var) {
    te::Substitution next({{var.id(), te::Expr(var) + 1}});
    return te::as_int(te::simplify(next(flat) - flat));
  };
  if (grows_by(loop.var) != 1 || grows_by(inner->var).value_or(0) < *count) return std::nullopt;
  std::vector<te::Stmt> stores;
  for (int64_t k = 0; k < *count; ++k) {
    te::Substitution at({{loop.var.id(), *begin + k}});
    te::Exprs indices;
    for (const te::Expr& index : store->indices) indices.push_back(te::simplify(at(index)));
    stores.push_back(te::make_store(store->tensor, std::move(indices), at(store->value)));
  }
  te::For out = *inner;
  out.body = te::make_block(std::move(stores));
  return out;
}

Status Body::emit_unrolled(const te::For& loop) {
  if (values_.lanes() == 0) {
    if (const std::optional<te::For> rows = in_turns(loop)) return emit_vectorized(*rows);
  }
  return control_.unrolled(loop, inner());
}

Status Body::emit_serial(const te::For& loop) {
  values_.begin_statement();
  Value begin = values_.value(loop.begin), extent = values_.value(loop.extent);
  auto fixed = te::as_int(loop.extent);
  if (fixed && *fixed <= 0) return {};
  if (fixed && *fixed == 1) return emit_once(loop, begin, range_of(loop));
  if (fixed && values_.lanes() == 0) {
    std::vector<LoopRange> ranges = split_loop(loop, values_.ranges(), copies_);
    if (ranges.size() > 1) return emit_split(loop, begin, ranges);
  }
  return emit_counted(loop, begin, builder_.CreateAdd(begin, extent), fixed.has_value(),
                      range_of(loop));
}

// Emits the ranges one after another, each with the loop variable bounded to that range.
Status Body::emit_split(const te::For& loop, Value begin, const std::vector<LoopRange>& ranges) {
  BYOC_CHECK(te::as_int(loop.begin), "loop ", loop.var.name(), " is split and begins at no number");
  const int64_t low = *te::as_int(loop.begin), copies = copies_;
  copies_ *= static_cast<int64_t>(ranges.size());
  Status status;
  for (const LoopRange& iterations : ranges) {
    BYOC_CHECK(iterations.first < iterations.last, "a part of loop ", loop.var.name(),
               " has iterations");
    const Range range{low + iterations.first, low + iterations.last - 1};
    Value first =
        builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(iterations.first)));
    Value last =
        builder_.CreateAdd(begin, builder_.getInt64(static_cast<uint64_t>(iterations.last)));
    if (!status.ok()) break;
    status = iterations.last - iterations.first == 1 ? emit_once(loop, first, range)
                                                     : emit_counted(loop, first, last, true, range);
  }
  copies_ = copies;
  return status;
}

// Emits the iterations from first to before last. As in serial loops, those whose conditions are
// constant have code of their own, such as all full panels of a matrix.
Status Body::emit_range(const te::For& loop, Value first, Value last) {
  is_parallel_ = true;
  values_.begin_statement();
  Value begin = values_.value(loop.begin);
  const std::vector<LoopRange> ranges = split_loop(loop, values_.ranges(), copies_);
  if (ranges.size() == 1)
    return emit_counted(loop, builder_.CreateAdd(begin, first), builder_.CreateAdd(begin, last),
                        false, range_of(loop));
  BYOC_CHECK(te::as_int(loop.begin), "loop ", loop.var.name(), " is split and begins at no number");
  const int64_t low = *te::as_int(loop.begin);
  copies_ = static_cast<int64_t>(ranges.size());
  for (const LoopRange& part : ranges) {
    Value from = builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smax, first, builder_.getInt64(static_cast<uint64_t>(part.first)));
    Value to = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last,
                                              builder_.getInt64(static_cast<uint64_t>(part.last)));
    BYOC_TRY_STATUS(emit_counted(loop, builder_.CreateAdd(begin, from),
                                 builder_.CreateAdd(begin, to), false,
                                 {low + part.first, low + part.last - 1}));
  }
  return {};
}

Status Body::emit_counted(const te::For& loop, Value begin, Value end, bool is_never_empty,
                          Range range) {
  const uint64_t vectors_before = vectors_written_;
  BYOC_TRY(llvm::BranchInst * latch,
           control_.counted(loop, begin, end, is_never_empty, range, inner()));
  if (vectors_written_ != vectors_before) mark_loop(latch);
  return {};
}

// Marks a loop that already holds vectors, so that LLVM neither vectorises nor unrolls it again.
void Body::mark_loop(llvm::BranchInst* latch) {
  llvm::LLVMContext& context = builder_.getContext();
  auto option = [&](const char* name, bool with_false) {
    std::vector<llvm::Metadata*> parts = {llvm::MDString::get(context, name)};
    if (with_false) parts.push_back(llvm::ConstantAsMetadata::get(builder_.getFalse()));
    return llvm::MDNode::get(context, parts);
  };
  auto placeholder = llvm::MDNode::getTemporary(context, {});
  llvm::MDNode* id = llvm::MDNode::getDistinct(
      context, {placeholder.get(), option("llvm.loop.vectorize.enable", true),
                option("llvm.loop.unroll.disable", false)});
  id->replaceOperandWith(0, id);
  latch->setMetadata(llvm::LLVMContext::MD_loop, id);
}

// Returns an address after `base`. An offset by sizes is the same in the whole function.
llvm::Value* Body::bytes_after(Value base, const te::Expr& offset) {
  if (const auto fixed = te::as_int(offset))
    return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), base, static_cast<uint64_t>(*fixed));
  values_.begin_statement();
  return builder_.CreateGEP(builder_.getInt8Ty(), base, values_.value(offset));
}

Status Body::emit_let(const te::Let& let) { return control_.let(let, inner()); }

Status Body::emit_alloc(const te::Alloc& alloc) {
  const Home& home = unit_.plan.homes.at(alloc.tensor.id());
  const Value from = home.kind == Home::kSlot ? slot_ : workspace_;
  BYOC_CHECK(home.kind == Home::kStack || from != nullptr, "tensor ", alloc.tensor.name(),
             " has its memory in none that this function gets");
  constexpr uint64_t kAlign = 32;
  Value base = home.kind == Home::kStack ? control_.stack(alloc.tensor, home, kAlign)
                                         : bytes_after(from, home.offset);
  return control_.with_memory(alloc, base, inner());
}

Status Body::emit_masked(const te::If& branch, Value condition) {
  BYOC_CHECK(lanes_of(condition) == values_.lanes(), "a condition of ", lanes_of(condition),
             " lanes in a loop of ", values_.lanes());
  Value outer = values_.mask();
  Value on = values_.mask_and(condition);
  Value off = values_.mask_and(builder_.CreateNot(condition));
  values_.set_mask(on);
  Status status = emit(branch.yes);
  values_.set_mask(off);
  if (status.ok()) status = emit(branch.no);
  values_.set_mask(outer);
  return status;
}

Status Body::emit_if(const te::If& branch) {
  values_.begin_statement();
  if (std::optional<bool> known = values_.ranges().decide(branch.condition))
    return emit(*known ? branch.yes : branch.no);
  Value condition = values_.value(branch.condition);
  if (lanes_of(condition) != 0) return emit_masked(branch, condition);
  return control_.branch(branch, condition, inner());
}

}  // namespace byoc::llvm_plugin
