// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs programs of one op as tensor expressions and compares with the reference kernel.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "byoc/base/literal.h"
#include "byoc/te/evaluate.h"
#include "byoc/translate/translate.h"
#include "core/conform/checks/compare.h"
#include "core/conform/samples/samples.h"

namespace byoc::testing {

using conform::Program;
using conform::Special;

// Ops whose floats may differ from the reference kernel's by conform::tolerance. Their kernels sum
// in f64 or in another order, or call the f32 function of libm, while the interpreter rounds the
// f64 function. All other ops must give the same bits.
inline const std::set<std::string> kRounded = {"acos",
                                               "acosh",
                                               "asin",
                                               "asinh",
                                               "atan",
                                               "atanh",
                                               "average_pool",
                                               "batch_norm",
                                               "cached_attention",
                                               "celu",
                                               "col2im",
                                               "conv1d",
                                               "conv1d_transpose",
                                               "conv2d",
                                               "conv2d_nchwc",
                                               "conv2d_transpose",
                                               "conv3d",
                                               "conv3d_transpose",
                                               "cos",
                                               "cosh",
                                               "deform_rows",
                                               "dft",
                                               "einsum",
                                               "elu",
                                               "erf",
                                               "exp",
                                               "gelu",
                                               "gemm",
                                               "global_average_pool",
                                               "global_lp_pool",
                                               "group_norm",
                                               "gru",
                                               "instance_norm",
                                               "l1",
                                               "l2",
                                               "layer_norm",
                                               "linear_attention",
                                               "log",
                                               "log_softmax",
                                               "log_sum",
                                               "log_sum_exp",
                                               "lp_norm",
                                               "lp_pool",
                                               "lrn",
                                               "lstm",
                                               "matmul",
                                               "matmul_blocks",
                                               "matmul_packed",
                                               "matmul_widened",
                                               "mean",
                                               "mean_variance_norm",
                                               "mish",
                                               "power",
                                               "prod",
                                               "resize",
                                               "rms_norm",
                                               "rnn",
                                               "roi_align",
                                               "selu",
                                               "sigmoid",
                                               "sin",
                                               "sinh",
                                               "softmax",
                                               "softplus",
                                               "sum",
                                               "sum_square",
                                               "swish",
                                               "tan",
                                               "tanh"};

using Bytes = std::vector<std::byte>;

inline std::vector<Bytes> filled_inputs(const Program& program, Special special) {
  const Function& main = program.module.function("main");
  std::vector<Bytes> inputs;
  for (uint32_t k = 0; k < main.num_params(); ++k) {
    const TensorType& type = *main.nodes[k].types[0];
    inputs.emplace_back(static_cast<size_t>(*size_bytes(type)) + 1);  // never an empty vector
    conform::fill(inputs.back().data(), type, program.domains[k], 17 + k, special);
  }
  return inputs;
}

inline std::vector<Bytes> room_for(const std::vector<TypeId>& types) {
  std::vector<Bytes> out;
  for (TypeId type : types) out.emplace_back(static_cast<size_t>(*size_bytes(*type)) + 1);
  return out;
}

template <class Pointer>
std::vector<Pointer> pointers(std::vector<Bytes>& buffers) {
  std::vector<Pointer> out;
  for (Bytes& bytes : buffers) out.push_back(bytes.data());
  return out;
}

inline Result<std::vector<Bytes>> run_reference(const Program& program,
                                                std::vector<Bytes>& inputs) {
  const Function& main = program.module.function("main");
  std::vector<TypeId> in;
  for (uint32_t k = 0; k < main.num_params(); ++k) in.push_back(main.nodes[k].types[0]);
  const Call& call = std::get<Call>(main.nodes.back().kind);
  BYOC_TRY(RefKernel kernel, call.op->reference(in, main.result_types(), *call.attrs));
  std::vector<Bytes> out = room_for(main.result_types());
  kernel(pointers<const void*>(inputs).data(), pointers<void*>(out).data());
  return out;
}

inline Result<std::vector<Bytes>> run_expression(const Program& program,
                                                 std::vector<Bytes>& inputs) {
  const Function& main = program.module.function("main");
  BYOC_TRY(te::Dag dag, te::translate_to_te(program.module, main, te::Target{}, te::by_level()));
  BYOC_TRY(te::LoopFunction loops, te::lower(te::Schedule(std::move(dag))));
  std::vector<Bytes> out = room_for(main.result_types());
  auto in = pointers<const void*>(inputs);
  auto to = pointers<void*>(out);
  BYOC_TRY_STATUS(te::evaluate(loops, in, to));
  return out;
}

// Describes the first element whose bits differ; "" if there is none. All NaNs are equal.
inline std::string other_bits(const TensorType& type, const Bytes& got, const Bytes& expected) {
  const size_t size = dtype_size(type.dtype);
  for (size_t at = 0; at + size < got.size(); at += size) {
    if (std::memcmp(&got[at], &expected[at], size) == 0) continue;
    double g = element_value(type.dtype, &got[at]), w = element_value(type.dtype, &expected[at]);
    if (g != g && w != w) continue;
    return cat("gives ", g, " instead of ", w, " at element ", at / size, " of ", type);
  }
  return "";
}

// Describes the first wrong element; "" if the result is right.
inline std::string difference(const Program& program, const TensorType& type, const Bytes& got,
                              const Bytes& expected) {
  bool may_round = is_float(type.dtype) && kRounded.count(program.op->name) != 0;
  if (!may_round) return other_bits(type, got, expected);
  return conform::compare(type, got.data(), expected.data(), std::byte{0}, true).difference;
}

inline std::string check(const Program& program, Special special) {
  std::vector<Bytes> inputs = filled_inputs(program, special);
  auto expected = run_reference(program, inputs);
  if (!expected.ok()) return expected.status().to_string();
  auto got = run_expression(program, inputs);
  if (!got.ok()) return got.status().to_string();
  std::vector<TypeId> types = program.module.function("main").result_types();
  for (size_t k = 0; k < types.size(); ++k) {
    std::string text = difference(program, *types[k], (*got)[k], (*expected)[k]);
    if (!text.empty()) return cat("result ", k, ": ", text);
  }
  return "";
}

}  // namespace byoc::testing
