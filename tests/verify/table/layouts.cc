// SPDX-License-Identifier: Apache-2.0
// Values in blocks of channels, and views of them: pad, reshape, concat, transpose.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_layouts() {
  return {
      {"pads_in_blocks",
       "fn main(%x: f32[2,8,9,7], %w: f32[16,8,3,3], %w1: f32[8,16,1,1]) { %0 = conv2d(%x, %w)  %1 "
       "= "
       "pad(%0) {pads=[0,0,1,2,0,0,0,3], value=2.5}  %2 = average_pool(%1) {kernel_shape=[3,3]}  "
       "%3 "
       "= "
       "conv2d(%2, %w1)  return %3 }",
       4},
      {"pads_of_channels_in_blocks",
       "fn main(%x: f32[1,8,5,4], %w: f32[16,8,3,3], %w1: f32[8,40,1,1]) { %0 = conv2d(%x, %w)  %1 "
       "= "
       "pad(%0) {pads=[0,8,1,0,0,16,1,0]}  %2 = conv2d(%1, %w1)  return %2 }",
       3},
      {"reshape_of_nothing_in_blocks",
       "fn main(%x: f32[2,8,9,7], %w: f32[16,8,3,3], %w1: f32[8,16,1,1]) { %0 = conv2d(%x, %w)  %1 "
       "= "
       "reshape(%0) {shape=[2,16,7,5]}  %2 = conv2d(%1, %w1)  return %2 }",
       3},
      {"relu_add_on_blocked_values",
       "fn main(%x: f32[1,16,5,5], %w: f32[16,16,3,3], %w1: f32[16,16,3,3]) { %0 = conv2d(%x, %w)  "
       "%1 = relu(%0)  %2 = conv2d(%x, %w1)  %3 = add(%1, %2)  %4 = relu(%3)  return %4, %1 }",
       5},
      {"concat_of_blocked_values",
       "fn main(%x: f32[1,16,5,5], %w: f32[8,16,1,1], %w1: f32[24,16,3,3], %w2: f32[16,32,1,1]) { "
       "%0 "
       "= conv2d(%x, %w)  %1 = conv2d(%x, %w1) {pads=[1,1,1,1]}  %2 = concat(%0, %1) {axis=1}  %3 "
       "= "
       "relu(%2)  %4 = conv2d(%3, %w2)  return %4 }",
       5},
      {"concat_parts_read_again",
       "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[8,16,3,3], %w2: f32[16,24,1,1], "
       "%w3: "
       "f32[16,48,1,1]) { %0 = conv2d(%x, %w)  %1 = conv2d(%0, %w1) {pads=[1,1,1,1]}  %2 = "
       "concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2)  %4 = add(%3, %0)  %5 = concat(%2, %1, %4) "
       "{axis=1}  %6 = conv2d(%5, %w3)  return %6 }",
       7},
      {"concat_of_one_value_twice",
       "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[16,32,1,1]) { %0 = conv2d(%x, %w)  "
       "%1 = concat(%0, %0) {axis=1}  %2 = conv2d(%1, %w1)  return %2 }",
       3},
      {"concat_of_padded_blocks",
       "fn main(%x: f32[1,16,5,5], %w: f32[12,16,1,1], %w1: f32[4,16,1,1], %w2: f32[16,16,1,1]) { "
       "%0 "
       "= conv2d(%x, %w)  %1 = conv2d(%x, %w1)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2) "
       " "
       "return %3 }",
       4},
      {"concat_of_a_batch",
       "fn main(%x: f32[3,16,5,5], %w: f32[16,16,1,1], %w1: f32[8,16,1,1], %w2: f32[16,24,1,1]) { "
       "%0 "
       "= conv2d(%x, %w)  %1 = conv2d(%x, %w1)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w2) "
       " "
       "return %3 }",
       4},
      {"concat_that_is_summed_to",
       "fn main(%x: f32[1,16,5,5], %w: f32[16,16,1,1], %w1: f32[32,32,1,1]) { %0 = conv2d(%x, %w)  "
       "%1 = conv2d(%0, %w)  %2 = concat(%0, %1) {axis=1}  %3 = conv2d(%2, %w1)  %4 = add(%3, %2)  "
       "return %4 }",
       5},
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
       "flatten(%0)  %2 = conv2d(%x, %w)  %3 = add(%2, %0)  %4 = relu(%1)  %5 = tanh(%1)  return "
       "%3, "
       "%4, %5 }",
       6},
      {"views_as_results",
       "fn main(%x: f32[2,3,4]) { %0 = transpose(%x)  %1 = relu(%x)  %2 = unsqueeze(%1) {axes=[0]} "
       " "
       "%3 = squeeze(%2)  return %0, %2, %3 }",
       4},
  };
}

}  // namespace byoc::test
