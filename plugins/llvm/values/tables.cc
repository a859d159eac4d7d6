// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/values/tables.h"

#include "byoc/base/check.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace byoc::llvm_plugin {
namespace {

using Value = llvm::Value*;

constexpr unsigned kTableHalf = kTable / 2;

llvm::Constant* part_of(llvm::IRBuilder<>& b, const double (&table)[kTable], unsigned first,
                        unsigned count) {
  llvm::SmallVector<llvm::Constant*, kTable> out;
  for (unsigned k = first; k < first + count; ++k)
    out.push_back(llvm::ConstantFP::get(b.getFloatTy(), table[k]));
  return llvm::ConstantVector::get(out);
}

// Returns `count` lanes from `first` on; those that x does not have are poison.
Value lanes_of(llvm::IRBuilder<>& b, Value x, unsigned lanes, unsigned first, unsigned count) {
  BYOC_CHECK(first < lanes, "lane ", first, " of ", lanes);
  llvm::SmallVector<int, kTable> mask(count);
  for (unsigned k = 0; k < count; ++k)
    mask[k] = first + k < lanes ? static_cast<int>(first + k) : -1;
  return b.CreateShuffleVector(x, mask);
}

}  // namespace

bool has_tables(const Machine& machine) {
  return machine.has("avx512f") && machine.has("avx512vl");
}

// Half a vector has its table in two.
llvm::Value* look_up(llvm::IRBuilder<>& b, const double (&table)[kTable], llvm::Value* index) {
  const unsigned lanes = lanes_of(index);
  BYOC_CHECK(lanes == kTable || lanes == kTableHalf, "a table of ", kTable, " is read by ", lanes,
             " lanes");
  if (lanes == kTable)
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                             {part_of(b, table, 0, kTable), index});
  return b.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512_vpermi2var_ps_256, {},
      {part_of(b, table, 0, kTableHalf), index, part_of(b, table, kTableHalf, kTableHalf)});
}

llvm::Value* in_lanes_of_tables(llvm::IRBuilder<>& b, llvm::Value* x,
                                llvm::function_ref<llvm::Value*(llvm::Value*)> function) {
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (type == nullptr) {
    auto* wide = llvm::FixedVectorType::get(x->getType(), kTableHalf);
    Value only = b.CreateInsertElement(llvm::PoisonValue::get(wide), x, uint64_t{0});
    return b.CreateExtractElement(function(only), uint64_t{0});
  }
  const unsigned lanes = type->getNumElements(), size = lanes <= kTableHalf ? kTableHalf : kTable;
  llvm::SmallVector<Value> parts;
  for (unsigned k = 0; k < lanes; k += size)
    parts.push_back(function(lanes == size ? x : lanes_of(b, x, lanes, k, size)));
  Value whole = llvm::concatenateVectors(b, parts);
  return lanes % size == 0 ? whole : lanes_of(b, whole, lanes, 0, lanes);
}

}  // namespace byoc::llvm_plugin
