// SPDX-License-Identifier: Apache-2.0
// Elementwise functions, norms and softmax; also written out in pieces.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_functions() {
  return {
      {"relu_alone", "fn main(%x: f32[3,5]) { %0 = relu(%x)  return %0 }", 1},
      {"add_broadcast", "fn main(%x: f32[2,3,4], %y: f32[3,1]) { %0 = add(%y, %x)  return %0 }", 1},
      {"add_of_another_rank_and_as_many_elements",
       "fn main(%x: f32[1,5,1], %w: f32[5,1], %y: f32[]) { %0 = add(%x, %w)  %1 = multiply(%0, %0) "
       " "
       "%2 = add(%1, %w)  return %2 }",
       3},
      {"add_scalar", "fn main(%x: f32[1,1], %y: f32[]) { %0 = add(%x, %y)  return %0 }", 1},
      {"add_broadcast_both", "fn main(%x: f32[2,1], %y: f32[1,3]) { %0 = add(%x, %y)  return %0 }",
       0},
      {"batch_norm",
       "fn main(%x: f32[2,5,3,4], %v: f32[5], %w: f32[5], %w1: f32[5], %w2: f32[5]) { %0 = "
       "multiply(%v, %v)  %1 = batch_norm(%x, %w, %w1, %w2, %0) {epsilon=0.01}  return %1 }",
       2},
      {"batch_norm_on_a_blocked_value",
       "fn main(%x: f32[1,16,5,5], %w: f32[16,16,3,3], %a: f32[16], %b: f32[16], %m: f32[16], %v: "
       "f32[16]) { %0 = conv2d(%x, %w)  %1 = multiply(%v, %v)  %2 = batch_norm(%0, %a, %b, %m, %1) "
       " "
       "return %2 }",
       3},
      {"layer_norm",
       "fn main(%x: f32[2,3,7], %w: f32[7], %w1: f32[7]) { %0 = layer_norm(%x, %w, %w1) "
       "{epsilon=0.001}  return %0 }",
       1},
      {"layer_norm_over_two_axes",
       "fn main(%x: f32[2,3,7], %w: f32[3,7]) { %0 = layer_norm(%x, %w) {axis=1}  return %0 }", 1},
      {"lrn",
       "fn main(%x: f32[2,7,3,5]) { %0 = lrn(%x) {size=5, alpha=0.02, bias=2.0}  return %0 }", 1},
      {"lrn_of_even_size", "fn main(%x: f32[2,7,3,5]) { %0 = lrn(%x) {size=4}  return %0 }", 0},
      {"log_softmax", "fn main(%x: f32[3,7,2]) { %0 = log_softmax(%x) {axis=1}  return %0 }", 1},
      {"subtract_and_divide",
       "fn main(%x: f32[2,3,4], %y: f32[3,1], %w: f32[4]) { %0 = subtract(%x, %y)  %1 = divide(%0, "
       "%w)  %2 = maximum(%y, %1)  return %2 }",
       3},
      {"subtract_from_a_broadcast",
       "fn main(%x: f32[2,3], %y: f32[3]) { %0 = subtract(%y, %x)  return %0 }", 1},
      {"softmax", "fn main(%x: f32[2,3,7]) { %0 = softmax(%x)  return %0 }", 1},
      {"softmax_of_a_middle_axis",
       "fn main(%x: f32[2,3,7]) { %0 = softmax(%x) {axis=1}  return %0 }", 1},
      {"layer_norm_in_pieces",
       "fn main(%x: f32[2,3,5], %w: f32[5], %w1: f32[5]) { %two = const([2.0]) : f32[] %eps = "
       "const([0.001]) : f32[] %0 = mean(%x) {axes=[-1]} %1 = subtract(%x, %0) %2 = power(%1, "
       "%two) "
       "%3 = mean(%2) {axes=[-1]} %4 = add(%3, %eps) %5 = sqrt(%4) %6 = divide(%1, %5) %7 = "
       "multiply(%6, %w) %8 = add(%7, %w1) return %8 }",
       -1},
      {"layer_norm_in_pieces_of_a_cube",
       "fn main(%x: f32[2,3,5], %w: f32[5], %w1: f32[5]) { %two = const([3.0]) : f32[] %eps = "
       "const([9.0]) : f32[] %0 = mean(%x) {axes=[-1]} %1 = subtract(%x, %0) %2 = power(%1, %two) "
       "%3 "
       "= mean(%2) {axes=[-1]} %4 = add(%3, %eps) %5 = sqrt(%4) %6 = divide(%1, %5) %7 = "
       "multiply(%6, %w) %8 = add(%7, %w1) return %8 }",
       -1},
      {"gelu_in_pieces",
       "fn main(%x: f32[2,3,5]) { %root = const([1.4142135381698608]) : f32[] %one = const([1.0]) "
       ": "
       "f32[] %half = const([0.5]) : f32[] %0 = divide(%x, %root) %1 = erf(%0) %2 = add(%1, %one) "
       "%3 "
       "= multiply(%x, %2) %4 = multiply(%3, %half) return %4 }",
       -1},
      {"gelu_in_pieces_with_another_root",
       "fn main(%x: f32[2,3,5]) { %root = const([1.5]) : f32[] %one = const([1.0]) : f32[] %half = "
       "const([0.5]) : f32[] %0 = divide(%x, %root) %1 = erf(%0) %2 = add(%1, %one) %3 = "
       "multiply(%x, %2) %4 = multiply(%3, %half) return %4 }",
       -1},
      {"empty", "fn main(%x: f32[0,3]) { %0 = relu(%x)  return %0 }", 1},
      {"doubles", "fn main(%x: f64[2,3]) { %0 = relu(%x)  return %0 }", 0},
  };
}

}  // namespace byoc::test
