// SPDX-License-Identifier: Apache-2.0
// Products and sums of small integers by onednn, against exact sums of integers that are scaled in
// double and rounded: a result is a nearest integer, but for the f32 that is rounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iomanip>
#include <random>
#include <sstream>

#include "programs.h"

namespace byoc::test {
namespace {

using ::testing::Contains;

bool has_vnni() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

// A convolution [n, c, h, w] with [o, c / group, k, k]; a product has h = w = k = 1.
struct IntegerCase {
  std::string name;
  bool is_signed = false;  // x
  int64_t c = 3, h = 7, o = 5, k = 3, stride = 1, pad = 0, group = 1;
  int zero_x = 0, zero_y = 0;
  std::string function;  // "relu", "clip" or none
  std::string composite = "onednn.conv2d_integers";
  int64_t n = 1;
  int64_t out() const { return (h + 2 * pad - k) / stride + 1; }
};
std::ostream& operator<<(std::ostream& out, const IntegerCase& c) { return out << c.name; }

const IntegerCase kIntegerCases[] = {
    {.name = "plain"},
    {.name = "pads_are_the_zero_point", .h = 6, .k = 3, .pad = 1, .zero_x = 131, .zero_y = 7},
    {.name = "signed_operand",
     .is_signed = true,
     .c = 16,
     .o = 16,
     .pad = 1,
     .zero_x = -5,
     .zero_y = 90},
    {.name = "relu_above_a_zero_point", .c = 8, .zero_x = 3, .zero_y = 40, .function = "relu"},
    {.name = "clip", .c = 32, .o = 24, .k = 1, .zero_y = 10, .function = "clip"},
    {.name = "channels_by_themselves", .c = 32, .o = 32, .pad = 1, .group = 32, .zero_x = 128},
    {.name = "groups_with_strides", .c = 8, .h = 9, .o = 12, .stride = 2, .group = 4, .zero_x = 12},
    {.name = "many_channels", .c = 160, .h = 4, .o = 80, .k = 1, .zero_x = 9, .zero_y = 128},
    {.name = "gemm",
     .c = 130,
     .h = 1,
     .o = 70,
     .k = 1,
     .zero_x = 17,
     .zero_y = 128,
     .composite = "onednn.gemm_integers",
     .n = 9},
    {.name = "matmul",
     .c = 67,
     .h = 1,
     .o = 33,
     .k = 1,
     .zero_x = 200,
     .zero_y = 128,
     .function = "relu",
     .composite = "onednn.matmul_integers",
     .n = 5},
    {.name = "one_dim_and_cells_alone",
     .c = 12,
     .h = 6,
     .o = 10,
     .k = 1,
     .zero_x = 4,
     .zero_y = 100,
     .composite = "onednn.conv1d_integers"},
    {.name = "three_dims_of_one_plane",
     .c = 6,
     .h = 6,
     .o = 9,
     .stride = 2,
     .pad = 1,
     .zero_x = 21,
     .zero_y = 77,
     .composite = "onednn.conv3d_integers"},
};

class OnednnIntegers : public ::testing::TestWithParam<IntegerCase> {
 protected:
  void SetUp() override {
    if (!has_vnni()) GTEST_SKIP() << "oneDNN has exact sums of integers with VNNI alone";
    std::mt19937 random(3);
    auto fill = [&](std::vector<int>& to, int64_t count, int low, int high) {
      for (int64_t k = 0; k < count; ++k)
        to.push_back(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
    };
    const IntegerCase& t = GetParam();
    fill(x_, t.n * t.c * t.h * t.h, t.is_signed ? -128 : 0, t.is_signed ? 127 : 255);
    fill(w_, t.o * t.c / t.group * t.k * t.k, -128, 127);
    fill(bias_, t.o, -2000, 2000);
    for (int64_t o = 0; o < t.o; ++o) scales_.push_back(0.0078125f * static_cast<float>(1 + o % 3));
    // Makes the largest results reach both ends of the range.
    y_scale_ = std::round(16 * std::sqrt(static_cast<float>(t.c / t.group * t.k * t.k))) / 64;
  }
  std::string text() const;
  std::vector<double> expected() const;
  double at(int64_t n, int64_t o, int64_t row, int64_t column) const;

  static constexpr float kScaleX = 0.03125f;
  std::vector<int> x_, w_, bias_;  // a bias in sixteenths
  std::vector<float> scales_;
  float y_scale_ = 1;
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

// Returns all digits: those of std::to_string are too few for a result beside a tie.
std::string digits(double value) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(12) << value;
  return out.str();
}

template <class T>
std::string list(const std::vector<T>& values, double factor = 1) {
  std::string out;
  for (T value : values) out += (out.empty() ? "" : ",") + digits(factor * value);
  return out;
}
std::string list(const std::vector<int>& values) {
  std::string out;
  for (int value : values) out += (out.empty() ? "" : ",") + std::to_string(value);
  return out;
}

// The program's form of the data of a case. In one dim the cells of an image are in a row, and the
// kernel has one cell; in three dims there is one plane.
struct Form {
  std::vector<int64_t> x, w, bias;
  std::string op, attrs;
  bool is_transposed = false;  // the weights are [c, o]
};

Form form_of(const IntegerCase& t) {
  const int64_t each = t.c / t.group, s = t.stride, p = t.pad;
  const std::string group = cat("group=", t.group);
  if (t.composite == "onednn.gemm_integers")
    return {{t.n, t.c}, {t.o, t.c}, {t.o}, "gemm", "trans_b=true"};
  if (t.composite == "onednn.matmul_integers")
    return {{t.n, t.c}, {t.c, t.o}, {t.o}, "matmul", "", true};
  if (t.composite == "onednn.conv1d_integers")
    return {{t.n, t.c, t.h * t.h}, {t.o, each, 1}, {t.o, 1}, "conv1d", group};
  if (t.composite == "onednn.conv3d_integers")
    return {
        {t.n, t.c, 1, t.h, t.h},
        {t.o, each, 1, t.k, t.k},
        {t.o, 1, 1, 1},
        "conv3d",
        cat(group, ", strides=[1,", s, ",", s, "], pads=[0,", p, ",", p, ",0,", p, ",", p, "]")};
  return {{t.n, t.c, t.h, t.h},
          {t.o, each, t.k, t.k},
          {t.o, 1, 1},
          "conv2d",
          cat(group, ", strides=[", s, ",", s, "], pads=[", p, ",", p, ",", p, ",", p, "]")};
}

std::string brackets(const std::vector<int64_t>& dims) {
  std::string out;
  for (int64_t dim : dims) out += (out.empty() ? "" : ",") + std::to_string(dim);
  return cat("[", out, "]");
}

std::string OnednnIntegers::text() const {
  const IntegerCase& t = GetParam();
  const Form form = form_of(t);
  const std::string type = t.is_signed ? "i8" : "u8", axis = form.is_transposed ? "1" : "0";
  std::vector<int> weights = w_;
  for (int64_t k = 0; form.is_transposed && k < t.o * t.c; ++k)
    weights[static_cast<size_t>(k % t.c * t.o + k / t.c)] = w_[static_cast<size_t>(k)];
  std::string function = t.function.empty() ? "identity(%b)" : t.function + "(%b)";
  if (t.function == "clip") function += " {min=-20.0, max=9.5}";
  if (t.function.empty()) function = "";
  return cat("fn main(%x: ", type, brackets(form.x), ") {\n  %sx = const(", kScaleX,
             ") : f32[]\n  %zx = const(", t.zero_x, ") : ", type, "[]\n  %w = const([",
             list(weights), "]) : i8", brackets(form.w), "\n  %sw = const([", list(scales_),
             "]) : f32[", t.o, "]\n  %bias = const([", list(bias_, 0.0625), "]) : f32",
             brackets(form.bias), "\n  %sy = const(", digits(y_scale_), ") : f32[]\n  %zy = const(",
             t.zero_y, ") : u8[]\n  %fx = dequantize(%x, %sx, %zx)\n",
             "  %fw = dequantize(%w, %sw) {axis=", axis, "}\n  %p = ", form.op, "(%fx, %fw) {",
             form.attrs, "}\n  %b = add(%p, %bias)\n",
             function.empty() ? "" : "  %f = " + function + "\n", "  %y = quantize(",
             function.empty() ? "%b" : "%f", ", %sy, %zy)\n  return %y }\n");
}

// Returns one result as a number: the sum of products, scaled, with the bias.
double OnednnIntegers::at(int64_t n, int64_t o, int64_t row, int64_t column) const {
  const IntegerCase& t = GetParam();
  const int64_t each = t.c / t.group, first = o / (t.o / t.group) * each;
  int64_t sum = 0;
  for (int64_t c = 0; c < each; ++c) {
    for (int64_t tap = 0; tap < t.k * t.k; ++tap) {
      const int64_t i = row * t.stride + tap / t.k - t.pad,
                    j = column * t.stride + tap % t.k - t.pad;
      if (i < 0 || j < 0 || i >= t.h || j >= t.h) continue;
      const int x = x_[static_cast<size_t>(((n * t.c + first + c) * t.h + i) * t.h + j)];
      sum += int64_t{x - t.zero_x} * w_[static_cast<size_t>((o * each + c) * t.k * t.k + tap)];
    }
  }
  const auto channel = static_cast<size_t>(o);
  return static_cast<double>(sum) * kScaleX * static_cast<double>(scales_[channel]) +
         bias_[channel] * 0.0625;
}

// Returns the results before they are rounded.
std::vector<double> OnednnIntegers::expected() const {
  const IntegerCase& t = GetParam();
  std::vector<double> out;
  for (int64_t n = 0; n < t.n; ++n) {
    for (int64_t o = 0; o < t.o; ++o) {
      for (int64_t cell = 0; cell < t.out() * t.out(); ++cell) {
        double value = at(n, o, cell / t.out(), cell % t.out());
        if (t.function == "relu") value = std::max(value, 0.0);
        if (t.function == "clip") value = std::min(std::max(value, -20.0), 9.5);
        const double step = value / static_cast<double>(y_scale_) + t.zero_y;
        out.push_back(std::min(std::max(step, 0.0), 255.0));
      }
    }
  }
  return out;
}

// Half a step, and the error of an f32 below 512 that is the result of five operations.
constexpr double kNearest = 0.5 + 5 * 0x1p-16;

TEST_P(OnednnIntegers, AreExactSumsRoundedOnce) {
  const IntegerCase& t = GetParam();
  IRModule module = parse(text());
  EXPECT_THAT(formed_by_onednn(plugins_, module).composites, Contains(t.composite));
  Executable onednn = built_by(plugins_, module, {"onednn"}, 2);
  Result<Tensor> input = Tensor::make({t.is_signed ? DType::kI8 : DType::kU8, form_of(t).x});
  ASSERT_TRUE(input.ok());
  auto* bytes = static_cast<uint8_t*>(static_cast<void*>(input->data()));
  for (size_t k = 0; k < x_.size(); ++k) bytes[k] = static_cast<uint8_t>(x_[k]);
  std::vector<Tensor> inputs;
  inputs.push_back(*std::move(input));
  std::vector<Tensor> outputs = execute(onednn, plugins_, inputs);
  const auto* y = static_cast<const uint8_t*>(static_cast<const void*>(outputs[0].data()));
  const std::vector<double> right = expected();
  ASSERT_EQ(outputs[0].size_bytes(), right.size());
  size_t inside = 0;
  for (size_t k = 0; k < right.size(); ++k) {
    ASSERT_NEAR(y[k], right[k], kNearest) << "element " << k;
    inside += right[k] > 0 && right[k] < 255;
  }
  EXPECT_GE(inside, right.size() / 5) << "too few results are between the ends to show anything";
}

INSTANTIATE_TEST_SUITE_P(All, OnednnIntegers, ::testing::ValuesIn(kIntegerCases),
                         [](const auto& info) { return info.param.name; });

// Results half way between two integers: exact in f32, as all scales are powers of two. Ties go to
// the even integer before the zero point is added, as ONNX's QuantizeLinear defines.
TEST(OnednnProductsOfIntegers, RoundTiesBeforeTheZeroPointIsAdded) {
  if (!has_vnni()) GTEST_SKIP() << "oneDNN has exact sums of integers with VNNI alone";
  auto plugins = built_plugins();
  IRModule module = parse(R"(fn main(%x: u8[1,4,2,2]) {
    %sx = const(0.5) : f32[]
    %w = const([1,0,0,0]) : i8[1,4,1,1]
    %sw = const(1.0) : f32[]
    %sy = const(1.0) : f32[]
    %zy = const(7) : u8[]
    %0 = dequantize(%x, %sx)
    %1 = dequantize(%w, %sw)
    %2 = conv2d(%0, %1)
    %3 = quantize(%2, %sy, %zy)
    return %3 })");
  EXPECT_THAT(formed_by_onednn(plugins, module).composites, Contains("onednn.conv2d_integers"));
  Result<Tensor> input = Tensor::make({DType::kU8, {1, 4, 2, 2}});
  ASSERT_TRUE(input.ok());
  auto* x = static_cast<uint8_t*>(static_cast<void*>(input->data()));
  for (int k = 0; k < 16; ++k) x[k] = static_cast<uint8_t>(2 * k + 1);
  std::vector<Tensor> inputs;
  inputs.push_back(*std::move(input));
  std::vector<Tensor> outputs = execute(built_by(plugins, module, {"onednn"}, 2), plugins, inputs);
  const auto* y = static_cast<const uint8_t*>(static_cast<const void*>(outputs[0].data()));
  EXPECT_THAT(std::vector<int>(y, y + 4), ::testing::ElementsAre(0 + 7, 2 + 7, 2 + 7, 4 + 7));
}

// relu(sx (x - zx) + sr (r - zr)) / sy + zy for every pair of values of x and r.
struct Sum {
  std::string name, x, r, y;  // types
  double sx, sr, sy;
  int zx, zr, zy;
  bool has_relu = false;
};
std::ostream& operator<<(std::ostream& out, const Sum& sum) { return out << sum.name; }

class OnednnSums : public ::testing::TestWithParam<Sum> {};

std::string text_of(const Sum& t) {
  auto number = [](const char* name, auto value, const std::string& type) {
    return cat("  %", name, " = const(", value, ") : ", type, "[]\n");
  };
  return cat("fn main(%x: ", t.x, "[1,64,32,32], %r: ", t.r, "[1,64,32,32]) {\n",
             number("sx", digits(t.sx), "f32"), number("zx", t.zx, t.x),
             number("sr", digits(t.sr), "f32"), number("zr", t.zr, t.r),
             number("sy", digits(t.sy), "f32"), number("zy", t.zy, t.y),
             "  %0 = dequantize(%x, %sx, %zx)\n  %1 = dequantize(%r, %sr, %zr)\n",
             "  %2 = add(%0, %1)\n", t.has_relu ? "  %3 = relu(%2)\n" : "", "  %4 = quantize(",
             t.has_relu ? "%3" : "%2", ", %sy, %zy)\n  return %4 }\n");
}

int as_integer(uint8_t byte, const std::string& type) {
  return type == "i8" ? static_cast<int8_t>(byte) : byte;
}

TEST_P(OnednnSums, AreRoundedOnce) {
  if (!has_vnni()) GTEST_SKIP() << "integers are refused without VNNI";
  const Sum& t = GetParam();
  auto plugins = built_plugins();
  IRModule module = parse(text_of(t));
  EXPECT_THAT(formed_by_onednn(plugins, module).composites, Contains("onednn.add_integers"));
  std::vector<Tensor> inputs;
  for (const std::string& type : {t.x, t.r}) {
    Result<Tensor> input = Tensor::make({type == "i8" ? DType::kI8 : DType::kU8, {1, 64, 32, 32}});
    ASSERT_TRUE(input.ok());
    inputs.push_back(*std::move(input));
  }
  auto* x = static_cast<uint8_t*>(static_cast<void*>(inputs[0].data()));
  auto* r = static_cast<uint8_t*>(static_cast<void*>(inputs[1].data()));
  for (int k = 0; k < 65536; ++k) {
    x[k] = static_cast<uint8_t>(k / 256);
    r[k] = static_cast<uint8_t>(k % 256);
  }
  std::vector<Tensor> outputs = execute(built_by(plugins, module, {"onednn"}, 2), plugins, inputs);
  const auto* y = static_cast<const uint8_t*>(static_cast<const void*>(outputs[0].data()));
  const double least = t.y == "i8" ? -128 : 0;
  for (int k = 0; k < 65536; ++k) {
    double sum = (as_integer(x[k], t.x) - t.zx) * t.sx + (as_integer(r[k], t.r) - t.zr) * t.sr;
    if (t.has_relu) sum = std::max(sum, 0.0);
    const double step = std::min(std::max(sum / t.sy + t.zy, least), least + 255);
    ASSERT_NEAR(as_integer(y[k], t.y), step, kNearest) << "element " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OnednnSums,
    ::testing::Values(Sum{"powers_of_two", "u8", "i8", "u8", 0.0625, 0.125, 0.25, 3, -5, 20, true},
                      Sum{"relu_below_the_type", "u8", "u8", "u8", 0.037, 0.021, 0.041, 113, 7, 0,
                          true},
                      Sum{"signed_result", "u8", "i8", "i8", 0.03, 0.05, 0.07, 128, 0, -11},
                      Sum{"all_signed", "i8", "i8", "i8", 0.013, 0.029, 0.018, 4, -9, 17, true}),
    [](const auto& info) { return info.param.name; });

TEST(OnednnProductsOfIntegers, OfAScaleThatIsNotPositiveAreRefused) {
  auto plugins = built_plugins();
  for (const char* scale : {"-0.5", "0.0", "0.5"}) {
    IRModule module = parse(cat(R"(fn main(%x: i8[1,3,8,8]) {
      %sx = const()",
                                scale, R"() : f32[]
      %w = const([1,2,3,4,5,6]) : i8[2,3,1,1]
      %sw = const(0.25) : f32[]
      %0 = dequantize(%x, %sx)
      %1 = dequantize(%w, %sw)
      %2 = conv2d(%0, %1)
      return %2 })"));
    const bool is_taken = has_vnni() && scale[0] == '0' && scale[2] == '5';
    EXPECT_EQ(formed_by_onednn(plugins, module).composites.size(), is_taken ? 1U : 0U) << scale;
    Result<Tensor> input = Tensor::make({DType::kI8, {1, 3, 8, 8}});
    ASSERT_TRUE(input.ok());
    std::memset(input->data(), 3, 192);
    std::vector<Tensor> inputs;
    inputs.push_back(*std::move(input));
    std::vector<Tensor> outputs =
        execute(built_by(plugins, module, {"onednn", "json"}, 2), plugins, inputs);
    const auto* y = static_cast<const float*>(static_cast<const void*>(outputs[0].data()));
    EXPECT_FLOAT_EQ(y[0], std::stof(scale) * 3 * 0.25f * (1 + 2 + 3));
    EXPECT_FLOAT_EQ(y[64], std::stof(scale) * 3 * 0.25f * (4 + 5 + 6));
  }
}

}  // namespace
}  // namespace byoc::test
