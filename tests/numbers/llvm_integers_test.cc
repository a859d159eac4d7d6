// SPDX-License-Identifier: Apache-2.0
// Products of integers of 8 bits by llvm, for every kind of processor whose code runs on this one,
// against exact sums of integers that are scaled in f32 and rounded, as ONNX Runtime's kernels do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "byoc/te/target.h"
#include "programs.h"

namespace byoc::test {
namespace {

// A convolution [n, c, h, h] with [o, c / group, k, k]; h = 0: a product [n, c] by [c, o].
struct LlvmIntegerCase {
  std::string name;
  int64_t n = 1, c = 8, h = 6, o = 16, k = 1, stride = 1, pad = 0;
  int zero_x = 0, zero_y = 0;
  bool is_signed = false;   // x
  std::string function;     // "relu", "clip" or none
  bool is_extreme = false;  // 255 times -128
  int zero_w = 0;           // of weights that are u8 with it
  bool on_all = false;      // on all targets
  int64_t group = 1;
  bool is_conv() const { return h > 0; }
  int64_t out() const { return is_conv() ? (h + 2 * pad - k) / stride + 1 : 1; }
  int64_t terms() const { return c / group * k * k; }
  int64_t cells() const { return is_conv() ? h * h : 1; }
};
std::ostream& operator<<(std::ostream& out, const LlvmIntegerCase& c) { return out << c.name; }

const LlvmIntegerCase kLlvmIntegerCases[] = {
    {.name = "one_tap", .c = 32, .h = 7, .o = 48, .zero_x = 131, .zero_y = 7, .on_all = true},
    {.name = "one_tap_with_strides", .c = 16, .h = 9, .o = 32, .stride = 2, .zero_x = 3},
    {.name = "three_by_three",
     .c = 16,
     .h = 11,
     .o = 16,
     .k = 3,
     .pad = 1,
     .zero_x = 127,
     .zero_y = 90,
     .on_all = true},
    {.name = "with_strides",
     .c = 24,
     .h = 12,
     .o = 40,
     .k = 3,
     .stride = 2,
     .pad = 1,
     .zero_x = 255},
    {.name = "stem",
     .n = 2,
     .c = 3,
     .h = 17,
     .o = 32,
     .k = 3,
     .stride = 2,
     .pad = 1,
     .zero_x = 114,
     .on_all = true},
    {.name = "seven_by_seven",
     .c = 3,
     .h = 20,
     .o = 16,
     .k = 7,
     .stride = 2,
     .pad = 3,
     .zero_x = 5},
    {.name = "odd_channels", .c = 13, .h = 5, .o = 24, .k = 3, .pad = 1, .zero_x = 77, .zero_y = 3},
    {.name = "one_channel", .c = 1, .h = 6, .o = 8, .k = 5, .pad = 2, .zero_x = 9},
    {.name = "results_without_blocks", .c = 8, .h = 5, .o = 10, .k = 3, .pad = 1, .zero_x = 40},
    {.name = "one_cell", .c = 40, .h = 1, .o = 16, .zero_x = 200},
    {.name = "no_images", .n = 0, .c = 16, .h = 4, .o = 16},
    {.name = "signed_operand",
     .c = 16,
     .h = 6,
     .o = 16,
     .k = 3,
     .pad = 1,
     .zero_x = -5,
     .zero_y = 90,
     .is_signed = true},
    {.name = "relu_above_a_zero_point", .c = 8, .zero_x = 3, .zero_y = 40, .function = "relu"},
    {.name = "clip", .c = 32, .o = 24, .zero_y = 10, .function = "clip"},
    {.name = "largest_products",
     .c = 512,
     .h = 4,
     .o = 16,
     .k = 3,
     .pad = 1,
     .zero_x = 0,
     .is_extreme = true,
     .on_all = true},
    {.name = "channels_by_themselves",
     .c = 32,
     .h = 11,
     .o = 32,
     .k = 3,
     .pad = 1,
     .zero_x = 128,
     .zero_y = 12,
     .on_all = true,
     .group = 32},
    {.name = "channels_by_themselves_with_strides",
     .n = 2,
     .c = 48,
     .h = 12,
     .o = 48,
     .k = 5,
     .stride = 2,
     .pad = 2,
     .zero_x = 3,
     .function = "relu",
     .group = 48},
    {.name = "odd_channels_by_themselves",
     .c = 13,
     .h = 6,
     .o = 13,
     .k = 3,
     .zero_x = 9,
     .group = 13},
    {.name = "two_channels_of_each", .c = 8, .h = 6, .o = 16, .k = 3, .pad = 1, .group = 8},
    {.name = "weights_with_a_zero_point",
     .c = 16,
     .h = 5,
     .o = 16,
     .k = 3,
     .zero_x = 30,
     .zero_w = 128},
    {.name = "product",
     .n = 9,
     .c = 130,
     .h = 0,
     .o = 70,
     .zero_x = 17,
     .zero_y = 128,
     .on_all = true},
    {.name = "product_of_whole_panels",
     .n = 5,
     .c = 64,
     .h = 0,
     .o = 64,
     .zero_x = 200,
     .function = "relu"},
    {.name = "product_of_tiles", .n = 37, .c = 192, .h = 0, .o = 64, .zero_x = 9, .on_all = true},
    {.name = "product_of_more_tiles_than_a_block", .n = 161, .c = 1100, .h = 0, .o = 96},
    {.name = "product_of_parts_of_tiles",
     .n = 19,
     .c = 77,
     .h = 0,
     .o = 50,
     .zero_x = -3,
     .is_signed = true},
    {.name = "largest_products_of_tiles",
     .n = 8,
     .c = 4096,
     .h = 0,
     .o = 32,
     .is_extreme = true,
     .on_all = true},
    {.name = "product_of_one_row", .n = 1, .c = 96, .h = 0, .o = 128, .zero_x = 1, .zero_y = 100},
    {.name = "product_of_few_columns",
     .n = 3,
     .c = 7,
     .h = 0,
     .o = 3,
     .zero_x = 90,
     .is_signed = true},
};

constexpr float kScaleX = 0.0173f;

// The data of a case, and its results by definition.
class Product {
 public:
  explicit Product(const LlvmIntegerCase& t) : t_(t) {
    std::mt19937 random(3);
    auto fill = [&](std::vector<int>& to, int64_t count, int low, int high) {
      for (int64_t k = 0; k < count; ++k)
        to.push_back(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
    };
    fill(x_, t.n * t.c * t.cells(),
         t.is_signed    ? -128
         : t.is_extreme ? 255
                        : 0,
         t.is_signed ? 127 : 255);
    fill(w_, t.o * t.terms(), -128, t.is_extreme ? -128 : 127);
    fill(bias_, t.o, -3000, 3000);
    for (int64_t o = 0; o < t.o; ++o) scales_.push_back(0.0071f * static_cast<float>(1 + o % 3));
    const float terms = static_cast<float>(t.terms());
    y_scale_ = t.is_extreme ? terms * 2 : std::sqrt(terms) * 0.25f;
  }
  std::string text() const;
  Tensor input() const;
  std::vector<int> expected() const;

 private:
  int64_t sum(int64_t n, int64_t o, int64_t row, int64_t column) const;
  const LlvmIntegerCase t_;
  std::vector<int> x_, w_, bias_;
  std::vector<float> scales_;
  float y_scale_ = 1;
};

std::string float_digits(float value) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
  return std::string(text).find_first_of(".e") == std::string::npos ? cat(text, ".0") : text;
}

template <class T, class Print>
std::string printed_list(const std::vector<T>& values, Print&& print) {
  std::string out;
  for (const T& value : values) out += cat(out.empty() ? "" : ",", print(value));
  return out;
}

std::string Product::text() const {
  const std::string type = t_.is_signed ? "i8" : "u8", h = cat(t_.h), k = cat(t_.k);
  const std::string x = t_.is_conv() ? cat("[", t_.n, ",", t_.c, ",", h, ",", h, "]")
                                     : cat("[", t_.n, ",", t_.c, "]");
  const std::string w = t_.is_conv() ? cat("[", t_.o, ",", t_.c / t_.group, ",", k, ",", k, "]")
                                     : cat("[", t_.o, ",", t_.c, "]");
  const std::string pads = cat("[", t_.pad, ",", t_.pad, ",", t_.pad, ",", t_.pad, "]");
  const std::string op = t_.is_conv() ? cat("conv2d(%fx, %fw) {pads=", pads, ", strides=[",
                                            t_.stride, ",", t_.stride, "], group=", t_.group, "}")
                                      : std::string("gemm(%fx, %fw) {trans_b=true}");
  auto whole = [](int value) { return std::to_string(value); };
  std::vector<int> stored = w_;
  for (int& weight : stored) weight += t_.zero_w;
  std::vector<float> bias;
  for (size_t o = 0; o < bias_.size(); ++o)
    bias.push_back(static_cast<float>(bias_[o]) * (kScaleX * scales_[o]));
  const std::string w_type = t_.zero_w != 0 ? "u8" : "i8";
  const std::string zeros = printed_list(std::vector<int>(scales_.size(), t_.zero_w), whole);
  const std::string last = t_.function.empty() ? "%b" : "%f";
  return cat("fn main(%x: ", type, x, ") {\n  %sx = const(", float_digits(kScaleX),
             ") : f32[]\n  %zx = const(", t_.zero_x, ") : ", type, "[]\n  %w = const([",
             printed_list(stored, whole), "]) : ", w_type, w, "\n  %sw = const([",
             printed_list(scales_, float_digits), "]) : f32[", t_.o, "]\n  %zw = const([", zeros,
             "]) : ", w_type, "[", t_.o, "]\n  %bias = const([", printed_list(bias, float_digits),
             "]) : f32[", t_.o, t_.is_conv() ? ",1,1" : "", "]\n  %sy = const(",
             float_digits(y_scale_), ") : f32[]\n  %zy = const(", t_.zero_y,
             ") : u8[]\n  %fx = dequantize(%x, %sx, %zx)\n  %fw = dequantize(%w, %sw",
             t_.zero_w != 0 ? ", %zw" : "", ") {axis=0}\n  %p = ", op, "\n  %b = add(%p, %bias)\n",
             t_.function == "relu"   ? "  %f = relu(%b)\n"
             : t_.function == "clip" ? "  %f = clip(%b) {min=-2.0, max=9.5}\n"
                                     : "",
             "  %y = quantize(", last, ", %sy, %zy)\n  return %y }\n");
}

Tensor Product::input() const {
  std::vector<int64_t> dims = {t_.n, t_.c};
  if (t_.is_conv()) dims.insert(dims.end(), {t_.h, t_.h});
  Result<Tensor> out = Tensor::make({t_.is_signed ? DType::kI8 : DType::kU8, dims});
  EXPECT_TRUE(out.ok()) << out.status().to_string();
  auto* bytes = static_cast<uint8_t*>(static_cast<void*>(out->data()));
  for (size_t k = 0; k < x_.size(); ++k) bytes[k] = static_cast<uint8_t>(x_[k]);
  return *std::move(out);
}

int64_t Product::sum(int64_t n, int64_t o, int64_t row, int64_t column) const {
  int64_t out = 0;
  const int64_t first = o / (t_.o / t_.group) * (t_.c / t_.group);
  for (int64_t k = 0; k < t_.c / t_.group; ++k) {
    const int64_t c = first + k;
    for (int64_t tap = 0; tap < t_.k * t_.k; ++tap) {
      const int64_t i = row * t_.stride + tap / t_.k - t_.pad,
                    j = column * t_.stride + tap % t_.k - t_.pad;
      const int64_t h = std::max<int64_t>(t_.h, 1);
      if (i < 0 || j < 0 || i >= h || j >= h) continue;
      const int x = x_[static_cast<size_t>(((n * t_.c + c) * h + i) * h + j)];
      out +=
          int64_t{x - t_.zero_x} * w_[static_cast<size_t>(o * t_.terms() + k * t_.k * t_.k + tap)];
    }
  }
  return out;
}

// The scales are multiplied in f32 and divided by the result's; the sum is rounded to f32 once.
std::vector<int> Product::expected() const {
  std::vector<int> out;
  for (int64_t n = 0; n < t_.n; ++n) {
    for (int64_t o = 0; o < t_.o; ++o) {
      const auto channel = static_cast<size_t>(o);
      const float factor = kScaleX * scales_[channel] / y_scale_;
      for (int64_t cell = 0; cell < t_.out() * t_.out(); ++cell) {
        const int64_t whole = sum(n, o, cell / t_.out(), cell % t_.out()) + bias_[channel];
        float steps = std::nearbyint(static_cast<float>(static_cast<int32_t>(whole)) * factor);
        if (t_.function == "relu") steps = std::max(steps, 0.0f);
        if (t_.function == "clip")
          steps = std::min(std::max(steps, std::nearbyint(-2.0f / y_scale_)),
                           std::nearbyint(9.5f / y_scale_));
        out.push_back(
            static_cast<int>(std::clamp(steps + static_cast<float>(t_.zero_y), 0.0f, 255.0f)));
      }
    }
  }
  return out;
}

// The kinds of processor whose code runs here, all of them or two.
std::vector<std::string> targets_here(bool all) {
  std::vector<std::string> out;
  const te::Target here = *te::parse_target("native");
  const std::vector<std::string> names =
      all ? std::vector<std::string>{"x86-64-v2", "x86-64-v3+avxvnni",    "x86-64-v4",
                                     "x86-64-v3", "x86-64-v4+avx512vnni", "native"}
          : std::vector<std::string>{"x86-64-v3", "native"};
  for (const std::string& name : names) {
    const te::Target target = *te::parse_target(name);
    const bool runs = target.arch == here.arch &&
                      std::ranges::all_of(target.features, [&](const std::string& feature) {
                        return here.has(feature);
                      });
    if (runs) out.push_back(te::print(target));
  }
  return out;
}

class LlvmIntegers : public ::testing::TestWithParam<LlvmIntegerCase> {
 protected:
  void SetUp() override {
    if (plugins_->find("llvm") == nullptr) GTEST_SKIP() << "the llvm plugin is not built";
  }
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
};

TEST_P(LlvmIntegers, AreThoseOfTheDefinition) {
  const Product product(GetParam());
  const IRModule module = parse(product.text());
  const std::vector<int> right = product.expected();
  std::vector<Tensor> inputs;
  inputs.push_back(product.input());
  for (const std::string& target : targets_here(GetParam().on_all)) {
    BuildOptions options;
    options.plugins = plugins_;
    options.compilers = {"llvm"};
    options.target_json = target;
    Result<Executable> built = build(module, options);
    ASSERT_TRUE(built.ok()) << built.status().to_string();
    std::vector<Tensor> outputs = execute(*built, plugins_, inputs);
    ASSERT_EQ(outputs[0].size_bytes(), right.size());
    const auto* y = static_cast<const uint8_t*>(static_cast<const void*>(outputs[0].data()));
    for (size_t k = 0; k < right.size(); ++k)
      ASSERT_EQ(y[k], right[k]) << "element " << k << ", " << target;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LlvmIntegers, ::testing::ValuesIn(kLlvmIntegerCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace byoc::test
