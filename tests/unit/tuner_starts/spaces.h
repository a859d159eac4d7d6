// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spaces as the llvm plugin has them, for sums of known extents.
#include "byoc/te/key.h"
#include "byoc/tune/space.h"

namespace byoc::tune {

inline te::Expr zero_of(const te::Tensor& x) {
  return x(te::Indices(x.rank(), te::constant(DType::kI64, 0)));
}

// The text of a sum of these extents of products of the placeholders' first elements.
inline std::string task_text(const char* op, std::vector<std::vector<int64_t>> placeholders,
                             const std::vector<int64_t>& y, const std::vector<int64_t>& terms) {
  te::Builder builder;
  std::vector<te::Tensor> inputs;
  const auto exprs = [](const std::vector<int64_t>& extents) {
    return te::Exprs(extents.begin(), extents.end());
  };
  for (const auto& shape : placeholders)
    inputs.push_back(builder.placeholder("x", DType::kF32, exprs(shape)));
  builder.begin_op(op, "direct", 0);
  const te::Tensor sum = builder.reduce("y", exprs(y), exprs(terms), te::sum_of(DType::kF32),
                                        [&](const te::Indices&, const te::Indices&) {
                                          return zero_of(inputs[0]) * zero_of(inputs[1]);
                                        });
  return te::canonical_text(builder.finish("f", inputs, {sum}));
}

// ResNet's 3x3 convolution of 64 channels in blocks of 8.
inline Space conv_space() {
  return {task_text("conv2d_nchwc", {{1, 8, 56, 56, 8}, {8, 8, 3, 3, 8, 8}}, {1, 8, 56, 56, 8},
                    {8, 3, 3, 8}),
          "conv2d_nchwc",
          1,
          1,
          {{"tile", {"4x2", "6x1", "6x2", "7x2", "14x1"}},
           {"o_panels", {"1", "2"}},
           {"unroll", {"0", "1", "2"}}},
          {{{"tile", "6x2"}, {"o_panels", "1"}, {"unroll", "1"}}}};
}

inline Space dense_space() {
  return {task_text("matmul_packed", {{128, 768}, {192, 768, 16}}, {128, 3072}, {768}),
          "matmul_packed",
          1,
          1,
          {{"tile", {"4x2", "6x1", "6x2", "8x1"}}, {"o_panels", {"1", "2", "48", "96"}}},
          {{{"tile", "6x2"}, {"o_panels", "2"}}}};
}

}  // namespace byoc::tune
