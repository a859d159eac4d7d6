// SPDX-License-Identifier: Apache-2.0
// Tensor expressions for which the conformance kit has no program: every mode, padding and optional
// operand that changes the expression.
#include "agree.h"
#include "byoc/text/text.h"

namespace byoc {
namespace {

using conform::Domain;
using conform::Program;
using conform::Special;

// A program of one op: operands such as "T[2,3]" and "i64[2]", attributes, and domains of the
// operands. T means each dtype of `dtypes`.
struct Variant {
  const char* op;
  std::vector<const char*> operands;
  const char* attrs;
  std::vector<DType> dtypes = {DType::kF32, DType::kF16, DType::kF64};
  Domain domain = {-2, 2};
  Domain indices = {-2, 2};  // of operands whose type is not T
};

void PrintTo(const Variant& v, std::ostream* out) { *out << v.op << " {" << v.attrs << "}"; }

Program program_of(const Variant& variant, DType dtype) {
  Program out;
  std::string params, args;
  for (size_t k = 0; k < variant.operands.size(); ++k) {
    std::string type = variant.operands[k];
    bool is_open = type[0] == 'T';
    if (is_open) type = cat(dtype, type.substr(1));
    params += cat(k ? ", " : "", "%x", k, ": ", type);
    args += cat(k ? ", " : "", "%x", k);
    out.domains.push_back(is_open ? variant.domain : variant.indices);
  }
  auto module = parse_module(cat("fn main(", params, ") { %0 = ", variant.op, "(", args, ") {",
                                 variant.attrs, "} return %0 }"),
                             all_ops());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return out;
  Function& main = module->function("main");
  const auto last = static_cast<uint32_t>(main.nodes.size() - 1);
  main.results.clear();
  for (uint32_t k = 0; k < main.nodes[last].types.size(); ++k) main.results.push_back({last, k});
  out.op = all_ops().find(variant.op);
  out.label = cat(variant.op, " ", dtype, " {", variant.attrs, "}");
  out.dtype = dtype;
  out.module = *std::move(module);
  return out;
}

const std::vector<DType> kAll = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,
                                 DType::kU8,  DType::kI16, DType::kU16, DType::kI32,  DType::kU32,
                                 DType::kI64, DType::kU64, DType::kBool};
const std::vector<DType> kNumbers(kAll.begin(), kAll.end() - 1);
const std::vector<DType> kInts(kAll.begin() + 4, kAll.end() - 1);

class Variants : public ::testing::TestWithParam<Variant> {};

TEST_P(Variants, GiveWhatTheReferenceKernelGives) {
  for (DType dtype : GetParam().dtypes) {
    Program program = program_of(GetParam(), dtype);
    ASSERT_NE(program.op, nullptr);
    for (Special special : {Special::kNone, Special::kNans})
      EXPECT_EQ(testing::check(program, special), "")
          << program.label << (special == Special::kNone ? "" : ", special values");
  }
}

auto suite(std::vector<Variant> variants) { return ::testing::ValuesIn(std::move(variants)); }

// The operands include integers at the ends of their range, zero divisors, and shifts by
// more than the width.
INSTANTIATE_TEST_SUITE_P(
    Arithmetic, Variants,
    suite({
        {"divide", {"T[40]", "T[40]"}, "", kInts, {-128, 127}},
        {"divide", {"T[90]", "T[90]"}, "", kInts, {-1, 1}},
        {"mod", {"T[90]", "T[90]"}, "", kNumbers, {-3, 3}},
        {"mod", {"T[90]", "T[90]"}, "fmod=true", kNumbers, {-3, 3}},
        {"power", {"T[60]", "T[60]"}, "", kNumbers, {-3, 9}},
        {"power", {"T[20,3]", "f32[3]"}, "", kNumbers, {-3, 5}},
        {"power", {"T[20,3]", "i64[3]"}, "", kNumbers, {-3, 5}},
        {"power", {"T[3]", "u8[20,3]"}, "", kNumbers, {-3, 5}, {0, 70}},
        {"bit_shift",
         {"T[60]", "T[60]"},
         "direction=\"left\"",
         {DType::kU8, DType::kU16, DType::kU32, DType::kU64},
         {0, 80}},
        {"bit_shift",
         {"T[60]", "T[60]"},
         "direction=\"right\"",
         {DType::kU8, DType::kU16, DType::kU32, DType::kU64},
         {0, 80}},
        {"abs", {"T[40]"}, "", kNumbers, {-32768, 32767}},
        {"clip", {"T[40]"}, "min=-300.5, max=70000.25", kNumbers, {-32768, 90000}},
        {"shrink", {"T[40]"}, "lambd=2.5, bias=1.5", kNumbers, {-9, 9}},
        {"mean", {"T[4,9]"}, "axes=[1]", kInts, {-128, 127}},
        {"l2", {"T[4,9]"}, "axes=[1]", kInts, {-128, 127}},
        {"log_sum", {"T[4,9]"}, "axes=[1]", kInts, {0, 127}},
        {"log_sum_exp", {"T[4,9]"}, "axes=[1]", kNumbers, {-90, 90}},
        {"log_sum_exp", {"T[4,9]"}, "noop_with_empty_axes=true", kNumbers, {-9, 9}},
        {"sum", {"T[3,4]"}, "noop_with_empty_axes=true", kNumbers},
        {"max", {"T[3,0]"}, "axes=[1]", kAll},
        {"min", {"T[3,0]"}, "axes=[1]", kAll},
        {"mean", {"T[3,0]"}, "axes=[1]", kNumbers},
        {"log_sum_exp", {"T[3,0]"}, "axes=[1]", {DType::kF32}},
    }));

std::vector<Variant> casts() {
  std::vector<Variant> out;
  static std::vector<std::string> attrs;
  for (DType to : kAll) attrs.push_back(cat("to=", to));
  for (const std::string& attr : attrs) {
    out.push_back({"cast", {"T[200]"}, attr.c_str(), kAll, {-70000, 70000}});
    out.push_back({"cast", {"T[200]"}, attr.c_str(), kAll, {-3e19, 3e19}});
    out.push_back({"cast", {"T[200]"}, attr.c_str(), kAll, {-1.5, 1.5}});
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Casts, Variants, suite(casts()));

INSTANTIATE_TEST_SUITE_P(
    Moves, Variants,
    suite({
        {"pad", {"T[3,4]"}, "pads=[2,1,0,3], mode=\"wrap\"", kAll},
        {"pad", {"T[3,4]"}, "pads=[2,3,2,3], mode=\"reflect\"", kAll},
        {"pad", {"T[3,4]"}, "pads=[7,1,9,3], mode=\"edge\"", kAll},
        {"pad", {"T[3,4]"}, "pads=[-1,2,1,-2], value=1.5", kAll},
        {"pad", {"T[3,4]"}, "pads=[-1,-1,-1,0]", kAll},
        {"pad", {"T[0,4]"}, "pads=[1,0,1,0], value=0.1", {DType::kF16, DType::kBF16}},
        {"slice", {"T[5,7]"}, "starts=[-2,5], ends=[-9,0], axes=[0,1], steps=[-1,-3]", kAll},
        {"reshape", {"T[2,3,4]"}, "shape=[4,6]", kAll},
        {"reshape", {"T[6,4,1]"}, "shape=[3,1,2,2,2]", kAll},
        {"reshape", {"T[1,2,1,0,2]"}, "shape=[1,2,1,0], allow_zero=true", kAll},
        {"depth_to_space", {"T[2,12,2,3]"}, "blocksize=2", kAll},
        {"depth_to_space", {"T[2,18,2,3]"}, "blocksize=3, mode=\"CRD\"", kAll},
        {"space_to_depth", {"T[2,3,6,9]"}, "blocksize=3", kAll},
        {"concat", {"T[2,1]", "T[2,2]", "T[2,3]", "T[2,1]", "T[2,4]"}, "axis=-1", kAll},
        {"gather", {"T[2,5,3]", "i32[2,2]"}, "axis=1", kAll, {-2, 2}, {-5, 4}},
        {"gather_elements", {"T[3,4]", "i32[3,6]"}, "axis=1", kAll, {-2, 2}, {-4, 3}},
        {"gather_nd", {"T[2,3,4]", "i64[2,5,1]"}, "batch_dims=1", kAll, {-2, 2}, {-3, 2}},
        {"gather_nd", {"T[3,4]", "i32[2,2,2]"}, "", kAll, {-2, 2}, {-3, 2}},
        {"one_hot", {"i64[3,2]", "T[2]"}, "depth=4, axis=1", kAll, {-2, 2}, {-6, 6}},
        {"reverse_sequence",
         {"T[3,4,2]", "i64[3]"},
         "batch_axis=0, time_axis=1",
         kAll,
         {-2, 2},
         {0, 4}},
        {"scatter_elements",
         {"T[3,5]", "i32[3,7]", "T[3,7]"},
         "axis=1, reduction=\"add\"",
         kNumbers,
         {-2, 2},
         {-5, 4}},
        {"scatter_elements",
         {"T[3,5]", "i32[3,7]", "T[3,7]"},
         "axis=1, reduction=\"mul\"",
         kNumbers,
         {-2, 2},
         {-5, 4}},
        {"scatter_elements",
         {"T[3,5]", "i32[3,7]", "T[3,7]"},
         "axis=1, reduction=\"max\"",
         kNumbers,
         {-2, 2},
         {-5, 4}},
        {"scatter_elements",
         {"T[3,5]", "i32[3,7]", "T[3,7]"},
         "axis=1, reduction=\"min\"",
         kNumbers,
         {-2, 2},
         {-5, 4}},
        {"scatter_elements", {"T[3,5]", "i32[3,7]", "T[3,7]"}, "axis=1", kAll, {-2, 2}, {-5, 4}},
        {"scatter_nd", {"T[3,4,2]", "i32[5,2]", "T[5,2]"}, "", kAll, {-2, 2}, {-3, 2}},
        {"scatter_nd",
         {"T[3,4,2]", "i64[5,3]", "T[5]"},
         "reduction=\"mul\"",
         kNumbers,
         {-2, 2},
         {-2, 1}},
        {"eye_like", {"T[4,3]"}, "k=-1", kAll},
        {"trilu", {"T[2,4,3]"}, "upper=true, k=-1", kAll},
        {"where", {"bool[2,1,3]", "T[4,1]", "T[1]"}, "", kAll},
        {"shape", {"T[2,3,5]"}, "start=-2, end=-1", kAll},
    }));

INSTANTIATE_TEST_SUITE_P(
    Order, Variants,
    suite({
        {"argmax", {"T[3,8,2]"}, "axis=1", kNumbers, {-1, 1}},
        {"argmin", {"T[3,8,2]"}, "axis=1, select_last_index=true", kNumbers, {-1, 1}},
        {"argmin", {"T[3,8,2]"}, "axis=1, keepdims=false", kNumbers, {-1, 1}},
        {"topk", {"T[2,9,2]"}, "k=9, axis=1", kNumbers, {-2, 2}},
        {"topk", {"T[2,9,2]"}, "k=5, axis=1, largest=false", kNumbers, {-2, 2}},
        {"topk", {"T[3,7]"}, "k=1", kNumbers, {-2, 2}},
        {"topk", {"T[2,61]"}, "k=4", kNumbers, {-9, 9}},
        {"topk", {"T[61,2]"}, "k=3, axis=0, largest=false", kNumbers, {-9, 9}},
        {"topk", {"T[3,7]"}, "k=0", kNumbers, {-2, 2}},
        {"topk", {"T[700]"}, "k=700", kNumbers, {-9, 9}},
        {"topk", {"T[2,600]"}, "k=450, largest=false", kNumbers, {-99, 99}},
        {"topk", {"T[500,40]"}, "k=400, axis=0", kNumbers, {-99, 99}},
        {"topk", {"T[2,5003]"}, "k=300", kNumbers, {-999, 999}},
        {"topk", {"T[4100,2]"}, "k=257, axis=0, largest=false", kNumbers, {-99, 99}},
        {"topk", {"T[4096]"}, "k=200", kNumbers, {-2, 2}},
        {"topk", {"T[2,1027]"}, "k=20, largest=false", kNumbers, {-99, 99}},
        {"cumsum", {"T[3,7,2]"}, "axis=1, exclusive=true", kNumbers},
        {"cumsum", {"T[3,7,2]"}, "axis=1, reverse=true", kNumbers},
        {"hardmax", {"T[6,5]"}, "", {DType::kF32, DType::kF16}, {-1, 1}},
        {"hardmax", {"T[6,5]"}, "axis=0", {DType::kF32, DType::kF16}, {-1, 1}},
        {"softmax", {"T[0,5]"}, ""},
        {"softmax", {"T[5,0]"}, ""},
    }));

INSTANTIATE_TEST_SUITE_P(
    Windows, Variants,
    suite({
        {"max_pool",
         {"T[2,3,9,8]"},
         "kernel_shape=[3,2], strides=[2,3], pads=[1,0,1,1], ceil_mode=true, with_indices=true",
         kNumbers},
        {"max_pool",
         {"T[2,3,9,8]"},
         "kernel_shape=[3,3], pads=[1,1,1,1], dilations=[2,1], with_indices=true, storage_order=1",
         kNumbers},
        {"max_pool",
         {"T[1,2,4,5,6]"},
         "kernel_shape=[2,3,2], strides=[2,2,2], with_indices=true, storage_order=1"},
        {"average_pool",
         {"T[2,3,9,8]"},
         "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=true"},
        {"average_pool",
         {"T[2,3,9,8]"},
         "kernel_shape=[3,3], strides=[2,3], pads=[1,0,1,1], ceil_mode=true, "
         "count_include_pad=true"},
        {"average_pool", {"T[2,3,9,8]"}, "kernel_shape=[3,2], dilations=[3,2], pads=[2,1,1,1]"},
        {"average_pool",
         {"T[2,3,9]"},
         "kernel_shape=[3], dilations=[2], pads=[3,3], count_include_pad=true, strides=[2]"},
        {"lp_pool", {"T[2,3,9,8]"}, "kernel_shape=[3,2], p=1, pads=[1,0,1,1]"},
        {"lp_pool", {"T[2,3,9,8]"}, "kernel_shape=[3,2], p=3"},
        {"global_lp_pool", {"T[2,3,4,5]"}, "p=1"},
        {"global_lp_pool", {"T[2,3,4,5]"}, "p=3"},
        {"global_average_pool", {"T[2,3]"}, ""},
        {"conv1d", {"T[2,4,9]", "T[6,2,3]"}, "group=2, pads=[2,1], strides=[2], dilations=[2]"},
        {"conv2d", {"T[2,4,9,7]", "T[4,1,3,2]"}, "group=4, pads=[0,1,2,0], strides=[2,1]"},
        {"conv2d",
         {"T[1,3,6,7]", "T[6,1,3,3]"},
         "group=3, pads=[1,1,1,1]",
         {DType::kF32, DType::kI32}},
        {"conv2d_transpose",
         {"T[1,4,5,4]", "T[4,2,3,3]"},
         "group=2, strides=[2,3], pads=[1,0,1,2], output_padding=[1,0], dilations=[1,2]",
         {DType::kF32, DType::kF64, DType::kI32}},
        {"conv2d_transpose", {"T[1,3,4,4]", "T[3,1,3,3]"}, "group=3, strides=[2,2]"},
        {"conv3d_transpose",
         {"T[1,2,3,2,3]", "T[2,3,2,2,2]"},
         "strides=[2,1,2], pads=[1,0,0,1,0,1]"},
        {"conv2d_nchwc", {"T[1,2,5,5,4]", "T[2,1,3,3,4,4]"}, "group=2, pads=[1,1,1,1]"},
        {"gemm", {"T[6,4]", "T[5,6]"}, "trans_a=true, trans_b=true, alpha=0.5"},
        {"gemm", {"T[6,4]", "T[6,5]"}, "trans_a=true", kNumbers},
        {"matmul", {"T[3]", "T[2,3,4]"}, "", kNumbers},
        {"matmul", {"T[2,1,4,3]", "T[3]"}, "", kNumbers},
        {"einsum", {"T[2,3,4]", "T[1,4,5]"}, "equation=\"...ij,...jk->...ik\"", kNumbers},
        {"einsum", {"T[4,4]"}, "equation=\"ii->i\"", kNumbers},
        {"einsum", {"T[4,4]"}, "equation=\"ii\"", kNumbers},
        {"einsum",
         {"T[2,3]", "T[3,4]", "T[4,2]"},
         "equation=\"ab,bc,ca->\"",
         {DType::kF32, DType::kI32}},
        {"det", {"T[3,5,5]"}, ""},
        {"det", {"T[2,2,2]"}, "", {DType::kF32}, {-1, 1}},
        {"lrn", {"T[1,6,2,2]"}, "size=2, alpha=0.3"},
        {"group_norm", {"T[2,6,3]", "T[3]", "T[3]"}, "num_groups=3"},
        {"layer_norm", {"T[2,3,4]", "T[3,4]", "T[3,4]"}, "axis=1, stats=true"},
        {"rms_norm", {"T[2,3,4]", "T[3,4]"}, "axis=1"},
        {"mean_variance_norm", {"T[2,3,4]"}, "axes=[]"},
    }));

std::vector<Variant> resizes() {
  std::vector<Variant> out;
  static std::vector<std::string> attrs;
  const char* sizes[] = {"sizes=[1,2,9,7]", "sizes=[1,2,3,2]", "sizes=[1,2,8,1]",
                         "scales=[1.0,1.0,2.0,0.6]"};
  for (const char* coordinates :
       {"half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn", "tf_crop_and_resize"}) {
    for (const char* size : sizes) {
      std::string base = cat(size, ", coordinates=\"", coordinates, "\"");
      if (std::string_view(coordinates) == "tf_crop_and_resize")
        base += ", roi=[0.0,0.0,0.2,-0.3,1.0,1.0,0.9,1.2], extrapolation_value=7.5";
      for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
        attrs.push_back(cat(base, ", nearest=\"", nearest, "\""));
      for (const char* mode : {"linear", "cubic"}) {
        attrs.push_back(cat(base, ", mode=\"", mode, "\""));
        attrs.push_back(cat(base, ", mode=\"", mode, "\", exclude_outside=true"));
      }
    }
  }
  for (const std::string& attr : attrs)
    out.push_back({"resize", {"T[1,2,4,5]"}, attr.c_str(), {DType::kF32, DType::kF16}});
  return out;
}
INSTANTIATE_TEST_SUITE_P(Resizes, Variants, suite(resizes()));

std::vector<Variant> samples() {
  std::vector<Variant> out;
  static std::vector<std::string> attrs;
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const char* align : {"true", "false"})
        attrs.push_back(
            cat("mode=\"", mode, "\", padding_mode=\"", padding, "\", align_corners=", align));
    }
  }
  for (const std::string& attr : attrs)
    out.push_back({"grid_sample",
                   {"T[2,2,4,5]", "T[2,6,7,2]"},
                   attr.c_str(),
                   {DType::kF32, DType::kF64},
                   {-1.7, 1.7}});
  return out;
}
INSTANTIATE_TEST_SUITE_P(Samples, Variants, suite(samples()));

INSTANTIATE_TEST_SUITE_P(
    Boxes, Variants,
    suite({
        {"roi_align",
         {"T[2,2,6,7]", "T[5,4]", "i64[5]"},
         "output_height=3, output_width=2",
         {DType::kF32, DType::kF64},
         {-3, 9},
         {0, 1}},
        {"roi_align",
         {"T[2,2,6,7]", "T[5,4]", "i64[5]"},
         "output_height=2, output_width=2, sampling_ratio=3, half_pixel=false, spatial_scale=0.5",
         {DType::kF32, DType::kF64},
         {-3, 15},
         {0, 1}},
        // Bins of several cells, samples that share them, boxes far outside, the greatest cell.
        {"roi_align",
         {"T[2,3,11,4]", "T[9,4]", "i64[9]"},
         "output_height=2, output_width=1",
         {DType::kF32, DType::kF16, DType::kF64},
         {-8, 20},
         {0, 1}},
        {"roi_align",
         {"T[1,2,5,1]", "T[7,4]", "i64[7]"},
         "output_height=3, output_width=4, sampling_ratio=2, spatial_scale=0.3",
         {DType::kF32, DType::kF64},
         {-40, 40},
         {0, 0}},
        {"roi_align",
         {"T[1,2,7,6]", "T[5,4]", "i64[5]"},
         "output_height=2, output_width=3, mode=\"max\"",
         {DType::kF32, DType::kF64},
         {-3, 9},
         {0, 0}},
    }));

INSTANTIATE_TEST_SUITE_P(
    Recurrent, Variants,
    suite({
        {"lstm",
         {"T[3,2,4]", "T[2,12,4]", "T[2,12,3]", "T[2,24]", "T[2,2,3]", "T[2,2,3]", "T[2,9]"},
         "direction=\"bidirectional\""},
        {"lstm", {"T[3,2,4]", "T[1,12,4]", "T[1,12,3]", "T[1,24]", "T[1,2,3]"}, ""},
        {"gru",
         {"T[3,2,4]", "T[2,9,4]", "T[2,9,3]", "T[2,18]", "T[2,2,3]"},
         "direction=\"bidirectional\", linear_before_reset=true"},
        {"gru",
         {"T[3,2,4]", "T[1,9,4]", "T[1,9,3]", "T[1,18]", "T[1,2,3]"},
         "direction=\"reverse\""},
        {"rnn",
         {"T[3,2,4]", "T[2,3,4]", "T[2,3,3]", "T[2,6]", "T[2,2,3]"},
         "direction=\"bidirectional\""},
        {"lstm",
         {"T[3,2,4]", "T[2,12,4]", "T[2,12,3]", "T[2,24]", "T[2,2,3]", "T[2,2,3]", "T[2,9]",
          "i64[2]"},
         "direction=\"bidirectional\", input_forget=true, clip=0.5, activations=[\"HardSigmoid\","
         "\"Elu\",\"Softplus\",\"Sigmoid\",\"ScaledTanh\",\"LeakyRelu\"], "
         "alpha=[0.2,1,0,0,1.5,0.1], beta=[0.5,0,0,0,0.5,0]"},
        {"gru",
         {"T[3,2,4]", "T[1,9,4]", "T[1,9,3]", "T[1,18]", "T[1,2,3]", "i64[2]"},
         "direction=\"reverse\", activations=[\"Softsign\",\"Affine\"], alpha=[0,0.5], "
         "beta=[0,0.25]"},
        {"rnn",
         {"T[3,2,4]", "T[2,3,4]", "T[2,3,3]", "T[2,6]", "T[2,2,3]", "i64[2]"},
         "direction=\"bidirectional\", activations=[\"Relu\",\"ThresholdedRelu\"], alpha=[0,0.1]"},
        {"rnn", {"T[0,2,4]", "T[1,3,4]", "T[1,3,3]", "T[1,6]", "T[1,2,3]"}, ""},
    }));

}  // namespace
}  // namespace byoc
