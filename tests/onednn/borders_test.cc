// SPDX-License-Identifier: Apache-2.0
// Regions whose operand comes in blocks of 16 channels and whose result leaves so: the changes of
// layout that remain in them, and their values beside plain loops.
#include <gmock/gmock.h>
#include <cstdlib>

#include "byoc/pass/passes.h"
#include "plugins/onednn/library/implementations.h"
#include "support/flow.h"

namespace byoc::test {
namespace {

constexpr int64_t kBlock = 16, kSide = 5;

// A convolution of f32[1,c,5,5] with "same" padding; one channel a group when `is_depthwise`.
struct Conv {
  int64_t c, o, kernel;
  bool is_depthwise = false;
  int64_t per_group() const { return is_depthwise ? 1 : c; }
};

// Returns the place of a cell in [1, channels / 16, 5, 5, 16].
size_t place(int64_t channel, int64_t y, int64_t x) {
  return static_cast<size_t>(((channel / kBlock * kSide + y) * kSide + x) * kBlock +
                             channel % kBlock);
}

std::vector<float> values(int64_t count, float scale) {
  std::vector<float> out;
  for (int64_t k = 0; k < count; ++k) out.push_back(scale * static_cast<float>((k * 37) % 23 - 11));
  return out;
}

std::vector<float> plain_loops(const Conv& conv, const std::vector<float>& image,
                               const std::vector<float>& weights) {
  std::vector<float> out(static_cast<size_t>(conv.o * kSide * kSide));
  const int64_t pad = conv.kernel / 2, n = conv.per_group();
  for (int64_t o = 0; o < conv.o; ++o)
    for (int64_t y = 0; y < kSide; ++y)
      for (int64_t x = 0; x < kSide; ++x) {
        double sum = 0;
        for (int64_t c = 0; c < n; ++c)
          for (int64_t i = 0; i < conv.kernel; ++i)
            for (int64_t j = 0; j < conv.kernel; ++j) {
              const int64_t yy = y + i - pad, xx = x + j - pad;
              if (yy < 0 || xx < 0 || yy >= kSide || xx >= kSide) continue;
              sum +=
                  double{image[place(conv.is_depthwise ? o : c, yy, xx)]} *
                  weights[static_cast<size_t>(((o * n + c) * conv.kernel + i) * conv.kernel + j)];
            }
        out[place(o, y, x)] = static_cast<float>(std::max(sum, 0.0));
      }
  return out;
}

// Compiles the convolution with relu as one region, compares values, and returns its kernels.
std::string kernels_of(const Conv& conv) {
  const std::string text = cat(
      "fn main(%x: f32[1,", conv.c / kBlock, ",5,5,16], %w: f32[", conv.o, ",", conv.per_group(),
      ",", conv.kernel, ",", conv.kernel, "]) {\n",
      "%0 = layout_transform(%x) {src_layout=\"NCHW16c\", dst_layout=\"NCHW\"}\n",
      "%1 = conv2d(%0, %w) {pads=[", conv.kernel / 2, ",", conv.kernel / 2, ",", conv.kernel / 2,
      ",", conv.kernel / 2, "], group=", conv.is_depthwise ? conv.c : 1, "}\n", "%2 = relu(%1)\n",
      "%3 = layout_transform(%2) {src_layout=\"NCHW\", dst_layout=\"NCHW16c\"}\nreturn %3 }");
  const auto weights = values(conv.o * conv.per_group() * conv.kernel * conv.kernel, 0.03125f);
  const auto image = values(conv.c * kSide * kSide, 0.0625f);
  IRModule given = parse(text);
  const TensorType type = *given.function("main").nodes[1].types[0];
  std::map<std::string, BoundTensor> bound;
  bound["w"] = {type, Buffer::copy({reinterpret_cast<const std::byte*>(weights.data()),
                                    weights.size() * sizeof(float)})};
  auto module = bind_params(std::move(given), bound, PassContext());
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  BuildOptions options;
  options.plugins = built_plugins();
  options.compilers = {"onednn", "json"};
  options.threads = 1;
  Result<Executable> executable = build(*module, options);
  EXPECT_TRUE(executable.ok()) << executable.status().to_string();
  EXPECT_EQ(executable->program.steps.size(), 1u);
  std::vector<Tensor> inputs, expected;
  inputs.push_back(tensor_f32({1, conv.c / kBlock, kSide, kSide, kBlock}, image));
  expected.push_back(
      tensor_f32({1, conv.o / kBlock, kSide, kSide, kBlock}, plain_loops(conv, image, weights)));
  expect_close(execute(*executable, built_plugins(), inputs), expected);
  EXPECT_EQ(executable->modules[0].plugin, "onednn");
  return executable->modules[0].functions[0].implementation;
}

class OnednnBorders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "blocks of 16 are AVX-512's";
    ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", 1);  // with AMX it prefers kernels without blocks
  }
};
using testing::HasSubstr;
using testing::Not;

TEST_F(OnednnBorders, ConvolutionsOfOneByOneStayInBlocks) {
  EXPECT_THAT(kernels_of({32, 48, 1}), Not(HasSubstr(onednn::kReorderStep)));
}

TEST_F(OnednnBorders, DepthwiseConvolutionsStayInBlocks) {
  EXPECT_THAT(kernels_of({32, 32, 3, true}), Not(HasSubstr(onednn::kReorderStep)));
}

// The last reorder writes into the output: no copy follows.
TEST_F(OnednnBorders, OtherConvolutionsChangeTheLayoutOncePerSide) {
  EXPECT_THAT(kernels_of({32, 48, 3}), Not(HasSubstr("reorder x3")));
}

}  // namespace
}  // namespace byoc::test
