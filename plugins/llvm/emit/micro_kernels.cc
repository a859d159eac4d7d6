// SPDX-License-Identifier: Apache-2.0
#include "plugins/llvm/emit/micro_kernels.h"

#include "byoc/base/check.h"
#include "byoc/te/copy.h"
#include "byoc/te/key.h"
#include "plugins/llvm/analysis/intrinsics.h"
#include "plugins/llvm/emit/body.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kLanes = 8;  // LLVM makes vectors of other widths from these

// The args of a call, in the order of TensorIntrin.
struct FmaTile {
  int64_t rows, vectors;
  te::Expr depth;
  int64_t a_row, a_depth, b_depth, c_row;  // distances in elements

  explicit FmaTile(const te::Intrinsic& call)
      : rows(number(call, 0)),
        vectors(number(call, 1) / kLanes),
        depth(call.args[2]),
        a_row(number(call, 3)),
        a_depth(number(call, 4)),
        b_depth(number(call, 5)),
        c_row(number(call, 7)) {}
  static int64_t number(const te::Intrinsic& call, size_t arg) {
    return *te::as_int(call.args[arg]);
  }
};

// Emits one iteration of the loop over k, and the code before and after the loop.
class FmaTileCode {
 public:
  using Value = llvm::Value*;
  FmaTileCode(llvm::IRBuilder<>& builder, Ops& ops, const FmaTile& tile)
      : b_(builder),
        ops_(ops),
        tile_(tile),
        vector_(llvm::FixedVectorType::get(b_.getFloatTy(), kLanes)) {}

  std::vector<Value> load_sums(Value c) {
    std::vector<Value> out;
    for (int64_t k = 0; k < tile_.rows * tile_.vectors; ++k)
      out.push_back(b_.CreateAlignedLoad(vector_, sum_place(c, k), llvm::Align(4)));
    return out;
  }
  void store_sums(Value c, const std::vector<Value>& sums) {
    for (size_t k = 0; k < sums.size(); ++k)
      b_.CreateAlignedStore(sums[k], sum_place(c, static_cast<int64_t>(k)), llvm::Align(4));
  }
  std::vector<Value> add_products(Value a, Value b, const std::vector<Value>& sums) {
    BYOC_CHECK(sums.size() == static_cast<size_t>(tile_.rows * tile_.vectors), "a tile of ",
               tile_.rows, " x ", tile_.vectors, " vectors has ", sums.size(), " sums");
    std::vector<Value> columns, out;
    for (int64_t v = 0; v < tile_.vectors; ++v)
      columns.push_back(b_.CreateAlignedLoad(vector_, moved(b, v * kLanes), llvm::Align(4)));
    for (int64_t row = 0; row < tile_.rows; ++row) {
      Value from = moved(a, row * tile_.a_row);
      Value factor =
          ops_.splat(b_.CreateAlignedLoad(b_.getFloatTy(), from, llvm::Align(4)), kLanes);
      for (Value column : columns) {
        Value product = ops_.binary(te::BinaryOp::kMultiply, DType::kF32, factor, column);
        out.push_back(ops_.binary(te::BinaryOp::kAdd, DType::kF32, sums[out.size()], product));
      }
    }
    return out;
  }
  Value moved(Value address, int64_t elements) {
    return b_.CreateConstInBoundsGEP1_64(b_.getFloatTy(), address, static_cast<uint64_t>(elements));
  }

 private:
  Value sum_place(Value c, int64_t k) {
    return moved(c, k / tile_.vectors * tile_.c_row + k % tile_.vectors * kLanes);
  }
  llvm::IRBuilder<>& b_;
  Ops& ops_;
  const FmaTile& tile_;
  llvm::Type* vector_;
};

}  // namespace

te::TensorIntrin fma_tile(int64_t rows, int64_t columns) {
  BYOC_CHECK(rows > 1 && columns > 0 && columns % kLanes == 0, "no fma_tile of ", rows, " x ",
             columns);
  te::Builder builder;
  const te::Expr k = te::Var("k");
  te::Tensor a = builder.placeholder("a", DType::kF32, {rows, k});
  te::Tensor b = builder.placeholder("b", DType::kF32, {k, columns});
  te::Tensor c = builder.reduce(
      "c", {rows, columns}, {k}, te::sum_of(DType::kF32),
      [&](const te::Indices& i, const te::Indices& r) { return a(i[0], r[0]) * b(r[0], i[1]); });
  constexpr int64_t kAny = te::TensorIntrin::kAnyStride;
  return {cat("fma_tile_", rows, "x", columns),
          builder.finish("fma_tile", {a, b}, {c}),
          {{kAny, kAny}, {kAny, 1}, {kAny, 1}}};
}

namespace {

// Checks that a call is one of fma_tile as it is declared here: a user may have written it.
Status check_fma_tile(const te::Intrinsic& call) {
  auto wrong = [&](std::string_view why) { return unimplemented(cat(call.name, " ", why)); };
  if (call.args.size() != 9) return wrong("is not declared as here");
  constexpr int64_t kMostElements = 1024;
  for (size_t k : {0, 1, 3, 4, 5, 6, 7, 8}) {  // 2: the depth
    if (!te::as_int(call.args[k])) return wrong("has a size or a distance that is no number");
  }
  const int64_t rows = *te::as_int(call.args[0]), columns = *te::as_int(call.args[1]);
  if (rows < 2 || columns < 1 || columns % kLanes != 0 || rows > kMostElements / columns)
    return wrong(cat("of ", rows, " x ", columns, " elements does not exist"));
  const te::TensorIntrin own = fma_tile(rows, columns);
  const bool is_own = own.name == call.name && own.strides == call.declaration->strides &&
                      te::key_of(own.dag) == te::key_of(call.declaration->dag);
  const bool is_dense = te::as_int(call.args[6]) == 1 && te::as_int(call.args[8]) == 1;
  return is_own && is_dense ? Status() : wrong("is not declared as here");
}

}  // namespace

Status Body::emit_intrinsic(const te::Intrinsic& call) {
  if (call.declaration && call.name.starts_with("fma_tile_")) {
    BYOC_TRY_STATUS(check_fma_tile(call));
    return emit_fma_tile(call);
  }
  if (call.declaration && call.name == "byte_tiles") return emit_byte_tiles(call);
  if (call.name == kPrefetch && !call.declaration) {
    if (call.places.size() == 1 && call.args.empty()) return emit_prefetch(call.places[0]);
    return unimplemented(cat(kPrefetch, " takes 1 place and no values, not ", call.places.size(),
                             " and ", call.args.size()));
  }
  if (!te::index_error_op(call).empty()) return emit_index_error(call);
  if (te::is_copy(call)) return emit_copy(call);
  return unimplemented(cat("no micro-kernel is called ", call.name));
}

// Emits a load into the second cache.
Status Body::emit_prefetch(const te::Place& place) {
  values_.begin_statement();
  constexpr uint64_t kRead = 0, kSecondCache = 2, kData = 1;
  Value from = values_.address_of(place);
  builder_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {from->getType()},
      {from, builder_.getInt32(kRead), builder_.getInt32(kSecondCache), builder_.getInt32(kData)});
  return {};
}

// Emits a copy, which is left out in a run whose places have one address.
Status Body::emit_copy(const te::Intrinsic& call) {
  values_.begin_statement();
  const size_t size = dtype_size(call.places[0].tensor.dtype());
  Value from = values_.address_of(call.places[0]), to = values_.address_of(call.places[1]);
  Value bytes = builder_.CreateMul(values_.value(call.args[0]), builder_.getInt64(size));
  llvm::BasicBlock *copy = block("copy"), *after = block("copied");
  builder_.CreateCondBr(builder_.CreateICmpNE(from, to), copy, after);
  builder_.SetInsertPoint(copy);
  builder_.CreateMemCpy(to, llvm::Align(size), from, llvm::Align(size), bytes);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  values_.begin_statement();
  return {};
}

// Emits fma_tile. The sums are values of the loop, so that they stay in registers whatever
// memory they come from.
Status Body::emit_fma_tile(const te::Intrinsic& call) {
  values_.begin_statement();
  BYOC_CHECK(call.places.size() == 3, "an fma_tile of ", call.places.size(), " places");
  const FmaTile tile(call);
  FmaTileCode code(builder_, ops_, tile);
  Value a = values_.address_of(call.places[0]), b = values_.address_of(call.places[1]);
  Value c = values_.address_of(call.places[2]), depth = values_.value(tile.depth);
  const std::vector<Value> before = code.load_sums(c);
  llvm::BasicBlock *entry = builder_.GetInsertBlock(), *inside = block("fma_tile"),
                   *after = block("after");
  builder_.CreateBr(inside);  // a loop of a nest has at least two iterations
  builder_.SetInsertPoint(inside);
  auto phi = [&](Value first) {
    llvm::PHINode* out = builder_.CreatePHI(first->getType(), 2);
    out->addIncoming(first, entry);
    return out;
  };
  llvm::PHINode *k = phi(builder_.getInt64(0)), *at_a = phi(a), *at_b = phi(b);
  std::vector<llvm::PHINode*> phis;
  for (Value sum : before) phis.push_back(phi(sum));
  const std::vector<Value> sums = code.add_products(at_a, at_b, {phis.begin(), phis.end()});
  for (size_t s = 0; s < sums.size(); ++s) phis[s]->addIncoming(sums[s], inside);
  Value next = builder_.CreateNSWAdd(k, builder_.getInt64(1));
  k->addIncoming(next, inside);
  at_a->addIncoming(code.moved(at_a, tile.a_depth), inside);
  at_b->addIncoming(code.moved(at_b, tile.b_depth), inside);
  mark_loop(builder_.CreateCondBr(builder_.CreateICmpSLT(next, depth), inside, after));
  ++vectors_written_;
  builder_.SetInsertPoint(after);
  code.store_sums(c, sums);
  return {};
}

}  // namespace byoc::llvm_plugin
