// SPDX-License-Identifier: Apache-2.0
// Sums of a convolution and another value, in place where nothing reads that later.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_residuals() {
  return {
      {"conv_constant_residual",
       "fn main(%x: f32[1,3,4,4], %w: f32[8,3,1,1], %w1: f32[1,8,4,4]) { %0 = conv2d(%x, %w)  %1 = "
       "add(%0, %w1)  %2 = relu(%1)  return %2 }",
       3},
      {"conv_add_relu",
       "fn main(%x: f32[1,16,6,6], %r: f32[1,16,6,6], %w: f32[16,16,3,3]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = add(%r, %0)  %2 = relu(%1)  return %2 }",
       3},
      {"conv_relu_add",
       "fn main(%x: f32[1,16,6,6], %r: f32[1,16,6,6], %w: f32[16,16,3,3]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = relu(%0)  %2 = add(%1, %r)  return %2 }",
       3},
      {"conv_two_residuals",
       "fn main(%x: f32[1,16,6,6], %r: f32[1,16,6,6], %s: f32[1,16,6,6], %w: f32[16,16,3,3]) { %0 "
       "= "
       "conv2d(%x, %w) {pads=[1,1,1,1]}  %1 = add(%0, %r)  %2 = relu(%1)  %3 = add(%2, %s)  return "
       "%3 }",
       4},
      {"residual_summed_in_place",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = conv2d(%x, %w1)  %2 = add(%1, %0)  %3 = relu(%2)  %4 = conv2d(%3, "
       "%w1)  return %4 }",
       5},
      {"residual_read_again",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = conv2d(%0, %w1)  %2 = add(%1, %0)  %3 = relu(%2)  %4 = conv2d(%0, "
       "%w1)  %5 = add(%4, %3)  return %5 }",
       5},
      {"residual_is_a_result",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = conv2d(%x, %w1)  %2 = add(%1, %0)  return %0, %2 }",
       3},
      {"value_added_to_itself",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,1,1]) { %0 = conv2d(%x, %w)  %1 = add(%0, %0)  "
       "return %1 }",
       2},
      {"bottleneck",
       "fn main(%x: f32[1,32,7,7], %w: f32[8,32,1,1], %w1: f32[8,8,3,3], %w2: f32[32,8,1,1], %wb: "
       "f32[8,1,1], %wc: f32[32,1,1]) {"
       " %0 = conv2d(%x, %w)  %1 = add(%0, %wb)  %2 = relu(%1)  %3 = conv2d(%2, %w1) "
       "{pads=[1,1,1,1]}  %4 = add(%3, %wb)  %5 = relu(%4)"
       " %6 = conv2d(%5, %w2)  %7 = add(%6, %wc)  %8 = add(%7, %x)  %9 = relu(%8)  %10 = "
       "max_pool(%9) {kernel_shape=[2,2]}  return %10, %5 }",
       11},
      {"residual_read_before",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = conv2d(%0, %w1)  %2 = conv2d(%1, %w1)  %3 = add(%2, %0)  %4 = "
       "relu(%3)  %5 = conv2d(%4, %w1)  return %5 }",
       6},
      {"residual_is_the_input_too",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
       "{pads=[1,1,1,1]}  %1 = conv2d(%0, %w1)  %2 = add(%1, %0)  %3 = conv2d(%2, %w1)  return %3 "
       "}",
       4},
  };
}

}  // namespace byoc::test
