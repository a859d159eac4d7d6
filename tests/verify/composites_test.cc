// SPDX-License-Identifier: Apache-2.0
// Every pattern of onednn against the reference: each op with the ops that may follow it, over
// shapes that are small, odd, prime, one and empty. A row passes only when the pattern was formed
// of all of its ops, so that no row passes by falling back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "byoc/pass/pattern.h"
#include "programs.h"

namespace byoc::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// The first op of a program. `w...` are constants.
struct Case {
  const char* operands;  // the op's
  const char* attrs;
  const char* result;  // shape
  const char* bias;    // shape of the constant added per channel
};

struct Anchor {
  const char* op;
  std::vector<Case> cases;
};

const Anchor kAnchors[] = {
    {"conv2d",
     {{"%x: f32[1,3,8,8], %w: f32[16,3,3,3]", "", "1,16,6,6", "16,1,1"},
      {"%x: f32[2,5,7,3], %w: f32[7,5,3,1]", "pads=[2,0,1,1], strides=[1,2]", "2,7,8,2", "7,1,1"},
      {"%x: f32[1,1,1,1], %w: f32[1,1,1,1]", "", "1,1,1,1", "1,1,1"},
      {"%x: f32[1,8,9,9], %w: f32[8,1,3,3]", "group=8, dilations=[2,1]", "1,8,5,7", "8,1,1"},
      {"%x: f32[3,6,5,5], %w: f32[4,3,2,2]", "group=2", "3,4,4,4", "1,4,1,1"},
      {"%x: f32[1,16,5,5], %v: f32[17,16,1,1]", "", "1,17,5,5", "17,1,1"},
      {"%x: f32[0,3,5,5], %w: f32[4,3,3,3]", "", "0,4,3,3", "4,1,1"}}},
    {"conv1d",
     {{"%x: f32[2,3,11], %w: f32[5,3,4]", "pads=[2,1], strides=[2], dilations=[2]", "2,5,4", "5,1"},
      {"%x: f32[1,8,7], %w: f32[8,1,3]", "group=8", "1,8,5", "8,1"},
      {"%x: f32[0,3,7], %w: f32[2,3,1]", "", "0,2,7", "2,1"}}},
    {"conv3d",
     {{"%x: f32[1,4,5,3,7], %w: f32[6,2,2,1,3]", "group=2, pads=[1,0,1,0,0,1]", "1,6,5,3,7",
       "6,1,1,1"},
      {"%x: f32[0,2,3,3,3], %w: f32[2,2,1,1,1]", "", "0,2,3,3,3", "2,1,1,1"}}},
    {"conv2d_transpose",
     {{"%x: f32[1,3,5,4], %w: f32[3,7,3,3]", "strides=[2,2], pads=[1,0,1,1], output_padding=[1,1]",
       "1,7,10,9", "7,1,1"},
      {"%x: f32[2,6,4,4], %w: f32[6,2,2,3]", "group=3, strides=[2,1]", "2,6,8,6", "6,1,1"},
      {"%x: f32[1,4,3,3], %v: f32[4,5,3,3]", "dilations=[2,1]", "1,5,7,5", "5,1,1"},
      {"%x: f32[0,4,3,3], %w: f32[4,5,3,3]", "", "0,5,5,5", "5,1,1"}}},
    {"conv1d_transpose",
     {{"%x: f32[1,4,5], %w: f32[4,3,3]", "strides=[2], output_padding=[1]", "1,3,12", "3,1"},
      {"%x: f32[0,4,5], %w: f32[4,3,3]", "", "0,3,7", "3,1"}}},
    {"conv3d_transpose",
     {{"%x: f32[1,2,3,3,3], %w: f32[2,3,2,2,2]", "strides=[2,1,2]", "1,3,6,4,6", "3,1,1,1"},
      {"%x: f32[0,2,3,3,3], %w: f32[2,3,2,2,2]", "", "0,3,4,4,4", "3,1,1,1"}}},
    {"matmul",
     {{"%x: f32[5,7], %w: f32[7,3]", "", "5,3", "3"},
      {"%x: f32[2,5,7], %w: f32[7,3]", "", "2,5,3", "3"},
      {"%x: f32[1,1], %w: f32[1,1]", "", "1,1", "1"},
      {"%x: f32[2,3,5,4], %y: f32[2,3,4,7]", "", "2,3,5,7", "7"},
      {"%x: f32[2,1,5,7], %y: f32[3,7,4]", "", "2,3,5,4", "4"},
      {"%x: f32[0,4], %w: f32[4,3]", "", "0,3", "3"}}},
    {"gemm",
     {{"%x: f32[4,6], %w: f32[6,5]", "", "4,5", "5"},
      {"%x: f32[6,4], %w: f32[5,6]", "trans_a=true, trans_b=true", "4,5", "1,5"},
      {"%x: f32[1,17], %y: f32[17,13]", "", "1,13", "13"},
      {"%x: f32[0,3], %w: f32[3,2]", "", "0,2", "2"}}},
};

/// The ops after the first: each op reads "$", the value before, or "$k", the k-th value. BIAS is a
/// constant per channel, %r and %s have the result's shape, numbers are constants of no dim.
struct Tail {
  const char* name;
  const char* pattern;  // after the anchor's name; empty: the anchor alone
  std::vector<const char*> ops;
};

const Tail kTails[] = {
    {"bias", "", {"add($, BIAS)"}},
    {"relu", "", {"relu($)"}},
    {"bias_relu", "", {"add(BIAS, $)", "relu($)"}},
    {"bias_leaky_relu", "", {"add($, BIAS)", "leaky_relu($) {alpha=0.2}"}},
    {"bias_clip", "", {"add($, BIAS)", "clip($) {min=-0.1, max=0.3}"}},
    {"bias_tanh", "", {"add($, BIAS)", "tanh($)"}},
    {"bias_elu", "", {"add($, BIAS)", "elu($) {alpha=0.7}"}},
    {"elu_multiply_tanh_subtract",
     "",
     {"elu($) {alpha=0.7}", "multiply($, %r)", "tanh($)", "subtract($, BIAS)"}},
    {"bias_gelu", "", {"add($, BIAS)", "gelu($)"}},
    {"bias_gelu_tanh", "", {"add($, BIAS)", "gelu($) {approximate=\"tanh\"}"}},
    {"bias_swish", "", {"add($, BIAS)", "swish($) {alpha=1.5}"}},
    {"bias_hard_swish", "", {"add($, BIAS)", "hard_swish($)"}},
    {"bias_mish", "", {"add($, BIAS)", "mish($)"}},
    {"hard_sigmoid", "", {"hard_sigmoid($) {alpha=0.3, beta=0.4}"}},
    {"add", "", {"add($, %r)"}},
    {"bias_add_relu", "", {"add($, BIAS)", "add(%r, $)", "relu($)"}},
    {"bias_relu_add", "", {"add($, BIAS)", "relu($)", "add($, %r)"}},
    {"add_relu_add", "", {"add($, %r)", "relu($)", "add($, %s)"}},
    {"bias_gelu_add", "", {"add($, BIAS)", "gelu($)", "add($, %r)"}},
    {"bias_add_tanh_multiply", "", {"add($, BIAS)", "add($, %r)", "tanh($)", "multiply($, %s)"}},
    {"subtract_divide_maximum_minimum",
     "",
     {"subtract($, %r)", "divide($, 2.5)", "maximum($, %s)", "minimum($, %r)"}},
    {"scale_and_shift_per_channel", "", {"multiply($, BIAS)", "add($, BIAS)", "relu($)"}},
    {"scaled_and_shifted", "", {"multiply($, 0.125)", "add($, -0.5)", "tanh($)"}},
    {"bias_gelu_erf_in_pieces",
     "_gelu_erf_pieces",
     {"add($, BIAS)", "divide($1, 1.41421354)", "erf($)", "add($, 1.0)", "multiply($1, $)",
      "multiply($, 0.5)"}},
    {"gelu_erf_in_pieces_add",
     "_gelu_erf_pieces",
     {"divide($0, 1.41421354)", "erf($)", "add($, 1.0)", "multiply($0, $)", "multiply($, 0.5)",
      "add($, %r)"}},
    {"add_gelu_erf_in_pieces",
     "_gelu_erf_pieces",
     {"add($, %r)", "multiply($, 0.707106769)", "erf($)", "add($, 1.0)", "multiply($1, 0.5)",
      "multiply($5, $4)"}},
    {"bias_gelu_tanh_in_pieces",
     "_gelu_tanh_pieces",
     {"add($, BIAS)", "multiply($1, 0.5)", "power($1, 3.0)", "multiply($, 0.044715)", "add($1, $)",
      "multiply($, 0.797884583)", "tanh($)", "add($, 1.0)", "multiply($2, $)"}},
    {"gelu_tanh_in_pieces_with_products",
     "_gelu_tanh_pieces",
     {"multiply($0, $0)", "multiply($, $0)", "multiply($, 0.044715)", "add($0, $)",
      "multiply($, 0.797884583)", "tanh($)", "add($, 1.0)", "multiply($0, $)", "multiply($, 0.5)",
      "add($, %r)"}},
    {"bias_swish_in_pieces", "_swish_pieces", {"add($, BIAS)", "sigmoid($)", "multiply($1, $)"}},
    {"swish_in_pieces_with_a_factor",
     "_swish_pieces",
     {"multiply($0, 1.702)", "sigmoid($)", "multiply($0, $)", "add(%r, $)", "relu($)"}},
    {"bias_hard_swish_in_pieces",
     "_hard_swish_pieces",
     {"add($, BIAS)", "add($, 3.0)", "clip($) {min=0.0, max=6.0}", "multiply($1, $)",
      "divide($, 6.0)"}},
    {"hard_swish_in_pieces_of_a_hard_sigmoid",
     "_hard_swish_pieces",
     {"hard_sigmoid($) {alpha=0.1666666716337204, beta=0.5}", "multiply($0, $)"}},
    {"add_mish_in_pieces",
     "_mish_pieces",
     {"add($, %r)", "softplus($)", "tanh($)", "multiply($1, $)"}},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Writes "%v2" for "$2" and the value before for "$"; numbers between "(" or ", " and ")" or ","
// become constants.
class Writer {
 public:
  Writer(const Anchor& anchor, const Case& c) : anchor_(anchor), case_(c) {}

  std::string write(const std::vector<const char*>& ops) {
    std::string names;
    for (const char* at = case_.operands; (at = std::strchr(at, '%')); ++at)
      names += cat(names.empty() ? "" : ", ", std::string_view(at, std::strchr(at, ':')));
    body_ = cat("%v0 = ", anchor_.op, "(", names, ") {", case_.attrs, "}\n");
    for (size_t k = 0; k < ops.size(); ++k) add(ops[k], k + 1);
    std::string params = cat(case_.operands, ", %wbias: f32[", case_.bias, "]");
    for (const char* name : {"%r", "%s"}) {
      if (body_.find(name) != std::string::npos)
        params += cat(", ", name, ": f32[", case_.result, "]");
    }
    return cat("fn main(", params, ") {\n", constants_, replaced(body_, "{}", ""), "return %v",
               ops.size(), " }");
  }

 private:
  void add(const std::string& op, size_t k) {
    size_t close = op.find(')');
    std::string args = op.substr(0, close);
    for (size_t n = k; n-- > 0;) args = replaced(args, cat("$", n), cat("%v", n));
    args = replaced(replaced(args, "$", cat("%v", k - 1)), "BIAS", "%wbias");
    for (size_t at = 0; at < args.size(); ++at) {
      bool begins = at > 0 && (args[at - 1] == '(' || args[at - 1] == ' ') &&
                    (std::isdigit(args[at]) || args[at] == '-');
      if (!begins) continue;
      size_t end = std::min(args.find(',', at), args.size());
      std::string name = cat("%c", k);
      constants_ += cat(name, " = const([", args.substr(at, end - at), "]) : f32[]\n");
      args.replace(at, end - at, name);
    }
    body_ += cat("%v", k, " = ", args, op.substr(close), "\n");
  }

  const Anchor& anchor_;
  const Case& case_;
  std::string body_, constants_;
};

using AnchorAndTail = std::tuple<const Anchor*, const Tail*>;

class Composites : public testing::TestWithParam<AnchorAndTail> {
 protected:
  static const Anchor& anchor() { return *std::get<0>(GetParam()); }
  static const Tail& tail() { return *std::get<1>(GetParam()); }
};

/// Returns true for oneDNN 3.2, which has only a reference kernel for convolutions by gemm followed
/// by an op with an operand as large as the result. The plugin refuses that chain and takes the
/// shorter one and the rest.
bool has_shorter_chains(const Executable& onednn) {
  return std::any_of(onednn.modules.begin(), onednn.modules.end(), [](const auto& module) {
    return module.plugin == "onednn" && module.compat.find("oneDNN 3.") != std::string::npos;
  });
}

TEST_P(Composites, AreFormedAndAgreeWithTheReference) {
  auto plugins = built_plugins();
  for (const Case& c : anchor().cases) {
    IRModule module = with_constants(Writer(anchor(), c).write(tail().ops));
    SCOPED_TRACE(print(module));
    Formed formed = formed_by_onednn(plugins, module);
    Executable onednn = built_by(plugins, module, {"onednn", "json"}, 2);
    bool is_conv = std::string_view(anchor().op).starts_with("conv");
    if (!is_conv || !has_shorter_chains(onednn) || formed.ops.empty()) {
      EXPECT_THAT(formed.composites, ElementsAre(cat("onednn.", anchor().op, tail().pattern)));
      EXPECT_THAT(formed.ops, IsEmpty());
    }
    std::vector<Tensor> reference = execute(built_by(plugins, module, {"json"}, 0), plugins);
    EXPECT_EQ(ops_of(onednn, "json"), 0u);
    expect_close(execute(onednn, plugins), reference);
    expect_close(execute_strided(onednn, plugins), reference);
  }
}

std::vector<AnchorAndTail> rows() {
  std::vector<AnchorAndTail> out;
  for (const Anchor& anchor : kAnchors) {
    for (const Tail& tail : kTails) out.emplace_back(&anchor, &tail);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Onednn, Composites, testing::ValuesIn(rows()), [](const auto& info) {
  return cat(std::get<0>(info.param)->op, "_then_", std::get<1>(info.param)->name);
});

/// Functions in pieces without an anchor.
struct Alone {
  const char* pattern;
  const char* text;
};

const Alone kAlone[] = {
    {"gelu_erf_pieces",
     "fn main(%x: f32[SHAPE]) { %root = const([1.4142135381698608]) : f32[] %one = const([1.0]) : "
     "f32[] %half = const([0.5]) : f32[] %0 = divide(%x, %root) %1 = erf(%0) %2 = add(%1, %one) %3 "
     "= multiply(%x, %2) %4 = multiply(%3, %half) return %4 }"},
    {"gelu_tanh_pieces",
     "fn main(%x: f32[SHAPE]) { %half = const([0.5]) : f32[] %three = const([3.0]) : f32[] %k = "
     "const([0.044715]) : f32[] %b = const([0.7978845834732056]) : f32[] %one = const([1.0]) : "
     "f32[] %0 = multiply(%half, %x) %1 = power(%x, %three) %2 = multiply(%k, %1) %3 = add(%x, %2) "
     "%4 = multiply(%b, %3) %5 = tanh(%4) %6 = add(%one, %5) %7 = multiply(%0, %6) return %7 }"},
    {"swish_pieces",
     "fn main(%x: f32[SHAPE]) { %0 = sigmoid(%x) %1 = multiply(%0, %x) return %1 }"},
    {"hard_swish_pieces",
     "fn main(%x: f32[SHAPE]) { %three = const([3.0]) : f32[] %six = const([6.0]) : f32[] %0 = "
     "add(%x, %three) %1 = clip(%0) {min=0.0, max=6.0} %2 = divide(%1, %six) %3 = multiply(%2, %x) "
     "return %3 }"},
    {"mish_pieces",
     "fn main(%x: f32[SHAPE]) { %0 = softplus(%x) %1 = tanh(%0) %2 = multiply(%x, %1) return %2 }"},
};

class PiecesAlone : public testing::TestWithParam<Alone> {};

TEST_P(PiecesAlone, AreFormedAndAgreeWithTheReference) {
  auto plugins = built_plugins();
  for (const char* shape : {"2,3,5", "17", "1,1", "4,8,6,6", "0,3"}) {
    SCOPED_TRACE(shape);
    IRModule module = with_constants(replaced(GetParam().text, "SHAPE", shape));
    Formed formed = formed_by_onednn(plugins, module);
    EXPECT_THAT(formed.composites, ElementsAre(cat("onednn.", GetParam().pattern)));
    EXPECT_THAT(formed.ops, IsEmpty());
    Executable onednn = built_by(plugins, module, {"onednn", "json"}, 2);
    EXPECT_EQ(ops_of(onednn, "json"), 0u);
    std::vector<Tensor> reference = execute(built_by(plugins, module, {"json"}, 0), plugins);
    expect_close(execute(onednn, plugins), reference);
    expect_close(execute_strided(onednn, plugins), reference);
  }
}

INSTANTIATE_TEST_SUITE_P(Onednn, PiecesAlone, testing::ValuesIn(kAlone),
                         [](const auto& info) { return std::string(info.param.pattern); });

/// Layer norm in pieces: variants of the square and of the division, with or without a scale
/// and a bias.
struct LayerNorm {
  const char* name;
  const char* square;
  const char* normal;
  const char* tail;  // "$" is the normalised value
};
constexpr const char* kScaled = "%8 = multiply($, %w)";
constexpr const char* kShifted = "%8 = multiply($, %w) %9 = add(%8, %wb)";
const LayerNorm kLayerNorms[] = {
    {"power_divide", "power(%1, %two)", "%5 = sqrt(%4) %6 = divide(%1, %5)", kShifted},
    {"product_divide", "multiply(%1, %1)", "%5 = sqrt(%4) %6 = divide(%1, %5)", kShifted},
    {"power_reciprocal", "power(%1, %two)",
     "%5 = sqrt(%4) %7 = reciprocal(%5) %6 = multiply(%1, %7)", kShifted},
    {"product_rsqrt", "multiply(%1, %1)", "%7 = rsqrt(%4) %6 = multiply(%1, %7)", kShifted},
    {"scale_alone", "power(%1, %two)", "%5 = sqrt(%4) %6 = divide(%1, %5)", kScaled},
    {"no_scale", "power(%1, %two)", "%5 = sqrt(%4) %6 = divide(%1, %5)", ""},
};

class LayerNormPieces : public testing::TestWithParam<LayerNorm> {};

TEST_P(LayerNormPieces, AreFormedAndAgreeWithTheReference) {
  auto plugins = built_plugins();
  for (const char* shape : {"2,3,5", "1,1,17", "4,16", "0,3"}) {
    SCOPED_TRACE(shape);
    std::string text = cat("fn main(%x: f32[", shape, "]");
    std::string tail = replaced(GetParam().tail, "$", "%6"), last = std::strrchr(shape, ',') + 1;
    for (const char* name : {"%w", "%wb"}) {
      if (tail.find(cat(name, ")")) != std::string::npos)
        text += cat(", ", name, ": f32[", last, "]");
    }
    text +=
        cat(") { %two = const([2.0]) : f32[] %eps = const([0.001]) : f32[] %0 = mean(%x) "
            "{axes=[-1]} %1 = subtract(%x, %0) %2 = ",
            GetParam().square, " %3 = mean(%2) {axes=[-1]} %4 = add(%3, %eps) ", GetParam().normal,
            " ", tail, " return ",
            tail.empty()                           ? "%6"
            : tail.find("%9") != std::string::npos ? "%9"
                                                   : "%8",
            " }");
    IRModule module = with_constants(text);
    Formed formed = formed_by_onednn(plugins, module);
    EXPECT_THAT(formed.composites, ElementsAre("onednn.layer_norm_pieces"));
    EXPECT_THAT(formed.ops, IsEmpty());
    Executable onednn = built_by(plugins, module, {"onednn", "json"}, 2);
    std::vector<Tensor> reference = execute(built_by(plugins, module, {"json"}, 0), plugins);
    expect_close(execute(onednn, plugins), reference);
    expect_close(execute_strided(onednn, plugins), reference);
  }
}

INSTANTIATE_TEST_SUITE_P(Onednn, LayerNormPieces, testing::ValuesIn(kLayerNorms),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Composites, OfEveryPatternHaveARow) {
  // Those of integers have rows in tests/numbers/integers_test.cc.
  std::set<std::string> in_rows = {"layer_norm_pieces", "conv1d_integers", "conv2d_integers",
                                   "conv3d_integers",   "matmul_integers", "gemm_integers",
                                   "add_integers"};
  for (auto [anchor, tail] : rows()) in_rows.insert(cat(anchor->op, tail->pattern));
  for (const Alone& row : kAlone) in_rows.insert(row.pattern);
  auto plugins = built_plugins();
  const Plugin* onednn = plugins->find("onednn");
  ASSERT_NE(onednn, nullptr);
  for (const PluginPattern& pattern : onednn->patterns()) {
    Result<Pattern> parsed = Pattern::parse(pattern.dag_json);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    if (parsed->max_ops() < 2) continue;
    EXPECT_TRUE(in_rows.contains(pattern.name)) << pattern.name << " has no row";
  }
}

}  // namespace
}  // namespace byoc::test
