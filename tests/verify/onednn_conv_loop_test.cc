// SPDX-License-Identifier: Apache-2.0
// Convolutions of images in blocks of channels, which onednn runs by a loop of its own on AVX2:
// whole numbers, so that the sums are exact in any order, against the definition (ONNX's Conv).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "onednn_names.h"
#include "programs.h"

namespace byoc::test {
namespace {

struct Conv {
  const char* name;
  int64_t images, channels, results, height, width, kernel_h, kernel_w;
  int64_t pads[4] = {0, 0, 0, 0};  // top, left, bottom, right
  int64_t strides[2] = {1, 1}, dilations[2] = {1, 1};
  bool has_bias = true, has_residual = false, has_relu = true;

  int64_t out_h() const { return out(height, kernel_h, 0); }
  int64_t out_w() const { return out(width, kernel_w, 1); }

 private:
  int64_t out(int64_t in, int64_t kernel, int d) const {
    return (in + pads[d] + pads[d + 2] - dilations[d] * (kernel - 1) - 1) / strides[d] + 1;
  }
};

void PrintTo(const Conv& c, std::ostream* to) { *to << c.name; }

const Conv kConvs[] = {
    {"width_1", 1, 8, 32, 5, 1, 3, 3, {1, 1, 1, 1}},
    {"width_2", 1, 8, 32, 5, 2, 3, 3, {1, 1, 1, 1}},
    {"width_3", 1, 8, 32, 5, 3, 3, 3, {1, 1, 1, 1}},
    {"width_4", 1, 8, 32, 5, 4, 3, 3, {1, 1, 1, 1}},
    {"width_5", 1, 8, 32, 5, 5, 3, 3, {1, 1, 1, 1}},
    {"width_6", 1, 8, 32, 1, 6, 3, 3, {1, 1, 1, 1}},
    {"width_7", 1, 8, 32, 7, 7, 3, 3, {1, 1, 1, 1}},
    {"width_8", 1, 8, 32, 2, 8, 3, 3, {1, 1, 1, 1}},
    {"width_13", 1, 16, 32, 3, 13, 3, 3, {1, 1, 1, 1}},
    {"no_padding", 1, 8, 32, 6, 9, 3, 3},
    {"one_result", 1, 8, 32, 3, 3, 3, 3},
    {"many_channels", 1, 40, 96, 4, 11, 3, 3, {1, 1, 1, 1}},
    {"three_images", 3, 16, 64, 5, 7, 3, 3, {1, 1, 1, 1}},
    {"tall", 1, 8, 32, 71, 5, 3, 3, {1, 1, 1, 1}},
    {"asymmetric", 1, 8, 32, 6, 10, 3, 3, {0, 2, 1, 0}},
    {"all_at_the_right", 1, 8, 32, 5, 6, 3, 3, {0, 0, 2, 2}},
    {"stride_2", 1, 8, 32, 9, 11, 3, 3, {1, 1, 1, 1}, {2, 2}},
    {"stride_2_even", 1, 8, 32, 8, 12, 3, 3, {0, 0, 1, 1}, {2, 2}},
    {"strides_3_and_1", 1, 8, 32, 10, 9, 3, 3, {1, 1, 1, 1}, {3, 1}},
    {"strides_1_and_3", 1, 8, 32, 4, 17, 5, 5, {2, 2, 2, 2}, {1, 3}},
    {"dilations_2_and_3", 1, 8, 32, 9, 13, 3, 3, {2, 3, 2, 3}, {1, 1}, {2, 3}},
    {"dilated_and_strided", 1, 8, 32, 9, 13, 3, 3, {2, 2, 2, 2}, {2, 2}, {2, 2}},
    {"kernel_5", 1, 8, 32, 6, 7, 5, 5, {2, 2, 2, 2}},
    {"kernel_1_by_7", 1, 8, 32, 5, 17, 1, 7, {0, 3, 0, 3}},
    {"kernel_7_by_1", 1, 8, 32, 17, 5, 7, 1, {3, 0, 3, 0}},
    {"kernel_beyond_the_image", 1, 8, 32, 4, 4, 7, 7, {3, 3, 3, 3}},
    {"without_bias", 1, 16, 32, 5, 8, 3, 3, {1, 1, 1, 1}, {1, 1}, {1, 1}, false},
    {"without_relu", 1, 16, 32, 5, 8, 3, 3, {1, 1, 1, 1}, {1, 1}, {1, 1}, true, false, false},
    {"bare", 1, 16, 32, 5, 8, 3, 3, {1, 1, 1, 1}, {1, 1}, {1, 1}, false, false, false},
    {"residual", 1, 16, 32, 5, 8, 3, 3, {1, 1, 1, 1}, {1, 1}, {1, 1}, true, true},
    {"residual_alone", 2, 16, 32, 5, 8, 3, 3, {1, 1, 1, 1}, {1, 1}, {1, 1}, false, true, false},
};

/// Returns small whole numbers, of both signs.
std::vector<float> whole_numbers(int64_t count, uint64_t seed) {
  std::vector<float> out;
  for (int64_t k = 0; k < count; ++k) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    out.push_back(static_cast<float>(static_cast<int64_t>(seed >> 33) % 9 - 4));
  }
  return out;
}

struct Operands {
  std::vector<float> x, w, bias, residual;
};
Operands operands_of(const Conv& c) {
  return {whole_numbers(c.images * c.channels * c.height * c.width, 1),
          whole_numbers(c.results * c.channels * c.kernel_h * c.kernel_w, 2),
          whole_numbers(c.results, 3),
          whole_numbers(c.images * c.results * c.out_h() * c.out_w(), 4)};
}

/// Returns the sum over the taps inside the image, where the result's cell (h, w) begins
/// at (top, left).
double sum_at(const Conv& c, const Operands& all, int64_t image, int64_t result, int64_t top,
              int64_t left) {
  double sum = 0;
  for (int64_t ch = 0; ch < c.channels; ++ch) {
    for (int64_t i = 0; i < c.kernel_h; ++i) {
      for (int64_t j = 0; j < c.kernel_w; ++j) {
        int64_t h = top + i * c.dilations[0], w = left + j * c.dilations[1];
        if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
        auto x = static_cast<size_t>(((image * c.channels + ch) * c.height + h) * c.width + w);
        auto k =
            static_cast<size_t>(((result * c.channels + ch) * c.kernel_h + i) * c.kernel_w + j);
        sum += static_cast<double>(all.x[x]) * static_cast<double>(all.w[k]);
      }
    }
  }
  return sum;
}

std::vector<float> expected(const Conv& c, const Operands& all) {
  std::vector<float> out;
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t o = 0; o < c.results; ++o) {
      for (int64_t cell = 0; cell < c.out_h() * c.out_w(); ++cell) {
        double sum = sum_at(c, all, n, o, cell / c.out_w() * c.strides[0] - c.pads[0],
                            cell % c.out_w() * c.strides[1] - c.pads[1]);
        if (c.has_bias) sum += static_cast<double>(all.bias[static_cast<size_t>(o)]);
        if (c.has_residual) sum += static_cast<double>(all.residual[out.size()]);
        out.push_back(static_cast<float>(c.has_relu && sum < 0 ? 0 : sum));
      }
    }
  }
  return out;
}

std::string listed(const int64_t* values, int count) {
  std::string out;
  for (int k = 0; k < count; ++k) out += (k > 0 ? "," : "") + std::to_string(values[k]);
  return out;
}

/// Returns relu(conv(x, v) + bias + r * r): the residual is made in the region, and so summed
/// to in place.
std::string text_of(const Conv& c, const Operands& all) {
  std::string bias;
  for (float b : all.bias) bias += (bias.empty() ? "" : ",") + std::to_string(b);
  TensorSpec out{DType::kF32, {c.images, c.results, c.out_h(), c.out_w()}};
  std::string text =
      cat("fn main(%x: ", TensorSpec{DType::kF32, {c.images, c.channels, c.height, c.width}},
          ", %v: ", TensorSpec{DType::kF32, {c.results, c.channels, c.kernel_h, c.kernel_w}});
  if (c.has_residual) text += cat(", %r: ", out);
  text += cat(") {\n  %b = const([", bias, "]) : f32[", c.results, ",1,1]\n");
  if (c.has_residual) text += "  %m = multiply(%r, %r)\n";
  text += cat("  %0 = conv2d(%x, %v) {pads=[", listed(c.pads, 4), "], strides=[",
              listed(c.strides, 2), "], dilations=[", listed(c.dilations, 2), "]}\n");
  std::string last = "%0";
  auto add = [&](const char* name, const std::string& op, const char* other) {
    text += cat("  %", name, " = ", op, "(", last, other, ")\n");
    last = cat("%", name);
  };
  if (c.has_bias) add("1", "add", ", %b");
  if (c.has_residual) add("2", "add", ", %m");
  if (c.has_relu) add("3", "relu", "");
  return cat(text, "  return ", last, "\n}");
}

class OnednnConvLoop : public testing::TestWithParam<Conv> {
 protected:
  Operands operands_ = operands_of(GetParam());
  std::shared_ptr<const PluginSet> plugins_ = built_plugins();
  Executable onednn_ = built_by(plugins_, parse(text_of(GetParam(), operands_)), {"onednn"}, 2);

  std::vector<Tensor> inputs() const {
    const Conv& c = GetParam();
    std::vector<Tensor> out;
    out.push_back(tensor_f32({c.images, c.channels, c.height, c.width}, operands_.x));
    out.push_back(tensor_f32({c.results, c.channels, c.kernel_h, c.kernel_w}, operands_.w));
    if (c.has_residual)
      out.push_back(tensor_f32({c.images, c.results, c.out_h(), c.out_w()}, operands_.residual));
    return out;
  }
  std::vector<float> right() const {
    Operands squared = operands_;
    for (float& r : squared.residual) r *= r;
    return expected(GetParam(), squared);
  }
};

TEST_P(OnednnConvLoop, GivesTheSums) {
  EXPECT_EQ(floats(execute(onednn_, plugins_, inputs())[0]), right());
}

TEST_P(OnednnConvLoop, GivesThemByThreeThreads) {
  EXPECT_EQ(floats(execute(onednn_, plugins_, inputs(), 1, 3)[0]), right());
}

// The loop runs instead of oneDNN's kernel for AVX2.
TEST_P(OnednnConvLoop, IsWhatRuns) {
  ASSERT_EQ(onednn_.modules.size(), 1u);
  for (const std::string& name : onednn_names(onednn_))
    EXPECT_FALSE(onednn::is_blocked_convolution_avx2(name)) << name;
  EXPECT_THAT(unknown_names(onednn_), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Shapes, OnednnConvLoop, testing::ValuesIn(kConvs),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace byoc::test
