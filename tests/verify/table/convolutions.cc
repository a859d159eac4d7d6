// SPDX-License-Identifier: Apache-2.0
// Convolutions of every kind, with what follows them.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_convolutions() {
  return {
      {"conv", "fn main(%x: f32[1,3,8,8], %w: f32[4,3,3,3]) { %0 = conv2d(%x, %w)  return %0 }", 1},
      {"conv_padded_strided",
       "fn main(%x: f32[2,3,9,7], %w: f32[5,3,3,3]) { %0 = conv2d(%x, %w) {pads=[1,1,1,1], "
       "strides=[2,2]}  return %0 }",
       1},
      {"conv_asymmetric",
       "fn main(%x: f32[1,3,9,7], %w: f32[5,3,2,3]) { %0 = conv2d(%x, %w) {pads=[0,1,2,0], "
       "strides=[1,2]}  return %0 }",
       1},
      {"conv_dilated",
       "fn main(%x: f32[1,7,11,11], %w: f32[13,7,3,3]) { %0 = conv2d(%x, %w) {dilations=[2,3]}  "
       "return %0 }",
       1},
      {"conv_grouped",
       "fn main(%x: f32[1,8,5,5], %w: f32[6,4,3,3]) { %0 = conv2d(%x, %w) {group=2}  return %0 }",
       1},
      {"conv_depthwise",
       "fn main(%x: f32[1,16,7,7], %w: f32[16,1,3,3]) { %0 = conv2d(%x, %w) {group=16, "
       "pads=[1,1,1,1]}  return %0 }",
       1},
      {"conv_one_pixel",
       "fn main(%x: f32[1,1,1,1], %w: f32[1,1,1,1]) { %0 = conv2d(%x, %w)  return %0 }", 1},
      {"conv_prime_channels",
       "fn main(%x: f32[1,17,5,5], %w: f32[19,17,1,1]) { %0 = conv2d(%x, %w)  return %0 }", 1},
      {"conv_run_time_weights",
       "fn main(%x: f32[1,16,6,6], %v: f32[16,16,3,3]) { %0 = conv2d(%x, %v) {pads=[1,1,1,1]}  %1 "
       "= "
       "relu(%0)  return %1 }",
       2},
      {"conv_grouped_run_time_weights",
       "fn main(%x: f32[1,16,6,6], %v: f32[16,8,3,3]) { %0 = conv2d(%x, %v) {group=2}  return %0 }",
       1},
      {"conv_bias_relu",
       "fn main(%x: f32[1,3,8,8], %w: f32[8,3,3,3], %w1: f32[8,1,1]) { %0 = conv2d(%x, %w)  %1 = "
       "add(%0, %w1)  %2 = relu(%1)  return %2 }",
       3},
      {"conv_bias_first_operand",
       "fn main(%x: f32[1,3,8,8], %w: f32[8,3,3,3], %w1: f32[1,8,1,1]) { %0 = conv2d(%x, %w)  %1 = "
       "add(%w1, %0)  return %1 }",
       2},
      {"conv_per_channel_input",
       "fn main(%x: f32[1,3,8,8], %c: f32[8,1,1], %w: f32[8,3,3,3]) { %0 = conv2d(%x, %w)  %1 = "
       "add(%0, %c)  return %1 }",
       2},
      {"conv1d",
       "fn main(%x: f32[2,3,11], %w: f32[5,3,4]) { %0 = conv1d(%x, %w) {pads=[2,1], strides=[2], "
       "dilations=[2]}  %1 = relu(%0)  return %1 }",
       2},
      {"conv3d",
       "fn main(%x: f32[1,4,5,3,7], %w: f32[6,2,2,1,3], %w1: f32[6,1,1,1]) { %0 = conv3d(%x, %w) "
       "{group=2, pads=[1,0,1,0,0,1]}  %1 = add(%0, %w1)  return %1 }",
       2},
      {"conv_transpose",
       "fn main(%x: f32[1,3,5,4], %w: f32[3,7,3,3], %w1: f32[7,1,1]) { %0 = conv2d_transpose(%x, "
       "%w) "
       "{strides=[2,2], pads=[1,0,1,1], output_padding=[1,1]}  %1 = add(%0, %w1)  %2 = relu(%1)  "
       "return %2 }",
       3},
      {"conv_transpose_grouped",
       "fn main(%x: f32[2,6,4,4], %w: f32[6,2,2,3]) { %0 = conv2d_transpose(%x, %w) {group=3, "
       "strides=[2,1]}  return %0 }",
       1},
      {"conv_transpose_run_time_weights",
       "fn main(%x: f32[1,4,3,3], %v: f32[4,5,3,3]) { %0 = conv2d_transpose(%x, %v) "
       "{dilations=[2,1]}  return %0 }",
       1},
      {"conv_clip",
       "fn main(%x: f32[1,3,8,8], %w: f32[16,3,3,3], %w1: f32[16,1,1]) { %0 = conv2d(%x, %w)  %1 = "
       "add(%0, %w1)  %2 = clip(%1) {min=0.0, max=0.5}  return %2 }",
       3},
      {"conv_clip_from_below",
       "fn main(%x: f32[1,3,8,8], %w: f32[16,3,3,3]) { %0 = conv2d(%x, %w)  %1 = clip(%0) "
       "{min=-0.25}  return %1 }",
       2},
      {"conv_hard_swish",
       "fn main(%x: f32[1,3,8,8], %w: f32[16,3,3,3]) { %0 = conv2d(%x, %w)  %1 = hard_swish(%0)  "
       "return %1 }",
       2},
      {"conv_hard_sigmoid_scales",
       "fn main(%x: f32[1,16,6,6], %w: f32[16,16,1,1]) { %0 = global_average_pool(%x)  %1 = "
       "conv2d(%0, %w)  %2 = hard_sigmoid(%1) {alpha=2.0, beta=0.4}  %3 = multiply(%2, %x)  return "
       "%3 }",
       -1},  // -O0 forms no composites, and oneDNN has hard_sigmoid as a post-op alone
      {"conv_two_slopes",
       "fn main(%x: f32[1,3,8,8], %w: f32[8,3,3,3]) { %0 = conv2d(%x, %w)  %1 = leaky_relu(%0) "
       "{alpha=0.5}  %2 = relu(%1)  return %2 }",
       3},
  };
}

}  // namespace byoc::test
