// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <gtest/gtest.h>

#include <random>

#include "byoc/text/builder.h"

namespace byoc::test {
namespace {

constexpr size_t kNear = 32;

class Maker {
 public:
  explicit Maker(Shape shape) : shape_(shape), builder_(module_, all_ops()) {
    a_ = b_ = builder_.param("x", {DType::kF32, {1, 2, 4, 4}});
    weight_ = builder_.constant_f32({2, 2, 1, 1}, {1, 2, 3, 4});
    norm_ = builder_.constant_f32({2}, {0.5, 0.25});
    values_ = {a_};
  }
  IRModule make(uint32_t ops) {
    while (ops_ < ops) add_block();
    Status status = builder_.finish("main", {call("add", {a_, b_})});
    EXPECT_TRUE(status.ok()) << status.to_string();
    return std::move(module_);
  }

 private:
  ValueId call(std::string_view op, const std::vector<ValueId>& args) {
    return builder_.call(op, args, {}, cat("/", op, "_", ops_++));
  }
  ValueId near() {
    return values_[values_.size() - 1 - random_() % std::min(values_.size(), kNear)];
  }

  // Moves on to the operands of the next op.
  void put(ValueId value) {
    values_.push_back(value);
    if (shape_ == Shape::kChain) a_ = b_ = value;
    if (shape_ == Shape::kLadder) b_ = std::exchange(a_, value);
    if (shape_ == Shape::kRandom) {
      a_ = value;
      b_ = near();
      if (random_() % 4 == 0) a_ = near();
    }
  }

  // Ten ops and now and then three more.
  void add_block() {
    ValueId conv = call("conv2d", {a_, weight_});
    put(call("relu", {call("batch_norm", {conv, norm_, norm_, norm_, norm_})}));
    put(call("tanh", {a_}));
    put(call("add", {a_, b_}));
    put(call("sigmoid", {b_}));
    put(call("multiply", {a_, b_}));
    put(call("sin", {a_}));
    put(call("subtract", {a_, b_}));
    put(call("relu", {a_}));
    if (++blocks_ % 8 != 0) return;
    ValueId known = builder_.constant_f32({1, 2, 1, 1}, {static_cast<float>(blocks_ % 4), 1});
    put(call("multiply", {a_, call("exp", {known})}));           // folded
    call("exp", {a_});                                           // dead
    put(call("add", {call("tanh", {a_}), call("tanh", {a_})}));  // equal
  }

  Shape shape_;
  IRModule module_;
  FunctionBuilder builder_;
  std::mt19937 random_{3};
  ValueId a_, b_, weight_, norm_;
  std::vector<ValueId> values_;
  uint32_t ops_ = 0, blocks_ = 0;
};

}  // namespace

IRModule make_graph(Shape shape, uint32_t ops) { return Maker(shape).make(ops); }

}  // namespace byoc::test
