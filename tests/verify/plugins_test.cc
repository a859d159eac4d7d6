// SPDX-License-Identifier: Apache-2.0
// One table of programs, every plugin against the reference. Refused ops go to json and are
// counted: the table has the number of ops that each plugin must take, so that a lost op
// fails the test.
#include <gtest/gtest.h>

#include <algorithm>

#include "programs.h"

namespace byoc::test {
namespace {

struct Program {
  const char* name;
  const char* text;  // parameters named w... become random constants
  int onednn;        // ops that onednn takes
};

const Program kPrograms[] = {
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
     "fn main(%x: f32[1,8,5,5], %w: f32[6,4,3,3]) { %0 = conv2d(%x, %w) {group=2}  return %0 }", 1},
    {"conv_depthwise",
     "fn main(%x: f32[1,16,7,7], %w: f32[16,1,3,3]) { %0 = conv2d(%x, %w) {group=16, "
     "pads=[1,1,1,1]}  return %0 }",
     1},
    {"conv_one_pixel",
     "fn main(%x: f32[1,1,1,1], %w: f32[1,1,1,1]) { %0 = conv2d(%x, %w)  return %0 }", 1},
    {"conv_prime_channels",
     "fn main(%x: f32[1,17,5,5], %w: f32[19,17,1,1]) { %0 = conv2d(%x, %w)  return %0 }", 1},
    {"conv_run_time_weights",
     "fn main(%x: f32[1,16,6,6], %v: f32[16,16,3,3]) { %0 = conv2d(%x, %v) {pads=[1,1,1,1]}  %1 = "
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
     "fn main(%x: f32[1,16,6,6], %r: f32[1,16,6,6], %s: f32[1,16,6,6], %w: f32[16,16,3,3]) { %0 = "
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
    {"max_pool_ceil",
     "fn main(%x: f32[1,8,7,6]) { %0 = max_pool(%x) {kernel_shape=[3,2], strides=[2,2], "
     "ceil_mode=true, pads=[1,0,1,0]}  return %0 }",
     1},
    {"max_pool_dilated",
     "fn main(%x: f32[1,3,11,9]) { %0 = max_pool(%x) {kernel_shape=[3,3], dilations=[2,2]}  return "
     "%0 }",
     1},
    {"average_pool_excluding",
     "fn main(%x: f32[2,5,7,7]) { %0 = average_pool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], "
     "strides=[2,2]}  return %0 }",
     1},
    {"average_pool_including",
     "fn main(%x: f32[2,5,7,7]) { %0 = average_pool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], "
     "count_include_pad=true}  return %0 }",
     1},
    {"average_pool_including_ceil",
     "fn main(%x: f32[2,5,6,6]) { %0 = average_pool(%x) {kernel_shape=[3,3], strides=[2,2], "
     "ceil_mode=true, pads=[1,1,0,0], count_include_pad=true}  return %0 }",
     -1},
    {"average_pool_of_plain_eights",
     "fn main(%x: f32[2,24,9,7]) { %0 = average_pool(%x) {kernel_shape=[3,2], pads=[1,0,1,1], "
     "strides=[2,1]}  %1 = average_pool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], "
     "count_include_pad=true}  return %0, %1 }",
     2},
    {"max_pool_of_plain_eights",
     "fn main(%x: f32[2,16,9,7]) { %0 = max_pool(%x) {kernel_shape=[3,2], pads=[1,0,1,1], "
     "strides=[2,1]}  return %0 }",
     1},
    {"pads_in_blocks",
     "fn main(%x: f32[2,8,9,7], %w: f32[16,8,3,3], %w1: f32[8,16,1,1]) { %0 = conv2d(%x, %w)  %1 = "
     "pad(%0) {pads=[0,0,1,2,0,0,0,3], value=2.5}  %2 = average_pool(%1) {kernel_shape=[3,3]}  %3 "
     "= "
     "conv2d(%2, %w1)  return %3 }",
     4},
    {"pads_of_channels_in_blocks",
     "fn main(%x: f32[1,8,5,4], %w: f32[16,8,3,3], %w1: f32[8,40,1,1]) { %0 = conv2d(%x, %w)  %1 = "
     "pad(%0) {pads=[0,8,1,0,0,16,1,0]}  %2 = conv2d(%1, %w1)  return %2 }",
     3},
    {"reshape_of_nothing_in_blocks",
     "fn main(%x: f32[2,8,9,7], %w: f32[16,8,3,3], %w1: f32[8,16,1,1]) { %0 = conv2d(%x, %w)  %1 = "
     "reshape(%0) {shape=[2,16,7,5]}  %2 = conv2d(%1, %w1)  return %2 }",
     3},
    {"matmul_of_many_rows",
     "fn main(%x: f32[2,9,24], %w: f32[24,40]) { %0 = matmul(%x, %w)  return %0 }", 1},
    {"matmul_of_many_rows_bias_gelu",
     "fn main(%x: f32[3,11,16], %w: f32[16,24], %w1: f32[24]) { %0 = matmul(%x, %w)  %1 = add(%0, "
     "%w1)  %2 = gelu(%1)  return %2 }",
     3},
    {"matmul_of_tokens_first_bias_gelu",
     "fn main(%x: f32[3,11,1,16], %w: f32[16,24], %w1: f32[24]) { %0 = matmul(%x, %w)  %1 = "
     "add(%0, "
     "%w1)  %2 = gelu(%1)  return %2 }",
     3},
    {"matmul_of_tokens_first_bias_residual",
     "fn main(%x: f32[17,1,16], %w: f32[16,32], %w1: f32[32], %r: f32[17,1,32]) { %0 = matmul(%x, "
     "%w)  %1 = add(%0, %w1)  %2 = add(%1, %r)  return %2 }",
     3},
    {"matmul_of_tokens_first_scaled_by_token",
     "fn main(%x: f32[17,1,16], %w: f32[16,32], %d: f32[17,1,1]) { %0 = matmul(%x, %w)  %1 = "
     "multiply(%0, %d)  return %1 }",
     2},
    {"matmul_of_many_rows_bias_residual_relu",
     "fn main(%x: f32[17,16], %w: f32[16,32], %w1: f32[32], %r: f32[17,32]) { %0 = matmul(%x, %w)  "
     "%1 = add(%0, %w1)  %2 = add(%1, %r)  %3 = relu(%2)  return %3 }",
     4},
    {"matmul_of_many_rows_scaled_by_channel",
     "fn main(%x: f32[17,16], %w: f32[16,32], %c: f32[32], %d: f32[17,1]) { %0 = matmul(%x, %w)  "
     "%1 "
     "= multiply(%0, %c)  %2 = subtract(%1, %d)  return %2 }",
     3},
    {"gemm_of_many_rows",
     "fn main(%x: f32[19,24], %w: f32[40,24], %w1: f32[40]) { %0 = gemm(%x, %w) {trans_b=true}  %1 "
     "= add(%0, %w1)  %2 = relu(%1)  return %2 }",
     3},
    {"gemm_of_many_columns_times_alpha",
     "fn main(%x: f32[24,19], %w: f32[24,40], %w1: f32[40]) { %0 = gemm(%x, %w) {trans_a=true, "
     "alpha=0.5}  %1 = add(%0, %w1)  return %1 }",
     2},
    {"gemm_of_many_rows_times_alpha",
     "fn main(%x: f32[19,24], %w: f32[24,40], %w1: f32[40]) { %0 = gemm(%x, %w) {alpha=0.5}  %1 = "
     "tanh(%0)  return %1 }",
     2},
    {"global_average_pool",
     "fn main(%x: f32[2,17,3,5], %w: f32[17,17,1,1]) { %0 = conv2d(%x, %w)  %1 = "
     "global_average_pool(%0)  return %1 }",
     2},
    {"matmul", "fn main(%x: f32[5,7], %w: f32[7,3]) { %0 = matmul(%x, %w)  return %0 }", 1},
    {"matmul_bias",
     "fn main(%x: f32[2,5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, %w1)  "
     "return %1 }",
     2},
    {"matmul_batched",
     "fn main(%x: f32[2,1,5,7], %y: f32[3,7,4]) { %0 = matmul(%x, %y)  return %0 }", 1},
    {"matmul_vector", "fn main(%x: f32[7], %w: f32[7,3]) { %0 = matmul(%x, %w)  return %0 }", 1},
    {"gemm",
     "fn main(%x: f32[4,6], %w: f32[6,5], %w1: f32[5]) { %0 = gemm(%x, %w)  %1 = add(%0, %w1)  "
     "return %1 }",
     2},
    {"gemm_transposed",
     "fn main(%x: f32[6,4], %w: f32[5,6]) { %0 = gemm(%x, %w) {trans_a=true, trans_b=true, "
     "alpha=0.5}  return %0 }",
     1},
    {"gemm_on_a_blocked_value",
     "fn main(%x: f32[1,16,1,1], %w: f32[16,16,1,1], %w1: f32[16,10]) { %0 = conv2d(%x, %w)  %1 = "
     "flatten(%0)  %2 = gemm(%1, %w1)  return %2 }",
     3},
    {"relu_alone", "fn main(%x: f32[3,5]) { %0 = relu(%x)  return %0 }", 1},
    {"add_broadcast", "fn main(%x: f32[2,3,4], %y: f32[3,1]) { %0 = add(%y, %x)  return %0 }", 1},
    {"add_of_another_rank_and_as_many_elements",
     "fn main(%x: f32[1,5,1], %w: f32[5,1], %y: f32[]) { %0 = add(%x, %w)  %1 = multiply(%0, %0)  "
     "%2 = add(%1, %w)  return %2 }",
     3},
    {"add_scalar", "fn main(%x: f32[1,1], %y: f32[]) { %0 = add(%x, %y)  return %0 }", 1},
    {"add_broadcast_both", "fn main(%x: f32[2,1], %y: f32[1,3]) { %0 = add(%x, %y)  return %0 }",
     0},
    {"relu_add_on_blocked_values",
     "fn main(%x: f32[1,16,5,5], %w: f32[16,16,3,3], %w1: f32[16,16,3,3]) { %0 = conv2d(%x, %w)  "
     "%1 = relu(%0)  %2 = conv2d(%x, %w1)  %3 = add(%1, %2)  %4 = relu(%3)  return %4, %1 }",
     5},
    {"conv1d",
     "fn main(%x: f32[2,3,11], %w: f32[5,3,4]) { %0 = conv1d(%x, %w) {pads=[2,1], strides=[2], "
     "dilations=[2]}  %1 = relu(%0)  return %1 }",
     2},
    {"conv3d",
     "fn main(%x: f32[1,4,5,3,7], %w: f32[6,2,2,1,3], %w1: f32[6,1,1,1]) { %0 = conv3d(%x, %w) "
     "{group=2, pads=[1,0,1,0,0,1]}  %1 = add(%0, %w1)  return %1 }",
     2},
    {"conv_transpose",
     "fn main(%x: f32[1,3,5,4], %w: f32[3,7,3,3], %w1: f32[7,1,1]) { %0 = conv2d_transpose(%x, %w) "
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
    {"matmul_bias_gelu",
     "fn main(%x: f32[2,5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, %w1)  "
     "%2 = gelu(%1)  return %2 }",
     3},
    {"matmul_bias_gelu_tanh",
     "fn main(%x: f32[5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, %w1)  "
     "%2 = gelu(%1) {approximate=\"tanh\"}  return %2 }",
     3},
    {"matmul_scaled_and_masked",
     "fn main(%x: f32[1,2,5,4], %y: f32[1,2,4,5], %w: f32[1], %m: f32[1,1,5,5]) { %0 = matmul(%x, "
     "%y)  %1 = divide(%0, %w)  %2 = add(%1, %m)  return %2 }",
     3},
    {"matmul_of_a_transposed_value",
     "fn main(%x: f32[2,5,3,4], %y: f32[2,3,5,4]) { %0 = transpose(%x) {perm=[0,2,3,1]}  %1 = "
     "matmul(%y, %0)  %2 = relu(%1)  return %2 }",
     3},
    {"gemm_halved_then_relu",
     "fn main(%x: f32[4,6], %w: f32[6,5], %w1: f32[5]) { %0 = gemm(%x, %w) {alpha=0.5}  %1 = "
     "add(%0, %w1)  %2 = relu(%1)  return %2 }",
     3},
    {"batch_norm",
     "fn main(%x: f32[2,5,3,4], %v: f32[5], %w: f32[5], %w1: f32[5], %w2: f32[5]) { %0 = "
     "multiply(%v, %v)  %1 = batch_norm(%x, %w, %w1, %w2, %0) {epsilon=0.01}  return %1 }",
     2},
    {"batch_norm_on_a_blocked_value",
     "fn main(%x: f32[1,16,5,5], %w: f32[16,16,3,3], %a: f32[16], %b: f32[16], %m: f32[16], %v: "
     "f32[16]) { %0 = conv2d(%x, %w)  %1 = multiply(%v, %v)  %2 = batch_norm(%0, %a, %b, %m, %1)  "
     "return %2 }",
     3},
    {"layer_norm",
     "fn main(%x: f32[2,3,7], %w: f32[7], %w1: f32[7]) { %0 = layer_norm(%x, %w, %w1) "
     "{epsilon=0.001}  return %0 }",
     1},
    {"layer_norm_over_two_axes",
     "fn main(%x: f32[2,3,7], %w: f32[3,7]) { %0 = layer_norm(%x, %w) {axis=1}  return %0 }", 1},
    {"lrn", "fn main(%x: f32[2,7,3,5]) { %0 = lrn(%x) {size=5, alpha=0.02, bias=2.0}  return %0 }",
     1},
    {"lrn_of_even_size", "fn main(%x: f32[2,7,3,5]) { %0 = lrn(%x) {size=4}  return %0 }", 0},
    {"log_softmax", "fn main(%x: f32[3,7,2]) { %0 = log_softmax(%x) {axis=1}  return %0 }", 1},
    {"mean_of_planes",
     "fn main(%x: f32[2,16,5,3], %w: f32[16,16,1,1]) { %0 = conv2d(%x, %w)  %1 = mean(%0) "
     "{axes=[2,3], keepdims=false}  return %1 }",
     2},
    {"sum_of_all",
     "fn main(%x: f32[2,3,4]) { %0 = sum(%x) {keepdims=false}  %1 = max(%x) {axes=[-1]}  %2 = "
     "l2(%x) {axes=[0,2]}  return %0, %1, %2 }",
     3},
    {"concat_of_blocked_values",
     "fn main(%x: f32[1,16,5,5], %w: f32[8,16,1,1], %w1: f32[24,16,3,3], %w2: f32[16,32,1,1]) { %0 "
     "= conv2d(%x, %w)  %1 = conv2d(%x, %w1) {pads=[1,1,1,1]}  %2 = concat(%0, %1) {axis=1}  %3 = "
     "relu(%2)  %4 = conv2d(%3, %w2)  return %4 }",
     5},
    {"residual_read_before",
     "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
     "{pads=[1,1,1,1]}  %1 = conv2d(%0, %w1)  %2 = conv2d(%1, %w1)  %3 = add(%2, %0)  %4 = "
     "relu(%3)  %5 = conv2d(%4, %w1)  return %5 }",
     6},
    {"residual_is_the_input_too",
     "fn main(%x: f32[1,16,6,6], %w: f32[16,16,3,3], %w1: f32[16,16,1,1]) { %0 = conv2d(%x, %w) "
     "{pads=[1,1,1,1]}  %1 = conv2d(%0, %w1)  %2 = add(%1, %0)  %3 = conv2d(%2, %w1)  return %3 }",
     4},
    {"concat_parts_read_again",
     "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[8,16,3,3], %w2: f32[16,24,1,1], %w3: "
     "f32[16,48,1,1]) { %0 = conv2d(%x, %w)  %1 = conv2d(%0, %w1) {pads=[1,1,1,1]}  %2 = "
     "concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2)  %4 = add(%3, %0)  %5 = concat(%2, %1, %4) "
     "{axis=1}  %6 = conv2d(%5, %w3)  return %6 }",
     7},
    {"concat_of_one_value_twice",
     "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[16,32,1,1]) { %0 = conv2d(%x, %w)  "
     "%1 = concat(%0, %0) {axis=1}  %2 = conv2d(%1, %w1)  return %2 }",
     3},
    {"concat_of_padded_blocks",
     "fn main(%x: f32[1,16,5,5], %w: f32[12,16,1,1], %w1: f32[4,16,1,1], %w2: f32[16,16,1,1]) { %0 "
     "= conv2d(%x, %w)  %1 = conv2d(%x, %w1)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2)  "
     "return %3 }",
     4},
    {"concat_of_a_batch",
     "fn main(%x: f32[3,16,5,5], %w: f32[16,16,1,1], %w1: f32[8,16,1,1], %w2: f32[16,24,1,1]) { %0 "
     "= conv2d(%x, %w)  %1 = conv2d(%x, %w1)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2)  "
     "return %3 }",
     4},
    {"concat_that_is_summed_to",
     "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[32,32,1,1]) { %0 = conv2d(%x, %w)  "
     "%1 = conv2d(%0, %w)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w1)  %4 = add(%3, %2)  "
     "return %4 }",
     5},
    {"matmul_wide",
     "fn main(%x: f32[3,8], %w: f32[8,256], %w1: f32[256]) { %0 = matmul(%x, %w)  %1 = add(%0, "
     "%w1)  %2 = relu(%1)  return %2 }",
     3},
    {"concat_of_inputs",
     "fn main(%x: f32[2,3], %y: f32[2,1], %w: f32[2,4]) { %0 = concat(%x, %y, %w, %x) {axis=-1}  "
     "return %0 }",
     1},
    {"channel_shuffle",
     "fn main(%x: f32[1,8,4,4], %w: f32[8,8,1,1]) { %0 = conv2d(%x, %w)  %1 = reshape(%0) "
     "{shape=[1,2,4,4,4]}  %2 = transpose(%1) {perm=[0,2,1,3,4]}  %3 = reshape(%2) "
     "{shape=[1,8,4,4]}  %4 = conv2d(%3, %w)  return %4 }",
     5},
    {"view_of_a_value_summed_later",
     "fn main(%x: f32[1,16,4,4], %w: f32[16,16,1,1], %w1: f32[16,16,1,1]) { %0 = relu(%x)  %1 = "
     "flatten(%0)  %2 = conv2d(%x, %w)  %3 = add(%2, %0)  %4 = relu(%1)  %5 = tanh(%1)  return %3, "
     "%4, %5 }",
     6},
    {"views_as_results",
     "fn main(%x: f32[2,3,4]) { %0 = transpose(%x)  %1 = relu(%x)  %2 = unsqueeze(%1) {axes=[0]}  "
     "%3 = squeeze(%2)  return %0, %2, %3 }",
     4},
    {"subtract_and_divide",
     "fn main(%x: f32[2,3,4], %y: f32[3,1], %w: f32[4]) { %0 = subtract(%x, %y)  %1 = divide(%0, "
     "%w)  %2 = maximum(%y, %1)  return %2 }",
     3},
    {"subtract_from_a_broadcast",
     "fn main(%x: f32[2,3], %y: f32[3]) { %0 = subtract(%y, %x)  return %0 }", 1},
    {"softmax", "fn main(%x: f32[2,3,7]) { %0 = softmax(%x)  return %0 }", 1},
    {"softmax_of_a_middle_axis", "fn main(%x: f32[2,3,7]) { %0 = softmax(%x) {axis=1}  return %0 }",
     1},
    {"layer_norm_in_pieces",
     "fn main(%x: f32[2,3,5], %w: f32[5], %w1: f32[5]) { %two = const([2.0]) : f32[] %eps = "
     "const([0.001]) : f32[] %0 = mean(%x) {axes=[-1]} %1 = subtract(%x, %0) %2 = power(%1, %two) "
     "%3 = mean(%2) {axes=[-1]} %4 = add(%3, %eps) %5 = sqrt(%4) %6 = divide(%1, %5) %7 = "
     "multiply(%6, %w) %8 = add(%7, %w1) return %8 }",
     -1},
    {"layer_norm_in_pieces_of_a_cube",
     "fn main(%x: f32[2,3,5], %w: f32[5], %w1: f32[5]) { %two = const([3.0]) : f32[] %eps = "
     "const([9.0]) : f32[] %0 = mean(%x) {axes=[-1]} %1 = subtract(%x, %0) %2 = power(%1, %two) %3 "
     "= mean(%2) {axes=[-1]} %4 = add(%3, %eps) %5 = sqrt(%4) %6 = divide(%1, %5) %7 = "
     "multiply(%6, %w) %8 = add(%7, %w1) return %8 }",
     -1},
    {"gelu_in_pieces",
     "fn main(%x: f32[2,3,5]) { %root = const([1.4142135381698608]) : f32[] %one = const([1.0]) : "
     "f32[] %half = const([0.5]) : f32[] %0 = divide(%x, %root) %1 = erf(%0) %2 = add(%1, %one) %3 "
     "= multiply(%x, %2) %4 = multiply(%3, %half) return %4 }",
     -1},
    {"gelu_in_pieces_with_another_root",
     "fn main(%x: f32[2,3,5]) { %root = const([1.5]) : f32[] %one = const([1.0]) : f32[] %half = "
     "const([0.5]) : f32[] %0 = divide(%x, %root) %1 = erf(%0) %2 = add(%1, %one) %3 = "
     "multiply(%x, %2) %4 = multiply(%3, %half) return %4 }",
     -1},
    {"matmul_bias_gelu_in_pieces",
     "fn main(%x: f32[2,4,6], %w: f32[6,5], %w1: f32[5]) { %root = const([1.4142135381698608]) : "
     "f32[] %one = const([1.0]) : f32[] %half = const([0.5]) : f32[] %m = matmul(%x, %w) %b = "
     "add(%m, %w1) %0 = divide(%b, %root) %1 = erf(%0) %2 = add(%1, %one) %3 = multiply(%b, %2) %4 "
     "= multiply(%3, %half) return %4 }",
     -1},
    {"empty", "fn main(%x: f32[0,3]) { %0 = relu(%x)  return %0 }", 1},
    {"doubles", "fn main(%x: f64[2,3]) { %0 = relu(%x)  return %0 }", 0},
};

std::ostream& operator<<(std::ostream& out, const Program& program) { return out << program.name; }

class Plugins : public testing::TestWithParam<Program> {};

TEST_P(Plugins, AgreeWithTheReference) {
  auto plugins = built_plugins();
  auto built = [&](std::vector<std::string> compilers, int level) {
    return built_by(plugins, with_constants(GetParam().text), std::move(compilers), level);
  };
  std::vector<Tensor> reference = execute(built({"json"}, 0), plugins);
  expect_close(execute(built({"json"}, 2), plugins), reference);
  for (int level : {2, 0}) {
    SCOPED_TRACE(level);
    Executable onednn = built({"onednn", "json"}, level);
    expect_close(execute(onednn, plugins), reference);
    if (plugins->find("llvm") != nullptr) {  // built where LLVM is installed
      Executable llvm = built({"llvm"}, level);
      expect_close(execute(llvm, plugins), reference);
      EXPECT_EQ(ops_of(llvm, "json"), 0u) << "a default codegen takes every op";
    }
    for (const char* id : {"xnnpack", "openblas"}) {  // likewise
      if (plugins->find(id) == nullptr) continue;
      SCOPED_TRACE(id);
      expect_close(execute(built({id, "json"}, level), plugins), reference);
    }
    if (std::string_view(GetParam().name).ends_with("_in_pieces") && level > 0) {
      EXPECT_EQ(ops_of(onednn, "json"), 0u) << "read as one op";
    }
    if (GetParam().onednn >= 0) {
      EXPECT_EQ(ops_of(onednn, "onednn"), static_cast<uint64_t>(GetParam().onednn));
    }
  }
}

// A lost op changes the sum.
TEST(PluginsOfLibraries, TakeAsManyOpsOfTheTableAsBefore) {
  auto plugins = built_plugins();
  for (const auto& [id, expected] : {std::pair("xnnpack", 204u), std::pair("openblas", 89u)}) {
    if (plugins->find(id) == nullptr) continue;
    uint64_t ops = 0;
    for (const Program& program : kPrograms)
      ops += ops_of(built_by(plugins, with_constants(program.text), {id, "json"}, 2), id);
    EXPECT_EQ(ops, expected) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Plugins, testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc::test
