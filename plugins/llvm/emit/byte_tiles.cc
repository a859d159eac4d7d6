// SPDX-License-Identifier: Apache-2.0
// The micro-kernel byte_tiles: sums of up to 32 x 32 in four registers of tiles, which are loaded
// from c before and stored to it after. Of the operands two tiles each are loaded per 64 terms.
//   tiles 0 1    a: 4   b: 6 7
//         2 3       5
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
#include <algorithm>
#include <array>

#include "byoc/base/check.h"
#include "byoc/te/key.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "plugins/llvm/emit/body.h"
#include "plugins/llvm/emit/micro_kernels.h"

namespace byoc::llvm_plugin {
namespace {

constexpr int64_t kHalf = 16;  // rows of a register; sums in a row of it
constexpr int64_t kQuad = 4;   // bytes of a lane
constexpr int64_t kLine = 64;  // bytes of a row

// The args of a call, in the order of TensorIntrin. Distances are in elements.
struct ByteTiles {
  int64_t rows, columns, quads, a_row, a_quad, b_quad, c_row;

  explicit ByteTiles(const te::Intrinsic& call)
      : rows(number(call, 0)),
        columns(number(call, 1)),
        quads(number(call, 2)),
        a_row(number(call, 4)),
        a_quad(number(call, 5)),
        b_quad(number(call, 7)),
        c_row(number(call, 10)) {}
  static int64_t number(const te::Intrinsic& call, size_t arg) {
    return *te::as_int(call.args[arg]);
  }
};

/// Emits the sums of a block of at most 32 rows.
class ByteTilesCode {
 public:
  using Value = llvm::Value*;
  ByteTilesCode(llvm::IRBuilder<>& builder, const ByteTiles& tiles, int64_t rows)
      : b_(builder),
        tiles_(tiles),
        rows_{std::min(rows, kHalf), std::max<int64_t>(rows - kHalf, 0)},
        columns_{std::min(tiles.columns, kHalf), std::max<int64_t>(tiles.columns - kHalf, 0)} {}

  // Sets the shapes of the registers, as LDTILECFG reads them.
  void configure() {
    std::array<uint8_t, kLine> shapes{};
    shapes[0] = 1;  // the palette
    auto set = [&](size_t tile, int64_t rows, int64_t bytes) {
      if (rows == 0 || bytes == 0) return;
      shapes[16 + 2 * tile] = static_cast<uint8_t>(bytes);
      shapes[48 + tile] = static_cast<uint8_t>(rows);
    };
    for (size_t m = 0; m < 2; ++m) {
      for (size_t n = 0; n < 2; ++n) set(2 * m + n, rows_[m], columns_[n] * kQuad);
      set(4 + m, rows_[m], kLine);
      set(6 + m, kHalf, columns_[m] * kQuad);
    }
    auto* bytes = llvm::ConstantDataArray::get(b_.getContext(), llvm::ArrayRef<uint8_t>(shapes));
    auto* place = new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), bytes->getType(),
                                           true, llvm::GlobalValue::PrivateLinkage, bytes);
    place->setAlignment(llvm::Align(kLine));
    b_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {place});
  }
  void load_sums(Value c) {
    for_sums([&](size_t m, size_t n, size_t tile) {
      load(tile, sum_place(c, m, n), tiles_.c_row * kQuad);
    });
  }
  void store_sums(Value c) {
    for_sums([&](size_t m, size_t n, size_t tile) {
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {},
                         {b_.getInt8(static_cast<uint8_t>(tile)), sum_place(c, m, n),
                          b_.getInt64(static_cast<uint64_t>(tiles_.c_row * kQuad))});
    });
  }
  void add_products(Value a, Value b) {
    for (size_t k = 0; k < 2; ++k) {
      const int64_t at = static_cast<int64_t>(k) * kHalf;
      if (columns_[k] > 0) load(6 + k, moved(b, at * kQuad), tiles_.b_quad);
      if (rows_[k] > 0) load(4 + k, moved(a, at * tiles_.a_row), tiles_.a_row);
    }
    for_sums([&](size_t m, size_t n, size_t tile) {
      auto number = [&](size_t k) { return b_.getInt8(static_cast<uint8_t>(k)); };
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tdpbusd, {},
                         {number(tile), number(4 + m), number(6 + n)});
    });
  }
  Value moved(Value address, int64_t bytes) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), address, static_cast<uint64_t>(bytes));
  }

 private:
  template <class F>
  void for_sums(const F& f) {
    for (size_t m = 0; m < 2; ++m) {
      for (size_t n = 0; n < 2; ++n) {
        if (rows_[m] > 0 && columns_[n] > 0) f(m, n, 2 * m + n);
      }
    }
  }
  Value sum_place(Value c, size_t m, size_t n) {
    const auto row = static_cast<int64_t>(m) * kHalf, column = static_cast<int64_t>(n) * kHalf;
    return moved(c, (row * tiles_.c_row + column) * kQuad);
  }
  void load(size_t tile, Value from, int64_t stride) {
    b_.CreateIntrinsic(
        llvm::Intrinsic::x86_tileloadd64, {},
        {b_.getInt8(static_cast<uint8_t>(tile)), from, b_.getInt64(static_cast<uint64_t>(stride))});
  }

  llvm::IRBuilder<>& b_;
  const ByteTiles& tiles_;
  const std::array<int64_t, 2> rows_, columns_;  // of both halves
};

// Checks that a call is one of byte_tiles as it is declared here: a user may have written it.
Status check_byte_tiles(const te::Intrinsic& call, const Machine& machine) {
  auto wrong = [&](std::string_view why) { return unimplemented(cat(call.name, " ", why)); };
  constexpr size_t kArgs = 12;  // four extents, then the distances of three places
  if (!machine.has(kTiles)) return wrong(cat("needs the feature ", kTiles));
  if (call.args.size() != kArgs) return wrong("is not declared as here");
  for (const te::Expr& arg : call.args) {
    if (!te::as_int(arg)) return wrong("has a size or a distance that is no number");
  }
  const ByteTiles tiles(call);
  const te::TensorIntrin own = byte_tiles();
  const bool is_own = own.strides == call.declaration->strides &&
                      te::key_of(own.dag) == te::key_of(call.declaration->dag);
  if (!is_own) return wrong("is not declared as here");
  if (tiles.rows < 1 || tiles.columns < 1 || tiles.columns > kTileColumns || tiles.quads < 1 ||
      tiles.quads % kHalf != 0)
    return wrong(cat("of ", tiles.rows, " x ", tiles.columns, " sums of ", tiles.quads,
                     " lanes does not exist"));
  return {};
}

}  // namespace

te::TensorIntrin byte_tiles() {
  te::Builder builder;
  const te::Expr m = te::Var("m"), n = te::Var("n"), q = te::Var("q");
  te::Tensor a = builder.placeholder("a", DType::kU8, {m, q, kQuad});
  te::Tensor b = builder.placeholder("b", DType::kI8, {q, n, kQuad});
  te::Tensor c = builder.reduce("c", {m, n}, {q, kQuad}, te::sum_of(DType::kI32),
                                [&](const te::Indices& i, const te::Indices& r) {
                                  return te::cast(DType::kI32, a(i[0], r[0], r[1])) *
                                         te::cast(DType::kI32, b(r[0], i[1], r[1]));
                                });
  constexpr int64_t kAny = te::TensorIntrin::kAnyStride;
  return {"byte_tiles",
          builder.finish("byte_tiles", {a, b}, {c}),
          {{kAny, kQuad, 1}, {kAny, kQuad, 1}, {kAny, 1}}};
}

// Emits a loop over blocks of 32 rows, then the rows that are left.
Status Body::emit_byte_tiles(const te::Intrinsic& call) {
  values_.begin_statement();
  BYOC_TRY_STATUS(check_byte_tiles(call, unit_.machine));
  BYOC_CHECK(call.places.size() == 3, "a byte_tiles of ", call.places.size(), " places");
  unit_.has_tiles = true;
  const ByteTiles tiles(call);
  Value a = values_.address_of(call.places[0]), b = values_.address_of(call.places[1]);
  Value c = values_.address_of(call.places[2]);
  auto emit_rows = [&](int64_t rows, Value from, Value to) {
    ByteTilesCode code(builder_, tiles, rows);
    code.load_sums(to);
    repeat_moving(tiles.quads / kHalf, {from, b}, {kLine, kHalf * tiles.b_quad},
                  [&](Value at_a, Value at_b) { code.add_products(at_a, at_b); });
    code.store_sums(to);
  };
  const int64_t blocks = tiles.rows / kTileRows, left = tiles.rows % kTileRows;
  const std::array<int64_t, 2> steps = {kTileRows * tiles.a_row, kTileRows * tiles.c_row * kQuad};
  if (blocks > 0) {
    ByteTilesCode(builder_, tiles, kTileRows).configure();
    repeat_moving(blocks, {a, c}, steps,
                  [&](Value from, Value to) { emit_rows(kTileRows, from, to); });
  }
  if (left > 0) {
    ByteTilesCode code(builder_, tiles, left);
    code.configure();
    emit_rows(left, code.moved(a, blocks * steps[0]), code.moved(c, blocks * steps[1]));
  }
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  ++vectors_written_;
  return {};
}

// Emits `body` in a loop of at least one iteration, with two addresses that move by these bytes.
void Body::repeat_moving(int64_t times, std::array<Value, 2> from, std::array<int64_t, 2> steps,
                         const std::function<void(Value, Value)>& body) {
  llvm::BasicBlock *entry = builder_.GetInsertBlock(), *inside = block("byte_tiles"),
                   *after = block("after");
  builder_.CreateBr(inside);
  builder_.SetInsertPoint(inside);
  llvm::PHINode* k = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  k->addIncoming(builder_.getInt64(0), entry);
  std::array<Value, 2> at{};
  for (size_t p = 0; p < at.size(); ++p) {
    Value offset = builder_.CreateNSWMul(k, builder_.getInt64(static_cast<uint64_t>(steps[p])));
    at[p] = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), from[p], offset);
  }
  body(at[0], at[1]);
  Value next = builder_.CreateNSWAdd(k, builder_.getInt64(1));
  k->addIncoming(next, builder_.GetInsertBlock());
  Value goes_on = builder_.CreateICmpSLT(next, builder_.getInt64(static_cast<uint64_t>(times)));
  mark_loop(builder_.CreateCondBr(goes_on, inside, after));
  builder_.SetInsertPoint(after);
}

}  // namespace byoc::llvm_plugin
