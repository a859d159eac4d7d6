// SPDX-License-Identifier: Apache-2.0
#include "core/import/onnx/samples/node_samples.h"

namespace byoc::onnx_import {

std::span<const NodeSample> microsoft_samples() {
  static const NodeSample kSamples[] = {
      {"Attention", "f32[1,3,8] f32[8,24] f32[24] i32[1,3]", {{"num_heads", 2}}},
      {"BiasGelu", "f32[2,3] f32[3]"},
      {"CDist", "f32[2,3] f32[4,3]"},
      {"DequantizeLinear", "u8[2,3] f32[] u8[]"},
      {"DynamicQuantizeLSTM",
       "f32[3,2,4] i8[1,4,20] i8[1,5,20] - - - - - f32[1] i8[1] f32[1] i8[1]",
       {{"hidden_size", 5}}},
      {"DynamicQuantizeMatMul", "f32[2,3] u8[3,4] f32[] u8[]"},
      {"EmbedLayerNormalization",
       "i32[1,3] i32[1,3] f32[9,4] f32[5,4] f32[2,4] f32[4] f32[4] i32[1,3]",
       {},
       2},
      {"ExpandDims", "f32[2,3] i64:0"},
      {"FusedConv", "f32[1,4,6,6] f32[8,4,3,3] f32[8]", {{"activation", "Relu"}}},
      {"FusedGemm", "f32[2,3] f32[3,4] f32[4]", {{"activation", "Relu"}}},
      {"FusedMatMul", "f32[2,2,3] f32[2,3,4]", {{"alpha", 0.5}}},
      {"GatherBlockQuantized", "u8[9,16] i64[2] f32[9,2]", {{"block_size", 16}}},
      {"GridSample", "f32[1,4,6,6] f32[1,3,3,2]"},
      {"GroupQueryAttention",
       "f32[1,3,8] f32[1,3,4] f32[1,3,4] - - i32[1] i64:3",
       {{"num_heads", 2}, {"kv_num_heads", 1}}},
      {"MatMulIntegerToFloat", "u8[2,3] u8[3,4] f32[] f32[] u8[] u8[]"},
      {"MatMulNBits", "f32[2,16] u8[4,1,8] f32[4]", {{"K", 16}, {"N", 4}, {"block_size", 16}}},
      {"MultiHeadAttention", "f32[1,3,8] f32[1,3,8] f32[1,3,8]", {{"num_heads", 2}}},
      {"NhwcConv", "f32[1,6,6,4] f32[8,4,3,3] f32[8]"},
      {"NhwcMaxPool", "u8[1,6,6,4]", {{"kernel_shape", Ints{2, 2}}}},
      {"QAttention",
       "u8[1,3,8] u8[8,24] f32[24] f32[] f32[] i32[1,3] u8[] u8[]",
       {{"num_heads", 2}}},
      {"QEmbedLayerNormalization",
       "i32[1,3] i32[1,3] u8[9,4] u8[5,4] u8[2,4] u8[4] u8[4] i32[1,3] f32[] f32[] f32[] f32[] "
       "f32[] u8[] u8[] u8[] u8[] u8[]",
       {},
       2},
      {"QGemm", "u8[2,3] f32[] u8[] u8[3,4] f32[] u8[] i32[4] f32[] u8[]"},
      {"QLinearAdd", "u8[2,3] f32[] u8[] u8[2,3] f32[] u8[] f32[] u8[]"},
      {"QLinearAveragePool", "u8[1,4,6,6] f32[] u8[] f32[] u8[]", {{"kernel_shape", Ints{2, 2}}}},
      {"QLinearConcat", "f32[] u8[] u8[2,3] f32[] u8[] u8[2,3] f32[] u8[]", {{"axis", 0}}},
      {"QLinearConv", "u8[1,4,6,6] f32[] u8[] u8[8,4,3,3] f32[] u8[] f32[] u8[]"},
      {"QLinearGlobalAveragePool", "u8[1,4,6,6] f32[] u8[] f32[] u8[]"},
      {"QLinearLeakyRelu", "u8[2,3] f32[] u8[] f32[] u8[]"},
      {"QLinearMul", "u8[2,3] f32[] u8[] u8[2,3] f32[] u8[] f32[] u8[]"},
      {"QLinearSigmoid", "u8[2,3] f32[] u8[] f32[] u8[]"},
      {"QLinearSoftmax", "u8[2,3] f32[] u8[] f32[] u8[]", {{"opset", 13}}},
      {"QLinearWhere", "bool[2,3] u8[2,3] f32[] u8[] u8[2,3] f32[] u8[] f32[] u8[]"},
      {"QuantizeLinear", "f32[2,3] f32[] u8[]"},
      {"RotaryEmbedding", "f32[1,2,3,4] i64[1,3] f32[5,2] f32[5,2]"},
      {"SimplifiedLayerNormalization", "f32[2,3] f32[3]"},
      {"SkipLayerNormalization", "f32[1,2,3] f32[1,2,3] f32[3] f32[3]"},
      {"SkipSimplifiedLayerNormalization", "f32[1,2,3] f32[1,2,3] f32[3]"},
      {"TransposeMatMul", "f32[2,2,3] f32[2,3,4]"},
  };
  return kSamples;
}

}  // namespace byoc::onnx_import
