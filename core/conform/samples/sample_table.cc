// SPDX-License-Identifier: Apache-2.0
#include "core/conform/samples/sample_table.h"

namespace byoc::conform {
namespace {

const SampleRow kRows[] = {
    // Functions whose domain is a part of the numbers.
    {"log sqrt rsqrt reciprocal", "T[2,3,5]:0.25..4 | T[7]:0.25..4 | T[]:0.25..4 | T[0,3]", ""},
    {"acosh", "T[2,3,5]:1..4 | T[7]:1..4 | T[1]:1..4 | T[0,3]", ""},
    {"asin acos atanh", "T[2,3,5]:-0.9..0.9 | T[7]:-0.9..0.9 | T[]:-0.9..0.9 | T[0,3]", ""},
    {"tan", "T[2,3,5]:-1..1 | T[7]:-1..1 | T[]:-1..1 | T[0,3]", ""},
    {"divide mod",
     "T[2,3,5] T[2,3,5]:1..4 | T[2,3,5] T[5]:1..4 | T[] T[3,1]:1..4 | T[0,5] T[5]:1..4", ""},
    {"mod", "T[2,3,5] T[5]:1..4", "fmod=true"},
    {"power", "T[2,3,5]:0.5..2 T[5]:0..2 | T[7]:1..3 T[7]:0..2 | T[]:1..2 T[3]:0..2", ""},
    {"bit_shift", "T[2,3]:0..7 T[2,3]:0..3 | T[2,3]:0..7 T[3]:0..3",
     "direction=\"left\" | direction=\"right\""},
    {"where",
     "bool[2,3] T[2,3] T[2,3] | bool[3] T[2,3] T[] | bool[2,1] T[3] T[2,3] | bool[0] T[0] T[0]",
     ""},
    {"prelu", "T[2,3,5] T[2,3,5] | T[2,3,5] T[3,1] | T[7] T[1]", ""},
    {"clip", kUnary, "min=-1.0, max=1.0 | min=0.0 | max=1.0"},
    {"cast", "T[2,3] | T[0,3] | T[]",
     "to=f32 | to=f64 | to=f16 | to=bf16 | to=i8 | to=u8 | to=i32 | to=i64 | to=bool"},
    {"bit_cast", "T[2,3] | T[0,3] | T[]", "to=f32 | to=f64 | to=f16 | to=i8 | to=u32 | to=i64"},
    {"encode_float", "T[2,3,5] | T[0,3]",
     "format=\"f8e4m3fn\" | format=\"f8e5m2\", saturate=false | format=\"f4e2m1\""},
    {"encode_float", "T[2,3]:0.25..4", "format=\"f8e8m0\", rounding=\"up\""},
    {"decode_float", "u8[2,3,5]:0..255 | u8[0,3]:0..255",
     "format=\"f8e4m3fnuz\" | format=\"f8e5m2\" | format=\"f8e8m0\" | format=\"f6e3m2\""},
    {"quantize",
     "f32[2,3,5] f32[]:0.01..0.02 u8[] | f32[2,3,5] f32[3]:0.01..0.02 i8[3] | "
     "f32[7] f32[1]:0.001..0.002 i16[1] | f32[0,3] f32[]:0.5..1 u16[]",
     ""},
    {"quantize", "f32[2,3,5] f32[5]:0.01..0.02 u8[5]", "axis=-1"},
    {"dequantize",
     "u8[2,3,5] f32[]:0.01..0.02 u8[] | i8[2,3,5] f32[3]:0.01..0.02 i8[3] | i32[7] f32[1] | "
     "u16[0,3] f32[] u16[] | i16[2,3] f32[]",
     ""},
    {"dequantize", "i8[2,3,5] f32[2]:0.01..0.02 | u8[2,3] f32[2] u8[2]", "axis=0"},
    {"is_inf", "T[2,3]", "detect_negative=false | detect_positive=false"},
    {"gelu", "T[2,3,5]", "approximate=\"tanh\""},
    {"leaky_relu elu celu thresholded_relu swish", "T[2,3,5]", "alpha=0.5"},

    // Convolution and pooling.
    {"conv1d", "T[2,4,9] T[6,4,3]", " | strides=[2], pads=[1,0] | dilations=[2]"},
    {"conv1d", "T[1,4,9] T[6,2,3]", "group=2"},
    {"conv2d",
     "T[1,3,8,8] T[4,3,3,3] | T[2,3,7,9] T[5,3,1,1] | T[1,1,3,3] T[1,1,3,3] | "
     "T[0,3,5,5] T[4,3,3,3]",
     " | strides=[2,2], pads=[1,1,1,1]"},
    {"conv2d", "T[1,7,11,11] T[13,7,3,3]", "dilations=[2,3] | pads=[0,1,2,0], strides=[1,2]"},
    {"conv2d", "T[1,8,5,5] T[8,1,3,3]", "group=8, pads=[1,1,1,1]"},
    {"conv2d", "T[1,8,5,5] T[6,4,3,3]", "group=2"},
    {"conv2d_nchwc", "T[1,3,9,7] T[1,3,3,3,1,8]", "strides=[2,2], pads=[1,1,1,1]"},
    {"conv2d_nchwc", "T[1,2,6,7,8] T[2,2,3,3,8,8]", "pads=[1,1,1,1] | dilations=[2,1]"},
    {"conv2d_nchwc", "T[1,1,5,5,8] T[1,1,3,3,1,8]", "group=8, strides=[1,2]"},
    {"conv3d", "T[1,2,4,5,5] T[3,2,2,3,3]", " | strides=[1,2,2], pads=[1,1,1,1,1,1]"},
    {"matmul_packed", "T[5,7] T[2,7,8] | T[2,3,5] T[3,5,4]", ""},
    {"conv1d_transpose", "T[1,4,5] T[4,3,3]", " | strides=[2], output_padding=[1]"},
    {"conv2d_transpose", "T[1,4,5,5] T[4,3,3,3]", " | strides=[2,2], pads=[1,1,1,1]"},
    {"conv2d_transpose", "T[1,4,5,5] T[4,2,3,3]", "group=2"},
    {"conv3d_transpose", "T[1,2,3,3,3] T[2,3,2,2,2]", " | strides=[2,1,2]"},
    {"max_pool average_pool lp_pool", "T[1,3,9,8] | T[2,5,7,7] | T[1,1,4,4] | T[0,2,6,6]",
     "kernel_shape=[3,3] | kernel_shape=[2,3], strides=[2,2], pads=[1,1,0,1] | "
     "kernel_shape=[3,2], strides=[2,2], ceil_mode=true"},
    {"max_pool", "T[1,3,11,9]",
     "kernel_shape=[3,3], dilations=[2,2] | kernel_shape=[2,2], with_indices=true"},
    {"average_pool", "T[2,5,7,7]", "kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=true"},
    {"max_pool average_pool", "T[1,3,9]", "kernel_shape=[3], strides=[2]"},
    {"max_pool average_pool", "T[1,2,4,5,4]", "kernel_shape=[2,2,2]"},
    {"global_average_pool global_max_pool global_lp_pool", "T[2,3,5,7] | T[1,1,1,1] | T[2,3,5]",
     ""},

    // Products.
    {"matmul",
     "T[5,7] T[7,3] | T[1,1] T[1,1] | T[2,3,4] T[4,5] | T[2,1,5,7] T[3,7,4] | T[7] T[7,3] | "
     "T[5,7] T[7] | T[7] T[7] | T[0,4] T[4,3] | T[3,0] T[0,4]",
     ""},
    {"gemm", "T[4,6] T[6,5] | T[1,1] T[1,1] | T[0,3] T[3,2]", ""},
    {"gemm", "T[6,4] T[5,6]", "trans_a=true, trans_b=true"},
    {"einsum", "T[3,4] T[4,5]", "equation=\"ij,jk->ik\""},
    {"einsum", "T[2,3,4] T[2,5,4]", "equation=\"bij,bkj->bik\""},
    {"einsum", "T[3,4]", "equation=\"ij->ji\" | equation=\"ij->i\""},
    {"det", "T[3,3] | T[2,4,4] | T[1,1]", ""},

    // Normalisation, softmax, positions of extremes.
    {"batch_norm", "T[2,3,4,5] T[3] T[3] T[3] T[3]:0.5..2 | T[2,3] T[3] T[3] T[3] T[3]:0.5..2",
     " | epsilon=0.01"},
    {"instance_norm", "T[2,3,4,5] T[3] T[3] | T[1,2,7] T[2] T[2]", ""},
    {"group_norm", "T[2,4,3,3] T[4] T[4] | T[2,4,3,3] T[2] T[2]", "num_groups=2"},
    {"layer_norm", "T[2,3,5] | T[2,3,5] T[5] | T[2,3,5] T[5] T[5]", " | epsilon=0.01, stats=true"},
    {"rms_norm", "T[2,3,5] | T[2,3,5] T[5]", ""},
    {"mean_variance_norm", "T[2,3,4,5]", " | axes=[0,2]"},
    {"lp_norm", "T[2,3,5]", " | axis=1, p=1"},
    {"lrn", "T[2,5,3,3]", "size=3 | size=4, alpha=0.5, beta=0.5, bias=2.0"},
    {"softmax log_softmax hardmax", "T[2,3,5] | T[7] | T[1,1]", " | axis=0"},
    {"argmax argmin", "T[2,3,5] | T[7]",
     "axis=0 | axis=-1, keepdims=false, select_last_index=true"},
    {"topk", "T[2,3,5]", "k=2 | k=3, axis=1, largest=false"},
    {"cumsum cumprod", "T[2,3,5]", "axis=1 | axis=-1, exclusive=true, reverse=true"},

    // Shapes and moves.
    {"concat", "T[2,3] T[2,5] | T[2,1] T[2,0] T[2,4] | T[2,3]", "axis=1"},
    {"split", "T[2,6,3]", "axis=1, split=[2,4] | axis=-2, split=[1,0,5]"},
    {"slice", "T[5,7]",
     "starts=[1,2], ends=[4,7] | starts=[-1], ends=[-100], axes=[1], steps=[-2]"},
    {"pad", "T[3,4]",
     "pads=[1,2,0,1] | pads=[1,2,0,1], mode=\"reflect\" | pads=[1,2,0,1], mode=\"edge\""},
    {"reshape", "T[2,6]", "shape=[3,4] | shape=[0,-1,2] | shape=[12]"},
    {"reshape", "T[0,3]", "shape=[0,3] | shape=[3,0], allow_zero=true"},
    {"flatten", "T[2,3,5] | T[7]", " | axis=0"},
    {"squeeze", "T[1,3,1]", " | axes=[0]"},
    {"unsqueeze", "T[2,3] | T[]", "axes=[0]"},
    {"transpose", "T[2,3,5]", " | perm=[1,0,2] | perm=[2,0,1]"},
    {"transpose", "T[4,3] | T[0,3] | T[1,1]", "perm=[1,0]"},
    {"expand", "T[3,1] | T[1]", "shape=[2,3,4]"},
    {"expand", "T[]", "shape=[5]"},
    {"tile", "T[2,3]", "repeats=[2,1] | repeats=[1,0]"},
    {"gather", "T[5,3] i64[4]:0..4 | T[5,3] i32[2,2]:0..4 | T[5,3] i64[]:0..4", "axis=0"},
    {"gather", "T[2,5] i64[3]:-5..4", "axis=1"},
    {"gather_elements", "T[3,4] i64[2,4]:0..2", "axis=0"},
    {"gather_nd", "T[3,4,2] i64[5,2]:0..2", ""},
    {"scatter_elements", "T[5,3] i64[2,3]:0..4 T[2,3]", "axis=0, reduction=\"add\""},
    {"scatter_elements", "T[5,1] i64[1,1]:0..4 T[1,1]", "axis=0"},
    {"scatter_nd", "T[5,3] i64[1,1]:0..4 T[1,3]", " | reduction=\"add\""},
    {"one_hot", "i64[2,3]:0..3 T[2] | i32[4]:0..3 T[2]", "depth=4 | depth=4, axis=0"},
    {"shape", "T[2,3,5] | T[]", " | start=1"},
    {"eye_like", "T[3,4]", " | k=1, dtype=f32"},
    {"trilu", "T[3,4] | T[2,3,3]", " | upper=false, k=1"},
    {"depth_to_space", "T[1,8,2,3]", "blocksize=2 | blocksize=2, mode=\"CRD\""},
    {"space_to_depth", "T[1,2,4,6]", "blocksize=2 | blocksize=2, mode=\"CRD\""},
    {"layout_transform", "T[1,8,3,2]", "src_layout=\"NCHW\", dst_layout=\"NCHW4c\""},
    {"layout_transform", "T[1,2,3,2,4]", "src_layout=\"NCHW4c\", dst_layout=\"NCHW\""},
    {"reverse_sequence", "T[4,3,2] i64[3]:1..4", ""},

    // Images and sequences.
    {"resize", "T[1,2,4,5]",
     "sizes=[1,2,8,7] | sizes=[1,2,3,4], mode=\"linear\" | "
     "scales=[1.0,1.0,2.0,1.5], mode=\"cubic\" | sizes=[1,2,8,10], coordinates=\"asymmetric\", "
     "nearest=\"floor\" | sizes=[1,2,2,3], mode=\"linear\", antialias=true | "
     "sizes=[1,2,3,2], mode=\"cubic\", antialias=true, exclude_outside=true"},
    {"grid_sample", "T[1,2,4,5] T[1,3,3,2]:-1..1",
     " | mode=\"nearest\", align_corners=true | padding_mode=\"border\""},
    {"grid_sample", "T[1,2,3,4,2] T[1,2,1,3,3]:-1..1 | T[1,2,5] T[1,3,1]:-1..1", ""},
    {"deform_columns",
     "T[1,2,4,4] T[1,8,3,3]:-1..1 | T[1,2,4,4] T[1,8,3,3]:-1..1 T[1,4,3,3] | "
     "T[0,2,4,4] T[0,8,3,3]",
     "kernel_shape=[2,2]"},
    {"deform_columns", "T[2,4,5] T[2,4,4]:-1..1", "kernel_shape=[2], offset_group=2"},
    {"col2im", "T[1,8,6] | T[0,4,6]", "image_shape=[3,4], block_shape=[2,2]"},
    {"col2im", "T[2,4,4]",
     "image_shape=[9], block_shape=[2], strides=[2], dilations=[2], pads=[1,1]"},
    {"dft", "T[2,6,1] | T[7,1] | T[0,3,1]", " | onesided=true | length=4"},
    {"dft", "T[2,5,2]", " | axis=0 | inverse=true, onesided=true"},
    {"linear_attention",
     "T[1,3,4] T[1,3,4] T[1,3,6] T[1,2,2,3] | T[1,0,4] T[1,0,4] T[1,0,6] T[1,2,2,3]",
     "q_heads=2, kv_heads=2"},
    {"linear_attention", "T[2,3,8] T[2,3,4] T[2,3,6] T[2,2,2,3] T[2,3,2]:-1..0 T[2,3,1]:0..1",
     "rule=\"gated_delta\", q_heads=4, kv_heads=2"},
    {"roi_align", "T[2,3,8,8] T[2,4]:0..4 i64[2]:0..1",
     "output_height=2, output_width=2, sampling_ratio=2 | output_height=2, mode=\"max\""},
    {"rnn",
     "T[3,2,4]:-1..1 T[1,5,4]:-1..1 T[1,5,5]:-1..1 | "
     "T[3,2,4]:-1..1 T[1,5,4]:-1..1 T[1,5,5]:-1..1 T[1,10]:-1..1",
     " | direction=\"reverse\""},
    {"gru", "T[3,2,4]:-1..1 T[1,15,4]:-1..1 T[1,15,5]:-1..1", " | linear_before_reset=true"},
    {"lstm", "T[3,2,4]:-1..1 T[1,20,4]:-1..1 T[1,20,5]:-1..1", " | direction=\"reverse\""},
    {"lstm",
     "T[3,2,4]:-1..1 T[2,20,4]:-1..1 T[2,20,5]:-1..1 T[2,40]:-1..1 T[2,2,5]:-1..1 T[2,2,5]:-1..1 "
     "T[2,15]:-1..1 i64[2]:0..3",
     "direction=\"bidirectional\", clip=0.5, input_forget=true"},
    {"gru",
     "T[3,2,4]:-1..1 T[1,15,4]:-1..1 T[1,15,5]:-1..1 T[1,30]:-1..1 T[1,2,5]:-1..1 i64[2]:0..3",
     "direction=\"reverse\", activations=[\"HardSigmoid\",\"LeakyRelu\"], alpha=[0.2,0.1], "
     "beta=[0.5,0]"},
};

}  // namespace

std::span<const SampleRow> sample_rows() { return kRows; }

}  // namespace byoc::conform
