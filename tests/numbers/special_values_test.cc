// SPDX-License-Identifier: Apache-2.0
// NaN and infinities through ops that choose between values, by each plugin, against the operators'
// definitions (ONNX, numpy: NaN in an operand is NaN in each result that depends on it).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "programs.h"
#include "support/paths.h"

namespace byoc::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Values = std::vector<float>;

/// Every pair of neighbours in which one is special, in `count` cells.
Values with_specials(size_t count, size_t step = 1) {
  const Values kAll = {0.5f, kNaN, -1.5f, kInf, 2.0f, -kInf, -0.25f, 1e-40f, 3.0f, -7.0f, 0.75f};
  Values out;
  for (size_t k = 0; k < count; ++k) out.push_back(kAll[k * step % kAll.size()]);
  return out;
}

/// Finite values, a few NaN and infinities between them, so that most windows have none.
Values with_few_specials(size_t count) {
  Values out;
  for (size_t k = 0; k < count; ++k) out.push_back(static_cast<float>((k * 7 + 3) % 23) - 11);
  for (size_t k = 5; k < count; k += 37) out[k] = k % 3 == 0 ? kNaN : k % 3 == 1 ? kInf : -kInf;
  return out;
}

std::string text_of(float value) { return cat(value); }

void expect_same(const Values& got, const Values& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    bool is_same = std::isnan(wanted[k]) ? std::isnan(got[k])
                   : std::isinf(wanted[k])
                       ? got[k] == wanted[k]
                       : std::abs(got[k] - wanted[k]) <= 4e-6f * std::abs(wanted[k]) + 1e-37f;
    EXPECT_TRUE(is_same) << "cell " << k << ": " << text_of(got[k]) << " instead of "
                         << text_of(wanted[k]);
  }
}

class SpecialValues : public ::testing::Test {
 protected:
  struct Operand {
    std::vector<int64_t> dims;
    Values values;
  };
  Values run(const Executable& executable, const std::vector<Operand>& operands) {
    std::vector<Tensor> inputs;
    for (const Operand& operand : operands)
      inputs.push_back(tensor_f32(operand.dims, operand.values));
    return floats(execute(executable, plugins_, inputs)[0]);
  }
  /// By each plugin, which takes all ops when it is the whole list.
  void expect_by_each(const std::string& text, const std::vector<Operand>& operands,
                      const Values& wanted) {
    SCOPED_TRACE(text);
    for (const char* plugin : {"onednn", "llvm", "json"}) {
      if (plugins_->find(plugin) == nullptr) continue;  // built where LLVM is installed
      SCOPED_TRACE(plugin);
      Executable executable = built_by(plugins_, parse(text), {plugin}, 2);
      EXPECT_GT(ops_of(executable, plugin), 0u);
      expect_same(run(executable, operands), wanted);
    }
  }
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

struct FunctionOfSpecialValues {
  const char* text;
  float (*f)(float x);
};

TEST_F(SpecialValues, GoThroughFunctionsOfOneOperand) {
  const FunctionOfSpecialValues kFunctions[] = {
      {"relu(%x)", [](float x) { return x < 0 ? 0 : x; }},
      {"leaky_relu(%x) {alpha=0.5}", [](float x) { return x < 0 ? 0.5f * x : x; }},
      {"clip(%x) {min=-1.0, max=2.0}", [](float x) { return x < -1  ? -1
                                                            : x > 2 ? 2
                                                                    : x; }},
      {"clip(%x) {min=0.5}", [](float x) { return x < 0.5f ? 0.5f : x; }},
      {"clip(%x) {max=0.5}", [](float x) { return x > 0.5f ? 0.5f : x; }},
      {"abs(%x)", [](float x) { return std::abs(x); }},
      {"negative(%x)", [](float x) { return -x; }},
      {"sqrt(%x)", [](float x) { return std::sqrt(x); }},
      {"rsqrt(%x)", [](float x) { return 1 / std::sqrt(x); }},
      {"reciprocal(%x)", [](float x) { return 1 / x; }},
      {"exp(%x)", [](float x) { return std::exp(x); }},
      {"log(%x)", [](float x) { return std::log(x); }},
      {"tanh(%x)", [](float x) { return std::tanh(x); }},
      {"sigmoid(%x)", [](float x) { return 1 / (1 + std::exp(-x)); }},
      {"softplus(%x)",
       [](float x) { return x > 80 ? x : static_cast<float>(std::log1p(std::exp(double{x}))); }},
      {"elu(%x)", [](float x) { return x < 0 ? std::expm1(x) : x; }},
      {"round(%x)", [](float x) { return std::nearbyint(x); }},
      {"power(%x, %half)", [](float x) { return std::pow(x, 0.5f); }},
      {"power(%x, %two)", [](float x) { return std::pow(x, 2.0f); }},
  };
  const Values x = with_specials(33);
  for (const FunctionOfSpecialValues& function : kFunctions) {
    Values wanted;
    for (float value : x) wanted.push_back(function.f(value));
    expect_by_each(cat("fn main(%x: f32[3,11]) { %half = const([0.5]) : f32[] %two = const([2.0]) "
                       ": f32[] %0 = ",
                       function.text, " return %0 }"),
                   {{{3, 11}, x}}, wanted);
  }
}

float greater(float x, float y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::max(x, y); }
float less(float x, float y) { return std::isnan(x) || std::isnan(y) ? kNaN : std::min(x, y); }

TEST_F(SpecialValues, WinInMaximumAndMinimum) {
  for (bool is_max : {true, false}) {
    const char* op = is_max ? "maximum" : "minimum";
    auto f = is_max ? greater : less;
    Values x = with_specials(44), y = with_specials(44, 3), row = with_specials(11, 2), same, along;
    for (size_t k = 0; k < x.size(); ++k) {
      same.push_back(f(x[k], y[k]));
      along.push_back(f(x[k], row[k % 11]));
    }
    expect_by_each(cat("fn main(%x: f32[4,11], %y: f32[4,11]) { %0 = ", op, "(%x, %y) return %0 }"),
                   {{{4, 11}, x}, {{4, 11}, y}}, same);
    expect_by_each(cat("fn main(%x: f32[4,11], %y: f32[11]) { %0 = ", op, "(%x, %y) return %0 }"),
                   {{{4, 11}, x}, {{11}, row}}, along);
    expect_by_each(cat("fn main(%x: f32[4,11], %y: f32[11]) { %0 = ", op, "(%y, %x) return %0 }"),
                   {{{4, 11}, x}, {{11}, row}}, along);
    for (float one : {0.5f, kNaN, kInf, -kInf}) {
      Values wanted;
      for (float value : x) wanted.push_back(f(value, one));
      expect_by_each(cat("fn main(%x: f32[4,11], %y: f32[]) { %0 = ", op, "(%x, %y) return %0 }"),
                     {{{4, 11}, x}, {{}, {one}}}, wanted);
    }
  }
}

TEST_F(SpecialValues, WinInReductions) {
  const Values x = {1,    2,     -3,    kNaN, 5,     6,      -kInf, -kInf, -kInf, kInf, kInf, kInf,
                    kNaN, -kInf, 1e30f, -1,   -kInf, -2e30f, 4,     kInf,  kNaN,  -5,   -6,   -7};
  for (bool is_max : {true, false}) {
    Values rows, columns;
    for (size_t row = 0; row < 8; ++row) {
      float most = x[3 * row];
      for (size_t k = 1; k < 3; ++k) most = (is_max ? greater : less)(most, x[3 * row + k]);
      rows.push_back(most);
    }
    for (size_t column = 0; column < 3; ++column) {
      float most = x[column];
      for (size_t row = 1; row < 8; ++row)
        most = (is_max ? greater : less)(most, x[3 * row + column]);
      columns.push_back(most);
    }
    const char* op = is_max ? "max" : "min";
    expect_by_each(cat("fn main(%x: f32[8,3]) { %0 = ", op, "(%x) {axes=[1]} return %0 }"),
                   {{{8, 3}, x}}, rows);
    expect_by_each(
        cat("fn main(%x: f32[8,3]) { %0 = ", op, "(%x) {axes=[0], keepdims=false} return %0 }"),
        {{{8, 3}, x}}, columns);
  }
}

struct Pool {
  int64_t channels, h, w, kernel, stride, pad, dilation;
};

Values pooled(const Pool& p, const Values& x) {
  const int64_t reach = (p.kernel - 1) * p.dilation + 1;
  const int64_t out_h = (p.h + 2 * p.pad - reach) / p.stride + 1;
  const int64_t out_w = (p.w + 2 * p.pad - reach) / p.stride + 1;
  Values out;
  for (int64_t c = 0; c < p.channels; ++c) {
    for (int64_t cell = 0; cell < out_h * out_w; ++cell) {
      float most = -kInf;
      for (int64_t tap = 0; tap < p.kernel * p.kernel; ++tap) {
        int64_t row = cell / out_w * p.stride + tap / p.kernel * p.dilation - p.pad;
        int64_t column = cell % out_w * p.stride + tap % p.kernel * p.dilation - p.pad;
        if (row < 0 || row >= p.h || column < 0 || column >= p.w) continue;
        most = greater(most, x[static_cast<size_t>((c * p.h + row) * p.w + column)]);
      }
      out.push_back(most);
    }
  }
  return out;
}

std::string pool_text(const Pool& p, std::string_view parameter, std::string_view operand) {
  return cat("fn main(%x: f32[", parameter, "]) { ", operand, " %1 = max_pool(%0) {kernel_shape=[",
             p.kernel, ",", p.kernel, "], strides=[", p.stride, ",", p.stride, "], pads=[", p.pad,
             ",", p.pad, ",", p.pad, ",", p.pad, "], dilations=[", p.dilation, ",", p.dilation,
             "]} return %1 }");
}

// In row-major order, and as a view of an image whose channels come last.
TEST_F(SpecialValues, WinInMaxPool) {
  for (const Pool& p :
       {Pool{3, 9, 7, 3, 1, 1, 1}, Pool{3, 9, 8, 2, 2, 0, 2}, Pool{16, 9, 7, 3, 2, 1, 1},
        Pool{5, 4, 4, 2, 1, 0, 1}, Pool{27, 5, 6, 3, 2, 1, 1}, Pool{1, 5, 6, 3, 2, 1, 1}}) {
    const auto channels = static_cast<size_t>(p.channels), cells = static_cast<size_t>(p.h * p.w);
    Values x = with_few_specials(channels * cells);
    std::fill_n(x.begin(), cells / 2, -kInf);  // windows of nothing else
    Values last(x.size());
    for (size_t c = 0; c < channels; ++c)
      for (size_t cell = 0; cell < cells; ++cell) last[cell * channels + c] = x[c * cells + cell];
    expect_by_each(pool_text(p, cat("1,", p.channels, ",", p.h, ",", p.w), "%0 = identity(%x)"),
                   {{{1, p.channels, p.h, p.w}, x}}, pooled(p, x));
    expect_by_each(pool_text(p, cat("1,", p.h, ",", p.w, ",", p.channels),
                             "%0 = transpose(%x) {perm=[0,3,1,2]}"),
                   {{{1, p.h, p.w, p.channels}, last}}, pooled(p, x));
  }
}

TEST_F(SpecialValues, WinInGlobalMaxPoolAndInPoolsOfLinesAndVolumes) {
  for (int64_t channels : {3, 16}) {
    Values x = with_few_specials(static_cast<size_t>(channels * 20)), wanted;
    std::fill_n(x.begin(), 20, -kInf);
    for (int64_t c = 0; c < channels; ++c) {
      float most = -kInf;
      for (int64_t k = 0; k < 20; ++k) most = greater(most, x[static_cast<size_t>(c * 20 + k)]);
      wanted.push_back(most);
    }
    expect_by_each(cat("fn main(%x: f32[1,", channels,
                       ",4,5]) { %0 = global_max_pool(%x) return "
                       "%0 }"),
                   {{{1, channels, 4, 5}, x}}, wanted);
  }
  const Values line = {kNaN, 1, 2, 3, -kInf, -kInf, kInf, 0};
  expect_by_each("fn main(%x: f32[1,1,8]) { %0 = max_pool(%x) {kernel_shape=[2]} return %0 }",
                 {{{1, 1, 8}, line}}, {kNaN, 2, 3, 3, -kInf, kInf, kInf});
  const Values volume = {1, kNaN, 3, 4, 5, 6, 7, 8, -kInf, -1, -kInf, -kInf};
  expect_by_each(
      "fn main(%x: f32[1,1,3,2,2]) { %0 = max_pool(%x) {kernel_shape=[1,2,2]} return %0 }",
      {{{1, 1, 3, 2, 2}, volume}}, {kNaN, 8, -1});
}

// The definition gives NaN for a row with NaN or +infinity, or with -infinity alone.
TEST_F(SpecialValues, MakeRowsOfSoftmaxNaN) {
  const Values x = {0, 1, kNaN, -kInf, -kInf, -kInf, -kInf, 0, -kInf, kInf, 1, 2, 1, 1, 1};
  const float third = 1.0f / 3;
  const Values wanted = {kNaN, kNaN, kNaN, kNaN, kNaN,  kNaN,  0,    1,
                         0,    kNaN, kNaN, kNaN, third, third, third};
  expect_by_each("fn main(%x: f32[5,3]) { %0 = softmax(%x) {axis=1} return %0 }", {{{5, 3}, x}},
                 wanted);
  const Values columns = {0, -kInf, -kInf, 1, 1, -kInf, 0, kNaN, 1, -kInf, kInf, 1};
  expect_by_each("fn main(%x: f32[2,6]) { %0 = softmax(%x) {axis=0} return %0 }",
                 {{{2, 6}, columns}}, {0.5f, kNaN, 0, 1, kNaN, 0, 0.5f, kNaN, 1, 0, kNaN, 1});
}

TEST_F(SpecialValues, MakeRowsOfLogSoftmaxNaN) {
  const Values x = {0, 1, kNaN, -kInf, -kInf, -kInf, -kInf, 0, -kInf, kInf, 1, 2};
  const Values wanted = {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, -kInf, 0, -kInf, kNaN, kNaN, kNaN};
  expect_by_each("fn main(%x: f32[4,3]) { %0 = log_softmax(%x) {axis=1} return %0 }", {{{4, 3}, x}},
                 wanted);
}

// The reciprocal of a norm below 2.9e-39 is no finite number.
TEST_F(SpecialValues, OfTinyNormsAreQuotients) {
  const Values x = {1e-40f, -3e-40f, 0, 0, 0, 0, -2e-39f, 0, 0, 1, kNaN, 2, 1, kInf, 2};
  const Values wanted = {0.25f, -0.75f, 0, 0, 0, 0, -1, 0, 0, kNaN, kNaN, kNaN, 0, kNaN, 0};
  for (const char* plugin : {"llvm", "json"}) {
    if (plugins_->find(plugin) == nullptr) continue;  // built where LLVM is installed
    SCOPED_TRACE(plugin);
    Executable executable = built_by(
        plugins_, parse("fn main(%x: f32[5,3]) { %0 = lp_norm(%x) {axis=1, p=1} return %0 }"),
        {plugin, "json"}, 2);
    EXPECT_GT(ops_of(executable, plugin), 0u);
    Values got = run(executable, {{{5, 3}, x}});
    for (size_t k : {0, 1}) EXPECT_NEAR(got[k], wanted[k], 1e-5f);  // 3e-40 has 18 bits
    got[0] = wanted[0], got[1] = wanted[1];
    expect_same(got, wanted);
  }
}

TEST_F(SpecialValues, GoThroughHardSigmoidAndHardSwish) {
  const Values x = {kNaN, kInf, -kInf, 0, 1};
  Values sigmoid = {kNaN, 1, 0, 0.5f, 0.7f}, swish = {kNaN, kInf, kNaN, 0, 2.0f / 3};
  for (const char* plugin : {"llvm", "json"}) {  // onednn has hard_sigmoid as a post-op alone
    if (plugins_->find(plugin) == nullptr) continue;
    SCOPED_TRACE(plugin);
    auto by = [&](const char* op) {
      return built_by(plugins_, parse(cat("fn main(%x: f32[5]) { %0 = ", op, "(%x) return %0 }")),
                      {plugin, "json"}, 2);
    };
    expect_same(run(by("hard_sigmoid"), {{{5}, x}}), sigmoid);
    expect_same(run(by("hard_swish"), {{{5}, x}}), swish);
  }
}

/// The table of plugins/onednn/README.md: post-ops that lose NaN.
struct PostOp {
  const char* text;  // of %m, the product
  float (*f)(float x);
};
const PostOp kPostOps[] = {
    {"relu(%m)", [](float x) { return x < 0 ? 0 : x; }},
    {"clip(%m) {min=-1.0, max=2.0}", [](float x) { return x < -1  ? -1
                                                          : x > 2 ? 2
                                                                  : x; }},
    {"maximum(%m, %c)", [](float x) { return greater(x, 0.25f); }},
    {"minimum(%m, %c)", [](float x) { return less(x, 0.25f); }},
    {"hard_sigmoid(%m)", [](float x) { return greater(0, less(1, 0.2f * x + 0.5f)); }},
};

class PostOps : public SpecialValues, public ::testing::WithParamInterface<PostOp> {
 protected:
  /// A product by 1, which leaves the values as they are, and the op after it.
  std::string text() const {
    return cat(
        "fn main(%x: f32[7,1], %y: f32[1,1]) { %c = const([0.25]) : f32[] %m = matmul(%x, "
        "%y) %0 = ",
        GetParam().text, " return %0 }");
  }
  Values product() const { return {0.5f, kNaN, -3.0f, 2.5f, kNaN, 0.0f, 1.0f}; }
  Values wanted() const {
    Values out;
    for (float value : product()) out.push_back(GetParam().f(value));
    return out;
  }
  std::vector<Operand> operands() const { return {{{7, 1}, product()}, {{1, 1}, {1.0f}}}; }
};

TEST_P(PostOps, KeepNanWithTheOption) {
  PluginSearch search;
  search.folders = {BYOC_PLUGIN_DIR};
  search.options = {{"onednn", {{"keep_nan", "1"}}}};
  plugins_ = PluginSet::load(search);
  Executable executable = built_by(plugins_, parse(text()), {"onednn", "json"}, 2);
  EXPECT_EQ(ops_of(executable, "json"), 0u);
  expect_same(run(executable, operands()), wanted());
}

TEST_P(PostOps, KeepNanWithExactSums) {
  BuildOptions options;
  options.plugins = plugins_;
  options.compilers = {"onednn", "json"};
  options.exact_sums = true;
  Result<Executable> executable = build(parse(text()), options);
  ASSERT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_EQ(ops_of(*executable, "json"), 0u);
  expect_same(run(*executable, operands()), wanted());
}

// Each cell is as the table has it: numbers are right, and a NaN may have become one.
TEST_P(PostOps, LoseNothingButNan) {
  Executable executable = built_by(plugins_, parse(text()), {"onednn", "json"}, 2);
  EXPECT_EQ(ops_of(executable, "json"), 0u);
  Values got = run(executable, operands()), right = wanted();
  for (size_t k = 0; k < right.size(); ++k) {
    if (std::isnan(right[k])) got[k] = right[k];
  }
  expect_same(got, right);
}

INSTANTIATE_TEST_SUITE_P(Table, PostOps, ::testing::ValuesIn(kPostOps), [](const auto& info) {
  return std::string(info.param.text).substr(0, std::string(info.param.text).find('('));
});

}  // namespace
}  // namespace byoc::test
