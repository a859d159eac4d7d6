// SPDX-License-Identifier: Apache-2.0
// Interpolation between integers, against ONNX Runtime 1.32. Most exact results are in sixteenths
// of a step, so that one in sixteen is a tie: the roundings of the sum decide.
#include <gtest/gtest.h>

#include <cstring>

#include "programs.h"

namespace byoc::test {
namespace {

using Compilers = std::vector<std::string>;

struct Case {
  const char* name;
  Ints dims;                   // of one channel
  std::vector<uint8_t> right;  // ONNX Runtime's, without optimisations and with them
};

const Case kCases[] = {
    {"Signal",
     {9},
     {11, 20, 39, 57, 76, 94, 113, 131, 150, 168, 187, 205, 224, 178, 69, 23, 42, 51}},
    {"Image",
     {6, 6},
     {11,  20,  39,  57,  76,  94,  113, 131, 150, 168, 187, 196, 66,  60,  46,  49,  67,  86,
      104, 123, 141, 160, 178, 188, 178, 139, 61,  32,  50,  69,  87,  106, 124, 143, 161, 170,
      224, 186, 108, 63,  49,  52,  70,  89,  107, 126, 144, 153, 208, 201, 187, 142, 64,  35,
      53,  72,  90,  109, 127, 136, 190, 200, 218, 189, 111, 66,  52,  55,  73,  92,  110, 119,
      174, 183, 201, 204, 190, 145, 67,  38,  56,  75,  93,  102, 157, 166, 184, 203, 221, 192,
      114, 69,  55,  58,  76,  86,  139, 149, 167, 186, 204, 207, 193, 148, 70,  41,  59,  68,
      122, 132, 150, 169, 187, 206, 224, 195, 117, 72,  58,  52,  106, 115, 133, 152, 170, 189,
      207, 210, 196, 151, 73,  34,  97,  106, 125, 143, 162, 180, 199, 217, 236, 190, 81,  26}},
    {"Volume",
     {3, 3, 3},
     {11,  20,  39,  57,  76,  85,  39,  48,  67,  85,  104, 113, 94,  104, 122, 140, 159, 168,
      150, 143, 130, 132, 150, 160, 205, 166, 89,  59,  78,  87,  233, 178, 69,  23,  42,  51,
      30,  40,  58,  76,  95,  104, 58,  67,  86,  100, 111, 116, 114, 123, 141, 148, 142, 140,
      153, 150, 145, 139, 134, 131, 176, 150, 96,  75,  85,  90,  188, 150, 72,  42,  61,  70,
      69,  78,  96,  115, 134, 143, 96,  106, 124, 131, 125, 123, 152, 161, 180, 162, 109, 82,
      160, 165, 175, 154, 100, 74,  119, 116, 111, 105, 100, 97,  99,  92,  78,  81,  100, 109,
      107, 117, 135, 154, 172, 181, 119, 128, 147, 153, 148, 145, 143, 152, 170, 153, 99,  72,
      134, 143, 162, 144, 91,  64,  94,  103, 121, 128, 122, 120, 73,  82,  101, 120, 138, 147,
      146, 155, 174, 192, 210, 220, 126, 135, 153, 168, 178, 184, 85,  94,  113, 119, 114, 111,
      76,  86,  104, 111, 105, 102, 100, 109, 128, 142, 153, 158, 112, 121, 140, 158, 176, 186,
      165, 174, 193, 211, 230, 239, 129, 138, 156, 175, 194, 203, 56,  66,  84,  102, 121, 130,
      48,  57,  76,  94,  112, 122, 103, 112, 131, 150, 168, 177, 131, 140, 159, 177, 196, 205}}};

/// Returns `cells` once per channel.
std::vector<uint8_t> repeated(const std::vector<uint8_t>& cells, int64_t channels) {
  std::vector<uint8_t> out;
  for (int64_t c = 0; c < channels; ++c) out.insert(out.end(), cells.begin(), cells.end());
  return out;
}

/// Returns a model of `c` equal channels; `before` is an op between dequantize and resize.
std::string model_of(const Case& test, int64_t channels, const std::string& before) {
  std::string dims = cat("1,", channels), scales = "1,1";
  for (int64_t extent : test.dims) {
    dims += cat(",", extent);
    scales += ",2";
  }
  return cat("fn main(%x: u8[", dims, "]) {\n %s = const(0.01986839) : f32[]\n",
             " %z = const(0) : u8[]\n %0 = dequantize(%x, %s, %z)\n %1 = ", before,
             "\n %2 = resize(%1) {mode=\"linear\", scales=[", scales, "]}\n",
             " %3 = quantize(%2, %s, %z)\n return %3 }");
}

void expect_right(const Case& test, int64_t channels, const std::string& before,
                  const Compilers& compilers) {
  auto plugins = built_plugins();
  int64_t count = 1;
  for (int64_t extent : test.dims) count *= extent;
  std::vector<uint8_t> cells;
  for (int64_t k = 0; k < count; ++k) cells.push_back(static_cast<uint8_t>(k * 37 + 11));
  Ints dims{1, channels};
  dims.insert(dims.end(), test.dims.begin(), test.dims.end());
  Result<Tensor> x = Tensor::make({DType::kU8, dims});
  ASSERT_TRUE(x.ok());
  const std::vector<uint8_t> all = repeated(cells, channels);
  std::memcpy(x->data(), all.data(), all.size());
  std::vector<Tensor> in;
  in.push_back(*std::move(x));
  const Executable executable =
      built_by(plugins, parse(model_of(test, channels, before)), compilers, 2);
  const std::vector<Tensor> outputs = execute(executable, plugins, in);
  const Tensor& out = outputs[0];
  auto* got = reinterpret_cast<const uint8_t*>(out.data());
  const std::vector<uint8_t> right = repeated(test.right, channels);
  ASSERT_EQ(static_cast<size_t>(out.size_bytes()), right.size());
  for (size_t k = 0; k < right.size(); ++k) ASSERT_EQ(got[k], right[k]) << "element " << k;
}

void require(const Compilers& compilers) {
  for (const std::string& compiler : compilers) {
    if (!built_plugins()->find(compiler)) GTEST_SKIP() << compiler << " is not built";
  }
}

class QuantisedResize : public ::testing::TestWithParam<std::tuple<Case, Compilers>> {
 protected:
  void SetUp() override { require(std::get<1>(GetParam())); }
};

TEST_P(QuantisedResize, RoundsAsOnnxRuntimeDoes) {
  const auto& [test, compilers] = GetParam();
  expect_right(test, 2, "identity(%0)", compilers);
}

class QuantisedResizeInBlocks : public ::testing::TestWithParam<Compilers> {
 protected:
  void SetUp() override { require(GetParam()); }
};

// A pool brings images to blocks of channels in onednn.
TEST_P(QuantisedResizeInBlocks, RoundsAsOnnxRuntimeDoes) {
  expect_right(kCases[1], 16, "max_pool(%0) {kernel_shape=[1,1]}", GetParam());
}

const Compilers kCompilers[] = {{"json"}, {"llvm"}, {"onednn", "llvm"}};

std::string name_of(const Compilers& compilers) {
  std::string name = compilers[0];
  for (size_t k = 1; k < compilers.size(); ++k) name += "_" + compilers[k];
  return name;
}

INSTANTIATE_TEST_SUITE_P(Plugins, QuantisedResize,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::ValuesIn(kCompilers)),
                         [](const auto& info) {
                           return cat(std::get<0>(info.param).name, "_",
                                      name_of(std::get<1>(info.param)));
                         });
INSTANTIATE_TEST_SUITE_P(Plugins, QuantisedResizeInBlocks, ::testing::ValuesIn(kCompilers),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace byoc::test
