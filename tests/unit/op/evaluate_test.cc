// SPDX-License-Identifier: Apache-2.0
#include "byoc/op/evaluate.h"

#include "byoc/op/registry.h"
#include "support/run_op.h"

namespace byoc {
namespace {

using testing::f32;
using testing::from_bytes;
using testing::to_bytes;

const TypeId kPair = TensorType{DType::kF32, {Dim(2)}};

std::string error_of(std::string_view op, TypeId type) {
  auto data = Buffer::copy(to_bytes(f32({2}, {1, 2})));
  const Buffer* operands[] = {data.get()};
  return evaluate(**all_ops().get(op), {}, {&type, 1}, {&type, 1}, operands).status().message();
}

TEST(Evaluate, GivesWhatTheReferenceKernelGives) {
  auto a = Buffer::copy(to_bytes(f32({2}, {1, 2}))), b = Buffer::copy(to_bytes(f32({2}, {3, 5})));
  const Buffer* operands[] = {a.get(), b.get()};
  TypeId in[] = {kPair, kPair};
  auto results = evaluate(**all_ops().get("add"), {}, in, {&kPair, 1}, operands);
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  testing::expect_close(from_bytes(*kPair, (*results)[0]->data()), f32({2}, {4, 7}));
  EXPECT_EQ((*results)[0]->key(), Buffer::copy(to_bytes(f32({2}, {4, 7})))->key());
}

TEST(Evaluate, WantsNumbersForSizes) {
  EXPECT_EQ(error_of("relu", TensorType{DType::kF32, {Dim::symbol("N")}}),
            "shape [N] is not known: dim N is symbolic");
}

TEST(Evaluate, SaysWhenThereIsNoKernel) {
  OpDef op{.name = "mystery", .doc = "", .inputs = {{"x", ""}}};
  auto data = Buffer::copy(to_bytes(f32({2}, {1, 2})));
  const Buffer* operands[] = {data.get()};
  Status status = evaluate(op, {}, {&kPair, 1}, {&kPair, 1}, operands).status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.message(), "mystery has no reference kernel");
}

}  // namespace
}  // namespace byoc
