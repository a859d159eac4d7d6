// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "support/temp_folder.h"

namespace byoc::cli {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const T* data = reinterpret_cast<const T*>(tensor.data());
  return {data, data + tensor.size_bytes() / sizeof(T)};
}

Result<Tensor> value(const std::string& text, const TensorSpec* expected = nullptr) {
  return parse_value(text, expected, 0, npy_reader());
}

TEST(Values, ATypeAndNumbersMakeATensor) {
  EXPECT_THAT(elements<float>(*value("f32[3]=1,2.5,-3e2")), ElementsAre(1, 2.5, -300));
  EXPECT_THAT(elements<float>(*value("f32[2,2]=0.5")), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(elements<int64_t>(*value("i64[]=-7")), ElementsAre(-7));
  EXPECT_THAT(elements<uint8_t>(*value("bool[2]=1,0")), ElementsAre(1, 0));
  EXPECT_THAT(elements<uint64_t>(*value("u64[]=18446744073709551615")), ElementsAre(UINT64_MAX));
  EXPECT_EQ(value("f32[0,3]=0")->size_bytes(), 0u);
}

TEST(Values, HalvesAreRoundedAsIeeeSays) {  // bit patterns: numpy.float16
  EXPECT_THAT(elements<uint16_t>(*value("f16[4]=1.5,-2,65504,1e-7")),
              ElementsAre(0x3e00, 0xc000, 0x7bff, 0x0002));
  EXPECT_THAT(elements<uint16_t>(*value("bf16[2]=1,-2.5")), ElementsAre(0x3f80, 0xc020));
}

TEST(Values, ATypeAloneIsRandomAndTheWantedTypeNeedNotBeSaid) {
  TensorSpec expected{DType::kI32, {2}};
  auto random = Tensor::make({DType::kF32, {2, 3}});
  fill_random(*random, 0);
  EXPECT_EQ(std::memcmp(value("f32[2,3]")->data(), random->data(), 24), 0);
  EXPECT_THAT(elements<int32_t>(*value("zeros", &expected)), ElementsAre(0, 0));
  EXPECT_THAT(elements<int32_t>(*value("4,5", &expected)), ElementsAre(4, 5));
  EXPECT_EQ(value("random", &expected)->spec(), expected);
}

TEST(Values, RandomIntegersAreMasksAndIndicesOfTablesWithTwoRows) {
  auto zeros_and_ones = AllOf(Each(AnyOf(0, 1)), Contains(0), Contains(1));
  EXPECT_THAT(elements<int64_t>(*value("i64[100]")), zeros_and_ones);
  EXPECT_THAT(elements<int32_t>(*value("i32[100]")), zeros_and_ones);
  EXPECT_THAT(elements<uint8_t>(*value("u8[100]")), Contains(testing::Gt(1)));
}

TEST(Values, SayWhatIsWrong) {
  EXPECT_THAT(value("f32[3]=1,2").status().to_string(),
              HasSubstr("error[input-value]: 2 elements given, f32[3] has 3"));
  EXPECT_THAT(value("u8[]=256").status().message(), HasSubstr("\"256\" is no number of type u8"));
  EXPECT_THAT(value("i32[2]=1,").status().message(), HasSubstr("\"\" is no number"));
  EXPECT_THAT(value("zeros").status().message(), HasSubstr("has no type"));
  TensorSpec expected{DType::kF32, {1}};
  EXPECT_THAT(value("a.png", &expected).status().message(),
              HasSubstr("\"a.png\" is not a readable file, not a type"));
  EXPECT_THAT(value("/nowhere/a.npy", &expected).status().message(), HasSubstr("No such file"));
}

TEST(SplitBinding, KnowsNamesWithEqualSignsAndValuesWithout) {
  std::vector<std::string> names{"x", "a=b:0"};
  EXPECT_THAT(split_binding("x=f32[2]=1,2", names), Pair("x", "f32[2]=1,2"));
  EXPECT_THAT(split_binding("a=b:0=zeros", names), Pair("a=b:0", "zeros"));
  EXPECT_THAT(split_binding("f32[2]=1,2", names), Pair("", "f32[2]=1,2"));
  EXPECT_THAT(split_binding("in.npy", names), Pair("", "in.npy"));
  EXPECT_THAT(split_binding("y=1", names), Pair("y", "1"));
}

const std::vector<NamedTensor> kTwo = {{"image", {DType::kF32, {1, 3, 2, 2}}},
                                       {"mask", {DType::kBool, {2}}}};

TEST(MakeInputs, FillsInWhatIsNotGivenWithSeededRandomValues) {
  auto inputs = make_inputs(kTwo, {"mask=1,0"}, 5, npy_reader());
  ASSERT_TRUE(inputs.ok()) << inputs.status().to_string();
  auto random = Tensor::make(kTwo[0].type);
  fill_random(*random, 5);
  EXPECT_EQ(std::memcmp((*inputs)[0].tensor.data(), random->data(), 48), 0);
  EXPECT_EQ((*inputs)[0].source, "random, seed 5");
  EXPECT_EQ((*inputs)[1].source, "1,0");
}

TEST(MakeInputs, ReadsFilesAndComparesThemWithTheModel) {
  test::TempFolder folder;
  std::string path = folder.file("cat.npy");
  auto nhwc = Tensor::make({DType::kF32, {1, 2, 2, 3}});
  ASSERT_TRUE(write_npy(nhwc->view(), DType::kF32, path).ok());
  Status status = make_inputs(kTwo, {"image=" + path}, 0, npy_reader()).status();
  EXPECT_EQ(status.slug(), "input-shape");
  EXPECT_EQ(status.message(), "\"image\" is f32[1,2,2,3], the model expects f32[1,3,2,2]");
  EXPECT_EQ(status.where(), path + " -> input \"image\"");
  EXPECT_THAT(status.help(), HasSubstr("looks like NHWC"));
  EXPECT_EQ(make_inputs(kTwo, {"image=f64[1,3,2,2]"}, 0, npy_reader()).status().slug(),
            "input-dtype");
}

TEST(MakeInputs, NamesUnknownRepeatedAndMissingNames) {
  auto error = [](std::vector<std::string> bindings) {
    return make_inputs(kTwo, bindings, 0, npy_reader()).status().to_string();
  };
  EXPECT_THAT(error({"imgae=zeros"}),
              HasSubstr("error[unknown-input]: no input \"imgae\"; did you mean \"image\"?"));
  EXPECT_THAT(error({"imgae=zeros"}), HasSubstr("inputs: image, mask"));
  EXPECT_THAT(error({"mask=1", "mask=0"}), HasSubstr("input \"mask\" is given twice"));
  EXPECT_THAT(error({"bool[2]=1,0"}), HasSubstr("which one is meant?"));
  std::vector<NamedTensor> one = {kTwo[1]};
  EXPECT_TRUE(make_inputs(one, {"bool[2]=1,0"}, 0, npy_reader()).ok());
  EXPECT_TRUE(make_inputs(one, {"zeros"}, 0, npy_reader()).ok());
}

}  // namespace
}  // namespace byoc::cli
