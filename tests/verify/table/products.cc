// SPDX-License-Identifier: Apache-2.0
// Products of matrices, with what follows them.
#include "verify/table/table.h"

namespace byoc::test {

std::vector<Program> programs_of_products() {
  return {
      {"matmul_of_many_rows",
       "fn main(%x: f32[2,9,24], %w: f32[24,40]) { %0 = matmul(%x, %w)  return %0 }", 1},
      {"matmul_of_many_rows_bias_gelu",
       "fn main(%x: f32[3,11,16], %w: f32[16,24], %w1: f32[24]) { %0 = matmul(%x, %w)  %1 = "
       "add(%0, "
       "%w1)  %2 = gelu(%1)  return %2 }",
       3},
      {"matmul_of_tokens_first_bias_gelu",
       "fn main(%x: f32[3,11,1,16], %w: f32[16,24], %w1: f32[24]) { %0 = matmul(%x, %w)  %1 = "
       "add(%0, "
       "%w1)  %2 = gelu(%1)  return %2 }",
       3},
      {"matmul_of_tokens_first_bias_residual",
       "fn main(%x: f32[17,1,16], %w: f32[16,32], %w1: f32[32], %r: f32[17,1,32]) { %0 = "
       "matmul(%x, "
       "%w)  %1 = add(%0, %w1)  %2 = add(%1, %r)  return %2 }",
       3},
      {"matmul_of_tokens_first_scaled_by_token",
       "fn main(%x: f32[17,1,16], %w: f32[16,32], %d: f32[17,1,1]) { %0 = matmul(%x, %w)  %1 = "
       "multiply(%0, %d)  return %1 }",
       2},
      {"matmul_of_many_rows_bias_residual_relu",
       "fn main(%x: f32[17,16], %w: f32[16,32], %w1: f32[32], %r: f32[17,32]) { %0 = matmul(%x, "
       "%w)  "
       "%1 = add(%0, %w1)  %2 = add(%1, %r)  %3 = relu(%2)  return %3 }",
       4},
      {"matmul_of_many_rows_scaled_by_channel",
       "fn main(%x: f32[17,16], %w: f32[16,32], %c: f32[32], %d: f32[17,1]) { %0 = matmul(%x, %w)  "
       "%1 "
       "= multiply(%0, %c)  %2 = subtract(%1, %d)  return %2 }",
       3},
      {"gemm_of_many_rows",
       "fn main(%x: f32[19,24], %w: f32[40,24], %w1: f32[40]) { %0 = gemm(%x, %w) {trans_b=true}  "
       "%1 "
       "= add(%0, %w1)  %2 = relu(%1)  return %2 }",
       3},
      {"gemm_of_many_columns_times_alpha",
       "fn main(%x: f32[24,19], %w: f32[24,40], %w1: f32[40]) { %0 = gemm(%x, %w) {trans_a=true, "
       "alpha=0.5}  %1 = add(%0, %w1)  return %1 }",
       2},
      {"gemm_of_many_rows_times_alpha",
       "fn main(%x: f32[19,24], %w: f32[24,40], %w1: f32[40]) { %0 = gemm(%x, %w) {alpha=0.5}  %1 "
       "= "
       "tanh(%0)  return %1 }",
       2},
      {"matmul", "fn main(%x: f32[5,7], %w: f32[7,3]) { %0 = matmul(%x, %w)  return %0 }", 1},
      {"matmul_bias",
       "fn main(%x: f32[2,5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, "
       "%w1)  "
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
       "fn main(%x: f32[1,16,1,1], %w: f32[16,16,1,1], %w1: f32[16,10]) { %0 = conv2d(%x, %w)  %1 "
       "= "
       "flatten(%0)  %2 = gemm(%1, %w1)  return %2 }",
       3},
      {"matmul_bias_gelu",
       "fn main(%x: f32[2,5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, "
       "%w1)  "
       "%2 = gelu(%1)  return %2 }",
       3},
      {"matmul_bias_gelu_tanh",
       "fn main(%x: f32[5,7], %w: f32[7,3], %w1: f32[3]) { %0 = matmul(%x, %w)  %1 = add(%0, %w1)  "
       "%2 = gelu(%1) {approximate=\"tanh\"}  return %2 }",
       3},
      {"matmul_scaled_and_masked",
       "fn main(%x: f32[1,2,5,4], %y: f32[1,2,4,5], %w: f32[1], %m: f32[1,1,5,5]) { %0 = "
       "matmul(%x, "
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
      {"matmul_wide",
       "fn main(%x: f32[3,8], %w: f32[8,256], %w1: f32[256]) { %0 = matmul(%x, %w)  %1 = add(%0, "
       "%w1)  %2 = relu(%1)  return %2 }",
       3},
      {"matmul_bias_gelu_in_pieces",
       "fn main(%x: f32[2,4,6], %w: f32[6,5], %w1: f32[5]) { %root = const([1.4142135381698608]) : "
       "f32[] %one = const([1.0]) : f32[] %half = const([0.5]) : f32[] %m = matmul(%x, %w) %b = "
       "add(%m, %w1) %0 = divide(%b, %root) %1 = erf(%0) %2 = add(%1, %one) %3 = multiply(%b, %2) "
       "%4 "
       "= multiply(%3, %half) return %4 }",
       -1},
  };
}

}  // namespace byoc::test
