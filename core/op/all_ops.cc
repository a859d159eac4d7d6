// The only registration: a new family is one more line here.
#include "core/op/families.h"

namespace byoc {

const OpRegistry& all_ops() {
  // Never freed: modules point into it until the last moment of the process.
  static const OpRegistry* const table = [] {
    auto* ops = new OpRegistry;
    op::add_activation_ops(*ops);
    op::add_annotation_ops(*ops);
    op::add_arg_ops(*ops);
    op::add_binary_ops(*ops);
    op::add_cast_ops(*ops);
    op::add_concat_ops(*ops);
    op::add_conv_ops(*ops);
    op::add_dense_ops(*ops);
    op::add_det_ops(*ops);
    op::add_einsum_ops(*ops);
    op::add_elementwise_ops(*ops);
    op::add_gather_ops(*ops);
    op::add_layer_norm_ops(*ops);
    op::add_layout_ops(*ops);
    op::add_norm_ops(*ops);
    op::add_pad_ops(*ops);
    op::add_pool_ops(*ops);
    op::add_power_ops(*ops);
    op::add_recurrent_ops(*ops);
    op::add_reduce_ops(*ops);
    op::add_resize_ops(*ops);
    op::add_sample_ops(*ops);
    op::add_scatter_ops(*ops);
    op::add_shape_ops(*ops);
    op::add_slice_ops(*ops);
    op::add_softmax_ops(*ops);
    op::add_transpose_ops(*ops);
    op::add_triangle_ops(*ops);
    op::add_where_ops(*ops);
    return ops;
  }();
  return *table;
}

}  // namespace byoc
