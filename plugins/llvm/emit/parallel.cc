// SPDX-License-Identifier: Apache-2.0
// Parallel loops: the body becomes a function that the host's threads call on ranges of iterations.
// The values it uses from outside the loop (captures) are passed in a struct on the caller's stack.
#include <cmath>
#include <cstddef>

#include "byoc/base/check.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/analysis/shared_work.h"
#include "plugins/llvm/emit/body.h"

namespace byoc::llvm_plugin {

struct Body::Captures {
  struct One {
    const void* id;
    Value value;
    bool is_argument;  // memory of its own
    bool is_tensor;
  };
  std::vector<One> ones;
  std::vector<llvm::Type*> types;  // of captures, then host, slots
};

llvm::Function* make_function(Unit& unit, const std::string& name,
                              const std::vector<llvm::Type*>& parameters) {
  llvm::LLVMContext& context = unit.module.getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), parameters, false);
  bool is_entry = name == unit.symbol;
  auto* function = llvm::Function::Create(
      type, is_entry ? llvm::GlobalValue::ExternalLinkage : llvm::GlobalValue::InternalLinkage,
      name, unit.module);
  if (is_entry) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::MustProgress);
  function->addFnAttr("target-features", unit.machine.feature_string());
  if (!unit.machine.tune_cpu.empty()) function->addFnAttr("tune-cpu", unit.machine.tune_cpu);
  function->addFnAttr("prefer-vector-width", std::to_string(unit.machine.vector_bits));
  function->addFnAttr("no-trapping-math", "true");
  return function;
}

llvm::Value* Body::host_field(size_t offset, llvm::Type* type) {
  BYOC_CHECK(offset % 8 == 0, "a field of byoc_host at ", offset, " is not aligned");
  Value place = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), host_, offset);
  return builder_.CreateAlignedLoad(type, place, llvm::Align(8));
}

void Body::return_if_failed(Value result) {
  llvm::BasicBlock *failed = block("failed"), *passed = block("passed");
  builder_.CreateCondBr(builder_.CreateICmpNE(result, builder_.getInt32(0)), failed, passed);
  builder_.SetInsertPoint(failed);
  builder_.CreateRet(result);
  builder_.SetInsertPoint(passed);
}

Body::Captures Body::capture(const te::For& loop) {
  Captures out;
  Names names =
      names_in(te::make_for(te::Var(""), loop.begin, 1, te::LoopKind::kSerial, loop.body));
  for (const te::Var& size : unit_.sizes) {  // strides, too, are made of them
    if (names.index.emplace(size.id(), names.in_order.size()).second)
      names.in_order.push_back(size.id());
  }
  for (const void* id : names.in_order) {
    if (Value scalar = values_.bound(id)) {
      out.ones.push_back({id, scalar, false, false});
    } else if (Value base = values_.base(id)) {
      bool is_argument = unit_.plan.homes.at(id).kind == Home::kArgument;
      out.ones.push_back({id, base, is_argument, true});
    }
  }
  for (const Captures::One& one : out.ones) out.types.push_back(one.value->getType());
  out.types.insert(out.types.end(), 2, builder_.getPtrTy());
  return out;
}

// Makes range(captures..., host, slot, first, last).
llvm::Function* Body::make_range_function(const te::For& loop, const Captures& captures,
                                          Status& status) {
  std::vector<llvm::Type*> parameters = captures.types;
  parameters.insert(parameters.end(), 2, builder_.getInt64Ty());
  llvm::Function* range = make_function(
      unit_, unit_.symbol + ".part" + std::to_string(unit_.parallel_loops++), parameters);
  Body body(unit_, range);
  body.values().ranges() = values_.ranges();
  unsigned n = static_cast<unsigned>(captures.ones.size());
  for (unsigned k = 0; k < n; ++k) {
    const Captures::One& one = captures.ones[k];
    if (one.is_tensor) body.values_.set_base(one.id, range->getArg(k));
    else body.values_.bind_id(one.id, range->getArg(k));
    if (one.is_argument) range->addParamAttr(k, llvm::Attribute::NoAlias);
  }
  BYOC_CHECK(range->arg_size() == n + 4, "a range has ", range->arg_size(), " arguments for ", n,
             " captures");
  body.set_memory(range->getArg(n), nullptr, range->getArg(n + 1));
  status = body.emit_range(loop, range->getArg(n + 2), range->getArg(n + 3));
  if (status.ok()) body.finish();
  return range;
}

// Makes thunk(context, lo, hi, worker) as byoc_range_fn. With slots, lo and hi count pieces: piece
// s runs the iterations [s n / pieces, (s + 1) n / pieces). No other thread uses its slot at the
// same time: the slot is that of the worker, or of the piece, of which there are then as many.
llvm::Function* Body::make_thunk(llvm::Function* range, const Captures& captures,
                                 const ParallelPlan& plan) {
  llvm::Type *ptr = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
  llvm::Function* thunk = make_function(unit_, (range->getName() + ".range").str(),
                                        {ptr, i64, i64, builder_.getInt32Ty()});
  Body body(unit_, thunk);
  llvm::IRBuilder<>& b = body.builder_;
  std::vector<llvm::Type*> fields = captures.types;
  fields.insert(fields.end(), 4, i64);  // of Pieces
  auto* type = llvm::StructType::get(b.getContext(), fields);
  BYOC_CHECK(range->arg_size() == captures.types.size() + 2, "a range has ", range->arg_size(),
             " arguments, its thunk ", captures.types.size(), " fields");
  std::vector<Value> loaded;
  for (unsigned k = 0; k < fields.size(); ++k)
    loaded.push_back(b.CreateLoad(fields[k], b.CreateStructGEP(type, thunk->getArg(0), k)));
  const std::vector<Value> counts(loaded.end() - 4, loaded.end());
  loaded.resize(loaded.size() - 4);
  if (!plan.has_slots()) {
    loaded.insert(loaded.end(), {thunk->getArg(1), thunk->getArg(2)});
    b.CreateRet(b.CreateCall(range, loaded));
    return thunk;
  }
  body.call_pieces(range, loaded, {counts[0], counts[1], counts[2], counts[3]});
  return thunk;
}

void Body::call_pieces(llvm::Function* range, std::vector<Value> arguments, const Pieces& pieces) {
  llvm::IRBuilder<>& b = builder_;
  BYOC_CHECK(unit_.plan.slots > 0, "a loop with slots has one at least");
  BYOC_CHECK(arguments.size() + 2 == range->arg_size(), "a range has ", range->arg_size(),
             " arguments, and its pieces pass ", arguments.size(), " and 2");
  Value lo = function_->getArg(1), hi = function_->getArg(2);
  // A loop inside of another runs on one thread, whose number may be any.
  Value worker = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                         b.CreateZExt(function_->getArg(3), b.getInt64Ty()),
                                         b.getInt64(unit_.plan.slots - 1));
  llvm::BasicBlock *before = b.GetInsertBlock(), *inside = block("piece"), *after = block("after");
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  llvm::PHINode* s = b.CreatePHI(b.getInt64Ty(), 2);
  s->addIncoming(lo, before);
  Value next = b.CreateAdd(s, b.getInt64(1));
  Value slot = b.CreateSelect(b.CreateICmpNE(pieces.is_by_worker, b.getInt64(0)), worker, s);
  arguments.back() =
      b.CreateGEP(b.getInt8Ty(), arguments.back(), b.CreateMul(slot, pieces.slot_bytes));
  arguments.push_back(b.CreateUDiv(b.CreateMul(s, pieces.extent), pieces.count));
  arguments.push_back(b.CreateUDiv(b.CreateMul(next, pieces.extent), pieces.count));
  return_if_failed(b.CreateCall(range, arguments));
  s->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, hi), inside, after);
  b.SetInsertPoint(after);
  finish();
}

llvm::Value* Body::store_context(const std::vector<Value>& fields) {
  std::vector<llvm::Type*> types;
  for (Value field : fields) types.push_back(field->getType());
  auto* type = llvm::StructType::get(builder_.getContext(), types);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  Value context = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
  for (unsigned k = 0; k < fields.size(); ++k)
    builder_.CreateStore(fields[k], builder_.CreateStructGEP(type, context, k));
  return context;
}

llvm::Value* Body::workers() {
  Value get_workers = host_field(offsetof(byoc_host, max_workers), builder_.getPtrTy());
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {builder_.getPtrTy()}, false);
  Value context = host_field(offsetof(byoc_host, ctx), builder_.getPtrTy());
  return builder_.CreateZExt(builder_.CreateCall(type, get_workers, {context}),
                             builder_.getInt64Ty());
}

// Returns the least iterations of a worker (least_share); 0: not known, as the extent is open.
uint64_t Body::least_share_of(const te::For& loop) {
  const auto extent = te::as_int(loop.extent);
  if (!extent) return 0;
  const WorkUnits units{unit_.machine.vector_bits / 8, unit_.shares_all};
  const double each = units_of_iteration(loop, 0, values_.ranges(), units);
  return static_cast<uint64_t>(std::ceil(least_share(static_cast<double>(*extent), each, units)));
}

// Returns a block size that gives each of `workers` its number of blocks, or fewer workers one each
// where the loop is so short. With slots, blocks are of pieces.
llvm::Value* Body::grain_of(const Pieces& pieces, Value workers, uint64_t least, bool has_slots) {
  Value grain = builder_.getInt64(1);
  if (!has_slots) {
    Value blocks = builder_.CreateMul(workers, builder_.getInt64(kBlocksPerWorker));
    blocks = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, blocks, builder_.getInt64(1));
    grain = builder_.CreateUDiv(pieces.extent, blocks);
  }
  if (least <= 1) return grain;
  Value few = builder_.getInt64(least), one = builder_.getInt64(1);
  Value is_short = builder_.CreateICmpUGT(builder_.CreateMul(few, workers), pieces.extent);
  if (has_slots) {
    Value whole = builder_.CreateAdd(builder_.CreateMul(few, pieces.count),
                                     builder_.CreateSub(pieces.extent, one));
    few = builder_.CreateUDiv(whole, pieces.extent);
  }
  return builder_.CreateSelect(is_short, few, grain);
}

// Returns many pieces where each worker has a slot; a session may have more threads than the
// function was compiled for.
Body::Pieces Body::pieces_of(Value extent, Value workers, const ParallelPlan& plan) {
  values_.begin_statement();
  Value slots = builder_.getInt64(unit_.plan.slots);
  Value is_by_worker = builder_.CreateICmpULE(workers, slots);
  Value many = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::umin, extent, builder_.getInt64(unit_.plan.slots * kBlocksPerWorker));
  return {extent, builder_.CreateSelect(is_by_worker, many, slots),
          builder_.CreateZExt(is_by_worker, builder_.getInt64Ty()), values_.value(plan.slot_bytes)};
}

Status Body::run_parallel(const Captures& captures, llvm::Function* thunk, const te::For& loop,
                          Value extent, Value slots, const ParallelPlan& plan) {
  std::vector<Value> fields;
  for (const Captures::One& one : captures.ones) fields.push_back(one.value);
  const Value count = workers();
  const Pieces pieces = pieces_of(extent, count, plan);
  fields.insert(fields.end(), {host_, slots, pieces.extent, pieces.count, pieces.is_by_worker,
                               pieces.slot_bytes});
  BYOC_CHECK(fields.size() == captures.types.size() + 4, "the context has ", fields.size(),
             " fields, the thunk reads ", captures.types.size() + 4);
  llvm::Type *ptr = builder_.getPtrTy(), *i64 = builder_.getInt64Ty();
  Value context = host_field(offsetof(byoc_host, ctx), ptr);
  Value n = plan.has_slots() ? pieces.count : extent;
  Value grain = grain_of(pieces, count, least_share_of(loop), plan.has_slots());
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {ptr, i64, i64, ptr, ptr}, false);
  Value run = host_field(offsetof(byoc_host, parallel_for), ptr);
  return_if_failed(
      builder_.CreateCall(type, run, {context, n, grain, thunk, store_context(fields)}));
  return {};
}

Status Body::emit_parallel(const te::StmtNode& node, const te::For& loop) {
  const ParallelPlan& plan = unit_.plan.parallel.at(&node);
  Value slots = plan.has_slots() ? bytes_after(workspace_, plan.offset) : workspace_;
  auto fixed = te::as_int(loop.extent);
  if (values_.lanes() != 0 || (fixed && *fixed <= 1)) {
    Value outer = std::exchange(slot_, slots);
    Status status = emit_serial(loop);
    slot_ = outer;
    return status;
  }
  values_.begin_statement();
  Value extent = values_.value(loop.extent);
  Captures captures = capture(loop);
  Status status;
  llvm::Function* range = make_range_function(loop, captures, status);
  BYOC_TRY_STATUS(std::move(status));
  return run_parallel(captures, make_thunk(range, captures, plan), loop, extent, slots, plan);
}

}  // namespace byoc::llvm_plugin
