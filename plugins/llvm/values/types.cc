// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/values/types.h"

#include "byoc/base/check.h"

namespace byoc::llvm_plugin {

llvm::Type* storage_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return llvm::Type::getFloatTy(context);
    case DType::kF64:
      return llvm::Type::getDoubleTy(context);
    default:
      BYOC_CHECK(dtype_size(dtype) > 0 && dtype_size(dtype) <= 8, "memory of ", dtype);
      return llvm::Type::getIntNTy(context, static_cast<unsigned>(8 * dtype_size(dtype)));
  }
}

llvm::Type* value_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kBool) return llvm::Type::getInt1Ty(context);
  if (dtype == DType::kF16 || dtype == DType::kBF16) return llvm::Type::getFloatTy(context);
  return storage_type(context, dtype);
}

}  // namespace byoc::llvm_plugin
