#pragma once
// One function per op family, defined in the file of that name; all_ops.cc calls each of them.
#include "byoc/op/registry.h"

namespace byoc::op {

void add_activation_ops(OpRegistry& ops);   // activation.cc: relu, gelu, sigmoid, clip, ...
void add_annotation_ops(OpRegistry& ops);   // annotation.cc: compiler_begin, compiler_end
void add_binary_ops(OpRegistry& ops);       // binary.cc: add, multiply, equal, power, ...
void add_concat_ops(OpRegistry& ops);       // concat.cc: concat, split
void add_conv_ops(OpRegistry& ops);         // conv.cc: convolutions, plain and transposed
void add_dense_ops(OpRegistry& ops);        // dense.cc: matmul, gemm
void add_elementwise_ops(OpRegistry& ops);  // elementwise.cc: abs, exp, floor, is_nan, ...
void add_pool_ops(OpRegistry& ops);         // pool.cc: max_pool, average_pool, global_average_pool, ...
void add_shape_ops(OpRegistry& ops);        // shape.cc: reshape, flatten, squeeze, unsqueeze
void add_transpose_ops(OpRegistry& ops);    // transpose.cc: transpose, slice, expand, ...

}  // namespace byoc::op
