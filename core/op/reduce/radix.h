// SPDX-License-Identifier: Apache-2.0
#pragma once
// A line's order as statements: its places, or some of them, are sorted by the bytes of their
// elements, from the last byte. Equal elements stay in their order.
#include <bit>

#include "core/op/kernel/expression.h"

namespace byoc::op {

/// Returns an integer of x's size that is ordered as floats are: equal for both zeros and for all
/// NaNs, which are the greatest. `x` has the type in which it is computed.
inline Expr ordered_bits(const Expr& x) {
  const DType bits = x.dtype() == DType::kF64 ? DType::kI64 : DType::kI32;
  auto number = [&](int64_t value) { return te::int_constant(bits, value); };
  const int64_t all = bits == DType::kI64 ? INT64_MAX : INT32_MAX;
  const Expr raw = te::bitcast(bits, x);
  Expr key = te::select(raw < number(0), te::binary(te::BinaryOp::kXor, raw, number(all)), raw);
  key = te::select(x == zero(x.dtype()), number(0), key);
  return te::select(is_nan(x), number(all), key);
}

class RadixLoops {
 public:
  /// `element`: reads x at a place of the line. `place_of`: returns the places that are sorted, n
  /// of them; empty: 0 to n - 1.
  RadixLoops(DType dtype, int64_t n, bool largest, ExprFn element, ExprFn place_of = {})
      : dtype_(computing_dtype(dtype)),
        n_(n),
        bytes_(static_cast<int64_t>(dtype_size(dtype_))),
        largest_(largest),
        place_of_(std::move(place_of)),
        element_(std::move(element)),
        counts_("counts", DType::kI64, {bytes_ * 256}) {
    for (Tensor& list : places_) list = Tensor("places", DType::kI32, {n});
  }
  /// Returns true when sorting the whole line costs less than a heap of its k best. Of random
  /// elements about k * (1 + log(n / k)) enter the heap, each by up to log2(k) levels of 11 ns; a
  /// byte of an element costs 2.1 ns here (Sapphire Rapids, lines of 16,384 and 2,000 f32).
  static bool pays(DType dtype, int64_t n, int64_t k) {
    constexpr int64_t kBytesPerLevel = 4;
    if (k < 2 || n >= int64_t{1} << 31) return false;
    auto log2 = [](int64_t x) {
      return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(x))) - 1;
    };
    const auto bytes = static_cast<int64_t>(dtype_size(computing_dtype(dtype)));
    return k * (1 + log2(n / k)) * log2(k) >= (n + 256) * bytes / kBytesPerLevel;
  }

  /// Returns the statements, which call put(rank, place) for every place of the line.
  te::Stmt sort(const std::function<te::Stmt(const Expr&, const Expr&)>& put) const {
    std::vector<te::Stmt> steps = {clear(), count(), add_up()};
    for (int64_t byte = 0; byte < bytes_; ++byte) steps.push_back(pass(byte, put));
    te::Stmt body = te::make_alloc(counts_, te::Scope::kWorkspace, te::make_block(steps));
    for (const Tensor& list : places_)
      body = te::make_alloc(list, te::Scope::kWorkspace, std::move(body));
    return body;
  }

 private:
  // Returns a number of type i64 that is ordered as the elements are.
  Expr key_of(Expr x) const {
    x = widened(std::move(x));
    if (is_float(dtype_)) return te::cast(DType::kI64, ordered_bits(x));
    return dtype_size(dtype_) == 8 ? te::bitcast(DType::kI64, x) : te::cast(DType::kI64, x);
  }
  Expr place_of(const Expr& j) const { return place_of_ ? place_of_(j) : j; }
  // Returns the place in `counts_` for byte `byte` of a key.
  Expr bucket(const Expr& key, int64_t byte) const {
    const bool is_signed = is_float(dtype_) || is_signed_int(dtype_);
    const int64_t flipped = (largest_ ? 255 : 0) ^ (is_signed && byte == bytes_ - 1 ? 128 : 0);
    Expr digit = te::binary(te::BinaryOp::kShiftRight, key, 8 * byte);
    digit = te::binary(te::BinaryOp::kAnd, digit, 255);
    return te::binary(te::BinaryOp::kXor, digit, flipped) + 256 * byte;
  }
  te::Stmt clear() const {
    return te::loop("c", 256 * bytes_, [&](Expr c) { return te::make_store(counts_, {c}, 0); });
  }
  te::Stmt count() const {
    return te::loop("j", n_, [&](Expr j) {
      te::Var key("key"), bucket_of("bucket");
      std::vector<te::Stmt> adds;
      for (int64_t byte = 0; byte < bytes_; ++byte)
        adds.push_back(te::make_let(bucket_of, bucket(key, byte),
                                    te::make_store(counts_, {bucket_of}, counts_(bucket_of) + 1)));
      return te::make_let(key, key_of(element_(place_of(j))), te::make_block(std::move(adds)));
    });
  }
  // Makes of each count the rank of the first element that it counts.
  te::Stmt add_up() const {
    Scalar before("before", DType::kI64);
    return te::loop("byte", bytes_, [&](Expr byte) {
      te::Stmt sums = te::loop("c", 256, [&](Expr c) {
        te::Var number("number");
        const Expr at = byte * 256 + c;
        te::Stmt both = te::make_block(
            {te::make_store(counts_, {at}, before.get()), before.set(before.get() + number)});
        return te::make_let(number, counts_(at), both);
      });
      return before.in(te::make_block({before.set(0), sums}));
    });
  }
  te::Stmt pass(int64_t byte, const std::function<te::Stmt(const Expr&, const Expr&)>& put) const {
    const Tensor &from = places_[(byte + 1) % 2], &to = places_[byte % 2];
    return te::loop("j", n_, [&](Expr j) {
      te::Var place("place"), at("bucket"), rank("rank");
      te::Stmt move = byte == bytes_ - 1 ? put(rank, place)
                                         : te::make_store(to, {rank}, te::cast(DType::kI32, place));
      te::Stmt both =
          te::make_block({te::make_store(counts_, {at}, Expr(rank) + 1), std::move(move)});
      te::Stmt body = te::make_let(at, bucket(key_of(element_(place)), byte),
                                   te::make_let(rank, counts_(at), std::move(both)));
      return te::make_let(place, byte == 0 ? place_of(j) : te::cast(DType::kI64, from(j)),
                          std::move(body));
    });
  }

  DType dtype_;
  int64_t n_, bytes_;
  bool largest_;
  ExprFn place_of_, element_;
  Tensor counts_, places_[2];
};

}  // namespace byoc::op
