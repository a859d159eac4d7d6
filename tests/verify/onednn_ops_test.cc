// SPDX-License-Identifier: Apache-2.0
// Every op of onednn's table against the reference, over shapes that are small, odd, prime, one and
// empty, and inputs with strides. A row passes only when onednn ran all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "byoc/pass/pattern.h"
#include "onednn_names.h"
#include "programs.h"

namespace byoc::test {
namespace {

struct OpRow {
  const char* op;
  std::vector<const char*> operands;  // alternatives, "2,3 f; 3 w": shapes and what they hold
  std::vector<const char*> attrs = {""};
};

// An operand is "f32[2,3]", or "const f32[3]".
const std::vector<const char*> kOperandShapes = {"f32[2,3,5]", "f32[7]", "f32[1,1]",
                                                 "f32[2,17,3,3]", "f32[0,3]"};
const std::vector<const char*> kPairs = {"f32[2,3,5], f32[2,3,5]", "f32[2,3,5], f32[3,1]",
                                         "f32[5], f32[2,3,5]",     "f32[7], const f32[]",
                                         "f32[1,1], f32[1]",       "f32[3,2], f32[1,1,1,3,2]",
                                         "f32[0,5], f32[5]"};
const std::vector<const char*> kWindows = {"f32[1,3,9,8]", "f32[2,5,7,7]", "f32[1,16,6,6]",
                                           "f32[0,2,6,6]"};

const OpRow kRows[] = {
    {"relu", kOperandShapes},
    {"leaky_relu", kOperandShapes, {"", "alpha=0.3"}},
    {"clip", kOperandShapes, {"min=-0.5, max=0.25", "min=0.0", "max=0.1"}},
    {"sigmoid", kOperandShapes},
    {"tanh", kOperandShapes},
    {"gelu", kOperandShapes, {"", "approximate=\"tanh\""}},
    {"swish", kOperandShapes, {"", "alpha=1.5"}},
    {"hard_swish", kOperandShapes},
    {"elu", kOperandShapes, {"", "alpha=0.3"}},
    {"abs", kOperandShapes},
    {"mish", kOperandShapes},
    {"softplus", kOperandShapes},
    {"round", kOperandShapes},
    {"negative", kOperandShapes},
    {"exp", kOperandShapes},
    {"identity", {"f32[2,3]", "f32[0,3]"}},
    {"add", kPairs},
    {"multiply", kPairs},
    {"maximum", kPairs},
    {"minimum", kPairs},
    {"subtract", kPairs},
    {"prelu", {"f32[2,3,5], f32[3,1]", "f32[1,17,3,3], const f32[17,1,1]", "f32[0,3], f32[3]"}},
    {"max_pool",
     kWindows,
     {"kernel_shape=[3,3]", "kernel_shape=[2,3], strides=[2,2], pads=[1,1,0,1]",
      "kernel_shape=[3,2], strides=[2,2], ceil_mode=true", "kernel_shape=[2,2], dilations=[2,3]"}},
    {"average_pool",
     kWindows,
     {"kernel_shape=[3,3]", "kernel_shape=[3,3], pads=[1,0,1,1], strides=[2,1]",
      "kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=true"}},
    {"global_max_pool", {"f32[2,3,5,7]", "f32[1,1,1,1]", "f32[2,3,5]", "f32[0,3,4,4]"}},
    {"global_average_pool", {"f32[2,3,5,7]", "f32[1,1,1,1]", "f32[2,3,5]", "f32[0,3,4,4]"}},
    {"layer_norm",
     {"f32[2,3,5]", "f32[2,3,5], const f32[5]", "f32[1,1,17], f32[17], f32[17]",
      "f32[0,5], f32[5], f32[5]"},
     {"", "epsilon=0.01"}},
    {"lrn", {"f32[2,5,3,3]", "f32[1,1,3,5]", "f32[0,5,3,3]"}, {"size=3", "size=5, alpha=0.5"}},
    {"softmax", {"f32[2,3,5]", "f32[7]", "f32[1,1]", "f32[0,3]"}, {"", "axis=0"}},
    {"log_softmax", {"f32[2,3,5]", "f32[7]", "f32[1,1]", "f32[0,3]"}, {"", "axis=0"}},
    {"mean", {"f32[2,3,5]", "f32[1,3,1]", "f32[2,0,5]"}, {"axes=[0]", "axes=[0], keepdims=false"}},
    {"sum", {"f32[2,3,5]", "f32[1,3,1]"}, {"", "axes=[-1]", "axes=[0,2], keepdims=false"}},
    {"max", {"f32[2,3,5]", "f32[1,3,1]"}, {"axes=[1]", "axes=[0], keepdims=false"}},
    {"min", {"f32[2,3,5]"}, {"axes=[1]"}},
    {"prod", {"f32[2,3,5]"}, {"axes=[1]"}},
    {"l1", {"f32[2,3,5]"}, {"axes=[1]"}},
    {"l2", {"f32[2,3,5]"}, {"axes=[1]"}},
    {"sum_square", {"f32[2,3,5]"}, {"axes=[1]"}},
    {"concat",
     {"f32[2,3], f32[2,5]", "f32[2,1], f32[2,0], f32[2,4]", "f32[0,3], f32[0,1]"},
     {"axis=1"}},
    {"reshape", {"f32[2,6]"}, {"shape=[3,4]", "shape=[0,-1,2]", "shape=[12]"}},
    {"reshape", {"f32[0,3]"}, {"shape=[0,3]"}},
    {"flatten", {"f32[2,3,5]", "f32[0,3,5]"}, {"", "axis=2"}},
    {"squeeze", {"f32[1,3,1]", "f32[1,0,1]"}, {"axes=[0]"}},
    {"unsqueeze", {"f32[2,3]", "f32[0,3]"}, {"axes=[0]"}},
    {"transpose", {"f32[2,3,5]", "f32[1,7,1]", "f32[0,3,2]"}, {"", "perm=[1,0,2]", "perm=[2,0,1]"}},
    {"layout_transform",
     {"f32[2,16,3,5]", "f32[1,32,1,1]"},
     {"src_layout=\"NCHW\", dst_layout=\"NCHW8c\"", "src_layout=\"NCHW\", dst_layout=\"NCHW16c\""}},
    {"layout_transform",
     {"f32[2,3,5,7,8]", "f32[1,1,1,1,8]"},
     {"src_layout=\"NCHW8c\", dst_layout=\"NCHW\""}},
    {"layout_transform", {"f32[2,3,5,7,16]"}, {"src_layout=\"NCHW16c\", dst_layout=\"NCHW\""}},
    {"slice",
     {"f32[5,7]"},
     {"starts=[1,2], ends=[4,7]", "starts=[-3], ends=[99], axes=[1], steps=[2]"}},
    {"slice", {"f32[5,7]"}, {"starts=[3], ends=[3], axes=[0]"}},
    {"split", {"f32[2,6,3]"}, {"axis=1, split=[2,4]", "axis=-2, split=[1,0,5]"}},
    {"pad", {"f32[3,4]"}, {"pads=[1,2,0,1]", "pads=[0,1,0,0], value=-2.5", "pads=[-1,0,0,-2]"}},
    {"resize",
     {"f32[1,2,4,5]", "f32[1,17,3,3]"},
     {"scales=[1.0,1.0,2.0,2.0], coordinates=\"asymmetric\", nearest=\"floor\"",
      "scales=[1.0,1.0,2.0,3.0], mode=\"linear\"",
      "scales=[1.0,1.0,2.0,3.0], mode=\"linear\", antialias=true",
      "scales=[1.0,1.0,2.0,2.0], mode=\"linear\", coordinates=\"pytorch_half_pixel\""}},
};

class OnednnOps : public testing::TestWithParam<OpRow> {};

std::string program(const OpRow& row, std::string_view operands, std::string_view attrs) {
  std::string params, args;
  for (size_t k = 0, at = 0; at < operands.size(); ++k) {
    size_t end = std::min(operands.find("], ", at), operands.size() - 1) + 1;
    std::string_view operand = operands.substr(at, end - at);
    bool is_constant = operand.starts_with("const ");
    std::string name = cat(is_constant ? "%w" : "%x", k);
    params += cat(k ? ", " : "", name, ": ", operand.substr(is_constant ? 6 : 0));
    args += cat(k ? ", " : "", name);
    at = end + 2;
  }
  bool splits = std::string_view(row.op) == "split";
  return cat("fn main(", params, ") { %0 = ", row.op, "(", args, ")",
             attrs.empty() ? "" : cat(" {", attrs, "}"), " return %0", splits ? "#0, %0#1" : "",
             " }");
}

TEST_P(OnednnOps, AreTakenAndAgreeWithTheReference) {
  auto plugins = built_plugins();
  for (const char* operands : GetParam().operands) {
    for (const char* attrs : GetParam().attrs) {
      std::string text = program(GetParam(), operands, attrs);
      SCOPED_TRACE(text);
      IRModule module = with_constants(text);
      Executable onednn = built_by(plugins, module, {"onednn"}, 2);
      EXPECT_EQ(ops_of(onednn, "json"), 0u);
      EXPECT_THAT(unknown_names(onednn), testing::IsEmpty());
      std::vector<Tensor> reference = execute(built_by(plugins, module, {"json"}, 0), plugins);
      expect_close(execute(onednn, plugins), reference);
      expect_close(execute_strided(onednn, plugins), reference);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OnednnOps, testing::ValuesIn(kRows),
                         [](const auto& info) { return cat(info.param.op, "_", info.index); });

/// Ops with rows of their own, in plugins_test.cc, onednn_comparisons_test.cc or below.
const std::set<std::string> kElsewhere = {
    "batch_norm", "gather", "where",     "divide", "log",        "sqrt",    "power",        "rsqrt",
    "reciprocal", "equal",  "not_equal", "less",   "less_equal", "greater", "greater_equal"};

struct Domain {
  const char* name;
  const char* text;
};
// Operands are random in [-1, 1]; these ops need others.
const Domain kDomainPrograms[] = {
    {"power",
     "fn main(%x: f32[2,17]) { %three = const([3.0]) : f32[] %0 = power(%x, %three) return %0 }"},
    {"divide",
     "fn main(%x: f32[2,3], %y: f32[3], %w: f32[2,3]) { %one = const([2.0]) : f32[] %0 = add(%y, "
     "%one) %1 = divide(%x, %0) %2 = add(%w, %one) %3 = divide(%y, %2) %4 = divide(%one, %2) "
     "return %1, %3, %4 }"},
    {"log_sqrt_rsqrt_reciprocal",
     "fn main(%x: f32[2,17]) { %two = const([2.0]) : f32[] %0 = add(%x, %two) %1 = log(%0) %2 = "
     "sqrt(%0) %3 = rsqrt(%0) %4 = reciprocal(%0) return %1, %2, %3, %4 }"},
    {"batch_norm",
     "fn main(%x: f32[2,5,3,4], %v: f32[5], %w: f32[5], %w1: f32[5], %w2: f32[5]) { %0 = "
     "multiply(%v, %v) %1 = batch_norm(%x, %w, %w1, %w2, %0) {epsilon=0.01} return %1 }"},
    {"gather_of_one",
     "fn main(%x: f32[3,4,5]) { %k = const([2]) : i64[] %l = const([-1]) : i64[1] %0 = gather(%x, "
     "%k) {axis=1} %1 = gather(%x, %l) {axis=0} return %0, %1 }"},
    {"where_of_a_comparison",
     "fn main(%x: f32[2,3,5], %y: f32[3,1]) { %low = const([-7.0]) : f32[] %0 = less(%x, %y) "
     "%1 = where(%0, %x, %low) return %1 }"},
    {"strided_views_into_products",
     "fn main(%x: f32[1,5,24]) { %0 = split(%x) {axis=2, split=[8,8,8]} %1 = reshape(%0#0) "
     "{shape=[1,5,2,4]} %2 = transpose(%1) {perm=[0,2,1,3]} %3 = reshape(%0#1) {shape=[1,5,2,4]} "
     "%4 = transpose(%3) {perm=[0,2,3,1]} %5 = matmul(%2, %4) %6 = softmax(%5) %7 = "
     "reshape(%0#2) {shape=[1,5,2,4]} %8 = transpose(%7) {perm=[0,2,1,3]} %9 = matmul(%6, %8) %10 "
     "= transpose(%9) {perm=[0,2,1,3]} %11 = reshape(%10) {shape=[1,5,8]} return %11 }"},
    {"halves_of_a_blocked_value",
     "fn main(%x: f32[1,16,5,5], %w: f32[12,16,1,1], %w1: f32[8,6,3,3]) { %0 = conv2d(%x, %w) %1 = "
     "split(%0) {axis=1, split=[6,6]} %2 = conv2d(%1#1, %w1) %3 = relu(%1#0) %4 = "
     "max_pool(%1#0) {kernel_shape=[2,2]} return %2, %3, %4 }"},
    {"concat_of_two_layouts",
     "fn main(%x: f32[2,16,7,7], %w: f32[4,16,1,1], %w1: f32[8,4,1,1], %w2: f32[8,4,3,3]) { %0 = "
     "conv2d(%x, %w) %1 = conv2d(%0, %w1) %2 = conv2d(%0, %w2) {pads=[1,1,1,1]} %3 = concat(%1, "
     "%2) {axis=1} %4 = concat(%2, %x, %1) {axis=1} %5 = max_pool(%3) {kernel_shape=[3,3]} return "
     "%5, %4 }"},
    {"small_values_through_elu",
     "fn main(%x: f32[3,17], %w: f32[17,5], %y: f32[5]) { %tiny = const([1e-06]) : f32[] %0 = "
     "multiply(%x, %tiny) %1 = elu(%0) {alpha=0.3} %2 = matmul(%0, %w) %3 = elu(%2) %4 = "
     "swish(%3) %5 = multiply(%4, %y) return %1, %5 }"},
    {"residual_that_was_brought_to_another_layout",
     "fn main(%x: f32[1,16,7,7], %y: f32[1,16,7,7], %w: f32[16,16,3,3], %w1: f32[16,16,3,3]) { %0 "
     "= conv2d(%x, %w) {pads=[1,1,1,1]} %1 = conv2d(%0, %w1) {pads=[1,1,1,1]} %2 = add(%1, %x) %3 "
     "= conv2d(%y, %w) {pads=[1,1,1,1]} %4 = conv2d(%3, %w1) {pads=[1,1,1,1]} %5 = add(%4, %y) "
     "%6 = conv2d(%y, %w1) return %2, %5, %6 }"},
    {"values_overwritten_in_place",
     "fn main(%x: f32[4,7], %w: f32[7,7]) { %0 = matmul(%x, %w) %1 = abs(%0) %2 = round(%1) %3 = "
     "add(%1, %2) %4 = matmul(%3, %w) %5 = sigmoid(%4) %6 = negative(%5) %7 = matmul(%6, %w) "
     "return %7, %4 }"},
};

class OnednnPrograms : public testing::TestWithParam<Domain> {};

TEST_P(OnednnPrograms, AreTakenWholeAndAgreeWithTheReference) {
  auto plugins = built_plugins();
  IRModule module = with_constants(GetParam().text);
  Executable onednn = built_by(plugins, module, {"onednn"}, 2);
  EXPECT_EQ(ops_of(onednn, "json"), 0u);
  EXPECT_THAT(unknown_names(onednn), testing::IsEmpty());
  std::vector<Tensor> reference = execute(built_by(plugins, module, {"json"}, 0), plugins);
  expect_close(execute(onednn, plugins), reference);
  expect_close(execute_strided(onednn, plugins), reference);
}

INSTANTIATE_TEST_SUITE_P(Rows, OnednnPrograms, testing::ValuesIn(kDomainPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OnednnOps, AntialiasOfADimThatShrinksIsRefusedByName) {
  auto plugins = built_plugins();
  for (const char* sizes : {"[1,2,2,5]", "[1,2,8,3]"}) {
    IRModule module = parse(cat("fn main(%x: f32[1,2,4,5]) { %0 = resize(%x) {sizes=", sizes,
                                ", mode=\"linear\", antialias=true} return %0 }"));
    Report report;
    BuildOptions options;
    options.plugins = plugins;
    options.compilers = {"onednn", "json"};
    options.report = &report;
    Result<Executable> out = build(module, options);
    ASSERT_TRUE(out.ok()) << out.status().to_string();
    EXPECT_EQ(ops_of(*out, "json"), 1u);
    EXPECT_THAT(report.remarks,
                testing::Contains(testing::Field(&Report::Remark::reason,
                                                 testing::HasSubstr("antialias widens"))));
  }
}

TEST(OnednnOps, HaveARowEach) {
  std::set<std::string> in_rows = kElsewhere;
  for (const OpRow& row : kRows) in_rows.insert(row.op);
  auto plugins = built_plugins();
  Result<const Plugin*> onednn = plugins->get("onednn");
  ASSERT_TRUE(onednn.ok()) << onednn.status().to_string();  // names why it was refused
  for (const PluginPattern& pattern : (*onednn)->patterns()) {
    Result<Pattern> parsed = Pattern::parse(pattern.dag_json);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    if (parsed->max_ops() > 1) continue;
    EXPECT_TRUE(in_rows.contains(pattern.name)) << pattern.name << " has no row";
  }
}

}  // namespace
}  // namespace byoc::test
