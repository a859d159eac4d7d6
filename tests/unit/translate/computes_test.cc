// Every op's tensor expression against its reference kernel, on the programs of the conformance
// kit: all dtypes, shapes and attributes that show the op. Stages run as their default loops in the
// interpreter, which refuses whatever compiled code leaves undefined.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "byoc/op/evaluate.h"
#include "byoc/te/evaluate.h"
#include "byoc/te/translate.h"
#include "core/conform/compare.h"
#include "core/conform/samples.h"

namespace byoc {
namespace {

using conform::Program;
using conform::Special;

// Ops whose floats may be rounded otherwise than the reference kernel's, within conform::tolerance:
// that sums in f64 or in another order, or calls libm's f32 function where the interpreter rounds
// that of f64. All others must give the same bits.
const std::set<std::string> kRounded = {"acos",
                                        "acosh",
                                        "asin",
                                        "asinh",
                                        "atan",
                                        "atanh",
                                        "average_pool",
                                        "batch_norm",
                                        "celu",
                                        "conv1d",
                                        "conv1d_transpose",
                                        "conv2d",
                                        "conv2d_nchwc",
                                        "conv2d_transpose",
                                        "conv3d",
                                        "conv3d_transpose",
                                        "cos",
                                        "cosh",
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
                                        "log",
                                        "log_softmax",
                                        "log_sum",
                                        "log_sum_exp",
                                        "lp_norm",
                                        "lp_pool",
                                        "lrn",
                                        "lstm",
                                        "matmul",
                                        "matmul_packed",
                                        "mean",
                                        "mean_variance_norm",
                                        "mish",
                                        "power",
                                        "prod",
                                        "resize",
                                        "rms_norm",
                                        "rnn",
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

// No compute, and why.
const std::set<std::string> kWithoutCompute = {};

using Bytes = std::vector<std::byte>;

std::vector<Bytes> filled_inputs(const Program& program, Special special) {
  const Function& main = program.module.function("main");
  std::vector<Bytes> inputs;
  for (uint32_t k = 0; k < main.num_params(); ++k) {
    const TensorType& type = *main.nodes[k].types[0];
    inputs.emplace_back(static_cast<size_t>(*size_bytes(type)) + 1);  // never an empty vector
    conform::fill(inputs.back().data(), type, program.domains[k], 17 + k, special);
  }
  return inputs;
}

std::vector<Bytes> room_for(const std::vector<TypeId>& types) {
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

Result<std::vector<Bytes>> run_reference(const Program& program, std::vector<Bytes>& inputs) {
  const Function& main = program.module.function("main");
  std::vector<TypeId> in;
  for (uint32_t k = 0; k < main.num_params(); ++k) in.push_back(main.nodes[k].types[0]);
  const Call& call = std::get<Call>(main.nodes.back().kind);
  BYOC_TRY(RefKernel kernel, call.op->reference(in, main.result_types(), *call.attrs));
  std::vector<Bytes> out = room_for(main.result_types());
  kernel(pointers<const void*>(inputs).data(), pointers<void*>(out).data());
  return out;
}

Result<std::vector<Bytes>> run_expression(const Program& program, std::vector<Bytes>& inputs) {
  const Function& main = program.module.function("main");
  BYOC_TRY(te::Dag dag, te::translate_to_te(program.module, main, te::Target{}, te::by_level()));
  BYOC_TRY(te::LoopFunction loops, te::lower(te::Schedule(std::move(dag))));
  std::vector<Bytes> out = room_for(main.result_types());
  auto in = pointers<const void*>(inputs);
  auto to = pointers<void*>(out);
  BYOC_TRY_STATUS(te::evaluate(loops, in, to));
  return out;
}

// "" when the result is right.
std::string difference(const Program& program, const TensorType& type, const Bytes& got,
                       const Bytes& wanted) {
  bool may_round = is_float(type.dtype) && kRounded.count(program.op->name) != 0;
  if (may_round)
    return conform::compare(type, got.data(), wanted.data(), std::byte{0}, true).difference;
  return std::memcmp(got.data(), wanted.data(), got.size()) == 0
             ? ""
             : cat("other bits; ",
                   conform::compare(type, got.data(), wanted.data(), std::byte{0}, true)
                       .difference);
}

std::string check(const Program& program, Special special) {
  std::vector<Bytes> inputs = filled_inputs(program, special);
  auto wanted = run_reference(program, inputs);
  if (!wanted.ok()) return wanted.status().to_string();
  auto got = run_expression(program, inputs);
  if (!got.ok()) return got.status().to_string();
  std::vector<TypeId> types = program.module.function("main").result_types();
  for (size_t k = 0; k < types.size(); ++k) {
    std::string text = difference(program, *types[k], (*got)[k], (*wanted)[k]);
    if (!text.empty()) return cat("result ", k, ": ", text);
  }
  return "";
}

class Computes : public testing::TestWithParam<std::string> {};

TEST_P(Computes, GiveWhatTheReferenceKernelGives) {
  const OpDef* op = all_ops().find(GetParam());
  ASSERT_NE(op, nullptr);
  int programs = 0, failures = 0;
  for (const Program& program : conform::programs_of(*op, conform::Level::kFull)) {
    for (Special special : {Special::kNone, Special::kNans}) {
      ++programs;
      std::string text = check(program, special);
      failures += !text.empty();
      EXPECT_EQ(text, "") << program.label << (special == Special::kNone ? "" : ", special values");
      if (failures > 5) FAIL() << "and more of " << op->name;
    }
  }
  EXPECT_GT(programs, 0) << "the conformance kit has no program of this op";
  std::printf("%s: %d programs agree\n", op->name.c_str(), programs - failures);
}

std::vector<std::string> names_with_compute() {
  std::vector<std::string> names;
  for (const OpDef* op : conform::ops_to_check()) {
    if (op->compute) names.push_back(op->name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Ops, Computes, testing::ValuesIn(names_with_compute()),
                         [](const auto& info) { return info.param; });

TEST(Computes, AreThereForEveryOpThatAPluginMayBeAskedAbout) {
  for (const OpDef* op : conform::ops_to_check()) {
    EXPECT_EQ(op->compute == nullptr, kWithoutCompute.count(op->name) != 0)
        << op->name << ": give it a compute, or list it here with the reason";
  }
}

TEST(Computes, AreNoneForAnnotations) {
  for (const OpDef* op : all_ops().all()) {
    EXPECT_FALSE(op->is_annotation && op->compute) << op->name;
  }
}

}  // namespace
}  // namespace byoc
