// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of implementations: oneDNN's, as impl_info_str() returns them, and those of the plugin's
// own loops and steps. No other file compares or searches such a name.
//
// A name is a family and, after a colon, an instruction set or a data type: "brgconv_1x1:avx2".
// oneDNN 2.6 and 3.2 write "x64:" before some families; a transposed convolution that runs as a
// convolution is called "conv:any+" and that convolution's name.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace byoc::onednn {

/// The plugin's own names: loops, and steps without a primitive. A reorder is a primitive, counted
/// under one name.
constexpr std::string_view kOwnLoop = "loop", kOwnLoopAvx2 = "loop:avx2", kViewStep = "view",
                           kNothingStep = "nothing", kReorderStep = "reorder";

constexpr bool is_own_loop(std::string_view name) {
  return name == kOwnLoop || name == kOwnLoopAvx2;
}

/// Returns true for a reference kernel of oneDNN: judge reports such an op as slow. The loops that
/// oneDNN compiles per primitive ("reduction_ref", "lrn_ref") do not count: 2.6 has no other kernel
/// for many of these ops, and they are not refused.
constexpr bool is_reference(std::string_view name) { return name.starts_with("ref"); }

/// Returns true for a convolution by Winograd's tiles.
constexpr bool is_winograd(std::string_view name) { return name.find("wino") != name.npos; }

/// Returns true for a convolution as products of matrices, with copies of the image.
constexpr bool is_by_products(std::string_view name) { return name.find("gemm") != name.npos; }

/// Returns true for a kernel that oneDNN generates when the primitive is made.
constexpr bool is_generated(std::string_view name) {
  return name.find("jit") != name.npos || name.starts_with("brg") || name.starts_with("brd");
}

/// Returns true for the convolution for AVX2 on images and weights in blocks of eight channels.
/// Primitives of other kinds have kernels of the same name.
constexpr bool is_blocked_convolution_avx2(std::string_view name) { return name == "jit:avx2"; }

/// Returns true for the 1x1 convolution for AVX2 that takes channels last.
constexpr bool is_pointwise_convolution_avx2(std::string_view name) {
  return name == "jit_1x1:avx2";
}

/// Returns true for the convolutions of oneDNN 3.x by small products, on images with channels last.
constexpr bool is_channels_last_convolution(std::string_view name) {
  return name.starts_with("brgconv");
}

/// Returns the f32 lanes of the columns that a product by small products has in a register; 0 for
/// other names.
constexpr int64_t lanes_of_products(std::string_view name) {
  if (!name.starts_with("brg")) return 0;
  return name.find("avx512") != name.npos ? 16 : 8;
}

/// The families of names that forward inference can have in 2.6 and 3.2 for x86-64, and the
/// plugin's own.
constexpr std::string_view kFamilies[] = {
    // generated code
    "bnorm_jit", "bnorm_tbb_jit", "brdgmm_dw", "brg", "brg_conv", "brg_fwd", "brgconv",
    "brgconv_1x1", "brgconv_strided", "brgemm", "jit", "jit_1x1", "jit_bf16", "jit_bf16_1x1",
    "jit_deconvolution", "jit_dw", "jit_fp32_wino_2x3", "jit_int", "jit_int8", "jit_int8_1x1",
    "jit_uni", "jit_uni_deconv", "jit_uni_int8", "jit_uni_int8_1x1", "jit_wino_4x3", "lrn_jit",
    // products: "gemm:jit" is generated, "gemm:ref" is not
    "gemm",
    // compiled loops
    "ncsp_bnorm", "nspc_bnorm", "simple", "simple_layer_normalization", "simple_nchw",
    "simple_nhwc", "bnorm_ref", "lnorm_ref", "lrn_ref", "prelu_ref", "reduction_ref",
    // reference kernels
    "ref", "ref_fused_convolution", "ref_int8",
    // the plugin's own
    "loop", "view", "nothing", "reorder"};

/// Returns whether the name is of a family in the table: a version of oneDNN with other names
/// requires a look at the predicates of this file.
constexpr bool is_known(std::string_view name) {
  constexpr std::string_view kMachine = "x64:", kAsConvolution = "conv:any+";
  for (std::string_view prefix : {kAsConvolution, kMachine}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  std::string_view family = name.substr(0, name.find(':'));
  return std::find(std::begin(kFamilies), std::end(kFamilies), family) != std::end(kFamilies);
}

}  // namespace byoc::onednn
