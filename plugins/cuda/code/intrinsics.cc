// SPDX-License-Identifier: Apache-2.0
// The micro-kernels of a device: tiles of tensor cores, exchanges of a warp, and failures.
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "plugins/cuda/code/statements.h"
#include "plugins/cuda/loops/mma.h"

namespace byoc::cuda {

Status Statements::emit_intrinsic(const te::Intrinsic& call) {
  if (!te::index_error_op(call).empty() && failure_ != nullptr) return emit_index_error(call);
  if (call.name == mma::kF16 || call.name == mma::kBf16) emit_mma(call);
  else if (call.name == mma::kExchange) emit_exchange(call);
  else return unimplemented(cat("devices have no micro-kernel ", call.name));
  return {};
}

// Emits mma.sync. Registers of a and b are pairs of 16 bit numbers, which are eight rows and eight
// terms from each other.
void Statements::emit_mma(const te::Intrinsic& call) {
  values_.begin_statement();
  llvm::Type *i16 = builder_.getInt16Ty(), *i32 = builder_.getInt32Ty(),
             *f32 = builder_.getFloatTy();
  const auto rows = static_cast<uint64_t>(*te::as_int(call.args[0]));
  constexpr uint64_t kTerms = 8;
  std::vector<Value> operands;
  auto load = [&](const te::Place& place, std::initializer_list<uint64_t> offsets) {
    Value base = values_.address_of(place);
    for (uint64_t offset : offsets)
      operands.push_back(builder_.CreateAlignedLoad(
          i32, builder_.CreateConstGEP1_64(i16, base, offset), llvm::Align(4)));
  };
  load(call.places[1], {0, rows, kTerms, rows + kTerms});
  load(call.places[2], {0, kTerms});
  Value sums = values_.address_of(call.places[0]);
  auto sum = [&](uint64_t k) { return builder_.CreateConstGEP1_64(f32, sums, k); };
  for (uint64_t k = 0; k < 4; ++k)
    operands.push_back(builder_.CreateAlignedLoad(f32, sum(k), llvm::Align(4)));
  std::vector<llvm::Type*> types;
  for (Value operand : operands) types.push_back(operand->getType());
  auto* result = llvm::StructType::get(builder_.getContext(), {f32, f32, f32, f32});
  const std::string type = call.name == mma::kF16 ? "f16" : "bf16";
  auto* code =
      llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false),
                           "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
                               ".f32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};",
                           "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", /*hasSideEffects=*/false);
  llvm::CallInst* out = builder_.CreateCall(code, operands);
  out->setConvergent();
  for (unsigned k = 0; k < 4; ++k)
    builder_.CreateAlignedStore(builder_.CreateExtractValue(out, k), sum(k), llvm::Align(4));
  values_.begin_statement();
}

// Emits shfl.sync: the threads of a warp whose numbers differ by the argument exchange a number.
void Statements::emit_exchange(const te::Intrinsic& call) {
  values_.begin_statement();
  llvm::Type* i32 = builder_.getInt32Ty();
  Value own = builder_.CreateAlignedLoad(i32, values_.address_of(call.places[1]), llvm::Align(4));
  const auto by = static_cast<uint32_t>(*te::as_int(call.args[0]));
  constexpr uint32_t kAll = 0xffffffff, kLastLane = 31;
  Value other = builder_.CreateIntrinsic(
      llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
      {builder_.getInt32(kAll), own, builder_.getInt32(by), builder_.getInt32(kLastLane)});
  builder_.CreateAlignedStore(other, values_.address_of(call.places[0]), llvm::Align(4));
  values_.begin_statement();
}

// Writes an index error where the host reads it, and ends the thread.
Status Statements::emit_index_error(const te::Intrinsic& call) {
  const std::string_view op = te::index_error_op(call);
  values_.begin_statement();
  failures_->emplace_back(op);
  std::vector<Value> fields = {builder_.getInt64(failures_->size())};
  for (const te::Expr& arg : call.args) fields.push_back(values_.value(arg));
  for (size_t k = fields.size(); k-- > 0;) {  // the number is written last
    Value place = builder_.CreateConstGEP1_64(builder_.getInt64Ty(), failure_, k);
    builder_.CreateAlignedStore(fields[k], place, llvm::Align(8), /*isVolatile=*/true);
  }
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(block("unreached"));
  values_.begin_statement();
  return {};
}

}  // namespace byoc::cuda
