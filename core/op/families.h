#pragma once
// One function per op family, defined in the file of that name; all_ops.cc calls each of them.
#include "byoc/op/registry.h"

namespace byoc::op {

void add_activation_ops(OpRegistry& ops);   // relu, gelu, sigmoid, clip, ...
void add_annotation_ops(OpRegistry& ops);   // compiler_begin, compiler_end
void add_arg_ops(OpRegistry& ops);          // argmax, argmin, topk
void add_binary_ops(OpRegistry& ops);       // add, multiply, equal, mod, prelu, ...
void add_cast_ops(OpRegistry& ops);         // cast
void add_concat_ops(OpRegistry& ops);       // concat, split
void add_conv_ops(OpRegistry& ops);         // convolutions, plain and transposed
void add_dense_ops(OpRegistry& ops);        // matmul, gemm
void add_det_ops(OpRegistry& ops);          // det
void add_einsum_ops(OpRegistry& ops);       // einsum
void add_elementwise_ops(OpRegistry& ops);  // abs, exp, floor, is_nan, ...
void add_gather_ops(OpRegistry& ops);       // gather, gather_elements, gather_nd, one_hot
void add_layer_norm_ops(OpRegistry& ops);   // layer_norm, rms_norm, mean_variance_norm, lp_norm
void add_layout_ops(OpRegistry& ops);       // layout_transform, conv2d_nchwc, matmul_packed
void add_norm_ops(OpRegistry& ops);         // batch_norm, instance_norm, group_norm, lrn
void add_pad_ops(OpRegistry& ops);          // pad
void add_pool_ops(OpRegistry& ops);         // max_pool, average_pool, global_average_pool, ...
void add_power_ops(OpRegistry& ops);        // power
void add_recurrent_ops(OpRegistry& ops);    // lstm, gru, rnn
void add_reduce_ops(OpRegistry& ops);       // sum, mean, max, ...
void add_resize_ops(OpRegistry& ops);       // resize
void add_sample_ops(OpRegistry& ops);       // grid_sample, roi_align
void add_scatter_ops(OpRegistry& ops);      // scatter_elements, scatter_nd
void add_shape_ops(OpRegistry& ops);        // shape, reshape, flatten, squeeze, unsqueeze
void add_slice_ops(OpRegistry& ops);        // slice, reverse_sequence
void add_softmax_ops(OpRegistry& ops);      // softmax, log_softmax, hardmax, cumsum
void add_transpose_ops(OpRegistry& ops);    // transpose, expand, tile, depth_to_space, ...
void add_triangle_ops(OpRegistry& ops);     // trilu, eye_like
void add_where_ops(OpRegistry& ops);        // where

}  // namespace byoc::op
