// SPDX-License-Identifier: Apache-2.0
// Errors of a run: what the runtime reads when a native function returns BYOC_OUT_OF_RANGE.
#include <cstddef>

#include "byoc/base/check.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "plugins/llvm/emit/body.h"

namespace byoc::llvm_plugin {

// Writes the failure if the call has room for one, as BYOC_HAS tests it, and returns.
Status Body::emit_index_error(const te::Intrinsic& error) {
  const std::string_view op = te::index_error_op(error);
  if (call_ == nullptr) return unimplemented(cat("a parallel loop that checks indices of ", op));
  values_.begin_statement();
  BYOC_CHECK(error.args.size() == 3, "an index error of ", error.args.size(), " values");
  llvm::Type *i32 = builder_.getInt32Ty(), *i64 = builder_.getInt64Ty();
  auto at = [&](Value base, size_t offset) {
    return builder_.CreateConstGEP1_64(builder_.getInt8Ty(), base, offset);
  };
  llvm::BasicBlock *test = block("has_failure"), *write = block("failure"), *leave = block("leave"),
                   *after = block("after");
  constexpr size_t kField = offsetof(byoc_native_call, failure);
  Value size = builder_.CreateAlignedLoad(i32, at(call_, offsetof(byoc_hdr, size)), llvm::Align(8));
  builder_.CreateCondBr(
      builder_.CreateICmpUGE(size, builder_.getInt32(kField + sizeof(byoc_native_call::failure))),
      test, leave);
  builder_.SetInsertPoint(test);
  Value failure =
      builder_.CreateAlignedLoad(builder_.getPtrTy(), at(call_, kField), llvm::Align(8));
  builder_.CreateCondBr(builder_.CreateIsNotNull(failure), write, leave);
  builder_.SetInsertPoint(write);
  auto store = [&](Value value, size_t offset) {
    builder_.CreateAlignedStore(value, at(failure, offset), llvm::Align(8));
  };
  constexpr size_t kOp = offsetof(byoc_native_failure, op);
  store(builder_.CreateGlobalString({op.data(), op.size()}), kOp + offsetof(byoc_str, p));
  store(llvm::ConstantInt::get(i64, op.size()), kOp + offsetof(byoc_str, n));
  store(values_.value(error.args[0]), offsetof(byoc_native_failure, index));
  store(values_.value(error.args[1]), offsetof(byoc_native_failure, low));
  store(values_.value(error.args[2]), offsetof(byoc_native_failure, extent));
  builder_.CreateBr(leave);
  builder_.SetInsertPoint(leave);
  builder_.CreateRet(builder_.getInt32(BYOC_OUT_OF_RANGE));
  builder_.SetInsertPoint(after);  // what follows in this block is never reached
  values_.begin_statement();
  return {};
}

}  // namespace byoc::llvm_plugin
