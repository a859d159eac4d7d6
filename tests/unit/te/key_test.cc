// SPDX-License-Identifier: Apache-2.0
// Dags that differ only in names have equal keys.
#include "byoc/te/key.h"

#include <gtest/gtest.h>

#include "dags.h"

namespace byoc::te {
namespace {

// Returns max(x + value, 0) of [n], in stages with these names.
Dag named(const char* x_name, const char* y_name, double value, int64_t n, const char* choice,
          DType dtype = DType::kF32) {
  Builder b;
  Tensor x = b.placeholder(x_name, dtype, {n});
  b.begin_op("relu", choice, 3);
  Tensor y = b.compute(y_name, {n}, [&](const Indices& i) {
    return max(x(i) + constant(dtype, value), constant(dtype, 0));
  });
  return b.finish(y_name, {x}, {y});
}

TEST(Key, IsThatOfTheMeaningAndNotOfNames) {
  EXPECT_EQ(key_of(named("x", "y", 1, 4, "direct")), key_of(named("in", "out", 1, 4, "direct")));
  EXPECT_EQ(key_of(conv_relu(2, 5, 6, 3)), key_of(conv_relu(2, 5, 6, 3)));
}

TEST(Key, DiffersInWhateverMatters) {
  const ContentKey key = key_of(named("x", "y", 1, 4, "direct"));
  EXPECT_NE(key, key_of(named("x", "y", 2, 4, "direct")));
  EXPECT_NE(key, key_of(named("x", "y", 1, 5, "direct")));
  EXPECT_NE(key, key_of(named("x", "y", 1, 4, "packed")));
  EXPECT_NE(key, key_of(named("x", "y", 1, 4, "direct", DType::kF64)));
  EXPECT_NE(key_of(argmax(3, 4)), key_of(softmax_like(3, 4)));
}

TEST(Key, DiffersInTheOrderOfInterfacesAndOfOperands) {
  auto make = [](bool swaps_inputs, bool swaps_operands) {
    Builder b;
    Tensor x = b.placeholder("x", DType::kF32, {4}), y = b.placeholder("y", DType::kF32, {4});
    Tensor z = b.compute(
        "z", {4}, [&](const Indices& i) { return swaps_operands ? y(i) - x(i) : x(i) - y(i); });
    return b.finish("f", swaps_inputs ? std::vector{y, x} : std::vector{x, y}, {z});
  };
  EXPECT_NE(key_of(make(false, false)), key_of(make(true, false)));
  EXPECT_NE(key_of(make(false, false)), key_of(make(false, true)));
}

TEST(Key, LooksIntoProcedures) {
  auto make = [](int64_t step, LoopKind kind, const char* intrinsic = nullptr) {
    Builder b;
    Tensor x = b.placeholder("x", DType::kF32, {4});
    Tensor y = b.procedure("y", {{DType::kF32, {4}}}, {x}, [&](const std::vector<Tensor>& out) {
      if (intrinsic != nullptr) return make_intrinsic(intrinsic, {{out[0], {0}}}, {4});
      return loop(
          "i", 4,
          [&](Expr i) {
            return make_if(i < step, make_store(out[0], {i}, x(i)), make_store(out[0], {i}, -x(i)));
          },
          kind);
    })[0];
    return b.finish("f", {x}, {y});
  };
  const ContentKey key = key_of(make(2, LoopKind::kSerial));
  EXPECT_EQ(key, key_of(make(2, LoopKind::kSerial)));
  EXPECT_NE(key, key_of(make(3, LoopKind::kSerial)));
  EXPECT_NE(key, key_of(make(2, LoopKind::kParallel)));
  EXPECT_NE(key_of(make(2, LoopKind::kSerial, "a")), key_of(make(2, LoopKind::kSerial, "b")));
}

// Written as a tree, the expression has 2^60 nodes.
TEST(Key, WritesSharedNodesOnce) {
  Builder b;
  Tensor x = b.placeholder("x", DType::kF32, {4});
  Tensor y = b.compute("y", {4}, [&](const Indices& i) {
    Expr value = x(i);
    for (int k = 0; k < 60; ++k) value = value + value;
    return value;
  });
  EXPECT_LT(canonical_text(b.finish("f", {x}, {y})).size(), 3000u);
}

}  // namespace
}  // namespace byoc::te
