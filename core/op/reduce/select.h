// SPDX-License-Identifier: Apache-2.0
#pragma once
// The k best of a long line as statements: counts of the first digits of all elements give a short
// list of places that holds the best ones, counts of its further digits the k-th element itself.
// Only the k best are sorted. Equal elements stay in their order.
#include <array>

#include "core/op/reduce/radix.h"

namespace byoc::op {

class SelectionLoops {
 public:
  /// `element`: reads x at a place of the line, which has n places. 0 < k <= n.
  SelectionLoops(DType dtype, int64_t n, int64_t k, bool largest, ExprFn element)
      : dtype_(dtype), n_(n), k_(k), largest_(largest), element_(std::move(element)) {}
  /// Returns true when this costs less than a heap of the k best, and than sorting the line.
  /// Counting an element takes about a fifth of a level of a heap, sorting one two and a half
  /// levels, and clearing and adding up the tables 1,000 (Zen 3, lines of 76,725 and 2,000 f32).
  static bool pays(DType dtype, int64_t n, int64_t k) {
    constexpr int64_t kTables = 1000;
    if (dtype_size(computing_dtype(dtype)) != 4 || k < 2 || n >= int64_t{1} << 31) return false;
    auto log2 = [](int64_t x) {
      return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(x))) - 1;
    };
    return 2 * k <= n && k * (1 + log2(n / k)) * log2(k) >= n / 5 + k * 5 / 2 + kTables;
  }

  /// Returns the statements, which call put(rank, place) for each of the k best.
  te::Stmt best(const std::function<te::Stmt(const Expr&, const Expr&)>& put) const {
    const ExprFn sorted = [this](const Expr& j) { return te::cast(DType::kI64, chosen_(j)); };
    std::vector<te::Stmt> steps = {threshold_.set(i32(0)), left_.set(Expr(k_))};
    for (size_t digit = 0; digit < kDigits.size(); ++digit) {
      steps.push_back(count(digit));
      steps.push_back(take_digit(digit));
      if (digit == 0) steps.push_back(list_candidates());
    }
    steps.push_back(choose());
    steps.push_back(RadixLoops(dtype_, k_, largest_, element_, sorted).sort(put));
    te::Stmt body = te::make_block(std::move(steps));
    for (const Tensor& tensor : {counts_, list_, chosen_})
      body = te::make_alloc(tensor, te::Scope::kWorkspace, std::move(body));
    body = te::make_alloc(block_, te::Scope::kStack, std::move(body));
    return threshold_.in(left_.in(size_.in(std::move(body))));
  }

 private:
  struct Digit {
    int shift, bits;
  };
  static constexpr std::array<Digit, 3> kDigits = {Digit{21, 11}, Digit{10, 11}, Digit{0, 10}};
  static constexpr int64_t kBlock = 64, kLanes = 16;  // elements whose keys are made at once

  static Expr i32(int64_t value) { return te::int_constant(DType::kI32, value); }
  static Expr bits(te::BinaryOp op, const Expr& x, int64_t value) {
    return te::binary(op, x, i32(value));
  }
  // Returns an i32 for the element at a place: the better the element, the less.
  Expr key_at(const Expr& place) const {
    const Expr x = widened(element_(place));
    Expr key = is_float(x.dtype()) ? ordered_bits(x) : te::cast(DType::kI32, x);
    if (x.dtype() == DType::kU32) key = bits(te::BinaryOp::kXor, key, INT32_MIN);
    return largest_ ? bits(te::BinaryOp::kXor, key, -1) : key;
  }
  // Returns a digit of a key, the first one such that better keys have less.
  Expr digit_of(const Expr& key, size_t digit) const {
    const auto [shift, width] = kDigits[digit];
    const int64_t most = (int64_t{1} << width) - 1;
    const Expr raw = bits(te::BinaryOp::kAnd, bits(te::BinaryOp::kShiftRight, key, shift), most);
    return digit == 0 ? bits(te::BinaryOp::kXor, raw, (most + 1) / 2) : raw;
  }
  // Returns whether a key has the digits of the threshold that come before one.
  Expr has_digits_before(const Expr& key, size_t digit) const {
    const int shift = kDigits[digit - 1].shift;
    return bits(te::BinaryOp::kShiftRight, key, shift) ==
           bits(te::BinaryOp::kShiftRight, threshold_.get(), shift);
  }

  // Calls body(place, value) for all places, in order; `value` is an i32 of the key of the element.
  te::Stmt for_values(const ExprFn& of_key,
                      const std::function<te::Stmt(const Expr&, const Expr&)>& body) const {
    const int64_t whole = n_ / kBlock * kBlock;
    te::Stmt blocks = te::loop("b", n_ / kBlock, [&](Expr b) {
      te::Stmt values = te::loop("v", kBlock / kLanes, [&](Expr v) {
        return te::loop(
            "l", kLanes,
            [&](Expr l) {
              const Expr at = v * kLanes + l;
              return te::make_store(block_, {at}, of_key(key_at(b * kBlock + at)));
            },
            te::LoopKind::kVectorized);
      });
      te::Stmt rest =
          te::loop("l", kBlock, [&](Expr l) { return body(b * kBlock + l, block_(l)); });
      return te::make_block({std::move(values), std::move(rest)});
    });
    te::Stmt end = te::loop("j", n_ - whole, [&](Expr j) {
      te::Var value("value", DType::kI32);
      return te::make_let(value, of_key(key_at(j + whole)), body(j + whole, value));
    });
    return te::make_block({std::move(blocks), std::move(end)});
  }
  // Calls body(place, key) for all places of the list.
  te::Stmt for_listed(const std::function<te::Stmt(const Expr&, const Expr&)>& body) const {
    return te::loop("j", size_.get(), [&](Expr j) {
      te::Var place("place"), key("key", DType::kI32);
      te::Stmt inside = te::make_let(key, key_at(place), body(place, key));
      return te::make_let(place, te::cast(DType::kI64, list_(j)), std::move(inside));
    });
  }

  te::Stmt count(size_t digit) const {
    te::Stmt clear = te::loop("c", int64_t{1} << kDigits[digit].bits,
                              [&](Expr c) { return te::make_store(counts_, {c}, i32(0)); });
    auto add = [&](const Expr& value) {
      te::Var bucket("bucket");
      return te::make_let(bucket, te::cast(DType::kI64, value),
                          te::make_store(counts_, {bucket}, counts_(bucket) + i32(1)));
    };
    if (digit == 0) {
      auto first = [&](const Expr& key) { return digit_of(key, 0); };
      return te::make_block(
          {clear, for_values(first, [&](const Expr&, const Expr& value) { return add(value); })});
    }
    return te::make_block({clear, for_listed([&](const Expr&, const Expr& key) {
                             return te::make_if(has_digits_before(key, digit),
                                                add(digit_of(key, digit)));
                           })});
  }
  // Adds to the threshold the digit of the k-th element. `left_` becomes the number of elements
  // that have all digits so far and are among the best.
  te::Stmt take_digit(size_t digit) const {
    const auto [shift, width] = kDigits[digit];
    Scalar is_found("is_found", DType::kI64);
    te::Stmt search = te::loop("c", int64_t{1} << width, [&, shift = shift, width = width](Expr c) {
      te::Var number("number");
      Expr value = te::cast(DType::kI32, c);
      if (digit == 0) value = bits(te::BinaryOp::kXor, value, int64_t{1} << (width - 1));
      const Expr part = te::binary(te::BinaryOp::kShiftLeft, value, i32(shift));
      te::Stmt found = te::make_block(
          {threshold_.set(te::binary(te::BinaryOp::kOr, threshold_.get(), part)), is_found.set(1)});
      te::Stmt next =
          te::make_if(Expr(number) < left_.get(), left_.set(left_.get() - number), found);
      return te::make_if(is_found.get() == 0,
                         te::make_let(number, te::cast(DType::kI64, counts_(c)), std::move(next)));
    });
    return is_found.in(te::make_block({is_found.set(0), std::move(search)}));
  }
  // Lists the places whose first digit is at most that of the threshold. Each place is written, and
  // overwritten by the next one unless it is kept: a branch would often be mispredicted.
  te::Stmt list_candidates() const {
    auto is_kept = [&](const Expr& key) {
      return te::select(digit_of(key, 0) <= digit_of(threshold_.get(), 0), i32(1), i32(0));
    };
    return te::make_block(
        {size_.set(0), for_values(is_kept, [&](const Expr& j, const Expr& kept) {
           te::Stmt put = te::make_store(list_, {size_.get()}, te::cast(DType::kI32, j));
           return te::make_block(
               {std::move(put), size_.set(size_.get() + te::cast(DType::kI64, kept))});
         })});
  }
  // Chooses from the list: keys less than the threshold, and the first ones of those equal to it.
  te::Stmt choose() const {
    Scalar chosen("chosen_size", DType::kI64);
    te::Stmt all = for_listed([&](const Expr& place, const Expr& key) {
      te::Stmt put =
          te::make_block({te::make_store(chosen_, {chosen.get()}, te::cast(DType::kI32, place)),
                          chosen.set(chosen.get() + 1)});
      const Expr is_equal = key == threshold_.get() && Expr(0) < left_.get();
      te::Stmt take = te::make_if(key == threshold_.get(), left_.set(left_.get() - 1));
      return te::make_if(key < threshold_.get() || is_equal, te::make_block({take, put}));
    });
    return chosen.in(te::make_block({chosen.set(0), std::move(all)}));
  }

  DType dtype_;
  int64_t n_, k_;
  bool largest_;
  ExprFn element_;
  Tensor counts_{"counts", DType::kI32, {int64_t{1} << 11}};
  Tensor list_{"list", DType::kI32, {n_}}, chosen_{"chosen", DType::kI32, {k_}};
  Tensor block_{"block", DType::kI32, {kBlock}};
  Scalar threshold_{"threshold", DType::kI32}, left_{"left", DType::kI64},
      size_{"size", DType::kI64};
};

}  // namespace byoc::op
