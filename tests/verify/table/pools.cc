// SPDX-License-Identifier: Apache-2.0
// Pools, and reductions like them.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_pools() {
  return {
      {"max_pool_ceil",
       "fn main(%x: f32[1,8,7,6]) { %0 = max_pool(%x) {kernel_shape=[3,2], strides=[2,2], "
       "ceil_mode=true, pads=[1,0,1,0]}  return %0 }",
       1},
      {"max_pool_dilated",
       "fn main(%x: f32[1,3,11,9]) { %0 = max_pool(%x) {kernel_shape=[3,3], dilations=[2,2]}  "
       "return "
       "%0 }",
       1},
      {"max_pool_of_windows_in_the_pads",
       "fn main(%x: f32[1,3,1,5], %y: f32[1,8,1,5]) { %0 = max_pool(%x) {kernel_shape=[2,2], "
       "dilations=[2,1], pads=[1,0,1,0]}  %1 = max_pool(%y) {kernel_shape=[2,2], dilations=[2,1], "
       "pads=[1,0,1,0]}  return %0, %1 }",
       2},
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
      {"global_average_pool",
       "fn main(%x: f32[2,17,3,5], %w: f32[17,17,1,1]) { %0 = conv2d(%x, %w)  %1 = "
       "global_average_pool(%0)  return %1 }",
       2},
      {"mean_of_planes",
       "fn main(%x: f32[2,16,5,3], %w: f32[16,16,1,1]) { %0 = conv2d(%x, %w)  %1 = mean(%0) "
       "{axes=[2,3], keepdims=false}  return %1 }",
       2},
      {"sum_of_all",
       "fn main(%x: f32[2,3,4]) { %0 = sum(%x) {keepdims=false}  %1 = max(%x) {axes=[-1]}  %2 = "
       "l2(%x) {axes=[0,2]}  return %0, %1, %2 }",
       3},
  };
}

}  // namespace byoc::test
